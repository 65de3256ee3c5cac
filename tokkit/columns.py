"""Columns of encodings in, one a token or in runs; joined, grown or as arrays out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tokkit.vocab import Vocab

DTYPES: dict[str, np.dtype[Any]] = {
    "ids": np.dtype(np.uint32),
    "type_ids": np.dtype(np.uint32),
    "attention_mask": np.dtype(np.uint8),
    "special_tokens_mask": np.dtype(np.uint8),
    "word_ids": np.dtype(np.int32),
    "offsets": np.dtype(np.int64),
    "byte_offsets": np.dtype(np.int64),
}
"""The columns that are arrays: (n,), and (n, 2) of start and end for the two kinds of offsets."""
FLAGS = frozenset(("type_ids", "attention_mask", "special_tokens_mask"))
"""Those of them that are often `Runs`."""


class Runs:
    """A column of a few numbers that stay the same for many rows: (number, how many rows) in turn."""

    __slots__ = ("runs",)

    def __init__(self, *runs: tuple[int, int]) -> None:
        self.runs = runs

    @classmethod
    def joined(cls, parts: Iterable[Runs]) -> Runs:
        """Return columns as one, in turn."""
        return cls(*[run for part in parts for run in part.runs])

    def to_list(self) -> list[int]:
        """Return all rows.

        >>> Runs((0, 1), (7, 2)).to_list()
        [0, 7, 7]
        """
        made: list[int] = []
        for number, count in self.runs:
            made += [number] * count
        return made

    def to_array(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return all rows as an array."""
        made, at = np.empty(sum(count for _, count in self.runs), dtype=dtype), 0
        for number, count in self.runs:
            made[at : at + count] = number
            at += count
        return made


class HasColumns(Protocol):
    """What has a column by its name: see `Encoding`."""

    def column(self, name: str) -> Any:
        """Return an array or a list of one entry a token."""

    def raw(self, name: str) -> Any:
        """Return the same, or `Runs`."""


def tokens_of(vocab: Vocab, ids: NDArray[np.uint32]) -> list[bytes]:
    """Return the bytes of the tokens of `ids`."""
    blob = vocab.blob
    starts, ends = vocab.offsets[ids].tolist(), vocab.offsets[ids.astype(np.int64) + 1].tolist()
    return [blob[a:b] for a, b in zip(starts, ends, strict=True)]


def together(name: str, parts: Sequence[HasColumns]) -> Any:
    """Return a column of each part, joined."""
    columns = [part.raw(name) for part in parts]
    if name in ("tokens", "covered"):
        return [token for column in columns for token in column]
    if name in FLAGS:
        if all(isinstance(column, Runs) for column in columns):
            return Runs.joined(columns)
        columns = [part.column(name) for part in parts]
    return np.concatenate(columns) if columns else empty(name)


def grown(name: str, parts: Sequence[HasColumns]) -> NDArray[np.int64]:
    """Return the spans of each part, moved to where the last span of those before it ends."""
    columns, end = [empty(name)], 0
    for part in parts:
        spans = part.column(name) + end
        columns.append(spans)
        end = int(spans[-1, 1]) if len(spans) else end
    return np.concatenate(columns)


def empty(name: str) -> NDArray[Any]:
    """Return a column of no tokens."""
    column: NDArray[Any] = np.empty(0, dtype=DTYPES[name])
    return column.reshape(0, 2) if "offsets" in name else column


def read_only(column: NDArray[Any]) -> NDArray[Any]:
    """Return a view that nobody can write through."""
    column = column.view()
    column.flags.writeable = False
    return column
