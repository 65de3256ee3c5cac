"""Semantic search in files: chunks, their vectors, an index on disk, exact search."""

from tokkit import lazy

_MODULES = {
    "Builder": "tokkit.search.builder",
    "Encoder": "tokkit.search.builder",
    "Embedding": "tokkit.search.embedding",
    "Hit": "tokkit.search.index",
    "Options": "tokkit.search.embedding",
    "SearchIndex": "tokkit.search.index",
    "chunks": "tokkit.chunks.chunking",  # as it was called before; tokkit.chunks.chunk is the way now
    "find": "tokkit.search.embedding",
    "top_k": "tokkit.search.exact",
}
__all__ = sorted(_MODULES.keys() - {"chunks"})
__getattr__ = lazy.names(__name__, _MODULES)
__dir__ = __all__.copy
