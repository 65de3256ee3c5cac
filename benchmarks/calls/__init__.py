"""The rows of bench_calls: a file for each library whose names tokkit offers, and what measures a row.

`rows.py` says what a row is, `equal.py` when results are equal, `measure.py` how a row becomes figures.
"""
