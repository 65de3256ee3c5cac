"""The layout of an encoding, as data: the tokens that a postprocessor puts around one text or a pair.

Every postprocessor is compiled to a `Layout`: the tokens around the texts, their type ids, and how offsets are trimmed.
Encodings and batches of arrays are assembled from it alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np

from tokkit.checks import check_flag, is_text
from tokkit.encoding.columns import filled
from tokkit.encoding.encoding import Encoding, Overflow, added, derived, joined
from tokkit.encoding.length_rules import Truncation
from tokkit.errors import OptionError
from tokkit.postprocessors.lengths import truncate
from tokkit.postprocessors.trimming import Spaces, Trim, trimmed
from tokkit.vocab import MAX_ID


@dataclass(frozen=True, slots=True)
class Added:
    """Tokens that are added to each encoding: ids, bytes, and whether the special tokens mask includes them."""

    ids: tuple[int, ...]
    tokens: tuple[bytes, ...]
    type_id: int = 0
    overflow_type_id: int = 0
    special: bool = True

    @classmethod
    def one(cls, token: tuple[str, int], type_id: int = 0) -> Added:
        """Return the part for one token, given as (text, id)."""
        return cls((token[1],), (token[0].encode(),), type_id, type_id)

    def encoding(self, *, overflow: bool = False) -> Encoding:
        """Return the tokens as an encoding, for a text or for its overflow."""
        type_id = self.overflow_type_id if overflow else self.type_id
        return added(self.ids, self.tokens, type_id=type_id, special=self.special)


@dataclass(frozen=True, slots=True)
class Text:
    """The place of a text: `number` is 0, or 1 for the second of a pair. Overflowing parts have their own type id."""

    number: int
    type_id: int = 0
    overflow_type_id: int = 0
    trims: tuple[Trim, ...] = ()


Part = Added | Text
Ranges = Mapping[int, tuple[int, int]]
"""Number of a text → (first, end) of its parts; end is one past the last."""


@dataclass(frozen=True, slots=True)
class Group:
    """An encoding in the making: one text after some processors of a sequence, or tokens that one has added.

    `ranges` are the parts of each text, and `overflow_ranges` the same for each overflowing part.
    """

    parts: tuple[Part, ...]
    ranges: Ranges
    overflow_ranges: Ranges

    @property
    def text(self) -> Text | None:
        """The index of the part with the text, None if there is none."""
        return next((part for part in self.parts if isinstance(part, Text)), None)

    def between(self, before: tuple[Part, ...], after: tuple[Part, ...], sequence: int) -> Group:
        """Return the group with tokens around it, as text number `sequence`; only these become special."""
        inside = [replace(part, special=False) if isinstance(part, Added) else part for part in self.parts]
        ranges = {sequence: (len(before), len(before) + len(inside))}
        return Group((*before, *inside, *after), ranges, ranges)

    def typed(self, type_id: int, *, overflow: bool = False) -> Group:
        """Return the group with one type id for all tokens; overflowing ones keep theirs unless `overflow` is set."""
        parts: list[Part] = []
        for part in self.parts:
            parts.append(
                replace(part, type_id=type_id, overflow_type_id=type_id if overflow else part.overflow_type_id)
            )
        return replace(self, parts=tuple(parts))

    def numbered(self, sequence: int) -> Group:
        """Return the group with an additional range for text number `sequence`; not for its overflow."""
        return replace(self, ranges={**self.ranges, sequence: (0, len(self.parts))})

    def trimmed(self, add_prefix_space: bool) -> Group:
        """Return the group with another trimming of its texts' offsets."""
        parts: list[Part] = []
        for i, part in enumerate(self.parts):
            if isinstance(part, Text):
                part = replace(part, trims=(*part.trims, Trim(add_prefix_space, i == 0)))
            parts.append(part)
        return replace(self, parts=tuple(parts))


class Frame(NamedTuple):
    """The tokens around a single text: packed ids (uint32), their number on each side, and how offsets are trimmed.

    `ranges` come from the layout: the text's number, then for each end the number of tokens before it and whether the
    text is before it. `around` has columns by name: the values of the tokens before the text, the value of each of its
    own, and the values after it. `overflow` is the frame of each overflowing part.
    """

    before: bytes
    after: bytes
    n_before: int
    n_after: int
    trims: tuple[Trim, ...]
    ranges: tuple[tuple[int, int, bool, int, bool], ...]
    around: Mapping[str, tuple[list[Any], Any, list[Any]]]
    overflow: Frame | None = None

    def row(self, name: str, n: int) -> list[int]:
        """Return a column that is constant within a text of n tokens."""
        before, value, after = self.around[name]
        return before + [value] * n + after

    def ranges_of(self, n: int) -> dict[int, tuple[int, int]]:
        """Return the ranges in tokens, for a text of n tokens."""
        made = {}
        for number, start, text_before_start, end, text_before_end in self.ranges:
            made[number] = start + n * text_before_start, end + n * text_before_end
        return made


