"""Pretokenizers: a normalized text goes in, pretokens come out.

A component a file; begin with base.py and whitespace.py. patterns.py has the published patterns, and choice.py finds
the fastest engine for a pattern.
"""
