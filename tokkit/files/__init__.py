"""Bytes on disk: paths, files written completely or not at all, strict JSON, protobuf, safetensors and GGUF containers.

Begin with files.py and strict_json.py. What the bytes mean as a tokenizer is decided in `tokkit.formats`.
"""
