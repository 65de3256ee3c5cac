"""Assembles encodings from ids: special tokens, pairs, truncation, padding and batches."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from tokkit.byte_symbols import to_symbols
from tokkit.checks import ordered
from tokkit.definition import Definition
from tokkit.encoding.alignment import character_spans
from tokkit.encoding.encoding import Encoding, known
from tokkit.encoding.length_rules import Padding, Truncation
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
            words = [self._encoding(word, special, i) for i, word in enumerate(ordered(text, "text", "words"))]
            return Encoding.merge(words, growing_offsets=False)
        return self._encoding(cast("Text", text), special, None)

    def _encoding(self, text: Text, special: Special, number: int | None) -> Encoding:
        found = self.engine.aligned(text, special)
        return self.of_text(text if isinstance(text, str) else found[0], special, found, number)

    def of_text(self, text: str | bytes, special: Special, found: Aligned, number: int | None = None) -> Encoding:
        """Return the encoding of an engine's result for a text, which may be word `number` of a pretokenized text."""
        utf8, ids, spans, words = found
        surfaces = functools.partial(self.engine.surfaces, text, special, ids, words)
        if number is not None:
            words = np.full(len(ids), number, dtype=np.int32)
        return Encoding(ids, spans, words, self._definition.vocab, text, utf8, surfaces, self._spell, self._varying)

    def processed(
        self, first: Encoding, second: Encoding | None, add_special: bool, truncation: Truncation | None
    ) -> Encoding:
        """Return the encoding of a text or a pair with its special tokens, truncated."""
        spaces = self.spaces if self._trims else None
        return self.postprocessor.process(first, second, add_special=add_special, truncation=truncation, spaces=spaces)

    @functools.cached_property
    def _spell(self) -> Callable[[list[bytes], list[int]], list[str]] | None:
        """The function that spells tokens as in a tokenizer.json: those of byte-level BPE in byte symbols."""
        if self._definition.over_bytes is None:
            return None
        added = frozenset(self._definition.added_vocab.values())

        def spell(tokens: list[bytes], ids: list[int]) -> list[str]:
            return [
                token.decode() if id_ in added else to_symbols(token) for token, id_ in zip(tokens, ids, strict=True)
            ]

        return spell

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
        if pair is None and not pretokenized:
            made = self._framed(cast("Text", text), special, add_special, truncation)
            if made is not None:
                return made if padding is None else pad([made], padding)[0]
        first = self.one(text, special, pretokenized=pretokenized)
        second = None if pair is None else self.one(pair, special, pretokenized=pretokenized)
        made = self.processed(first, second, add_special, truncation)
        return made if padding is None else pad([made], padding)[0]

    def _framed(
        self, text: Text, special: Special, add_special: bool, truncation: Truncation | None
    ) -> Encoding | None:
        """Return the encoding of a text whose special tokens the core puts around it; None if it cannot."""
        frame = self.frame(add_special)
        found = None if frame is None else self.engine.framed(text, special, frame.before, frame.after)
        return (
            None
            if frame is None or found is None
            else self.framed(text, frame, found, special, add_special, truncation)
        )

    def frame(self, add_special: bool) -> Frame | None:
        """Return the tokens that the core puts around a text; None if the layout is not a simple frame."""
        if add_special not in self._frames:
            self._frames[add_special] = self.postprocessor.layout(add_special=add_special).frame
        return self._frames[add_special]

    def framed(
        self,
        text: Text,
        frame: Frame,
        found: Aligned,
        special: Special,
        add_special: bool,
        truncation: Truncation | None,
    ) -> Encoding:
        """Return the encoding of an engine's result for a text in its frame."""
        utf8, ids, spans, words = found
        n = len(ids) - frame.n_before - frame.n_after
        columns = _Columns(
            self, frame, found, text if isinstance(text, str) else utf8, special, add_special, truncation
        )
        if truncation is not None and n > room_for_text(truncation, self.postprocessor.n_added() if add_special else 0):
            return columns.general
        return known(columns, frame.ranges_of(n), {"ids": ids, "byte_offsets": spans, "word_ids": words})

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
        made = [
            self.encoding(
                text,
                None if pairs is None else pairs[i],
                special,
                pretokenized=pretokenized,
                add_special=add_special,
                truncation=truncation,
            )
            for i, text in enumerate(texts)
        ]
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


class _Columns:
    """Makes the columns of an encoding with special tokens when they are used; most columns never are."""

    def __init__(
        self,
        assembler: Assembler,
        frame: Frame,
        found: Aligned,
        text: str | bytes,
        special: Special,
        add_special: bool,
        truncation: Truncation | None,
    ) -> None:
        self._assembler, self._frame, self._found, self._text = assembler, frame, found, text
        self._options = special, add_special, truncation

    def __call__(self, name: str) -> Any:
        """Return a column: offsets are computed here, others by the postprocessor."""
        if name == "offsets":
            utf8, ids, spans, _ = self._found
            frame, offsets = self._frame, character_spans(self._text, spans, utf8)
            if not frame.trims:
                return offsets
            spaces = self._assembler.spaces
            trimmed = spaces.trimmed(offsets, ids, frame.trims, frame.n_before, frame.n_after)
            if trimmed is not None:
                return trimmed
        return self.general.column(name)

    @functools.cached_property
    def general(self) -> Encoding:
        """The encoding made from the text's own tokens, truncated if necessary."""
        utf8, ids, spans, words = self._found
        special, add_special, truncation = self._options
        part = slice(self._frame.n_before, len(ids) - self._frame.n_after)
        assembler = self._assembler
        of_text = assembler.of_text(self._text, special, (utf8, ids[part], spans[part], cast("Any", words)[part]))
        return assembler.processed(of_text, None, add_special, truncation)


def check_sequences(texts: Iterable[Any], pairs: Iterable[Any] | None) -> tuple[list[Any], list[Any] | None]:
    """Return texts and pairs as lists; TypeError for what is not several texts, OptionError for different numbers."""
    first = list(ordered(texts))
    second = None if pairs is None else list(ordered(pairs, "pairs"))
    if second is not None and len(first) != len(second):
        raise OptionError(f"there are {len(first)} texts and {len(second)} pairs; there must be one pair for each text")
    return first, second
