"""Approximate search with usearch: a graph next to an index, for a fraction of the time.

Exact search (exact.py) reads every vector: 400,000 vectors of 384 dimensions are 600 MB, about 30 ms. The graph is for
millions of vectors. Its results are scored exactly, so only rows that the graph misses can differ.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit import nn
from tokkit.errors import FormatError, OptionError
from tokkit.files import files, temporary_files
from tokkit.search.exact import Nearest, best_of
from tokkit.search.index import SearchIndex

SUFFIX = ".usearch"
MORE = 4
"""The graph returns this many times k rows, which are then scored exactly."""


def _usearch() -> Any:
    try:
        from usearch import index
    except ImportError:
        raise OptionError("approximate search needs usearch: pip install 'pytokkit[ann]'") from None
    return index


def check() -> None:
    """Raise OptionError if usearch is not installed, before any work."""
    _usearch()


def _place(index: SearchIndex) -> Path:
    return index.data.with_suffix(SUFFIX)


def build(index: SearchIndex, *, threads: int | None = None) -> Path:
    """Write the graph of an index next to its vectors and return its path; one thread always gives the same graph."""
    made = _usearch().Index(ndim=index.about.dimension, metric="ip", dtype="f32")
    workers = nn.current_threads() if threads is None else threads
    if len(index):
        made.add(np.arange(len(index), dtype=np.uint64), np.array(index.rows.vectors), threads=workers)
    place = _place(index)
    with temporary_files.beside(os.path.abspath(place)) as aside:
        made.save(aside)
        os.replace(aside, place)
    return place


def nearest(index: SearchIndex, queries: ArrayLike, k: int) -> Nearest:
    """Return rows and scores as `SearchIndex.nearest` does, but only of rows that the graph finds.

    OptionError if the index has no graph; FormatError if the graph belongs to other vectors.
    """
    place = _place(index)
    if not place.exists():
        raise OptionError(f"{files.show(index.folder)} has no graph; embed with --ann, or search without it")
    graph = _usearch().Index.restore(str(place))
    if graph is None or graph.ndim != index.about.dimension or len(graph) != len(index):
        raise FormatError(f"{files.show(place)}: this is not the graph of this index's {len(index)} vectors")
    asked = np.ascontiguousarray(queries, dtype=np.float32)
    k = min(k, len(index))
    rows, scores = np.empty((len(asked), k), dtype=np.int64), np.empty((len(asked), k))
    for i, query in enumerate(asked[: len(asked) * bool(k)]):  # an empty graph is not queried
        found = np.unique(_keys(graph, query, min(MORE * k, len(index))))
        if len(found) < k or (found >= len(index)).any():
            raise FormatError(f"{files.show(place)}: the graph is damaged: it does not reach {k} vectors")
        rows[i], scores[i] = best_of(index.rows.vectors, query, found, k)
    return Nearest(rows, scores)


def _keys(graph: Any, query: NDArray[np.float32], n: int) -> NDArray[np.int64]:
    return np.asarray(graph.search(query, n).keys, dtype=np.int64)
