"""Assembles encodings from ids: special tokens, pairs, truncation, padding and batches."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from tokkit._core.encode.columns import ColumnStyle, TextColumns
from tokkit.byte_symbols import to_symbols
from tokkit.checks import ordered
from tokkit.definition import Definition
from tokkit.encoding.columns import DTYPES
from tokkit.encoding.encoding import Encoding, Overflow, derived, replaced
from tokkit.encoding.length_rules import Padding, Truncation, windows
from tokkit.encoding.token_names import TokenNames
from tokkit.errors import OptionError
from tokkit.postprocessors.batch import Batch, batch
from tokkit.postprocessors.layout import Frame, Postprocessor
from tokkit.postprocessors.lengths import pad, room_for_text
from tokkit.postprocessors.plain import Plain
from tokkit.postprocessors.trimming import Spaces

if TYPE_CHECKING:
    from tokkit._core.text import Text
    from tokkit.engine.engine import Aligned, Engine
    from tokkit.engine.special_tokens import Special

Own = Literal["own"]
"""The value of truncation= and padding= that stands for the settings in the tokenizer's file."""
Words = Sequence["Text"]
"""A text that is already split into words."""


class Assembler:
    """Makes encodings of texts, for one definition."""

    def __init__(self, definition: Definition, engine: Engine) -> None:
        self._definition, self.engine = definition, engine
        self.postprocessor: Postprocessor = definition.postprocessor or Plain()
        self._frames: dict[bool, Frame | None] = {}
        self._styles: dict[bool, ColumnStyle | None] = {}

    @functools.cached_property
    def spaces(self) -> Spaces:
        """The number of spaces at the ends of each token of the vocabulary, to trim offsets."""
        vocab, added = self._definition.vocab, self._definition.added_tokens
        by_bytes = self._definition.tokens_are_bytes
        made = Spaces.of_bytes(vocab, [token.id for token in added]) if by_bytes else Spaces.of(vocab)
        return made.with_varying(self._varying) if self._varying else made

    @functools.cached_property
    def _varying(self) -> frozenset[int]:
        """The ids whose tokens are the text itself.

        These are added tokens that include white space or are found in normalized text, and the unknown token of
        Unigram.
        """
        normalizes = self._definition.normalizer is not None
        added = self._definition.added_tokens
        ids = {token.id for token in added if token.lstrip or token.rstrip or (token.normalized and normalizes)}
        unknown: int | None = getattr(self._definition.model, "unk_id", None)
        return frozenset(ids if unknown is None else {*ids, unknown})

    def truncation(self, given: Truncation | int | Own | None) -> Truncation | None:
        """Return a Truncation: the given one, one for a number of tokens, or the definition's own."""
        if given == "own":
            return self._definition.truncation
        if isinstance(given, int) and not isinstance(given, bool):
            return Truncation(max_length=given)
        if given is not None and not isinstance(given, Truncation):
            raise OptionError(f'truncation is {given!r}; it must be a Truncation, a number of tokens, None or "own"')
        return given

    def padding(self, given: Padding | Own | None) -> Padding | None:
        """Return a Padding: the given one, or the definition's own."""
        if given == "own":
            return self._definition.padding
        if given is not None and not isinstance(given, Padding):
            raise OptionError(f'padding is {given!r}; it must be a Padding, None or "own"')
        return given

    def one(self, text: Text | Words, special: Special, *, pretokenized: bool) -> Encoding:
        """Return the encoding of a text alone, without special tokens."""
        if pretokenized:
            return self._words(list(ordered(text, "text", "words")), special)
        return self._encoding(cast("Text", text), special, None)

    def _words(self, words: list[Text], special: Special) -> Encoding:
        style = ColumnStyle(self.names.table)
        found = self.engine.columns_of_batch([words], special, style, words=True)[0] if words else None
        if found is not None:
            return self.of_words(found, special, slice(None))
        return Encoding.merge([self._encoding(word, special, i) for i, word in enumerate(words)], growing_offsets=False)

    def of_words(self, found: TextColumns, special: Special, part: slice) -> Encoding:
        """Return the encoding of a part of the columns of words."""
        ids, spans, words = (found.array(name)[part] for name in ("ids", "byte_offsets", "word_ids"))
        texts = cast("list[Text]", found.text)

        def surfaces() -> list[bytes]:
            made = [self._encoding(word, special, i).column("surfaces") for i, word in enumerate(texts)]
            return list(itertools.chain.from_iterable(made))

        made = Encoding(ids, spans, words, self._definition.vocab, b"", b"", surfaces, self.names)
        return replaced(made, offsets=lambda: cast("NDArray[np.int64]", found.character_spans())[part])

    def _encoding(self, text: Text, special: Special, number: int | None) -> Encoding:
        found = self.engine.aligned(text, special)
        utf8, _, _, _ = found
        return self.of_text(text if isinstance(text, str) else utf8, special, found, number)

    def of_text(self, text: str | bytes, special: Special, found: Aligned, number: int | None = None) -> Encoding:
        """Return the encoding of an engine's result for a text, which may be word `number` of a pretokenized text."""
        utf8, ids, spans, words = found
        surfaces = functools.partial(self.engine.surfaces, text, special, ids, words)
        if number is not None:
            words = np.full(len(ids), number, dtype=np.int32)
        return Encoding(ids, spans, words, self._definition.vocab, text, utf8, surfaces, self.names)

    def processed(
        self, first: Encoding, second: Encoding | None, add_special: bool, truncation: Truncation | None
    ) -> Encoding:
        """Return the encoding of a text or a pair with its special tokens, truncated."""
        spaces = self.spaces if self._trims else None
        return self.postprocessor.process(first, second, add_special=add_special, truncation=truncation, spaces=spaces)

    @functools.cached_property
    def names(self) -> TokenNames:
        """The tokens as in a tokenizer.json: those of byte-level BPE in byte symbols."""
        spell = None
        if self._definition.over_bytes is not None:
            added = frozenset(self._definition.added_vocab.values())

            def spell(id_: int, token: bytes) -> str:
                return token.decode() if id_ in added else to_symbols(token)

        return TokenNames(self._definition.vocab, spell, self._varying)

    @functools.cached_property
    def _trims(self) -> bool:
        for pair, add_special in itertools.product((False, True), repeat=2):
            with contextlib.suppress(OptionError):  # the error is raised when this layout is used
                parts = self.postprocessor.layout(pair=pair, add_special=add_special).parts
                if any(getattr(part, "trims", ()) for part in parts):
                    return True
        return False

    def encoding(
        self,
        text: Text | Words,
        pair: Text | Words | None,
        special: Special,
        *,
        pretokenized: bool,
        add_special: bool,
        truncation: Truncation | None,
        padding: Padding | None = None,
    ) -> Encoding:
        """Return the encoding of a text, or of a pair."""
        pairs = None if pair is None else [pair]
        options: dict[str, Any] = {"pretokenized": pretokenized, "add_special": add_special, "truncation": truncation}
        return self.encodings([text], pairs, special, padding=padding, **options)[0]

    def _framed(
        self, texts: list[Any], special: Special, pretokenized: bool, add_special: bool, truncation: Truncation | None
    ) -> list[Encoding | None]:
        """Return the encodings of texts whose special tokens the core puts around them; None for those it cannot."""
        style = self.style(add_special)
        if style is None:
            return [None] * len(texts)
        found = self.engine.columns_of_batch(texts, special, style, words=pretokenized)
        return [None if one is None else self.framed(one, special, add_special, truncation) for one in found]

    def frame(self, add_special: bool) -> Frame | None:
        """Return the tokens that the core puts around a text; None if the layout is not a simple frame."""
        if add_special not in self._frames:
            self._frames[add_special] = self.postprocessor.layout(add_special=add_special).frame
        return self._frames[add_special]

    def style(self, add_special: bool) -> ColumnStyle | None:
        """Return how the core makes columns of a text in its frame; None if the layout is not a simple frame."""
        if add_special not in self._styles:
            frame = self.frame(add_special)
            self._styles[add_special] = None if frame is None else self._style_of(frame)
        return self._styles[add_special]

    def _style_of(self, frame: Frame) -> ColumnStyle:
        codes = lambda: self.spaces.codes  # noqa: E731  # made when offsets are first trimmed
        return ColumnStyle(self.names.table, frame.before, frame.after, frame.around, frame.trims, codes)

    def framed(
        self, found: TextColumns, special: Special, add_special: bool, truncation: Truncation | None
    ) -> Encoding:
        """Return the encoding of a text in its frame, truncated."""
        frame = cast("Frame", self.frame(add_special))
        n = len(found) - frame.n_before - frame.n_after
        whole = _Whole(self, found, special, add_special)
        room = n
        if truncation is not None:
            room = room_for_text(truncation, self.postprocessor.n_added() if add_special else 0)
        if truncation is None or n <= room:
            return derived(len(found), _Columns(whole, frame, found, slice(0, n)), frame.ranges_of(n), ())
        overflow = cast("Frame", frame.overflow)
        if truncation.strategy == "only_second" or truncation.stride >= room:
            return self.processed(whole.encoding, None, add_special, truncation)  # or its error
        places = windows(n, room, truncation.stride, left=truncation.direction == "left")

        style = cast("ColumnStyle", self.style(add_special))

        def rest() -> list[Encoding]:
            own = style if overflow.around == frame.around else self._style_of(overflow)
            return [whole.part(place, overflow, own, ()) for place in places[1:]]

        return whole.part(places[0], frame, style, rest)

    def encodings(
        self,
        texts: Sequence[Text | Words],
        pairs: Sequence[Text | Words] | None,
        special: Special,
        *,
        pretokenized: bool,
        add_special: bool,
        truncation: Truncation | None,
        padding: Padding | None,
    ) -> list[Encoding]:
        """Return the encodings of texts, or of pairs, padded to the same length."""
        texts, pairs = check_sequences(texts, pairs)
        if pretokenized:
            texts = [list(ordered(text, "text", "words")) for text in texts]
        framed: Sequence[Encoding | None] = [None] * len(texts)
        if pairs is None:
            framed = self._framed(texts, special, pretokenized, add_special, truncation)
        made = []
        for i, (text, one) in enumerate(zip(texts, framed, strict=True)):
            if one is None:
                first = self.one(text, special, pretokenized=pretokenized)
                second = None if pairs is None else self.one(pairs[i], special, pretokenized=pretokenized)
                one = self.processed(first, second, add_special, truncation)
            made.append(one)
        return pad(made, padding) if padding is not None else made

    def padded(
        self,
        texts: Sequence[Text],
        pairs: Sequence[Text] | None,
        special: Special,
        *,
        add_special: bool,
        truncation: Truncation | None,
        padding: Padding | None,
        threads: int,
    ) -> Batch:
        """Return the rows of texts, or of pairs, as arrays."""
        texts, pairs = check_sequences(texts, pairs)
        flat = [self.engine.encode_batch(side, special, threads) for side in (texts, pairs) if side is not None]
        return batch(self.postprocessor, flat, padding or Padding(), truncation=truncation, add_special=add_special)


