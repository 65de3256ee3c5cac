"""`Encoding`: the result of calling a tokenizer: ids, and where in the text they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from tokkit import pickled
from tokkit._core.lists import ints, numbers, pairs
from tokkit._core.text import to_utf8
from tokkit.encoding.alignment import Aligned, Ranges, character_spans, index_of
from tokkit.encoding.columns import DTYPES, LISTS, as_text, concatenate, empty, filled, read_only, tokens_of
from tokkit.encoding.length_rules import check_padded, checked_direction, windows
from tokkit.encoding.token_names import TokenNames
from tokkit.errors import OptionError
from tokkit.vocab import Vocab

Direction = Literal["left", "right"]
Maker = Callable[[str], Any]
"""Computes a column by its name: an array with one row per token, or a list of bytes.

One that has a method `list` returns by it the list of a column, or None if it is to be made from the array.
"""


class Encoding(Aligned):
    """The tokens of one text or a pair of texts, aligned with them. Immutable.

    Each column has one entry per token: `ids`; `tokens`, as in tokenizer.json (byte-level BPE in symbols, "Ġthe"; for
    an unknown piece its text), and `token_bytes`, as in the vocabulary; `offsets`, (start, end) in characters of the
    original text, and `byte_offsets` in bytes of its UTF-8; `type_ids`; `word_ids`, the number of the pretoken;
    `sequence_ids`, 0 for the text and 1 for its pair; `attention_mask`, 0 for padding; `special_tokens_mask`, 1 for
    tokens that were added. A token without a word or sequence has None there. Tokens that share a character all have
    its span. `overflowing` are the parts that truncation cut off. The keys of `tok.vocab` are `token_bytes` (b" the").

    Columns are computed at first use, as arrays (see `as_arrays`), from which the lists are made.

    >>> vocab = Vocab.from_list([b"low", b"er"])
    >>> encoding = Encoding(np.array([0, 1], dtype=np.uint32), np.array([[0, 3], [3, 5]]), None, vocab, "lower")
    >>> encoding.tokens, encoding.offsets, encoding.char_to_token(4)
    (['low', 'er'], [(0, 3), (3, 5)], 1)
    """

    __slots__ = ("_columns", "_lists", "_make", "_overflow")
    __hash__ = None  # type: ignore[assignment]  # equal by content, as lists are

    def __init__(
        self,
        ids: NDArray[np.uint32],
        spans: NDArray[np.int64],
        words: NDArray[np.int32] | Callable[[], NDArray[np.int32]] | None,
        vocab: Vocab,
        text: str | bytes,
        utf8: bytes | None = None,
        surfaces: Callable[[], list[bytes] | None] | None = None,
        names: TokenNames | None = None,
    ) -> None:
        """Make an encoding from a model's output for one text.

        The arrays are not copied: do not change them afterwards. `ids` has shape (n,); `spans` (n, 2), in bytes of the
        text's UTF-8; `words` (n,), with -1 for a token without a word (None: no token has one), or a function that
        computes them. `text` is the original, str or UTF-8; `utf8` its `to_utf8`, if it is known. `surfaces` computes
        the text of each token as the model saw it (None: the original text). `names` has `tokens` (None: UTF-8).
        """
        n = len(ids)
        words_shape = words.shape if isinstance(words, np.ndarray) else (n,)
        if spans.shape != (n, 2) or words_shape != (n,):
            shapes = f"{spans.shape} and {words_shape}"
            raise OptionError(f"{n} ids need spans of shape ({n}, 2) and words of shape ({n},), not {shapes}")

        def make(name: str) -> Any:
            if name == "token_bytes":
                return tokens_of(vocab, ids)
            if name == "tokens":
                if names is None:
                    return as_text(self.column("token_bytes"))
                return names.surfaced(ids, lambda: self.column("surfaces"))
            if name == "surfaces":
                made, read = surfaces() if surfaces is not None else None, utf8 or to_utf8(text)
                return made if made is not None else [read[start:end] for start, end in spans.tolist()]
            if name == "offsets":
                return character_spans(text, spans, utf8)
            if name == "word_ids":
                return filled(n, -1, np.int32) if words is None else words() if callable(words) else words
            return filled(n, name == "attention_mask", DTYPES[name])

        self._set(n, make, {}, ())
        self._columns.update(ids=read_only(ids), byte_offsets=read_only(spans))

    def _set(self, n: int, make: Maker, ranges: Ranges, overflow: Overflow) -> None:
        self._n, self._make, self._ranges, self._overflow = n, make, ranges, overflow
        self._columns: dict[str, Any] = {}
        self._lists: dict[str, list[Any]] = {}

    def column(self, name: str) -> Any:
        """Return one column as a read-only array (see `as_arrays`), or as a list that you must not change.

        The lists are "tokens", "token_bytes", and "surfaces": the bytes of the model's input that each token covers.
        """
        column = self._columns.get(name)
        if column is None:
            column = self._make(name)
            column = self._columns[name] = column if isinstance(column, list) else read_only(column)
        return column

    def as_arrays(self, *names: str) -> dict[str, NDArray[Any]]:
        """Return the columns of these names (default: all that are arrays) as read-only arrays.

        ids, type_ids: uint32; attention_mask, special_tokens_mask: uint8; word_ids, sequence_ids: int32, -1 for none;
        offsets, byte_offsets: int64 of shape (n, 2).
        """
        made = {}
        for name in names or (*DTYPES, "sequence_ids"):
            if name in DTYPES:
                made[name] = self.column(name)
            elif name == "sequence_ids":
                made[name] = self._sequence_ids()
            else:
                raise OptionError(f"{name!r} is not a column; the columns are {', '.join(DTYPES)}, sequence_ids")
        return made

    def __len__(self) -> int:
        return self._n

    def _list(self, name: str) -> list[Any]:
        found = self._lists.get(name)
        if found is None:
            found = self._lists[name] = self.as_list(name)
        return found

    def as_list(self, name: str) -> list[Any]:
        """Return a column by the name of its property as a new list."""
        lists = getattr(self._make, "list", None)
        if lists is not None and (made := lists(name)) is not None:
            return cast("list[Any]", made)
        if name in ("tokens", "token_bytes"):
            return list(self.column(name))
        if name in ("offsets", "byte_offsets"):
            return pairs(np.ascontiguousarray(self.column(name)))
        if name in ("ids", "type_ids", "attention_mask", "special_tokens_mask"):
            return ints(np.ascontiguousarray(self.column(name)))
        return numbers(np.ascontiguousarray(self._sequence_ids() if name == "sequence_ids" else self.column(name)))

    @property
    def ids(self) -> list[int]:
        """The ids."""
        return self._list("ids")

    @property
    def tokens(self) -> list[str]:
        """Each token as in tokenizer.json; look up `token_bytes` in `tok.vocab`, whose keys are bytes."""
        return self._list("tokens")

    @property
    def token_bytes(self) -> list[bytes]:
        """The bytes of each token, the keys of `tok.vocab`: `[tok.vocab[token] for token in token_bytes]` is `ids`."""
        return self._list("token_bytes")

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """(start, end) of each token in characters of the original text; (0, 0) for tokens that were added."""
        return self._list("offsets")

    @property
    def byte_offsets(self) -> list[tuple[int, int]]:
        """(start, end) of each token in bytes of the original text's UTF-8; never trimmed."""
        return self._list("byte_offsets")

    @property
    def type_ids(self) -> list[int]:
        """The type of each token, by which models distinguish the texts of a pair."""
        return self._list("type_ids")

    @property
    def attention_mask(self) -> list[int]:
        """1 for each token, 0 for padding."""
        return self._list("attention_mask")

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for tokens that a postprocessor or padding added, 0 for tokens of the text."""
        return self._list("special_tokens_mask")

    @property
    def word_ids(self) -> list[int | None]:
        """The number of the word that each token is part of."""
        return self._list("word_ids")

    @property
    def sequence_ids(self) -> list[int | None]:
        """The number of the text that each token is part of."""
        return self._list("sequence_ids")

    @property
    def overflowing(self) -> list[Encoding]:
        """The parts that truncation cut off, each at most as long as this one."""
        if not isinstance(self._overflow, tuple):
            self._overflow = tuple(self._overflow())
        return list(self._overflow)

    @property
    def overflows(self) -> bool:
        """Whether truncation cut off any tokens."""
        return self._overflow != ()

    @staticmethod
    def merge(encodings: Iterable[Encoding], *, growing_offsets: bool = True) -> Encoding:
        """Return encodings concatenated; with `growing_offsets`, the offsets of each continue those of the one before.

        `overflowing` has each combination of their parts, except the combination of the first parts.
        """
        return joined(list(encodings), grow=growing_offsets)

    def pad(
        self, length: int, *, id: int = 0, type_id: int = 0, token: str = "[PAD]", direction: Direction = "right"
    ) -> Encoding:
        """Return the encoding and its overflow padded to at least `length` tokens; the attention mask is 0 there."""
        length = index_of("length", length)
        left = checked_direction(direction) == "left"
        n, k = self._n, max(0, length - self._n)
        check_padded(1, length)
        overflow: Overflow = ()
        if self.overflows:
            options: Any = {"id": id, "type_id": type_id, "token": token, "direction": direction}
            overflow = lambda: [part.pad(length, **options) for part in self.overflowing]  # noqa: E731
        if not k:
            return replaced(self, overflow=overflow)
        padding = added([id] * k, [token.encode()] * k, type_id=type_id, attention=0)
        parts = [padding, self] if left else [self, padding]
        shift = k if left else 0
        ranges = {sequence: (a + shift, b + shift) for sequence, (a, b) in self._ranges.items()}
        return derived(n + k, lambda name: concatenate(name, [part.column(name) for part in parts]), ranges, overflow)

    def truncate(self, max_length: int, *, stride: int = 0, direction: Direction = "right") -> Encoding:
        """Return the first `max_length` tokens (the last, for "left"); the others are in its `overflowing`.

        Each part has at most `max_length` tokens. Its first `stride` tokens (for "left", its last) repeat the end of
        the part before. A truncated encoding has no `sequence_ids`.
        """
        max_length, stride = index_of("max_length", max_length), index_of("stride", stride)
        left = checked_direction(direction) == "left"
        n = self._n
        if max_length >= n:
            return self
        if not max_length:
            return derived(0, lambda name: self.column(name)[:0], {}, (self,))
        if stride >= max_length:
            raise OptionError(
                f"stride is {stride}; it must be less than the {max_length} tokens that remain of {n} after special "
                "tokens and the other text of a pair"
            )
        first, *others = windows(n, max_length, stride, left=left)

        def part(place: slice) -> Encoding:
            return derived(place.stop - place.start, lambda name: self.column(name)[place], {}, ())

        return derived(max_length, part(first).column, {}, lambda: [part(place) for place in others])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Encoding):
            return NotImplemented
        return (
            self._n == other._n
            and all(np.array_equal(self.column(name), other.column(name)) for name in DTYPES)
            and self._ranges == other._ranges
            and self.tokens == other.tokens
            and self.overflowing == other.overflowing
        )

    def __repr__(self) -> str:
        ids = ", ".join(map(str, self.column("ids")[:8].tolist())) + (", …" if self._n > 8 else "")
        return f"<Encoding of {self._n} tokens: {ids}>"

    def __reduce__(self) -> tuple[Any, ...]:
        columns = {name: self.column(name) for name in ("tokens", "token_bytes", *DTYPES)}
        return restored, (self._n, columns, dict(self._ranges), tuple(self.overflowing), pickled.FORM)


Overflow = tuple[Encoding, ...] | Callable[[], Sequence[Encoding]]
"""The overflow, or a function that makes it at first use, because a pair can have many parts."""


def derived(n: int, make: Maker, ranges: Ranges, overflow: Overflow) -> Encoding:
    """Return an encoding of `n` tokens whose columns `make` computes when they are first used."""
    encoding = Encoding.__new__(Encoding)
    encoding._set(n, make, ranges, overflow)
    return encoding


def restored(n: int, columns: dict[str, Any], ranges: Ranges, overflow: Overflow, form: int = 0) -> Encoding:
    """Return an encoding with these columns; called by pickle. Pickles of the first release have bytes and no form."""
    if form:
        pickled.check(form)
    else:
        columns = {**columns, "token_bytes": columns["tokens"], "tokens": as_text(columns["tokens"])}
    return derived(n, columns.__getitem__, ranges, overflow)


def replaced(
    encoding: Encoding, *, ranges: Ranges | None = None, overflow: Overflow | None = None, **columns: Callable[[], Any]
) -> Encoding:
    """Return the encoding with some columns replaced by functions that compute them at first use."""

    def make(name: str) -> Any:
        return columns[name]() if name in columns else encoding.column(name)

    kept = encoding._ranges if ranges is None else ranges, encoding._overflow if overflow is None else overflow
    return derived(len(encoding), make if columns else encoding.column, *kept)


def added(
    ids: Sequence[int], tokens: Sequence[bytes], *, type_id: int = 0, attention: int = 1, special: int = 1
) -> Encoding:
    """Return an encoding of tokens that come from no text: special tokens and padding."""
    n = len(ids)
    given = {"ids": ids, "type_ids": type_id, "attention_mask": attention, "special_tokens_mask": special}

    def make(name: str) -> Any:
        if name in LISTS:
            return as_text(tokens) if name == "tokens" else list(tokens) if name == "token_bytes" else [b""] * n
        if "offsets" in name:
            return np.zeros((n, 2), dtype=DTYPES[name])
        return np.full(n, given.get(name, -1), dtype=DTYPES[name])

    return derived(n, make, {}, ())


Columns = Callable[[str], list[Any]]


def joined(
    parts: Sequence[Encoding],
    *,
    ranges: Ranges | None = None,
    grow: bool = False,
    columns: Columns | None = None,
    overflow: Overflow | None = None,
) -> Encoding:
    """Return `parts` concatenated to one encoding; `ranges` are the sequences of the result, as ranges of parts.

    Without `ranges`, those of the parts are kept, and a later part of the same sequence replaces an earlier one. With
    `grow`, the spans of each part continue from the end of the last span. `columns`, if given, returns the columns of
    the parts by name, instead of the parts' own. Without `overflow`, the overflows of the parts are combined.
    """
    starts = [0]
    for part in parts:
        starts.append(starts[-1] + part._n)
    if ranges is None:
        kept = zip(parts, starts, strict=False)
        tokens = {s: (at + a, at + b) for part, at in kept for s, (a, b) in part._ranges.items()}
    else:
        tokens = {s: (starts[a], starts[b]) for s, (a, b) in ranges.items()}

    def make(name: str) -> Any:
        if grow and "offsets" in name:
            return grown(name, parts)
        return concatenate(name, columns(name) if columns is not None else [part.column(name) for part in parts])

    def combined() -> list[Encoding]:
        return [joined(chosen, ranges=ranges, grow=grow) for chosen in overflowing_choices(parts)]

    if overflow is None:
        overflow = combined if any(part.overflows for part in parts) else ()
    return derived(starts[-1], make, tokens, overflow)


def overflowing_choices(parts: Sequence[Encoding]) -> list[list[Encoding]]:
    """Return the overflow of concatenated encodings: lists of one encoding for each part, in tokenizers' order.

    Concatenating A and B gives (a, B), (a, b) for each a of A's overflow and each b of B's, then (A, b). Further parts
    are added one after the other. A chosen part keeps its own overflow, so that (a, B) overflows to (a, b) once more.
    """
    done: list[Encoding] = []
    choices: list[list[Encoding]] = []
    for part in parts:
        others = part.overflowing
        choices = [[*chosen, one] for chosen in choices for one in (part, *others)]
        choices += [[*done, other] for other in others]
        done.append(part)
    return choices


def grown(name: str, parts: Sequence[Encoding]) -> NDArray[np.int64]:
    """Return the spans of each part, moved to the end of the last span before it."""
    columns, end = [empty(name)], 0
    for part in parts:
        spans = part.column(name) + end
        columns.append(spans)
        end = int(spans[-1, 1]) if len(spans) else end
    return np.concatenate(columns)
