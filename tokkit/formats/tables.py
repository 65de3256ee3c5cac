"""Packs the tokens and merges of a file into tables that C code can search and compare as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tokkit._core import files
from tokkit._core.lines import pack_strings
from tokkit._core.token_tables import TokenIndex, gather
from tokkit.errors import FormatError
from tokkit.files import strict_json

Packed = tuple[bytes, NDArray[np.int64]]
"""Tokens: number i is `blob[offsets[i]:offsets[i + 1]]`."""


@dataclass(frozen=True, slots=True, eq=False)
class Merges:
    """Merges as two strings each: left, `between` and right, with a zero byte between two merges. UTF-8."""

    text: bytes
    between: int
    n: int

    @classmethod
    def of(cls, listed: Sequence[Any]) -> Merges | None:
        """Pack a list of "left right" strings or of pairs; None for a mixture, or for items that are not text."""
        types = set(map(type, listed))
        spaced = types == {str}
        if not spaced and not (types <= {tuple, list} and set(map(len, listed)) <= {2}):
            return None
        strings: Iterable[Any] = listed if spaced else chain.from_iterable(listed)
        try:
            text = "\0".join(strings).encode()
        except (TypeError, UnicodeEncodeError):
            return None
        whole = not listed or text.count(0) == (1 if spaced else 2) * len(listed) - 1
        return cls(text, ord(" ") if spaced else 0, len(listed)) if whole else None


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A vocabulary in the order of its file: distinct tokens, distinct ids, and scores if it has any.

    Numbers of tokens are positions in that order. `ids` is int64 and `scores` float64, both of shape (n,); `is_text` is
    False if a token has a lone surrogate, which is encoded in its bytes like a character.
    """

    blob: bytes
    offsets: NDArray[np.int64]
    ids: NDArray[np.int64]
    scores: NDArray[np.float64] | None = None
    is_text: bool = True
    _index: TokenIndex | None = field(default=None, init=False)

    @property
    def index(self) -> TokenIndex:
        """The numbers of the tokens by their bytes, made when it is first needed."""
        if self._index is None:
            object.__setattr__(self, "_index", TokenIndex(self.blob, self.offsets))
        return cast("TokenIndex", self._index)

    @classmethod
    def by_number(cls, tokens: Packed, ids: NDArray[np.int64], scores: NDArray[np.float64] | None = None) -> Table:
        """Return the tokens with these ids as numbers, in the order of the ids."""
        blob, offsets = tokens
        if len(ids) != len(offsets) - 1 or np.any(ids != np.arange(len(ids))):
            blob, offsets = gather(blob, offsets, ids)
        return cls(blob, offsets, ids, scores)

    def sorted(self) -> Table:
        """Return the table in the order of its ids."""
        if np.all(self.ids[1:] >= self.ids[:-1]):
            return self
        order = np.argsort(self.ids, kind="stable")
        scores = None if self.scores is None else self.scores[order]
        return Table(*gather(self.blob, self.offsets, order), self.ids[order], scores, self.is_text)

    @classmethod
    def of(cls, ids: Mapping[str, int], scores: Sequence[float] | None = None) -> Table:
        """Pack tokens whose ids have been checked."""
        numbers = np.fromiter(ids.values(), dtype=np.int64, count=len(ids))
        return cls._packed(list(ids), numbers, None if scores is None else np.array(scores, dtype=np.float64))

    @classmethod
    def of_scores(cls, scored: Sequence[Sequence[Any]]) -> Table:
        """Pack tokens with their scores, as in the file of a Unigram model; they need not be distinct."""
        scores = np.fromiter((score for _, score in scored), dtype=np.float64, count=len(scored))
        return cls._packed([token for token, _ in scored], np.arange(len(scored)), scores)

    @classmethod
    def _packed(cls, tokens: list[str], ids: NDArray[np.int64], scores: NDArray[np.float64] | None) -> Table:
        blob, offsets, is_text = pack_strings(tokens)
        return cls(blob, offsets, ids, scores, is_text)

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, token: str) -> int:
        """Return the number of a token, or -1."""
        index = self._index or self.index
        return index.find(token.encode("utf-8", "surrogatepass"))

    def get(self, token: str, default: int) -> int:
        """Return the id of a token, or `default`."""
        number = self.find(token)
        return default if number < 0 else int(self.ids[number])

    def as_dict(self, most: int | None = None) -> dict[str, int]:
        """Return token → id in the file's order, of at most `most` tokens."""
        bounds = pairwise(self.offsets[: None if most is None else most + 1].tolist())
        tokens = [self.blob[a:b].decode("utf-8", "surrogatepass") for a, b in bounds]
        return dict(zip(tokens, self.ids[:most].tolist(), strict=True))

    @property
    def empty(self) -> int | None:
        """The id of a token without text, None if there is none."""
        found = self.ids[np.flatnonzero(np.diff(self.offsets) == 0)]
        return int(found[0]) if len(found) else None

    def without(self, tokens: Iterable[str]) -> Table:
        """Return a table of the other tokens."""
        left_out = set(tokens)
        return Table.of({token: id_ for token, id_ in self.as_dict().items() if token not in left_out})

    def by_id(self, *, without: Iterable[str] = ()) -> tuple[Packed, NDArray[np.int64]]:
        """Return the tokens in the order of their ids, and the ids, without some tokens and without an empty one."""
        left_out = [number for number in map(self.find, without) if number >= 0]
        left_out += np.flatnonzero(np.diff(self.offsets) == 0).tolist()
        if not left_out and np.all(self.ids[1:] > self.ids[:-1]):
            return (self.blob, self.offsets), self.ids
        number_of = np.full(self.ids.max(initial=-1) + 1, -1, dtype=np.int64)
        number_of[self.ids] = np.arange(len(self))
        number_of[self.ids[left_out]] = -1
        numbers = number_of[number_of >= 0]
        return gather(self.blob, self.offsets, numbers), self.ids[numbers]

    def find_merges(self, merges: Merges | None, *, n_prefix: int = 0) -> NDArray[np.uint32] | None:
        """Return the ids of left, right and result, uint32 (n, 3); None if a merge is not of two tokens into one.

        The result is the two joined, the right one without `n_prefix` bytes. For `merges` None, None is returned.
        """
        if merges is None:
            return None
        found = self.index.find_merges(merges.text, merges.between, n_prefix, merges.n)
        return None if found is None else self.ids.astype(np.uint32)[found]


