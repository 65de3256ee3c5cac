"""Streaming: ids of text that arrives in parts, which no later text changes.

Begin with encode_stream.py. Ids that arrive one by one become text in `tokkit.decoders.streaming`.
"""
