"""The interfaces of other libraries: their calls go in, tokkit runs, and what they return comes out.

A package for each library, of its name; begin with the core.py of tiktoken, which is the smallest.
"""

from tokkit import lazy

_PARTS = ("sentencepiece", "tiktoken", "tokenizers", "transformers")
__getattr__ = lazy.names(__name__, {}, _PARTS)
__dir__ = [*_PARTS].copy
