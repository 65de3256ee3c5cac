"""Naive twins of what tokkit computes, so plain that reading them is believing them (80 lines at most each)."""
