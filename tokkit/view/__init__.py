"""Measures, or a tokenizer and text, in, pictures out: what is for looking at."""
