"""Text in, what tokkit must answer out: twins so plain that reading them is believing them (80 lines at most each)."""
