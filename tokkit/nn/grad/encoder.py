"""Trainable layers of encoders: packed sequences → hidden states, and the backward pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit._core.grad import backward as grad_core
from tokkit._core.nn import rows as core
from tokkit.checks import as_int
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, current_threads, initial
from tokkit.nn.config import Shapes
from tokkit.nn.encoder import checked_packed, position_ids
from tokkit.nn.grad.attention import DistanceBias, Run, SelfAttention, Turn
from tokkit.nn.grad.encoder_config import TABLES, EncoderConfig
from tokkit.nn.grad.layers import Dropout, FeedForward, Layer, Linear, Norm, Residual
from tokkit.nn.grad.parameters import Parameters
from tokkit.nn.grad.tape import Tape
from tokkit.nn.rope import RopeConfig

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PackedTexts:
    """Concatenated texts, sorted by length, shortest first: equal lengths are adjacent. Ids and types are (total)."""

    ids: Ids
    starts: Ids
    type_ids: Ids | None
    order: Ids
    """The index that each text had before sorting."""

    @classmethod
    def of(cls, ids: ArrayLike, starts: ArrayLike, type_ids: ArrayLike | None = None) -> PackedTexts:
        """Return texts sorted by length; ShapeError if ids and starts do not match, or if a text has no token."""
        flat, where, types = checked_packed(ids, starts, type_ids)
        lengths = np.diff(where)
        if not len(lengths) or not lengths.min():
            raise ShapeError(f"starts are {where[:5]} …; there must be a text, and each needs a token")
        order = np.argsort(lengths, kind="stable")
        new = np.concatenate([[0], np.cumsum(lengths[order])])
        rows = np.arange(len(flat)) + np.repeat(where[:-1][order] - new[:-1], lengths[order])
        return cls(flat[rows], new, None if types is None else types[rows], order)

    def runs(self) -> list[Run]:
        """Return (first row, last row + 1, tokens of each text) for each group of adjacent texts of equal length."""
        lengths = np.diff(self.starts)
        ends = np.flatnonzero(np.diff(lengths, append=-1)) + 1
        firsts = np.concatenate([[0], ends[:-1]])
        return [(int(self.starts[a]), int(self.starts[b]), int(lengths[a])) for a, b in zip(firsts, ends, strict=True)]


class PostNorm:
    """norm(x + parts(x)): the residual block of a post-norm transformer."""

    def __init__(self, parts: Sequence[Layer], norm: Norm) -> None:
        self.parts, self.norm = parts, norm

    def forward(self, x: Floats, tape: Tape) -> Floats:
        """Return the norm of the sum."""
        kept: list[Floats] = []

        def add(dx: Floats) -> Floats:
            np.add(dx, kept.pop(), out=dx)
            return dx

        tape.push(add)
        y = x
        for part in self.parts:
            y = part.forward(y, tape)
        np.add(x, y, out=y)

        def keep(dy: Floats) -> Floats:
            kept.append(dy)
            return dy

        tape.push(keep)
        return self.norm.forward(y, tape)


class PackedEmbedding:
    """norm(scale · (word + position + type)), projected if the configuration says so: the embedding of each token."""

    def __init__(self, weights: Parameters, config: EncoderConfig) -> None:
        self.config, self._columns = config, weights["embeddings.word.weight"].shape[1]
        self._names = [name for name in TABLES if f"embeddings.{name}.weight" in weights]
        self._tables = [weights.joined(f"embeddings.{name}.weight") for name in self._names]
        self._norm = Norm(weights, "embeddings.norm", config.layers) if config.embedding_norm else None
        projected = "embeddings.project.weight" in weights
        self._project = Linear(weights, "embeddings.project") if projected else None

    def _rows(self, texts: PackedTexts) -> list[Ids]:
        """Return the rows of each table."""
        c, made = self.config, [texts.ids]
        longest = int(np.diff(texts.starts).max())
        if c.max_length is not None and longest > c.max_length:
            raise ShapeError(f"a text has {longest} tokens; the model takes at most {c.max_length}")
        if texts.type_ids is not None and not c.types:
            raise OptionError("this model has no token types; leave type_ids out")
        if "position" in self._names:
            made.append(
                position_ids(texts.ids, texts.starts, position_offset=c.position_offset, padding_idx=c.padding_idx)
            )
        if "type" in self._names:
            made.append(np.zeros_like(texts.ids) if texts.type_ids is None else texts.type_ids)
        return made

    def forward(self, texts: PackedTexts, tape: Tape) -> Floats:
        """Return rows (total, dim); ShapeError if a text is too long, IndexError if an id or type is out of range."""
        rows, scale = self._rows(texts), np.float32(self.config.embedding_scale)
        x, other = tape.empty(len(texts.ids), self._columns), tape.empty(len(texts.ids), self._columns)
        core.gather(self._tables[0][0], rows[0], x, threads=current_threads())
        if scale != 1:
            np.multiply(x, scale, out=x)
        for (table, _), ids in zip(self._tables[1:], rows[1:], strict=True):
            core.gather(table, ids, other, threads=current_threads())
            np.add(x, other, out=x)
        del other

        def back(dy: Floats) -> Floats:
            for (_, grad), ids in zip(self._tables[1:], rows[1:], strict=True):
                if grad is not None:
                    grad_core.scatter_add(dy, ids, grad, threads=current_threads())
            grad = self._tables[0][1]
            if grad is not None:
                grad_core.scatter_add(dy if scale == 1 else dy * scale, rows[0], grad, threads=current_threads())
            return dy

        tape.push(back)
        if self._norm is not None:
            x = self._norm.forward(x, tape)
        return x if self._project is None else self._project.forward(x, tape)


class NoNorm:
    """x itself, in place of the norm before the first layer that ModernBERT does not have."""

    def run(self, x: Floats, tape: Tape) -> Floats:
        """Return x."""
        return x

    def back(self, dy: Floats, x: Floats, tape: Tape, add: Floats | None = None) -> Floats:
        """Return dy, plus `add` if given."""
        return dy if add is None else np.add(dy, add, out=dy)


class EncoderTrunk:
    """An encoder without a head, for models that add one. `parameters` may also hold other weights."""

    def __init__(
        self, parameters: Parameters, config: EncoderConfig, *, dropout: float = 0.0, attention_dropout: float = 0.0
    ) -> None:  # fmt: skip
        p, c = parameters, config.layers
        self.config = config
        self.dropouts = [Dropout(dropout) for _ in range(1 + 2 * c.n_layers)]
        self._embedding = PackedEmbedding(p, config)
        bias = DistanceBias(p, c) if c.relative_buckets else None
        turns: dict[RopeConfig, Turn] = {}
        self._attentions = [
            SelfAttention(
                p,
                f"layers.{i}.attention",
                c,
                options=config.attention(i),
                bias=bias,
                turns=turns,
                dropout=attention_dropout,
            )
            for i in range(c.n_layers)
        ]
        self._layers: list[Layer] = []
        for i, attention in enumerate(self._attentions):
            part = f"layers.{i}"
            feed_forward = FeedForward(p, f"{part}.feed_forward", c)
            first, second = self.dropouts[1 + 2 * i : 3 + 2 * i]
            self._block(p, f"{part}.attention_norm", f"{part}.attended_norm", (attention, first))
            self._block(p, f"{part}.feed_forward_norm", f"{part}.forwarded_norm", (feed_forward, second))
        self._last = Norm(p, "norm", c) if c.pre_norm else None
        self.dropouts += [attention.dropout for attention in self._attentions]

    def _block(self, p: Parameters, norm: str, after: str, parts: tuple[Layer, ...]) -> None:
        """Add a residual block: a part of a layer, with its norm before or after it."""
        c = self.config.layers
        if not c.pre_norm:
            self._layers.append(PostNorm(parts, Norm(p, norm, c)))
            return
        if self.config.part_norms:
            parts = (*parts, Norm(p, after, c))
        there = f"{norm}.weight" in p
        self._layers.append(Residual(Norm(p, norm, c) if there else NoNorm(), parts))

    def forward(self, texts: PackedTexts, tape: Tape) -> Floats:
        """Return the hidden states (total, dim) of texts, in the order of `texts`."""
        runs = texts.runs()
        for attention in self._attentions:
            attention.runs = runs
        x = self.dropouts[0].forward(self._embedding.forward(texts, tape), tape)
        for layer in self._layers:
            x = layer.forward(x, tape)
        return x if self._last is None else self._last.forward(x, tape)


def loaded(shapes: Shapes, weights: Mapping[str, Floats] | None, seed: int, frozen: Sequence[str] = ()) -> Parameters:
    """Return parameters with these weights; missing ones are initialized with the seed (matrices at random)."""
    made = Parameters(shapes, frozen=frozen)
    there = weights or {}
    missing = {name: shape for name, shape in shapes.items() if name not in there}
    made.load({**there, **initial(missing, seed=as_int("seed", seed, minimum=0))})
    return made