class Layout:
    """Groups in order: the parts of an encoding, and the ranges of the texts; a later range replaces an earlier one."""

    __slots__ = ("_added", "_is_text", "frame", "groups", "parts", "ranges")

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = tuple(groups)
        self.parts: tuple[Part, ...] = tuple(part for group in groups for part in group.parts)
        self.ranges: dict[int, tuple[int, int]] = {}
        at = 0
        for group in groups:
            self.ranges.update({number: (at + a, at + b) for number, (a, b) in group.ranges.items()})
            at += len(group.parts)
        # A single text without other parts: nothing must be concatenated.
        self._is_text = len(self.parts) == 1 and isinstance(self.parts[0], Text) and not self.parts[0].trims
        self._is_text = self._is_text and not self.parts[0].type_id
        self.frame = self._frame()
        # Texts are not known yet; a placeholder for an empty encoding is skipped.
        self._added = [part.encoding() if isinstance(part, Added) else joined(()) for part in self.parts]

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        # Pickles of the first release contain layouts with fewer fields.
        Layout.__init__(self, state[1]["groups"])

    def _frame(self) -> Frame | None:
        texts = [(i, part) for i, part in enumerate(self.parts) if isinstance(part, Text)]
        if len(texts) != 1:
            return None
        place, text = texts[0]
        # In an overflowing part the group of the text has its own type ids and ranges, other groups stay as they are.
        ranges: dict[int, tuple[int, int]] = {}
        types: list[int] = []
        for group in self.groups:
            overflows, at = group.text is not None, len(types)
            for number, (a, b) in (group.overflow_ranges if overflows else group.ranges).items():
                ranges[number] = at + a, at + b
            types += [part.overflow_type_id if overflows else part.type_id for part in group.parts]
        overflow = self._frame_of(place, text, ranges, types)
        own = [part.type_id for part in self.parts]
        return self._frame_of(place, text, self.ranges, own)._replace(overflow=overflow)

    def _frame_of(self, place: int, text: Text, of_parts: Ranges, types: Sequence[int]) -> Frame:
        """Return the frame of the text in a place, by ranges in parts and the type id of each part."""
        ids = [part.ids if isinstance(part, Added) else () for part in self.parts]
        before, after = (np.array(sum(some, ()), dtype=np.uint32) for some in (ids[:place], ids[place:]))

        def end(part: int) -> tuple[int, bool]:
            return sum(map(len, ids[:part])), part > place

        ranges = tuple((number, *end(a), *end(b)) for number, (a, b) in of_parts.items())
        made = [
            replace(part, type_id=type_id).encoding()
            for part, type_id in zip(self.parts, types, strict=True)
            if isinstance(part, Added)
        ]
        first, last = joined(made[:place]), joined(made[place:])
        own = {"type_ids": types[place], "attention_mask": 1, "special_tokens_mask": 0, "tokens": None, "ids": None}
        around = {name: (getattr(first, name), value, getattr(last, name)) for name, value in own.items()}
        return Frame(before.tobytes(), after.tobytes(), len(before), len(after), text.trims, ranges, around)

    def put_together(self, encodings: Sequence[Encoding], spaces: Spaces | None = None) -> Encoding:
        """Return one encoding of a text or a pair, from encodings without postprocessing.

        The order of the overflow is that of tokenizers, which joins the encodings of the groups one by one.
        """
        if self._is_text and not encodings[0].overflows:
            only = encodings[0]
            n = len(only)
            return derived(n, only.column, {number: (a * n, b * n) for number, (a, b) in self.ranges.items()}, ())
        parts = [
            encodings[part.number] if isinstance(part, Text) else made
            for part, made in zip(self.parts, self._added, strict=True)
        ]
        overflow: Overflow = ()
        if any(encoding.overflows for encoding in encodings):
            overflow = lambda: joined(self._of_groups(parts, encodings, spaces)).overflowing  # noqa: E731
        return _joined(parts, self.parts, spaces, self.ranges, overflow)

    def _of_groups(
        self, parts: Sequence[Encoding], encodings: Sequence[Encoding], spaces: Spaces | None
    ) -> list[Encoding]:
        """Return the encoding of each group, with the overflow of its text."""
        made, at = [], 0
        for group in self.groups:
            places = [
                replace(part, type_id=part.overflow_type_id) if isinstance(part, Text) else part for part in group.parts
            ]
            overflow = []
            for text in encodings[group.text.number].overflowing if group.text else ():
                others = [part.encoding(overflow=True) if isinstance(part, Added) else text for part in group.parts]
                overflow.append(_joined(others, places, spaces, group.overflow_ranges, ()))
            own = parts[at : at + len(group.parts)]
            made.append(_joined(own, group.parts, spaces, group.ranges, tuple(overflow)))
            at += len(own)
        return made


