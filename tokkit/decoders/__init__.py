"""Decoders: ids go in, text comes out, all at once or token by token.

Begin with base.py, which has the rule of every decoder; stages.py and streaming.py run them as ids arrive.
"""
