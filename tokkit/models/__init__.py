"""Spans in, ids out: the token models, made to run from their definitions."""
