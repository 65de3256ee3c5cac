"""Cuts text to token budgets: a text or a file and a tokenizer go in, chunks come out; begin with chunking.py."""

from tokkit import lazy

_MODULES = {
    "At": "tokkit.chunks.chunking",
    "Chunk": "tokkit.chunks.chunking",
    "chunk": "tokkit.chunks.chunking",
    "chunk_file": "tokkit.chunks.files",
}
__all__ = sorted(_MODULES)
__getattr__ = lazy.names(__name__, _MODULES)
__dir__ = __all__.copy
