"""Attention with a backward pass over packed texts: rotary positions, windows, norms of heads, biases by distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokkit._core.grad import attention_back as grad_core
from tokkit._core.nn import rows as core
from tokkit.nn.arrays import Floats, current_threads
from tokkit.nn.config import TransformerConfig
from tokkit.nn.grad.layers import Dropout, Norm, linear_of
from tokkit.nn.grad.parameters import Parameters
from tokkit.nn.grad.tape import Tape
from tokkit.nn.positions import relative_buckets
from tokkit.nn.rope import Rope, RopeConfig

Run = tuple[int, int, int]
"""Adjacent texts of equal length: the first row, the row after the last, the tokens of each text."""
PAST = 31
"""Entries of a table by distance after the largest distance: the kernels read whole blocks of queries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionOptions:
    """What differs between the layers of a model, beside its `TransformerConfig`.

    A query sees `window` tokens on each side, itself included (None: all); `rope` are the rotary positions, and with
    `qk_norm` each head of queries and keys has a norm.
    """

    window: int | None = None
    rope: RopeConfig | None = None
    qk_norm: bool = False


class DistanceBias:
    """T5's bias of scores by the bucket of their distance, which all layers share: relative.weight (buckets, heads)."""

    def __init__(self, weights: Parameters, config: TransformerConfig) -> None:
        self._table, self._grad = weights.joined("relative.weight")
        self._config = config

    @property
    def is_trained(self) -> bool:
        """Whether the weights of the bias have gradients."""
        return self._grad is not None

    def _buckets(self, n: int) -> NDArray[np.int64]:
        c = self._config
        return relative_buckets(
            np.arange(n - 1, -n - PAST, -1), n_buckets=c.relative_buckets, max_distance=c.relative_distance,
            bidirectional=not c.causal,
        )  # fmt: skip

    def by_distance(self, n: int) -> Floats:
        """Return the bias (heads, distances) for texts of n tokens: for a query d tokens after its key at n - 1 + d."""
        return np.ascontiguousarray(self._table[self._buckets(n)].T)

    def add_gradients(self, d_by_distance: Floats, n: int) -> None:
        """Add the gradients (texts, heads, distances) of `by_distance` to those of the weights."""
        if self._grad is not None:
            np.add.at(self._grad, self._buckets(n), d_by_distance.sum(axis=0).T)


