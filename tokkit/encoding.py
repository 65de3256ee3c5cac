"""A text's ids and where they come from in, `Encoding` out: what calling a tokenizer returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Encoding:
    """The tokens of one text, aligned with it.

    `ids` and `tokens` have one entry a token; `offsets` are (start, end) in characters of the original text,
    `byte_offsets` the same in bytes of its UTF-8. The tokens of one split character share its span.
    """

    ids: list[int]
    tokens: list[bytes]
    offsets: list[tuple[int, int]]
    byte_offsets: list[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def type_ids(self) -> list[int]:
        """0 for each token: there is one sequence."""
        return [0] * len(self.ids)

    @property
    def attention_mask(self) -> list[int]:
        """1 for each token: there is no padding."""
        return [1] * len(self.ids)


def characters_of(utf8: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn byte spans of UTF-8 text into character spans, shape (n, 2): all characters a span touches."""
    data = np.frombuffer(utf8, dtype=np.uint8)
    character = np.cumsum((data & 0xC0) != 0x80) - 1
    out = np.zeros((len(starts), 2), dtype=np.int64)
    filled = ends > starts
    out[filled, 0] = character[starts[filled]]
    out[filled, 1] = character[ends[filled] - 1] + 1
    return out


def code_units(text: str) -> NDArray[np.int64]:
    """Return where each character that the core reads starts in `text`, and its length at the end.

    They differ from 0, 1, 2, … only where a str holds surrogate pairs, which the core reads as one character.
    """
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    high = (points & 0xFFFFFC00) == 0xD800
    low = (points & 0xFFFFFC00) == 0xDC00
    second = np.zeros(len(points), dtype=bool)
    second[1:] = high[:-1] & low[1:]
    return np.append(np.flatnonzero(~second), len(points))
