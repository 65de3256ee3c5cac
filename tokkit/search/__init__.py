"""Semantic search: makes an index of vectors of files or passages on disk, and finds the nearest to a query.

Begin with builder.py (writes an index) and index.py (searches it); exact.py finds the nearest rows, and second_stage.py
reranks them with a cross-encoder.
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
    "chunks": "tokkit.chunks.chunking",  # the old name; use tokkit.chunks.chunk
    "find": "tokkit.search.embedding",
    "top_k": "tokkit.search.exact",
}
__all__ = sorted(_MODULES.keys() - {"chunks"})
__getattr__ = lazy.names(__name__, _MODULES)
__dir__ = __all__.copy
