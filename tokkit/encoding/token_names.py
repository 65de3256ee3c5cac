"""The tokens of a vocabulary as text, each a str that is made once and shared by all encodings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from tokkit._core.lists import named
from tokkit.encoding.columns import as_text
from tokkit.vocab import Vocab

Spell = Callable[[int, bytes], str]
"""Returns a token as text, by its id and its bytes."""


class TokenNames:
    """Returns tokens as tokenizer.json has them; those of `varying` ids are their surfaces, unless these are empty.

    >>> TokenNames(Vocab.from_list([b"low", b"er"])).of(np.array([1, 0, 1], dtype=np.uint32))
    (['er', 'low', 'er'], [])
    """

    def __init__(self, vocab: Vocab, spell: Spell | None = None, varying: Collection[int] = ()) -> None:
        self._vocab, self._spell, self._varying = vocab, spell, varying
        self._names: list[str | None] = []
        self._mask: bytes | None = None

    def _start(self) -> None:
        n = self._vocab.n_ids
        if self._varying:
            mask = np.zeros(n, dtype=np.uint8)
            mask[[id_ for id_ in self._varying if id_ < n]] = 1
            self._mask = mask.tobytes()
        self._names = [None] * n

    def _make(self, id_: int) -> str:
        token = self._vocab[id_]
        return token.decode("utf-8", "replace") if self._spell is None else self._spell(id_, token)

    @property
    def table(self) -> tuple[list[str | None], Callable[[int], str], bytes | None]:
        """What the core makes tokens of: names, a function that makes one that is missing, a mask of `varying`."""
        if not self._names:
            self._start()
        return self._names, self._make, self._mask

    def of(self, ids: NDArray[np.uint32]) -> tuple[list[str], Sequence[int]]:
        """Return the tokens of ids, and the places of those that vary, whose surfaces are not looked at."""
        return named(ids, *self.table)

    def surfaced(self, ids: NDArray[np.uint32], surfaces: Callable[[], Sequence[bytes]]) -> list[str]:
        """Return the tokens of ids, those that vary from their surfaces."""
        names, varying = self.of(ids)
        for i in varying:
            names[i] = as_text([surfaces()[i]])[0] or names[i]
        return names
