"""Trainable layers of BERT-like encoders: packed sequences → hidden states, and the backward pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit._core import grad as grad_core
from tokkit._core import nn as core
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, current_threads, initial
from tokkit.nn.checks import as_int
from tokkit.nn.config import Shapes, TransformerConfig
from tokkit.nn.encoder import check_config, checked_packed, embedding_shapes, position_ids
from tokkit.nn.grad.layers import Dropout, FeedForward, Layer, Norm, linear_of
from tokkit.nn.grad.parameters import Parameters
from tokkit.nn.grad.tape import Tape

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderConfig:
    """The configuration of an encoder to train: its layers, and the sizes of its tables.

    `layers` are as in `TextEncoder`: post-norm, with biases, and attention in both directions. Training does not
    support a table of relative positions: it raises OptionError. With `types` 0 there is no table of token types.
    `position_offset` and `padding_idx` are as in `TextEncoder`.

    >>> config = EncoderConfig(layers=TransformerConfig(dim=8, n_heads=2), vocab_size=9, positions=5)
    >>> config.shapes()["embeddings.word.weight"], config.max_length
    ((9, 8), 5)
    """

    layers: TransformerConfig
    vocab_size: int
    positions: int
    types: int = 0
    position_offset: int = 0
    padding_idx: int | None = None

    def __post_init__(self) -> None:
        for name in ("vocab_size", "positions"):
            as_int(name, getattr(self, name), minimum=1)
        check_config(self.layers)
        if self.layers.relative_buckets:
            raise OptionError("the configuration has relative_buckets (MPNet), which are not learnt here")

    @property
    def max_length(self) -> int:
        """The maximum number of tokens of a sequence."""
        return self.positions - self.position_offset

    def shapes(self) -> Shapes:
        """Return name → shape of all weights of the encoder, without those of a head."""
        tables = embedding_shapes(self.layers, vocab_size=self.vocab_size, positions=self.positions, types=self.types)
        return {f"embeddings.{name}": shape for name, shape in tables.items()} | self.layers.shapes()


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

    def runs(self) -> list[tuple[int, int, int]]:
        """Return (first row, last row + 1, tokens of each text) for each group of adjacent texts of equal length."""
        lengths = np.diff(self.starts)
        ends = np.flatnonzero(np.diff(lengths, append=-1)) + 1
        firsts = np.concatenate([[0], ends[:-1]])
        return [(int(self.starts[a]), int(self.starts[b]), int(lengths[a])) for a, b in zip(firsts, ends, strict=True)]


class PackedAttention:
    """Bidirectional attention over packed texts: each token attends to all tokens of the same text."""

    def __init__(
        self, weights: Parameters, prefix: str, config: TransformerConfig, *, dropout: float = 0.0
    ) -> None:  # fmt: skip
        self.dropout = Dropout(dropout, "attention_dropout")
        self.config, self.runs = config, list[tuple[int, int, int]]()
        self.qkv = linear_of(weights, *(f"{prefix}.{name}" for name in "qkv"))
        self.o = linear_of(weights, f"{prefix}.o")
        self.scale = config.head_size**-0.5

    def _parts(self, rows: Floats) -> tuple[Floats, Floats, Floats]:
        dim = self.config.dim
        return rows[:, :dim], rows[:, dim : 2 * dim], rows[:, 2 * dim :]

    def forward(self, x: Floats, tape: Tape) -> Floats:
        """Return the attention of rows (total, dim); the caller sets `runs`. Backward recomputes attention weights."""
        rows, runs, scale = self.qkv.forward(x, tape), self.runs, self.scale
        out = tape.empty(*x.shape)
        sums, (p, seed), texts = [], self.dropout.now(tape), 0
        for first, end, n in runs:
            lse = tape.empty((end - first) // n, self.config.n_heads, n)
            sums.append((texts, lse))
            grad_core.grad_attention(
                *self._parts(rows[first:end]), out[first:end], lse, scale=scale, causal=False, dropout=p, seed=seed,
                first_sequence=texts, threads=current_threads(),
            )  # fmt: skip
            texts += len(lse)

        def back(dout: Floats) -> Floats:
            d_rows = tape.empty(*rows.shape)
            for (first, end, _), (texts, lse) in zip(runs, sums, strict=True):
                grad_core.attention_back(
                    *self._parts(rows[first:end]), out[first:end], lse, dout[first:end],
                    *self._parts(d_rows[first:end]), scale=scale, causal=False, dropout=p, seed=seed,
                    first_sequence=texts, threads=current_threads(),
                )  # fmt: skip
            return d_rows

        tape.push(back)
        return self.o.forward(out, tape)


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
    """norm(word + position + type): the embedding of each token."""

    def __init__(self, weights: Parameters, config: EncoderConfig) -> None:
        self.config = config
        names = [name for name in ("word", "position", "type") if f"embeddings.{name}.weight" in weights]
        self.tables = [weights.joined(f"embeddings.{name}.weight") for name in names]
        self.norm = Norm(weights, "embeddings.norm", config.layers)

    def forward(self, texts: PackedTexts, tape: Tape) -> Floats:
        """Return rows (total, dim); ShapeError if a text is too long, IndexError if an id or type is out of range."""
        c = self.config
        longest = int(np.diff(texts.starts).max())
        if longest > c.max_length:
            raise ShapeError(f"a text has {longest} tokens; the model takes at most {c.max_length}")
        places = position_ids(texts.ids, texts.starts, position_offset=c.position_offset, padding_idx=c.padding_idx)
        if texts.type_ids is not None and not c.types:
            raise OptionError("this model has no token types; leave type_ids out")
        types = np.zeros_like(texts.ids) if texts.type_ids is None else texts.type_ids
        rows = (texts.ids, places, types)[: len(self.tables)]
        x, other = tape.empty(len(texts.ids), c.layers.dim), tape.empty(len(texts.ids), c.layers.dim)
        core.gather(self.tables[0][0], rows[0], x, threads=current_threads())
        for (table, _), ids in zip(self.tables[1:], rows[1:], strict=True):
            core.gather(table, ids, other, threads=current_threads())
            np.add(x, other, out=x)
        del other

        def back(dy: Floats) -> Floats:
            for (_, grad), ids in zip(self.tables, rows, strict=True):
                if grad is not None:
                    grad_core.scatter_add(dy, ids, grad, threads=current_threads())
            return dy

        tape.push(back)
        return self.norm.forward(x, tape)


class EncoderTrunk:
    """An encoder without a head, for models that add one. `parameters` may also hold other weights."""

    def __init__(
        self, parameters: Parameters, config: EncoderConfig, *, dropout: float = 0.0, attention_dropout: float = 0.0
    ) -> None:  # fmt: skip
        p, c = parameters, config.layers
        self.config = config
        self.dropouts = [Dropout(dropout) for _ in range(1 + 2 * c.n_layers)]
        self._embedding = PackedEmbedding(p, config)
        self._attentions = [
            PackedAttention(p, f"layers.{i}.attention", c, dropout=attention_dropout) for i in range(c.n_layers)
        ]
        self._layers = []
        for i, attention in enumerate(self._attentions):
            feed_forward = FeedForward(p, f"layers.{i}.feed_forward", c)
            first, second = self.dropouts[1 + 2 * i : 3 + 2 * i]
            self._layers.append(PostNorm((attention, first), Norm(p, f"layers.{i}.attention_norm", c)))
            self._layers.append(PostNorm((feed_forward, second), Norm(p, f"layers.{i}.feed_forward_norm", c)))
        self.dropouts += [attention.dropout for attention in self._attentions]

    def forward(self, texts: PackedTexts, tape: Tape) -> Floats:
        """Return the hidden states (total, dim) of texts, in the order of `texts`."""
        runs = texts.runs()
        for attention in self._attentions:
            attention.runs = runs
        x = self.dropouts[0].forward(self._embedding.forward(texts, tape), tape)
        for layer in self._layers:
            x = layer.forward(x, tape)
        return x


def loaded(shapes: Shapes, weights: Mapping[str, Floats] | None, seed: int, frozen: Sequence[str] = ()) -> Parameters:
    """Return parameters with these weights; missing ones are initialized with the seed (matrices at random)."""
    made = Parameters(shapes, frozen=frozen)
    there = weights or {}
    missing = {name: shape for name, shape in shapes.items() if name not in there}
    made.load({**there, **initial(missing, seed=as_int("seed", seed, minimum=0))})
    return made
