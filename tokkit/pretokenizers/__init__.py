"""Pretokenizers: split a normalized text into pretokens.

Each component has its own file; begin with base.py and whitespace.py. patterns.py has the published patterns, and
choice.py finds the fastest engine for a pattern.
"""
