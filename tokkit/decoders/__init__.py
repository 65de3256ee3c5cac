"""Ids in, text out: whole, or token by token."""
