"""Normalizers, one component a file: text → text with alignment."""
