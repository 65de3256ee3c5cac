"""Search's second stage: the candidates that vectors find, in the order of a model that reads them with the query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tokkit.errors import OptionError
from tokkit.search.index import Hit

CANDIDATES = 50
"""Passages put in order by default: of 128 tokens, 2 s for six layers on one thread (benchmarks/bench_rerank.py)."""


class Reranker(Protocol):
    """Puts documents in order: a `tokkit.pipeline.CrossEncoder`, that of sentence-transformers, or one of your own."""

    def rank(self, query: str, documents: list[str], top_k: int | None = None) -> Sequence[Mapping[str, Any]]:
        """Return "corpus_id" and "score" of the best `top_k` documents, the best first."""


def candidates_of(k: int, reranker: Reranker | None, candidates: int | None) -> int:
    """Return how many passages the first stage has to find; OptionError for fewer than k, or without a second one."""
    if candidates is not None and reranker is None:
        raise OptionError(f"candidates is {candidates}, and nothing puts them in order; pass rerank= too")
    if candidates is not None and candidates < k:
        raise OptionError(f"candidates is {candidates}; to return {k} passages, it must be at least {k}")
    return k if reranker is None else max(k, CANDIDATES) if candidates is None else candidates


def reranked(reranker: Reranker, query: str, hits: Sequence[Hit], k: int) -> list[Hit]:
    """Return the k passages that answer a query best, with the scores of the second stage."""
    if not hits:
        return []
    ranked = reranker.rank(query, [hit.text for hit in hits], top_k=k)
    return [hits[one["corpus_id"]]._replace(score=float(one["score"])) for one in ranked]
