"""Postprocessors: add special tokens to encodings, and truncate and pad them."""