def _joined(
    parts: Sequence[Encoding], places: Sequence[Part], spaces: Spaces | None, ranges: Ranges, overflow: Overflow
) -> Encoding:
    """Return encodings concatenated, each with the type ids and trimming of its place.

    Columns are joined directly, because an object for each part would cost as much as a short text's tokens.
    """

    def columns(name: str) -> list[Any]:
        if name != "type_ids" and name != "offsets":
            return [part.column(name) for part in parts]
        return [_column(part, place, name, spaces) for part, place in zip(parts, places, strict=True)]

    return joined(parts, ranges=ranges, columns=columns, overflow=overflow)


def _column(encoding: Encoding, place: Part, name: str, spaces: Spaces | None) -> Any:
    """Return a column of the part in a place."""
    if isinstance(place, Text):
        if name == "type_ids":
            return filled(len(encoding), place.type_id, np.uint32)
        if name == "offsets" and place.trims:
            return trimmed(encoding, place.trims, spaces)
    return encoding.column(name)


@dataclass(frozen=True, slots=True)
class Postprocessor(ABC):
    """Adds special tokens to the encodings of one text or a pair, and concatenates them.

    Fields are those of tokenizer.json; `arrange` applies them, and `layout` caches the result.
    """

    _layouts: dict[tuple[bool, bool], Layout] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __reduce__(self) -> tuple[type[Postprocessor], tuple[Any, ...]]:
        # Without the cached layouts, which can be made again.
        return type(self), tuple(getattr(self, one.name) for one in fields(self) if one.init)

    @abstractmethod
    def n_added(self, *, pair: bool = False) -> int:
        """Return the number of tokens added to one text, or to a pair; truncation leaves room for them."""

    @abstractmethod
    def arrange(self, groups: list[Group], *, add_special: bool) -> list[Group]:
        """Return the groups after this processor, from the groups before it (at first, the texts alone)."""

    @staticmethod
    def texts(pair: bool) -> list[Group]:
        """Return the initial groups: one text or two, with the type ids 0 and 1."""
        return [Group((Text(i, i, i),), {i: (0, 1)}, {i: (0, 1)}) for i in range(1 + pair)]

    def layout(self, *, pair: bool = False, add_special: bool = True) -> Layout:
        """Return the layout of one text or a pair; without `add_special`, only the order of the texts."""
        key = pair, add_special
        if key not in self._layouts:
            made = Layout(self.arrange(self.texts(pair), add_special=add_special))
            used = {part.number for part in made.parts if isinstance(part, Text)}
            if missing := set(range(1 + pair)) - used:
                which = "the only text" if not pair else ("the first text", "the second text")[min(missing)]
                raise OptionError(
                    f"the postprocessor would drop {which} of {1 + pair}: its template has no place for it"
                )
            self._layouts[key] = made
        return self._layouts[key]

    def check_batch(self, texts: Sequence[tuple[Any, Any]]) -> None:  # noqa: B027
        """Raise OptionError if the layout is not that of each of these texts, given as (ids, offsets)."""

    def process(
        self,
        first: Encoding,
        second: Encoding | None = None,
        *,
        add_special: bool = True,
        truncation: Truncation | None = None,
        spaces: Spaces | None = None,
    ) -> Encoding:
        """Return the encoding of a text, or of a pair, with special tokens, truncated if requested.

        `spaces` are the spaces in the tokens of the vocabulary, to trim offsets; without them, each token is examined
        as byte symbols.
        """
        encodings = [first] if second is None else [first, second]
        if truncation is not None:
            n_added = self.n_added(pair=second is not None) if add_special else 0
            encodings = truncate(encodings, truncation, n_added)
        return self.layout_of(encodings, add_special=add_special).put_together(encodings, spaces)

    def layout_of(self, encodings: Sequence[Encoding], *, add_special: bool) -> Layout:
        """Return the layout of a text, or of a pair, which may depend on its ids."""
        return self.layout(pair=len(encodings) == 2, add_special=add_special)


MAX_TYPE_ID = (1 << 32) - 1


def checked_token(owner: str, name: str, token: object) -> tuple[str, int]:
    """Return a (token, id) as a tuple; OptionError if it is invalid."""
    pair = tuple(token) if isinstance(token, (tuple, list)) else ()
    if len(pair) == 2:
        text, id_ = pair
        if is_text(text) and isinstance(id_, int) and not isinstance(id_, bool) and 0 <= id_ <= MAX_ID:
            return text, id_
    raise OptionError(f"{owner}: {name} is {token!r}; it must be (token, id), the id from 0 to {MAX_ID}")


def checked_type_id(owner: str, type_id: object) -> None:
    """Raise OptionError for an invalid type id."""
    if isinstance(type_id, bool) or not isinstance(type_id, int) or not 0 <= type_id <= MAX_TYPE_ID:
        raise OptionError(f"{owner}: a type id is {type_id!r}; it must be an int from 0 to {MAX_TYPE_ID}")


def checked_bool(processor: Postprocessor, *names: str) -> None:
    """Raise OptionError if one of these fields is not a bool."""
    for name in names:
        check_flag(f"{type(processor).__name__}: {name}", getattr(processor, name))
