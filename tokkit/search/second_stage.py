"""The second stage of search: reranks candidates with a model that reads each together with the query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tokkit.errors import OptionError
from tokkit.search.index import Hit

CANDIDATES = 50
"""Default number of candidates: at 128 tokens each, 2 s for six layers on one thread (benchmarks/bench_rerank.py)."""


class Reranker(Protocol):
    """Ranks documents: a CrossEncoder of `tokkit.pipeline` or sentence-transformers, or your own class."""

    def rank(self, query: str, documents: list[str], top_k: int | None = None) -> Sequence[Mapping[str, Any]]:
        """Return "corpus_id" and "score" of the `top_k` best documents, the best first."""


def candidates_of(k: int, reranker: Reranker | None, candidates: int | None) -> int:
    """Return the number of candidates for the first stage; OptionError for fewer than k, or without a reranker."""
    if candidates is not None and reranker is None:
        raise OptionError(f"candidates is {candidates}, but there is no reranker; pass rerank= too")
    if candidates is not None and candidates < k:
        raise OptionError(f"candidates is {candidates}; it must be at least {k} to return {k} passages")
    return k if reranker is None else max(k, CANDIDATES) if candidates is None else candidates


def reranked(reranker: Reranker, query: str, hits: Sequence[Hit], k: int) -> list[Hit]:
    """Return the k passages that answer a query best, with the scores of the second stage."""
    if not hits:
        return []
    ranked = reranker.rank(query, [hit.text for hit in hits], top_k=k)
    return [hits[one["corpus_id"]]._replace(score=float(one["score"])) for one in ranked]
