"""Streaming: ids of text that arrives in parts, which no later text changes.

Begin with encode_stream.py. `tokkit.decoders.streaming` decodes ids that arrive one by one.
"""
