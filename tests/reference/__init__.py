"""Naive twins of what tokkit computes: so simple that they are obviously right (80 lines at most each)."""
