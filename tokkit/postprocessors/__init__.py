"""Encodings of texts in, one encoding with special tokens out, cut and filled up as asked."""
