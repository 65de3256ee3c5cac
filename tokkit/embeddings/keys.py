"""The keys of vectors: a list and a dict, which for a saved file are created on first use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tokkit._core.embed.vector_file import PackedKeys

Key = str | int
"""A key is text or an int; an int that is not a key is a row."""
KEY_TYPES = (str, int, np.integer)


class Keys:
    """Row → key and key → row.

    The keys of a file stay as bytes with a hash table in C, so that loading and look-up create no strings.
    """

    def __init__(self, count: int) -> None:
        self._packed: PackedKeys | None = None
        self._list: list[Any] = [None] * count
        self._rows: dict[Any, int] = {}

    def _hold(self, keys: PackedKeys | Sequence[Any], rows: dict[Any, int] | None = None) -> None:
        """Set the keys; `rows` is key → row, if known."""
        if isinstance(keys, PackedKeys):
            self._packed = keys
            return
        self._packed, self._list = None, list(keys)
        self._rows = dict(zip(self._list, range(len(keys)), strict=True)) if rows is None else rows

    def _unpack(self) -> None:
        packed = self._packed
        if packed is not None:
            self._list, self._rows = packed.unpacked()
            self._packed = None

    @property
    def index_to_key(self) -> list[Any]:
        """The keys in the order of their rows. After `load` the first use creates this list and `key_to_index`."""
        self._unpack()
        return self._list

    @index_to_key.setter
    def index_to_key(self, keys: list[Any]) -> None:
        self._unpack()
        self._list = keys

    @property
    def key_to_index(self) -> dict[Any, int]:
        """Key → row. After `load` the first use creates this dict and `index_to_key`."""
        self._unpack()
        return self._rows

    @key_to_index.setter
    def key_to_index(self, rows: dict[Any, int]) -> None:
        self._unpack()
        self._rows = rows

    def __len__(self) -> int:
        return len(self._list if self._packed is None else self._packed)

    def _key(self, row: int) -> Any:
        """Return the key of a row."""
        return (self._list if self._packed is None else self._packed)[row]

    def _row(self, key: Any) -> int:
        """Return the row of a key, or -1."""
        packed = self._packed
        return self._rows.get(key, -1) if packed is None else packed.find(key)
