"""Files in, the passages nearest in meaning to a query out: chunks, their vectors, an index on disk, exact search."""

from tokkit import lazy

_MODULES = {
    "Builder": "tokkit.pipeline.search.builder",
    "Encoder": "tokkit.pipeline.search.builder",
    "Hit": "tokkit.pipeline.search.index",
    "SearchIndex": "tokkit.pipeline.search.index",
    "chunks": "tokkit.pipeline.search.chunking",
    "top_k": "tokkit.pipeline.search.exact",
}
__all__ = sorted(_MODULES)
__getattr__ = lazy.names(__name__, _MODULES)
__dir__ = __all__.copy
