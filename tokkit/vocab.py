"""`Vocab`: an immutable two-way table of token bytes and ids, packed for the C core."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray

from tokkit import pickled
from tokkit._core.token_tables import TokenIndex
from tokkit.errors import VocabError

MAX_ID = (1 << 21) - 1
"""The highest id: the core packs a pair of ids and the id it merges to in 64 bits."""


class Vocab:
    """The tokens of a tokenizer, bytes ↔ id, including special tokens.

    `len(vocab)` is the number of tokens. Ids are in `range(vocab.n_ids)`, which may have gaps, as in tiktoken's
    vocabularies. One token may be empty: encoding never returns it, and it decodes to "" (`empty` is its id, else
    None). Immutable; threads can share it.

    The bytes are those of `Encoding.token_bytes`. `Encoding.tokens` has them as tokenizer.json spells them, byte-level
    BPE in symbols: "Ġthe" is b" the" here. A str as a key is its UTF-8, " the".

    >>> vocab = Vocab.from_mapping({b"a": 0, b"b": 1, b"ab": 5})
    >>> vocab[b"ab"], vocab[5], len(vocab), vocab.n_ids
    (5, b'ab', 3, 6)
    >>> 4 in vocab
    False
    """

    __slots__ = ("_index", "blob", "empty", "offsets")

    def __init__(self, blob: bytes, offsets: np.ndarray, empty: int | None = None) -> None:
        """Wrap packed tokens: token `i` is `blob[offsets[i]:offsets[i + 1]]`, empty if no token has the id `i`.

        `offsets` is an int64 array of shape (n_ids + 1,), ascending from 0 to len(blob). `empty` is the id of the token
        without bytes, if there is one.
        """
        offsets = np.array(offsets, dtype=np.int64)  # a copy: the caller may change the array after the check
        if empty is not None and empty >= len(offsets) - 1:
            offsets = np.append(offsets, np.full(empty + 2 - len(offsets), offsets[-1]))
        if (
            offsets.ndim != 1
            or len(offsets) == 0
            or offsets[0] != 0
            or offsets[-1] != len(blob)
            or np.any(np.diff(offsets) < 0)
        ):
            raise VocabError("offsets must be ascending, from 0 to the length of the token bytes")
        if empty is not None and offsets[empty] != offsets[empty + 1]:
            taken = blob[offsets[empty] : offsets[empty + 1]]
            raise VocabError(f"the empty token has the id {empty}, which belongs to {taken!r}")
        offsets.flags.writeable = False
        self.blob = blob
        self.empty = empty
        self.offsets = offsets
        self._index: TokenIndex | None = None

    @classmethod
    def from_list(cls, tokens: Iterable[bytes]) -> Vocab:
        """Give token number `i` the id `i`; an empty token leaves its id unused."""
        tokens = list(tokens)
        offsets = np.zeros(len(tokens) + 1, dtype=np.int64)
        np.cumsum([len(t) for t in tokens], out=offsets[1:])
        return cls(b"".join(tokens), offsets)

    @classmethod
    def from_mapping(cls, ids: Mapping[bytes, int]) -> Vocab:
        """Build from token bytes → id, of which one may be empty; two tokens with one id raise VocabError."""
        if not ids:
            return cls.from_list([])
        if min(ids.values()) < 0:
            raise VocabError(f"an id is {min(ids.values())}; ids start at 0")
        n_ids = max(ids.values()) + 1
        if n_ids > MAX_ID + 1:
            raise VocabError(f"an id is {n_ids - 1}; ids run up to {MAX_ID}")
        tokens = [b""] * n_ids
        empty = ids.get(b"")
        for token, id_ in ids.items():
            if tokens[id_] or (token and id_ == empty):
                raise VocabError(f"the tokens {tokens[id_]!r} and {token!r} both have the id {id_}")
            tokens[id_] = token
        made = cls.from_list(tokens)
        return made if empty is None else cls(made.blob, made.offsets, empty)

    def with_tokens(self, tokens: Mapping[int, bytes]) -> Vocab:
        """Return a vocabulary with `tokens` (id → bytes) added; VocabError if an id belongs to another token."""
        blob, old = self.blob, self.offsets
        n_ids = max([self.n_ids, *(id_ + 1 for id_ in tokens)])
        offsets = np.concatenate([old, np.full(n_ids - self.n_ids, old[-1], dtype=np.int64)])
        lengths = np.diff(offsets)
        parts, done = [], 0
        for id_, token in sorted(tokens.items()):
            taken = blob[offsets[id_] : offsets[id_ + 1]]
            if taken and taken != token:
                raise VocabError(f"the id {id_} of the special token {token.decode()!r} belongs to {taken!r}")
            lengths[id_] = len(token)
            parts += [blob[done : offsets[id_]], token]
            done = int(offsets[id_ + 1])
        parts.append(blob[done:])
        return Vocab(b"".join(parts), np.append(0, np.cumsum(lengths)), self.empty)

    def has_all(self, tokens: Iterable[tuple[int, bytes]]) -> bool:
        """Return whether each id has these bytes; much faster than one by one if there are many."""
        given = list(tokens)
        ids = np.fromiter((id_ for id_, _ in given), dtype=np.int64, count=len(given))
        if not len(ids) or ids.min() < 0 or ids.max() >= self.n_ids:
            return not len(ids)
        bounds = zip(self.offsets[ids].tolist(), self.offsets[ids + 1].tolist(), given, strict=True)
        blob = self.blob
        return all(blob[start:end] == token for start, end, (_, token) in bounds)

    def begins(self, other: Vocab) -> bool:
        """Return whether another vocabulary has the same tokens at the ids of this one."""
        same = self.n_ids <= other.n_ids and self.empty == other.empty
        return (
            same
            and np.array_equal(self.offsets, other.offsets[: len(self.offsets)])
            and other.blob.startswith(self.blob)
        )

    @property
    def n_ids(self) -> int:
        """The highest id plus one."""
        return len(self.offsets) - 1

    def __len__(self) -> int:
        return int(np.count_nonzero(np.diff(self.offsets))) + (self.empty is not None)

    def _token(self, id_: int) -> bytes:
        return self.blob[self.offsets[id_] : self.offsets[id_ + 1]]

    def _numbers(self) -> TokenIndex:
        # The first of equal tokens is found: if a special token repeats another token, the lower id is returned.
        if self._index is None:
            self._index = TokenIndex(self.blob, self.offsets)
        return self._index

    @property
    def first_repeated(self) -> int | None:
        """The first id whose token has the bytes of a lower id's; None if there is none."""
        return None if self._numbers().twice < 0 else self._numbers().twice

    @property
    def is_text(self) -> bool:
        """Whether each token is valid UTF-8."""
        starts = self.offsets[:-1][self.offsets[1:] > self.offsets[:-1]]
        try:
            self.blob.decode()
        except UnicodeDecodeError:
            return False
        return not np.any((np.frombuffer(self.blob, np.uint8)[starts] & 0xC0) == 0x80)

    @overload
    def __getitem__(self, key: int) -> bytes: ...
    @overload
    def __getitem__(self, key: bytes | str) -> int: ...
    def __getitem__(self, key: int | bytes | str) -> bytes | int:
        """Return the id of a token (bytes, or str as UTF-8), or the bytes of an id; VocabError if it is missing."""
        if isinstance(key, int) and not isinstance(key, bool):
            if key in self:
                return self._token(key)
            raise VocabError(f"no token has the id {key}; ids run from 0 to {self.n_ids - 1}")
        if isinstance(key, (bytes, str)):
            id_ = self.get(key)
            if id_ is None:
                raise VocabError(f"{key!r} is not in the vocabulary")
            return id_
        raise TypeError(f"the key is {type(key).__name__}; it must be a token (bytes or str) or an id (int)")

    def get(self, token: bytes | str, default: int | None = None) -> int | None:
        """Return the id of `token`, or `default` if it is not in the vocabulary."""
        if token in (b"", ""):
            return default if self.empty is None else self.empty
        id_ = self._numbers().find(token.encode("utf-8", "surrogatepass") if isinstance(token, str) else token)
        return default if id_ < 0 else id_

    def __contains__(self, key: object) -> bool:
        if isinstance(key, int) and not isinstance(key, bool):
            return 0 <= key < self.n_ids and (key == self.empty or bool(self.offsets[key] < self.offsets[key + 1]))
        return isinstance(key, (bytes, str)) and self.get(key) is not None

    def __iter__(self) -> Iterator[bytes]:
        """Yield the tokens in the order of their ids, without an empty one."""
        return (token for token, _ in self.items())

    def items(self) -> Iterator[tuple[bytes, int]]:
        """Yield (token, id) in the order of the ids, without an empty token."""
        blob = self.blob  # and the offsets as ints: indexing the array each time takes ten times as long
        bounds = enumerate(pairwise(self.offsets.tolist()))
        return ((blob[start:end], i) for i, (start, end) in bounds if start < end)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocab):
            return NotImplemented
        same = self.blob == other.blob and self.empty == other.empty
        return same and np.array_equal(self.offsets, other.offsets)

    def __hash__(self) -> int:
        return hash((self.blob, self.n_ids))

    def __reduce__(self) -> tuple[Callable[..., Vocab], tuple[int, bytes, np.ndarray, int | None]]:
        return _unpickled, (pickled.FORM, self.blob, self.offsets, self.empty)

    def __repr__(self) -> str:
        return f"<Vocab of {len(self)} tokens, ids 0 to {self.n_ids - 1}>"


def _unpickled(form: int, blob: bytes, offsets: NDArray[np.int64], empty: int | None) -> Vocab:
    pickled.check(form)
    return Vocab(blob, offsets, empty)
