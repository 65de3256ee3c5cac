"""Decoders: text from ids, all at once or token by token."""
