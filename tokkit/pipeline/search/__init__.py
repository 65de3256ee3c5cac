"""Files in, the passages nearest in meaning to a query out: chunks, their vectors, an index on disk, exact search."""

from tokkit import lazy

_MODULES = {
    "Builder": "tokkit.pipeline.search.builder",
    "Encoder": "tokkit.pipeline.search.builder",
    "Embedding": "tokkit.pipeline.search.embedding",
    "Hit": "tokkit.pipeline.search.index",
    "Options": "tokkit.pipeline.search.embedding",
    "SearchIndex": "tokkit.pipeline.search.index",
    "chunks": "tokkit.pipeline.search.chunking",
    "find": "tokkit.pipeline.search.embedding",
    "top_k": "tokkit.pipeline.search.exact",
}
__all__ = sorted(_MODULES)
__getattr__ = lazy.names(__name__, _MODULES)
__dir__ = __all__.copy
