"""Decoders: turn ids into text, all at once or token by token.

Begin with base.py, which has the rule of every decoder; stages.py and streaming.py run them as ids arrive.
"""
