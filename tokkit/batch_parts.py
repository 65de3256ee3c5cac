"""Many texts and what encodes some of them in, ids of all out: the parts of a batch, worked off by several threads."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokkit.threads import CHARACTERS_A_THREAD, together

if TYPE_CHECKING:
    from tokkit._core.text import Text

PART_TEXTS = 1 << 17
"""Characters of the texts that a thread takes at a time."""

Found = tuple[NDArray[np.uint32], NDArray[np.int64]]


def in_parts(texts: Sequence[Text], threads: int, encode: Callable[[list[Text]], Found]) -> Found:
    """Return the ids of all texts in one array, and the int64 offsets where each text's begin and end.

    `encode` gives the ids of some texts in one array and how many each has; up to `threads` threads call it.
    """
    texts = list(texts)
    ends = np.cumsum([_length(text, number) for number, text in enumerate(texts)], dtype=np.int64)
    size = int(ends[-1]) if len(ends) else 0
    threads = min(threads, 1 + size // CHARACTERS_A_THREAD)
    parts = [texts]
    if threads > 1:
        bounds = [0, *np.searchsorted(ends, np.arange(PART_TEXTS, size, PART_TEXTS)).tolist(), len(texts)]
        parts = [texts[a:b] for a, b in itertools.pairwise(bounds) if a < b]
    found: list[Found] = [_NOTHING] * len(parts)
    waiting = list(range(len(parts)))[::-1]

    def work() -> None:
        while waiting:
            try:
                number = waiting.pop()
            except IndexError:  # another thread was faster
                return
            found[number] = encode(parts[number])

    together(work, threads, waiting.clear)
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(np.concatenate([counts for _, counts in found]), out=offsets[1:])
    return found[0][0] if len(found) == 1 else np.concatenate([ids for ids, _ in found]), offsets


def _length(text: Text, number: int) -> int:
    if not isinstance(text, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"text {number} of the batch is {type(text).__name__}, not str or bytes")
    return len(text)


_NOTHING = np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.int64)
