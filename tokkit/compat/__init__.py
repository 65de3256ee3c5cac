"""Drop-in replacements for other libraries: the same calls with the same results, computed by tokkit.

A package for each library, of its name; begin with the core.py of tiktoken, which is the smallest.
"""

from tokkit import lazy
from tokkit.compat import replacing as replacing

_PARTS = ("sentencepiece", "tiktoken", "tokenizers", "transformers")
__getattr__ = lazy.names(__name__, {}, _PARTS)
__dir__ = [*_PARTS].copy
