"""Texts and the engine that encodes them in, encodings out: special tokens added, cut and filled up as asked."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from tokkit.definition import BPE, Definition
from tokkit.encoding import Encoding
from tokkit.errors import OptionError
from tokkit.formats.byte_symbols import to_symbols
from tokkit.length_rules import Padding, Truncation
from tokkit.postprocessors.batch import Batch, batch
from tokkit.postprocessors.layout import Postprocessor
from tokkit.postprocessors.lengths import pad
from tokkit.postprocessors.plain import Plain
from tokkit.postprocessors.trimming import Spaces

if TYPE_CHECKING:
    from tokkit._core.text import Text
    from tokkit.engines.engine import Engine
    from tokkit.engines.special_tokens import Special

Own = Literal["own"]
"""The truncation or padding that the tokenizer's file states."""
Words = Sequence["Text"]
"""A text that is cut into words already."""


class Assembler:
    """Makes encodings of one definition's texts."""

    def __init__(self, definition: Definition, engine: Engine) -> None:
        self._definition, self._engine = definition, engine
        self.postprocessor: Postprocessor = definition.postprocessor or Plain()

    @functools.cached_property
    def _spaces(self) -> Spaces:
        vocab, added, normalizer = self._definition.vocab, self._definition.added_tokens, self._definition.normalizer
        by_bytes = isinstance(self._definition.model, BPE)
        made = Spaces.of_bytes(vocab, [token.id for token in added]) if by_bytes else Spaces.of(vocab)
        # Some stand for what the text has there: added tokens that take white space along, or that are found as what
        # they are normalized to, and the unknown token of Unigram.
        varying = {token.id for token in added if token.lstrip or token.rstrip}
        if normalizer is not None:
            varying |= {token.id for token in added if token.normalized}
        if (unknown := getattr(self._definition.model, "unk_id", None)) is not None:
            varying.add(unknown)
        return made.with_varying(varying) if varying else made

    def truncation(self, given: Truncation | int | Own | None) -> Truncation | None:
        """Return how to cut: as given, up to a number of tokens, or as the definition says."""
        if isinstance(given, int) and not isinstance(given, bool):
            return Truncation(max_length=given)
        if given is not None and given != "own" and not isinstance(given, Truncation):
            raise OptionError(f'truncation is {given!r}; it must be a Truncation, a number of tokens, None or "own"')
        return self._definition.truncation if given == "own" else given

    def padding(self, given: Padding | Own | None) -> Padding | None:
        """Return how to fill up: as given, or as the definition says."""
        if given is not None and given != "own" and not isinstance(given, Padding):
            raise OptionError(f'padding is {given!r}; it must be a Padding, None or "own"')
        return self._definition.padding if given == "own" else given

    def one(self, text: Text | Words, special: Special, *, pretokenized: bool) -> Encoding:
        """Return the encoding of a text alone, without special tokens."""
        if pretokenized:
            if isinstance(text, (str, bytes, bytearray, memoryview)):
                raise TypeError(f"a pretokenized text is a sequence of words, not {type(text).__name__}")
            words = [self._encoding(word, special, number) for number, word in enumerate(text)]
            return Encoding.merge(words, growing_offsets=False)
        return self._encoding(cast("Text", text), special, None)

    def _encoding(self, text: Text, special: Special, number: int | None) -> Encoding:
        utf8, ids, spans, words = self._engine.aligned(text, special)
        if not isinstance(text, str):
            text = utf8
        surfaces = functools.partial(self._engine.surfaces, text, special, ids, words)
        if number is not None:
            words = np.full(len(ids), number, dtype=np.int32)
        return Encoding(ids, spans, words, self._definition.vocab, text, utf8, surfaces, self._spell)

    @functools.cached_property
    def _spell(self) -> Callable[[list[bytes], list[int]], list[str]] | None:
        """What spells tokens as a tokenizer.json does: the model's own of byte-level BPE in symbols."""
        if self._definition.over_bytes is None:
            return None
        added = frozenset(self._definition.added_ids.values())

        def spell(tokens: list[bytes], ids: list[int]) -> list[str]:
            return [
                token.decode() if id_ in added else to_symbols(token) for token, id_ in zip(tokens, ids, strict=True)
            ]

        return spell

    @functools.cached_property
    def _trims(self) -> bool:
        for pair, add_special in itertools.product((False, True), repeat=2):
            with contextlib.suppress(OptionError):  # of what it cannot do it says so where it is asked to
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
        first = self.one(text, special, pretokenized=pretokenized)
        second = None if pair is None else self.one(pair, special, pretokenized=pretokenized)
        made = self.postprocessor.process(
            first, second, add_special=add_special, truncation=truncation, spaces=self._spaces if self._trims else None
        )
        return made if padding is None else pad([made], padding)[0]

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
        """Return the encodings of texts, or of pairs, filled up alike."""
        check_sequences(texts, pairs)
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
        check_sequences(texts, pairs)
        flat = [self._engine.encode_batch(side, special, threads) for side in (texts, pairs) if side is not None]
        return batch(self.postprocessor, flat, padding or Padding(), truncation=truncation, add_special=add_special)


def check_sequences(texts: object, pairs: object) -> None:
    """Raise for one text in the place of several, and for pairs that are not as many as texts."""
    for side in (texts, pairs):
        if isinstance(side, (str, bytes, bytearray, memoryview)):
            raise TypeError(f"a sequence of texts is needed, not one {type(side).__name__}")
    if isinstance(texts, Sequence) and isinstance(pairs, Sequence) and len(texts) != len(pairs):
        raise OptionError(f"there are {len(texts)} texts and {len(pairs)} second ones; each text needs its own")
