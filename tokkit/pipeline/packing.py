"""Encodes texts for a model: adds special tokens, truncates long texts, and packs sequences without padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import OptionError
from tokkit.postprocessors.layout import Added
from tokkit.postprocessors.plain import Plain

if TYPE_CHECKING:
    from tokkit._core.text import Text
    from tokkit.engine.special_tokens import Special
    from tokkit.tokenizer import Tokenizer


class Packed(NamedTuple):
    """Text i has ids[starts[i]:starts[i + 1]], int64, and the same type_ids (None: all 0).

    Lengths are before truncation.
    """

    ids: NDArray[np.int64]
    starts: NDArray[np.int64]
    type_ids: NDArray[np.int64] | None
    lengths: NDArray[np.int64]


class Packer:
    """Encodes texts to packed ids, at most `max_length` tokens per text, special tokens included.

    Truncation and padding in the tokenizer's file are ignored, because sentence models state their own.
    """

    def __init__(self, tokenizer: Tokenizer, max_length: int, *, left: bool = False) -> None:
        self._tokenizer, self.max_length, self._left = tokenizer, max_length, left
        self._parts = (tokenizer.definition.postprocessor or Plain()).layout().parts
        self.n_added = sum(len(part.ids) for part in self._parts if isinstance(part, Added))
        if max_length <= self.n_added:
            raise OptionError(
                f"max_length is {max_length}; it must be more than the {self.n_added} special tokens of each text"
            )
        self._types = np.array([part.type_id for part in self._parts], dtype=np.int64)

    def __call__(self, texts: Sequence[Text], *, special: Special, threads: int) -> Packed:
        """Return the ids of the texts."""
        return self.pack(*self._tokenizer.encode_batch(texts, special=special, threads=threads))

    def pack(self, ids: NDArray[Any], offsets: NDArray[np.int64]) -> Packed:
        """Return ids with special tokens added; those of text i are ids[offsets[i]:offsets[i + 1]]."""
        n, whole = len(offsets) - 1, np.diff(offsets)
        kept = np.minimum(whole, self.max_length - self.n_added)
        starts = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(kept + self.n_added, out=starts[1:])
        made = np.empty(int(starts[-1]), dtype=np.int64)
        types = np.zeros_like(made) if self._types.any() else None
        at = starts[:-1].copy()
        for part in self._parts:
            if isinstance(part, Added):
                places = (at[:, None] + np.arange(len(part.ids))).ravel()
                made[places] = np.tile(np.array(part.ids, dtype=np.int64), n)
                at += len(part.ids)
            else:
                ends = np.cumsum(kept)
                inside = np.arange(int(kept.sum())) - np.repeat(ends - kept, kept)
                places = np.repeat(at, kept) + inside
                first = offsets[:-1] + (whole - kept if self._left else 0)
                made[places] = ids[np.repeat(first, kept) + inside]
                at += kept
            if types is not None and part.type_id:
                types[places] = part.type_id
        return Packed(made, starts, types, whole + self.n_added)

    def n_prompt(self, prompt: str, *, special: Special) -> int:
        """Return how many tokens of a packed text belong to its prompt, including special tokens before it."""
        before = 0
        for part in self._parts:
            if not isinstance(part, Added):
                break
            before += len(part.ids)
        return before + self._tokenizer.count(prompt, special=special)
