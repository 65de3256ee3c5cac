"""Postprocessors: encodings of a text or a pair go in, with special tokens, truncated and padded they come out.

Begin with layout.py (what is put around a text) and template.py; batch.py does the same to arrays.
"""
