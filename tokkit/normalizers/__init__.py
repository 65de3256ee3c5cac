"""Normalizers: a text goes in, the text to split comes out, each of its bytes aligned with the original.

A component a file; begin with base.py and lowercase.py. sentencepiece_rules.py and charsmap_builder.py make charsmaps.
"""
