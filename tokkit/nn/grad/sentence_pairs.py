"""`SentencePairs`: training of sentence vectors from pairs of texts, with in-batch negatives."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from tokkit._core.grad import backward as core
from tokkit.checks import as_float, as_int
from tokkit.errors import ShapeError
from tokkit.nn.arrays import Floats, current_threads
from tokkit.nn.grad.encoder import EncoderTrunk, PackedTexts, loaded
from tokkit.nn.grad.encoder_config import EncoderConfig
from tokkit.nn.grad.layers import seed_dropouts
from tokkit.nn.grad.parameters import Parameters
from tokkit.nn.grad.pooling import checked_pooling, pooled
from tokkit.nn.grad.tape import Tape, is_bf16

SMALLEST_NORM = 1e-12


class SentencePairs:
    """A sentence encoder that is trained on pairs: multiple negatives ranking, also known as InfoNCE.

    A batch has columns of texts: anchors, their positives and, if there are more columns, hard negatives. The scores
    of an anchor are `scale` · cosine with all texts of the other columns, and its loss is the cross-entropy with its
    positive as the target: MultipleNegativesRankingLoss in sentence-transformers. `pooling` is "mean", "cls" or "last".
    `weights` are copied; missing ones are initialized at random with the seed. `precision` is as in `CausalLM`.

    Source: Henderson et al. 2017, Efficient Natural Language Response Suggestion for Smart Reply, 4.4.

    >>> from tokkit.nn import TransformerConfig
    >>> layers = TransformerConfig(dim=8, n_heads=2, n_layers=1)
    >>> model = SentencePairs(EncoderConfig(layers=layers, vocab_size=9, positions=5), seed=1)
    >>> loss = model.forward_backward([1, 2, 3, 4, 5, 6], [0, 2, 3, 5, 6])  # two pairs: (1 2, 4 5) and (3, 6)
    >>> model.vectors([1, 2, 3], [0, 2, 3]).shape, float(model.parameters.grad.max()) > 0
    ((2, 8), True)
    """

    def __init__(
        self, config: EncoderConfig, weights: Mapping[str, Floats] | None = None, *, pooling: str = "mean",
        scale: float = 20.0, dropout: float = 0.0, attention_dropout: float = 0.0, seed: int = 0,
        parameters: Parameters | None = None, precision: str = "fp32",
    ) -> None:  # fmt: skip
        self.pooling, self.scale = checked_pooling(pooling), as_float("scale", scale, greater_than=0)
        self.parameters = loaded(config.shapes(), weights, seed) if parameters is None else parameters
        self._trunk = EncoderTrunk(self.parameters, config, dropout=dropout, attention_dropout=attention_dropout)
        self._bf16 = is_bf16(precision)
        self._tape = Tape(bf16=self._bf16)

    def forward_backward(
        self, ids: ArrayLike, starts: ArrayLike, type_ids: ArrayLike | None = None, *, columns: int = 2,
        share: float = 1.0, seed: int = 0,
    ) -> float:  # fmt: skip
        """Return the mean loss of packed texts, and add its gradients times `share` to those of the parameters.

        Text i is ids[starts[i]:starts[i + 1]]. With n rows of `columns` texts, texts are given column by column: the
        first n texts are the first column.
        """
        seed_dropouts(self._trunk.dropouts, seed)
        texts = PackedTexts.of(ids, starts, type_ids)
        self._tape.clear()
        vectors = self._vectors(texts, self._tape)
        loss, grads = ranking_loss(vectors, columns, self.scale, self._tape)
        grads *= np.float32(share)
        self._tape.backward(np.ascontiguousarray(grads[texts.order]))
        return loss

    def loss(self, ids: ArrayLike, starts: ArrayLike, type_ids: ArrayLike | None = None, *, columns: int = 2) -> float:
        """Return the mean loss of packed texts, without gradients and without dropout."""
        return ranking_loss(self.vectors(ids, starts, type_ids), columns, self.scale, Tape(recording=False))[0]

    def vectors(self, ids: ArrayLike, starts: ArrayLike, type_ids: ArrayLike | None = None) -> Floats:
        """Return the vectors (n, dim) of packed texts, in the same order; the vectors are not normalized."""
        texts = PackedTexts.of(ids, starts, type_ids)
        return self._vectors(texts, Tape(recording=False, bf16=self._bf16))

    def _vectors(self, texts: PackedTexts, tape: Tape) -> Floats:
        found = pooled(self._trunk.forward(texts, tape), texts, self.pooling, tape)
        made = np.empty_like(found)
        made[texts.order] = found
        return made


def ranking_loss(vectors: Floats, columns: int, scale: float, tape: Tape) -> tuple[float, Floats]:
    """Return the mean loss of vectors (columns · n, dim), and its gradient: see `SentencePairs`."""
    n, rest = divmod(len(vectors), as_int("columns", columns, minimum=2))
    if rest or not n:
        raise ShapeError(f"there are {len(vectors)} texts; with {columns} columns there must be a multiple of it")
    norms = np.maximum(np.sqrt((vectors * vectors).sum(axis=1, keepdims=True)), np.float32(SMALLEST_NORM))
    units = vectors / norms
    first, others = units[:n], units[n:]
    threads = current_threads()
    scores = np.empty((n, len(others)), dtype=np.float32)
    core.matmul(first, others.T, scores, room=tape.room, threads=threads)
    scores *= np.float32(scale)
    losses, targets = np.empty(n, dtype=np.float32), np.arange(n, dtype=np.int64)
    core.cross_entropy_back(scores, targets, scores, losses, scale / n, threads=threads)
    grads = np.empty_like(units)
    core.matmul(scores, others, grads[:n], room=tape.room, threads=threads)
    core.matmul(scores.T, first, grads[n:], room=tape.room, threads=threads)
    # Backward of x / |x|: remove the component along the vector.
    grads -= units * (grads * units).sum(axis=1, keepdims=True)
    grads /= norms
    return float(losses.mean(dtype=np.float64)), grads