def spread(offsets: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the offsets by id for tokens sorted by id: an id without a token gets no bytes."""
    if not len(ids) or ids[-1] == len(ids) - 1:
        return offsets
    made = np.zeros(int(ids[-1]) + 2, dtype=np.int64)
    made[ids + 1] = np.diff(offsets)
    return np.cumsum(made, out=made)


def loads(data: bytes) -> Any:
    """Parse a tokenizer.json as `strict_json.loads` does, but with the model's tables as Table and Merges.

    None if these are missing or unusual in any way; then only `strict_json.loads` can report what is wrong. FormatError
    for errors elsewhere, with a position that is not the one in the file.
    """
    found = files.find_tables(data)
    if found is None or found == (None, None):
        return None
    parts, done = [], 0
    for table in sorted((table for table in found if table is not None), key=lambda table: table[0]):
        parts += [data[done : table[0]], b"null"]
        done = table[1]
    value = strict_json.loads(b"".join([*parts, data[done:]]))
    vocab, merges = found
    if vocab is not None:
        _, _, blob, offsets, ids, scores = vocab
        made = Table(blob, offsets, np.arange(len(offsets) - 1) if ids is None else ids, scores)
        if made.index.twice >= 0 or np.count_nonzero(np.diff(offsets) == 0) > 1:  # the index has no empty tokens
            return None
        value["model"]["vocab"] = made
    if merges is not None:
        value["model"]["merges"] = Merges(*merges[2:])
    return value


def listed(value: object, path: str) -> list[Any]:
    """Return a list; FormatError for other values, and for packed merges, because only the list can show the error."""
    if isinstance(value, Merges):
        raise FormatError(f"{path}: something is wrong; parse the list to find out")
    made: list[Any] = strict_json.typed(value, path, list)
    return made
