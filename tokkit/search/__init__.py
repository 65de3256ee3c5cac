"""Semantic search: files or passages go in, an index of their vectors on disk comes out, and the nearest to a query.

Begin with builder.py (writing an index) and index.py (asking it); exact.py finds the nearest rows, and
second_stage.py puts them in the order of a cross-encoder.
"""

from typing import TYPE_CHECKING

from tokkit import lazy

if TYPE_CHECKING:
    from tokkit.search.builder import Builder as Builder
    from tokkit.search.builder import Encoder as Encoder
    from tokkit.search.embedding import Embedding as Embedding
    from tokkit.search.embedding import Options as Options
    from tokkit.search.embedding import find as find
    from tokkit.search.exact import top_k as top_k
    from tokkit.search.index import Hit as Hit
    from tokkit.search.index import SearchIndex as SearchIndex
    from tokkit.search.second_stage import Reranker as Reranker

_MODULES = {
    "Builder": "tokkit.search.builder",
    "Encoder": "tokkit.search.builder",
    "Embedding": "tokkit.search.embedding",
    "Hit": "tokkit.search.index",
    "Options": "tokkit.search.embedding",
    "Reranker": "tokkit.search.second_stage",
    "SearchIndex": "tokkit.search.index",
    "chunks": "tokkit.chunks.chunking",  # as it was called before; tokkit.chunks.chunk is the way now
    "find": "tokkit.search.embedding",
    "top_k": "tokkit.search.exact",
}
__all__ = sorted(_MODULES.keys() - {"chunks"})
__getattr__ = lazy.names(__name__, _MODULES)
__dir__ = __all__.copy