class _Whole:
    """The encoding of all tokens of a text without those around it, for columns that the core does not make."""

    __slots__ = ("_found", "_made", "_special", "add_special", "assembler")

    def __init__(self, assembler: Assembler, found: TextColumns, special: Special, add_special: bool) -> None:
        self.assembler, self.add_special = assembler, add_special
        self._found, self._special = found, special
        self._made: Encoding | None = None

    def part(self, place: slice, frame: Frame, style: ColumnStyle, overflow: Overflow) -> Encoding:
        """Return the encoding of a part of the tokens, in a frame."""
        cut = self._found.window(place.start, place.stop, style)
        ranges = frame.ranges_of(place.stop - place.start)
        return derived(len(cut), _Columns(self, frame, cut, place), ranges, overflow)

    @property
    def encoding(self) -> Encoding:
        """The encoding, neither truncated nor trimmed."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def _make(self) -> Encoding:
        found, frame = self._found, cast("Frame", self.assembler.frame(self.add_special))
        part = slice(frame.n_before, len(found) - frame.n_after)
        if isinstance(found.text, list):
            return self.assembler.of_words(found, self._special, part)
        utf8, ids, spans, words = found.arrays()
        return self.assembler.of_text(found.text, self._special, (utf8, ids[part], spans[part], words[part]))


class _Columns:
    """Makes the columns of a text, or of a part of it, in a frame when they are used; most columns never are."""

    __slots__ = ("_found", "_frame", "_part", "_whole")

    def __init__(self, whole: _Whole, frame: Frame, found: TextColumns, part: slice) -> None:
        self._whole, self._frame, self._found, self._part = whole, frame, found, part

    def __call__(self, name: str) -> Any:
        """Return a column: what is known of the text and its frame here, others by the encoding of the whole text."""
        found = self._found
        if name in ("ids", "byte_offsets", "word_ids"):
            return found.array(name)
        made: Any = None
        if name == "tokens":
            made = found.tokens()
        elif name == "offsets":
            made = self._offsets()
        elif (row := found.row(name)) is not None:
            made = np.array(row, dtype=DTYPES[name])
        return self._of_whole(name) if made is None else made

    def list(self, name: str) -> list[Any] | None:
        """Return a column as a list; None if it is made from the array."""
        made = _LISTS.get(name)
        return self._found.row(name) if made is None else made(self._found)

    def _offsets(self) -> NDArray[np.int64] | None:
        frame, offsets = self._frame, self._found.character_spans()
        if not frame.trims or offsets is None:
            return offsets
        ids = self._found.array("ids")
        return self._whole.assembler.spaces.trimmed(offsets, ids, frame.trims, frame.n_before, frame.n_after)

    def _of_whole(self, name: str) -> Any:
        start, end = self._part.start, self._part.stop
        whole = self._whole.encoding
        own = derived(end - start, lambda name: whole.column(name)[start:end], {}, ())
        return self._whole.assembler.processed(own, None, self._whole.add_special, None).column(name)


_LISTS: dict[str, Callable[[TextColumns], list[Any] | None]] = {
    "ids": TextColumns.id_list,
    "tokens": TextColumns.tokens,
    "offsets": TextColumns.offsets,
    "byte_offsets": TextColumns.span_list,
    "word_ids": TextColumns.word_list,
}


def check_sequences(texts: Iterable[Any], pairs: Iterable[Any] | None) -> tuple[list[Any], list[Any] | None]:
    """Return texts and pairs as lists; TypeError for what is not several texts, OptionError for different numbers."""
    first = list(ordered(texts))
    second = None if pairs is None else list(ordered(pairs, "pairs"))
    if second is not None and len(first) != len(second):
        raise OptionError(f"there are {len(first)} texts and {len(second)} pairs; there must be one pair for each text")
    return first, second
