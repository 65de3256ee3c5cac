"""Streaming: encodes text that arrives in parts; returned ids are final.

Begin with encode_stream.py. `tokkit.decoders.streaming` decodes ids that arrive one by one.
"""
