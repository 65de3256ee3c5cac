"""Measures in, pictures out: what is for looking at."""