class Turn:
    """RoPE of heads; layers with the same rope share one, whose angles are computed once for each batch."""

    def __init__(self, rope: RopeConfig) -> None:
        self._rope = Rope(rope)
        self._runs: list[Run] | None = None
        self._angles: tuple[Floats, Floats, Floats] | None = None

    def __call__(self, heads: Floats, runs: list[Run], *, back: bool) -> None:
        """Turn heads (total, heads, size) by the places of tokens in their texts, in place; with `back`, turn back."""
        if self._angles is None or self._runs is not runs:
            found = [self._rope.angles(np.arange(n), length=n) for _, _, n in runs]
            if len(runs) > 1:  # one table for all tokens, as texts have several lengths
                texts = [(end - first) // n for first, end, n in runs]
                tiled = [[np.tile(pair[i], (k, 1)) for pair, k in zip(found, texts, strict=True)] for i in (0, 1)]
                found = [(np.concatenate(tiled[0]), np.concatenate(tiled[1]))]
            self._angles, self._runs = (*found[0], -found[0][1]), runs
        rows = len(self._angles[0])
        by_text = heads.reshape(-1, rows, *heads.shape[1:]).transpose(0, 2, 1, 3)
        shape = (*by_text.shape[:3], self._angles[0].shape[-1])
        cosines, sines = (np.broadcast_to(self._angles[part], shape) for part in (0, 2 if back else 1))
        core.rotate(
            by_text, by_text, cosines, sines, pairs=self._rope.config.interleaved, threads=current_threads()
        )  # fmt: skip


class SelfAttention:
    """Attention of each token to the tokens of its text; q, k and v are one matrix product.

    The caller sets `runs`. Backward recomputes the attention weights block by block.
    """

    def __init__(
        self, weights: Parameters, prefix: str, config: TransformerConfig, *, options: AttentionOptions | None = None,
        bias: DistanceBias | None = None, turns: dict[RopeConfig, Turn] | None = None, dropout: float = 0.0,
    ) -> None:  # fmt: skip
        told = AttentionOptions(rope=config.rope) if options is None else options
        self.config, self.runs = config, list[Run]()
        self.dropout = Dropout(dropout, "attention_dropout")
        self.qkv = linear_of(weights, *(f"{prefix}.{name}" for name in "qkv"))
        self.o = linear_of(weights, f"{prefix}.o")
        self.scale = config.head_size**-0.5 if config.scale is None else config.scale
        self._turns: Turn | None = None
        if told.rope is not None:
            self._turns = ({} if turns is None else turns).setdefault(told.rope, Turn(told.rope))
        # The norms lie beside the attention: layers.0.q_norm, layers.0.attention.q.
        layer = prefix.rpartition(".")[0]
        self._norms = [Norm(weights, f"{layer}.{name}", config) for name in ("q_norm", "k_norm") if told.qk_norm]
        self._bias = bias
        self._reach = -1 if told.window is None else told.window - 1

    def _parts(self, rows: Floats) -> tuple[Floats, Floats, Floats]:
        q = self.config.n_heads * self.config.head_size
        kv = self.config.kv_heads * self.config.head_size
        return rows[:, :q], rows[:, q : q + kv], rows[:, q + kv :]

    def _turn(self, rows: Floats, *, back: bool) -> None:
        """Apply RoPE to queries and keys in place; with `back`, apply the inverse rotation."""
        if self._turns is not None:
            c = self.config
            heads = rows.reshape(len(rows), c.n_heads + 2 * c.kv_heads, c.head_size)
            self._turns(heads[:, : c.n_heads + c.kv_heads], self.runs, back=back)

    def _normed(self, rows: Floats, tape: Tape) -> None:
        """Apply the norms to the heads of queries and keys in place; backward needs the heads before."""
        if not self._norms:
            return
        size, kept = self.config.head_size, []
        for norm, part in zip(self._norms, self._parts(rows), strict=False):
            heads = tape.empty(part.size // size, size)
            heads.reshape(part.shape)[...] = part
            part[...] = norm.run(heads, tape).reshape(part.shape)
            kept.append(heads)

        def back(d_rows: Floats) -> Floats:
            for norm, part, heads in zip(self._norms, self._parts(d_rows), kept, strict=False):
                slopes = tape.empty(*heads.shape)
                slopes.reshape(part.shape)[...] = part
                part[...] = norm.back(slopes, heads, tape).reshape(part.shape)
            return d_rows

        tape.push(back)

    def forward(self, x: Floats, tape: Tape) -> Floats:
        """Return the attention of rows (total, dim)."""
        rows, runs, scale, bias = self.qkv.forward(x, tape), self.runs, self.scale, self._bias
        causal, reach = self.config.causal, self._reach
        self._normed(rows, tape)
        self._turn(rows, back=False)
        out = tape.empty(len(x), self.config.n_heads * self.config.head_size)
        kept_rows = tape.keep(rows, in_place=True)
        sums, (p, seed), texts = [], self.dropout.now(tape), 0
        for first, end, n in runs:
            lse = tape.empty((end - first) // n, self.config.n_heads, n)
            by_distance = None if bias is None else bias.by_distance(n)
            sums.append((texts, lse, by_distance))
            grad_core.grad_attention(
                *self._parts(rows[first:end]), out[first:end], lse, scale=scale, causal=causal, before=reach,
                after=reach, by_distance=by_distance, zero=n - 1, dropout=p, seed=seed, first_sequence=texts,
                threads=current_threads(),
            )  # fmt: skip
            texts += len(lse)
        kept_out = tape.keep(out)

        def back(dy: Floats) -> Floats:
            rows, out, dout = kept_rows(), kept_out(), self.o.input_gradient(dy, tape)
            self.o.add_gradients(dy, out, tape)
            d_rows = tape.empty(*rows.shape)
            for (first, end, n), (texts, lse, by_distance) in zip(runs, sums, strict=True):
                d_by_distance = None
                if by_distance is not None and bias is not None and bias.is_trained:
                    d_by_distance = np.zeros((len(lse), *by_distance.shape), dtype=np.float32)
                grad_core.attention_back(
                    *self._parts(rows[first:end]), out[first:end], lse, dout[first:end],
                    *self._parts(d_rows[first:end]), scale=scale, causal=causal, before=reach, after=reach,
                    by_distance=by_distance, zero=n - 1, d_by_distance=d_by_distance, dropout=p, seed=seed,
                    first_sequence=texts, threads=current_threads(),
                )  # fmt: skip
                if d_by_distance is not None and bias is not None:
                    bias.add_gradients(d_by_distance, n)
            self._turn(d_rows, back=True)
            return d_rows

        tape.push(back)
        return self.o.run(out, tape)
