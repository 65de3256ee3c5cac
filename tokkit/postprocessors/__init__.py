"""Postprocessors: add special tokens to the encodings of a text or a pair, and truncate and pad them.

Begin with layout.py (the tokens around a text) and template.py; batch.py does the same for arrays.
"""
