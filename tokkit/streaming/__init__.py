"""Text that arrives in parts → ids that no later text changes; and what ids a beginning of a text may still get.

Begin with encode_stream.py. Ids that arrive one by one become text in `tokkit.decoders.streaming`.
"""
