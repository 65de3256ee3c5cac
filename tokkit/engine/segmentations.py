"""Segmentations of a text by a SentencePiece model: n-best, samples and entropy.

`encode` returns the best segmentation; these are for subword regularization (Kudo 2018, "Subword Regularization", §3)
and BPE-dropout (Provilkov et al. 2020). A text here is normalized, with U+2581 for spaces, as the engine's `segments`
returns it; ids are uint32 (n,), spans int64 (n, 2) in its bytes, and scores are log probabilities.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tokkit._core.encode.sp_lattice import Lattice, NormalizedText
from tokkit.engine.sentencepiece import encoder_of
from tokkit.errors import OptionError
from tokkit.models.sentencepiece import SentencePieceModel

Ids = NDArray[np.uint32]
Spans = NDArray[np.int64]

MAX_NBEST = 1024
"""The maximum n of n-best segmentations; as in sentencepiece, a larger n is reduced to this."""


class Segmentations:
    """Segments texts by a Unigram or BPE model. Safe to share between threads, except `rng`."""

    def __init__(self, model: SentencePieceModel) -> None:
        """OptionError for a model of words or characters, in which a text has only one segmentation."""
        if model.kind not in ("unigram", "bpe"):
            raise OptionError(f"a {model.kind!r} model has only one segmentation of a text; use a Unigram or BPE model")
        self._encoder = encoder_of(model)
        self._bpe = model.kind == "bpe"

    def _lattice(self, normalized: bytes, what: str) -> Lattice:
        if self._bpe:
            raise OptionError(f"{what} is for Unigram models; BPE has no probabilities")
        return Lattice(self._encoder, normalized)

    def nbest(
        self, normalized: bytes, n: int, *, timeout: float = math.inf, ids_only: bool = False
    ) -> list[tuple[Ids, Spans, float]]:
        """Return the n segmentations with the highest scores, the best first, or all if there are fewer.

        OptionError for BPE. As in sentencepiece, n above 1024 is taken as 1024, and n = 1 returns what `encode` does.
        TimeoutError if it takes more than `timeout` seconds. With `ids_only`, spans may be None and ids a list.
        """
        _check_count("n", n)
        lattice = self._lattice(normalized, "n-best")
        return [lattice.best()] if n == 1 else lattice.nbest(min(n, MAX_NBEST), timeout, ids_only=ids_only)

    def sample(
        self,
        normalized: bytes,
        *,
        alpha: float,
        nbest_size: int = -1,
        rng: np.random.Generator,
        ids_only: bool = False,
    ) -> tuple[Ids, Spans]:
        """Return a random segmentation, with a probability proportional to exp(alpha × score).

        With `nbest_size` -1 it is drawn from all segmentations, else from the best `nbest_size`; 0 and 1 return the
        best. For BPE, `alpha` is the probability with which each merge is skipped, and `nbest_size` is ignored.
        `ids_only` is as in `nbest`.
        """
        _check_alpha(alpha)
        if self._bpe:
            return NormalizedText(self._encoder, normalized).merge(alpha, _seed(rng))
        lattice = self._lattice(normalized, "sampling")
        if nbest_size < 0:
            ids, spans, _ = lattice.sample(alpha, _seed(rng), 1, ids_only=ids_only)[0]
            return ids, spans
        if nbest_size < 2:
            ids, spans, _ = lattice.best()
            return ids, spans
        ways = lattice.nbest(min(nbest_size, MAX_NBEST), ids_only=ids_only)
        scores = alpha * np.array([score for _, _, score in ways])
        weights = np.exp(scores - scores.max())
        # What rng.choice does with these probabilities, without its checks, which take longer than the search.
        bounds = (weights / weights.sum()).cumsum()
        ids, spans, _ = ways[int((bounds / bounds[-1]).searchsorted(rng.random(), side="right"))]
        return ids, spans

    def sample_and_score(
        self,
        normalized: bytes,
        *,
        n: int,
        alpha: float,
        without_replacement: bool = False,
        include_best: bool = False,
        rng: np.random.Generator,
    ) -> list[tuple[Ids, Spans, float]]:
        """Return n random segmentations, each with the logarithm of its probability.

        With `without_replacement`, all are different, there may be fewer than n, and a score is the logarithm of the
        probability that the segmentation is among the samples (Kool et al. 2019, "Stochastic beams and where to find
        them", §4.1). `include_best`, only with `without_replacement`, adds the best one as the first, with the score 0.
        """
        _check_count("n", n)
        _check_alpha(alpha)
        lattice = self._lattice(normalized, "sampling with scores")
        if include_best and not without_replacement:
            raise OptionError("include_best needs without_replacement=True, or samples may repeat the best one")
        if not without_replacement:
            return lattice.sample(alpha, _seed(rng), n)
        # One more than requested: its noisy score is the threshold for the others.
        ways = lattice.sample_distinct(alpha, _seed(rng), n + 1)
        found: list[tuple[Ids, Spans, float]] = []
        if include_best:
            best = lattice.nbest(1)[0]
            found.append((best[0], best[1], 0.0))
            others = [way for way in ways if not np.array_equal(way[1], best[1])]
            ways = others if len(others) < len(ways) else ways[:-1]
        threshold = ways[-1][2] if len(ways) + len(found) > n else -math.inf
        kept = ways[: n - len(found)]
        return found + [(ids, spans, _inclusion(score, threshold)) for ids, spans, _, score in kept]

    def entropy(self, normalized: bytes, *, alpha: float) -> float:
        """Return the entropy of all segmentations, in nats; probabilities are proportional to exp(alpha × score)."""
        _check_alpha(alpha)
        return self._lattice(normalized, "the entropy").entropy(alpha)


def _inclusion(score: float, threshold: float) -> float:
    """Return log(1 - exp(-exp(score - threshold))), the log-probability that a noisy score exceeds the threshold."""
    x = score - threshold
    if x == math.inf or x > 50:
        return 0.0
    return x - math.exp(x) / 2 if x < -30 else math.log(-math.expm1(-math.exp(x)))


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(1 << 63))


def _check_count(name: str, n: int) -> None:
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise OptionError(f"{name} is {n!r}; it must be an int of at least 1")


def _check_alpha(alpha: float) -> None:
    if isinstance(alpha, bool) or not isinstance(alpha, (int, float, np.floating)) or not 0 <= alpha < math.inf:
        raise OptionError(f"alpha is {alpha!r}; it must be a number of at least 0")
