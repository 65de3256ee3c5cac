"""What engines do with whole texts where the core takes parts: ids around each, and blocks that are not cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tokkit.engine.engine import Engine
    from tokkit.engine.special_tokens import Special


def framed(
    ids: NDArray[Any], offsets: NDArray[np.int64], before: int | None, after: int | None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the ids of texts and their offsets, with an id before and after each text (None: without it)."""
    n_marks = (before is not None) + (after is not None)
    moved = offsets + n_marks * np.arange(len(offsets))
    made = np.empty(len(ids) + n_marks * (len(offsets) - 1), dtype=ids.dtype)
    is_text = np.ones(len(made), dtype=bool)
    for mark, places in ((before, moved[:-1]), (after, moved[1:] - 1)):
        if mark is not None:
            is_text[places] = False
            made[places] = mark
    made[is_text] = ids
    return made, moved


class WholeEncoder:
    """The interface of BlockEncoder for engines that cannot cut texts into blocks: each block is a whole text."""

    def __init__(self, engine: Engine, special: Special, narrow: bool) -> None:
        self._engine, self._special, self._dtype = engine, special, np.uint16 if narrow else np.uint32

    def encode(self, text: bytearray, n: int, continues: bool = False, goes_on: bool = False) -> NDArray[Any]:
        """Return the ids of text[:n]."""
        utf8 = bytes(memoryview(text)[:n])
        try:
            utf8.decode()
        except UnicodeDecodeError as error:
            raise ValueError("not UTF-8", error.start) from None
        return self._engine.encode_array(utf8, self._special).astype(self._dtype)

    def close(self) -> None:
        """Do nothing, because there is no thread's cache to release."""
