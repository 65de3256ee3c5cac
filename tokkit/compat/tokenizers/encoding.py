"""`Encoding`: ids, tokens and offsets of a text; padding and truncation change it in place."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tokkit._core.lists import ints, numbers, pairs
from tokkit.compat.tokenizers import values
from tokkit.encoding import encoding as made_of
from tokkit.encoding.columns import DTYPES

if TYPE_CHECKING:
    from tokkit._core.encode.columns import TextColumns

Span = tuple[int, int]
DIRECTIONS = ("left", "right")
_INTS = ("ids", "type_ids", "special_tokens_mask", "attention_mask")


class Maker(Protocol):
    """What makes tokkit's encoding from the columns of a text."""

    def encoding(self, found: TextColumns) -> made_of.Encoding:
        """Return the encoding."""


class Encoding:
    """The tokens of a text or a pair; wraps tokkit's encoding, whose columns are made at first use."""

    __slots__ = ("_found", "_made", "_maker")
    _found: Any
    """The columns of a text as long as no encoding was made from them, else None."""
    _maker: Any

    def __init__(self) -> None:
        self.made = made_of.joined(())

    @classmethod
    def of_found(cls, maker: Maker, found: TextColumns) -> Encoding:
        """Return the encoding of the columns of a text; lists are made at first use."""
        new = cls.__new__(cls)
        new._found, new._maker = found, maker
        return new

    @property
    def made(self) -> made_of.Encoding:
        """Tokkit's encoding."""
        if self._found is not None:
            self.made = self._maker.encoding(self._found)
        return self._made

    @made.setter
    def made(self, made: made_of.Encoding) -> None:
        self._made, self._found = made, None

    @classmethod
    def of(cls, made: made_of.Encoding) -> Encoding:
        """Wrap tokkit's encoding."""
        new = cls.__new__(cls)
        new.made = made
        return new

    @classmethod
    def of_columns(
        cls, ids: list[int], tokens: list[str], spans: list[Span], words: list[int], type_id: int
    ) -> Encoding:
        """Return the encoding of a text whose columns are known."""
        n = len(ids)
        columns: dict[str, Any] = {
            "ids": np.array(ids, dtype=np.uint32),
            "tokens": tokens,
            "token_bytes": [token.encode() for token in tokens],
            "surfaces": [token.encode() for token in tokens],
            "offsets": np.array(spans, dtype=np.int64).reshape(n, 2),
            "byte_offsets": np.array(spans, dtype=np.int64).reshape(n, 2),
            "word_ids": np.array(words, dtype=np.int32),
            "type_ids": np.full(n, type_id, dtype=np.uint32),
            "attention_mask": np.ones(n, dtype=np.uint8),
            "special_tokens_mask": np.zeros(n, dtype=np.uint8),
        }
        return cls.of(made_of.derived(n, columns.__getitem__, {}, ()))

    # Lists are made at each call, because the garbage collector would have to visit kept lists again and again.

    @property
    def ids(self) -> list[int]:
        """The ids."""
        return self._ints("ids") if self._found is None else self._found.id_list()

    def _ints(self, name: str) -> list[int]:
        made = None if self._found is None else self._found.row(name)
        return ints(np.ascontiguousarray(self.made.column(name))) if made is None else made

    @property
    def tokens(self) -> list[str]:
        """The tokens as in the vocabulary."""
        made = None if self._found is None else self._found.tokens()
        return list(self.made.column("tokens")) if made is None else made

    @property
    def offsets(self) -> list[Span]:
        """(start, end) of each token, in characters of its text."""
        made = None if self._found is None else self._found.offsets()
        return pairs(np.ascontiguousarray(self.made.column("offsets"))) if made is None else made

    @property
    def type_ids(self) -> list[int]:
        """The type of each token."""
        return self._ints("type_ids")

    @property
    def attention_mask(self) -> list[int]:
        """1 for each token, 0 for padding."""
        return self._ints("attention_mask")

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for tokens that a post-processor or padding added."""
        return self._ints("special_tokens_mask")

    @property
    def word_ids(self) -> list[int | None]:
        """The number of each token's word."""
        if self._found is not None:
            made: list[int | None] = self._found.word_list()
            return made
        return numbers(np.ascontiguousarray(self.made.column("word_ids")))

    @property
    def words(self) -> list[int | None]:
        """The old name of `word_ids`."""
        warnings.warn("Encoding.words is now Encoding.word_ids", DeprecationWarning, stacklevel=2)
        return self.word_ids

    @property
    def sequence_ids(self) -> list[int | None]:
        """The number of each token's text."""
        return list(self.made.sequence_ids)

    @property
    def n_sequences(self) -> int:
        """The number of texts."""
        return self.made.n_sequences

    @property
    def overflowing(self) -> list[Encoding]:
        """The parts that truncation cut off."""
        return [Encoding.of(part) for part in self.made.overflowing]

    def __len__(self) -> int:
        return len(self.made if self._found is None else self._found)

    def __repr__(self) -> str:
        names = "ids, type_ids, tokens, offsets, attention_mask, special_tokens_mask, overflowing"
        return f"Encoding(num_tokens={len(self)}, attributes=[{names}])"

    # ---- look-ups

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the token of a character of a text."""
        return self.made.char_to_token(_index("char_pos", char_pos), _index("sequence_index", sequence_index))

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the word of a character of a text."""
        return self.made.char_to_word(_index("char_pos", char_pos), _index("sequence_index", sequence_index))

    def token_to_chars(self, token_index: int) -> Span | None:
        """Return the span of a token."""
        return self.made.token_to_chars(_index("token_index", token_index))

    def token_to_word(self, token_index: int) -> int | None:
        """Return the word of a token."""
        return self.made.token_to_word(_index("token_index", token_index))

    def token_to_sequence(self, token_index: int) -> int | None:
        """Return the number of a token's text."""
        return self.made.token_to_sequence(_index("token_index", token_index))

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """Return the span of a word of a text."""
        return self.made.word_to_chars(_index("word_index", word_index), _index("sequence_index", sequence_index))

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """Return (first, end) of the tokens of a word of a text."""
        return self.made.word_to_tokens(_index("word_index", word_index), _index("sequence_index", sequence_index))

    # ---- changes

    def pad(
        self,
        length: int,
        *,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
        **options: Any,
    ) -> None:
        """Pad to a length if there are fewer tokens."""
        values.ignored(list(options))
        self.made = self.made.pad(
            values.unsigned("length", length),
            id=values.token_id("pad_id", pad_id),
            type_id=values.token_id("pad_type_id", pad_type_id),
            token=values.text("pad_token", pad_token),
            direction=values.choice("direction", direction, DIRECTIONS),  # type: ignore[arg-type]
        )

    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Truncate to a length; the tokens that are cut off are in `overflowing`."""
        if values.text("direction", direction) not in DIRECTIONS:
            raise ValueError(f"Invalid truncation direction value : {direction}")
        length, step = values.unsigned("max_length", max_length), values.unsigned("stride", stride)
        self.made = self.made.truncate(length, stride=step, direction=direction)  # type: ignore[arg-type]

    def set_sequence_id(self, sequence_id: int) -> None:
        """Assign all tokens to one text."""
        number = values.unsigned("sequence_id", sequence_id)
        self.made = made_of.replaced(self.made, ranges={**self.made.sequence_ranges, number: (0, len(self))})

    @staticmethod
    def merge(encodings: Sequence[Encoding], growing_offsets: bool = True) -> Encoding:
        """Return encodings concatenated; with `growing_offsets` each continues the spans of the one before."""
        parts = values.listed("encodings", encodings, _checked)
        grow = values.flag("growing_offsets", growing_offsets)
        return Encoding.of(made_of.Encoding.merge([part.made for part in parts], growing_offsets=grow))

    # ---- pickling, in the form of tokenizers

    def _json(self) -> dict[str, Any]:
        made = {
            **{name: getattr(self, name) for name in ("ids", "type_ids", "tokens")},
            "words": self.word_ids,
            "offsets": [list(span) for span in self.offsets],
            **{name: getattr(self, name) for name in ("special_tokens_mask", "attention_mask")},
            "overflowing": [part._json() for part in self.overflowing],
        }
        ranges = self.made.sequence_ranges
        return {**made, "sequence_ranges": {str(n): {"start": a, "end": b} for n, (a, b) in ranges.items()}}

    def __getstate__(self) -> bytes:
        return json.dumps(self._json(), ensure_ascii=False, separators=(",", ":")).encode()

    def __setstate__(self, state: bytes) -> None:
        self.made = _read(json.loads(state))


def _read(value: dict[str, Any]) -> made_of.Encoding:
    """Return an encoding from JSON."""
    words = [-1 if word is None else word for word in value["words"]]
    columns = dict(Encoding.of_columns(value["ids"], value["tokens"], value["offsets"], words, 0).made.as_arrays())
    lists: dict[str, Any] = {"tokens": value["tokens"]}
    lists["token_bytes"] = lists["surfaces"] = [token.encode() for token in value["tokens"]]
    for name in _INTS:
        columns[name] = np.array(value[name], dtype=DTYPES[name])
    ranges = {int(number): (span["start"], span["end"]) for number, span in value["sequence_ranges"].items()}
    overflow = tuple(map(_read, value["overflowing"]))
    return made_of.derived(len(value["ids"]), {**columns, **lists}.__getitem__, ranges, overflow)


_index = values.unsigned


def _checked(name: str, value: Any) -> Encoding:
    if not isinstance(value, Encoding):
        raise values.wrong_type(name, value, "an Encoding")
    return value
