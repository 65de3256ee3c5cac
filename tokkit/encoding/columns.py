"""The columns of an encoding: arrays with one row per token, and lists of bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
"""The columns that are arrays: (n,), or (n, 2) of start and end for the two kinds of offsets."""

LISTS = frozenset(["tokens", "token_bytes", "surfaces"])
"""The columns that are lists."""


def tokens_of(vocab: Vocab, ids: NDArray[np.uint32]) -> list[bytes]:
    """Return the bytes of the tokens of `ids`."""
    blob = vocab.blob
    starts, ends = vocab.offsets[ids].tolist(), vocab.offsets[ids.astype(np.int64) + 1].tolist()
    return [blob[a:b] for a, b in zip(starts, ends, strict=True)]


def as_text(tokens: Sequence[bytes]) -> list[str]:
    """Return tokens as text; invalid UTF-8 becomes U+FFFD."""
    return [token.decode("utf-8", "replace") for token in tokens]


def concatenate(name: str, columns: Sequence[Any]) -> Any:
    """Return columns concatenated to one."""
    if len(columns) == 1:
        return columns[0]
    if name in LISTS:
        return [token for column in columns for token in column]
    return np.concatenate(columns) if columns else empty(name)


def filled(n: int, value: int, dtype: Any) -> NDArray[Any]:
    """Return a column of n equal values, in half the time of np.full; most columns of a short text are constant."""
    if not value:
        return np.zeros(n, dtype=dtype)
    column: NDArray[Any] = np.empty(n, dtype=dtype)
    column.fill(value)
    return column


def empty(name: str) -> NDArray[Any]:
    """Return a column with no rows."""
    column: NDArray[Any] = np.empty(0, dtype=DTYPES[name])
    return column.reshape(0, 2) if "offsets" in name else column


def read_only(column: NDArray[Any]) -> NDArray[Any]:
    """Return the array, made read-only."""
    column.setflags(write=False)
    return column
