"""Cuts texts and files into chunks with offsets, each within a budget of tokens.

Begin with chunking.py. planning.py chooses where chunks end; files.py cuts files while they are read.
"""

from typing import TYPE_CHECKING

from tokkit import lazy

if TYPE_CHECKING:
    from tokkit.chunks.chunking import At as At
    from tokkit.chunks.chunking import Chunk as Chunk
    from tokkit.chunks.chunking import chunk as chunk
    from tokkit.chunks.files import chunk_file as chunk_file

_MODULES = {
    "At": "tokkit.chunks.chunking",
    "Chunk": "tokkit.chunks.chunking",
    "chunk": "tokkit.chunks.chunking",
    "chunk_file": "tokkit.chunks.files",
}
__all__ = sorted(_MODULES)
__getattr__ = lazy.names(__name__, _MODULES)
__dir__ = __all__.copy
