"""Poolings of hidden states with a backward pass: the states of packed texts → one vector per text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import OptionError
from tokkit.nn.arrays import Floats
from tokkit.nn.grad.encoder import PackedTexts
from tokkit.nn.grad.layers import taken_rows
from tokkit.nn.grad.tape import Tape

POOLINGS = ("cls", "mean", "last")


def checked_pooling(pooling: str) -> str:
    """Return the pooling; OptionError if it is unknown."""
    if pooling not in POOLINGS:
        raise OptionError(f"pooling is {pooling!r}; it must be one of {', '.join(POOLINGS)}")
    return pooling


def pooled(x: Floats, texts: PackedTexts, pooling: str, tape: Tape, *, padding_id: int | None = None) -> Floats:
    """Return the vectors (n, dim) of texts, in the order of `texts`, from their states x (total, dim).

    "cls" is the state of the first token, "mean" the mean, "last" the state of the last token that is not `padding_id`.
    """
    if pooling == "cls":
        return taken_rows(x, texts.starts[:-1], tape)
    if pooling == "last":
        return taken_rows(x, _last(texts, padding_id), tape)
    shape, spans = x.shape, [slice(a, b) for a, b in zip(texts.starts[:-1], texts.starts[1:], strict=True)]
    made = tape.empty(len(spans), shape[1])
    for row, span in zip(made, spans, strict=True):
        np.add.reduce(x[span], axis=0, out=row)
        row /= np.float32(span.stop - span.start)

    def back(dy: Floats) -> Floats:
        dx = tape.empty(*shape)
        for row, span in zip(dy, spans, strict=True):
            dx[span] = row / np.float32(span.stop - span.start)
        return dx

    tape.push(back)
    return made


def _last(texts: PackedTexts, padding_id: int | None) -> NDArray[np.int64]:
    rows = texts.starts[1:] - 1
    if padding_id is None:
        return rows
    there = np.maximum.accumulate(np.where(texts.ids == padding_id, -1, np.arange(len(texts.ids))))
    return np.maximum(there[rows], texts.starts[:-1])
