"""Normalizers: change a text before it is split; each byte of the result is aligned with the original text.

Each component has its own file; begin with base.py and lowercase.py. sentencepiece_rules.py and charsmap_builder.py
make charsmaps.
"""
