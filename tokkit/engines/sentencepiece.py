"""A definition with a SentencePiece model in, an engine out: text → ids as SentencePiece makes them, in the core.

Special tokens that a caller allows are found in the text as it stands, and what is between two of them is a text of
its own, with a space before it where the model puts one.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokkit._core.aligned import AlignedText
from tokkit._core.sp_engine import SentencePieceEncoder
from tokkit._core.sp_whole import WholeEncoder
from tokkit._core.special import SpecialMatcher
from tokkit._core.text import to_utf8
from tokkit.batch_parts import in_parts
from tokkit.definition import Definition
from tokkit.engines.engine import Engine
from tokkit.engines.special_tokens import Special
from tokkit.errors import OptionError, VocabError
from tokkit.sentencepiece_model import NORMAL, SPACE, UNUSED, USER_DEFINED, SentencePieceModel

if TYPE_CHECKING:
    from tokkit._core.text import Text


CACHE_UNITS = 1 << 18
"""Units, of 32 bytes each, that one thread's cache holds at most; it begins with an eighth of that."""


PART = 1 << 18
"""Characters of a long text that a thread encodes at a time."""
_BETWEEN = re.compile(r"(?<=[0-9A-Za-z]) (?=[0-9A-Za-z])")
_BETWEEN_BYTES = re.compile(rb"(?<=[0-9A-Za-z]) (?=[0-9A-Za-z])")
_BESIDE = re.compile(r"\A[0-9A-Za-z]| |[0-9A-Za-z]\Z")


def encoder_of(model: SentencePieceModel) -> SentencePieceEncoder | WholeEncoder:
    """Return what encodes texts with a model in the core; VocabError for a vocabulary beyond its bounds."""
    try:
        return _encoder_of(model)
    except ValueError as error:
        raise VocabError(str(error)) from None


def _encoder_of(model: SentencePieceModel) -> SentencePieceEncoder | WholeEncoder:
    normalizer = model.normalizer
    if model.kind in ("unigram", "bpe"):
        return SentencePieceEncoder(
            model.pieces.blob,
            model.pieces.offsets,
            model.scores,
            model.types,
            charsmap=normalizer.charsmap,
            unknown=model.unk_id,
            bpe=model.kind == "bpe",
            byte_fallback=model.byte_fallback,
            dummy_prefix=normalizer.add_dummy_prefix,
            remove_extra=normalizer.remove_extra_whitespaces,
            escape=normalizer.escape_whitespaces,
            suffix=model.treat_whitespace_as_suffix,
            cache_units=CACHE_UNITS,
        )
    return WholeEncoder(
        model.kind,
        model.pieces.blob,
        model.pieces.offsets,
        model.scores,
        model.types,
        charsmap=normalizer.charsmap,
        add_prefix=normalizer.add_dummy_prefix,
        remove_extra=normalizer.remove_extra_whitespaces,
        escape=normalizer.escape_whitespaces,
        suffix=model.treat_whitespace_as_suffix,
        byte_fallback=model.byte_fallback,
    )


class SentencePieceEngine(Engine):
    """Runs one definition in the core. Safe to share between threads."""

    split_engine = "model"

    def __init__(self, definition: Definition) -> None:
        if not isinstance(definition.model, SentencePieceModel):
            raise OptionError(f"this engine is for SentencePiece models, not for {type(definition.model).__name__}")
        if unusual := [token.content for token in definition.added_tokens if not token.plain]:
            raise OptionError(f"with a SentencePiece model, added tokens are found as they stand; see {unusual[0]!r}")
        self._model = definition.model
        self.core = encoder_of(definition.model)
        """What encodes a text in which no added token is looked for."""
        super().__init__(definition)
        self._always = self._matcher("text")

    def encoder_for(self, *, as_stated: bool, normalized_first: bool) -> None:
        """Return None: the model's own encoder runs."""

    def matcher(self, special: Special, text: Text | None = None) -> SpecialMatcher | None:
        """Return what finds the added tokens by a policy."""
        if special == "text":
            return self._always
        if special == "raise" and text is not None:
            self._refuse(text)
        return self._matcher(special)

    def _matcher(self, special: Special) -> SpecialMatcher | None:
        finder = self._tokens.finder(self._tokens.allowed(special))
        return None if finder is None else finder.guard

    def added_in(self, text: Text) -> list[tuple[int, int]]:
        """Return (byte, id) of each added token in a text if all are allowed."""
        utf8, matcher, found, at = to_utf8(text), self.matcher("all"), [], 0
        while matcher is not None and (one := matcher.find(utf8, at)):
            found.append((one[0], one[2]))
            at = one[1]
        return found

    def encode(self, text: Text, special: Special = "text") -> list[int]:
        """Return ids as a list."""
        return self.core.encode(text, self.matcher(special, text))

    def encode_array(self, text: Text, special: Special = "text", threads: int = 1) -> NDArray[np.uint32]:
        """Return ids as a uint32 array; several threads share a long text that is cut at its spaces."""
        matcher = self.matcher(special, text)
        if threads > 1 and isinstance(text, (str, bytes)) and len(text) >= 2 * PART and self._parts_at_spaces:
            parts = cut_at_spaces(text)
            if len(parts) > 1:
                return in_parts(parts, threads, lambda part: self.core.encode_several(part, matcher))[0]
        return self.core.encode_array(text, matcher)

    @functools.cached_property
    def _parts_at_spaces(self) -> bool:
        """Whether a text has the ids of its parts, cut between two words, each without the space before it.

        So it is where the model puts that space, as it does before any text; where nothing else depends on what stands
        before it, neither a piece (with a space behind another character), nor a rule of the normalizer, nor a symbol
        that is always kept whole; where ids by themselves say nothing of their neighbours (unknown ones join, scores
        of Unigram add up with rounding); and where no added token holds such a space, or begins or ends beside it.
        """
        model, rules = self._model, self._model.normalizer
        return (
            (model.kind == "bpe" and model.byte_fallback and not model.treat_whitespace_as_suffix)
            and (rules.add_dummy_prefix and rules.escape_whitespaces and not rules.charsmap)
            and not model.ids_of(USER_DEFINED, UNUSED)
            and not any(map(_BESIDE.search, self._definition.added_ids))
            and not any(SPACE in model.pieces[id_].lstrip(SPACE) for id_ in model.ids_of(NORMAL))
        )

    def count(self, text: Text, special: Special = "text") -> int:
        """Return the number of ids."""
        return self.core.count(text, self.matcher(special, text))

    def _encode_several(
        self, texts: Sequence[Text], special: Special, threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return what `encode_batch` does, by a policy that raises for no text."""
        matcher = self.matcher(special)
        return in_parts(list(texts), threads, lambda part: self.core.encode_several(part, matcher))

    def aligned(
        self, text: Text, special: Special
    ) -> tuple[bytes, NDArray[np.uint32], NDArray[np.int64], NDArray[np.int32]]:
        """Return (utf8, ids, byte spans (n, 2), words) for a text; a word begins where a token begins with a space."""
        utf8 = to_utf8(text)
        ids, spans = self.core.aligned(utf8, self.matcher(special, text))
        return utf8, ids, spans, self._words(ids)

    def surfaces(self, text: Text, special: Special, ids: object, words: object) -> None:
        """Return None: each token stands for what it covers."""

    def _words(self, ids: NDArray[np.uint32]) -> NDArray[np.int32]:
        if not len(ids):
            return np.empty(0, dtype=np.int32)
        begins = self._begins_word[ids]
        if self._model.treat_whitespace_as_suffix:
            begins = np.append(False, begins[:-1])
        begins[0] = False
        alone = np.isin(ids, list(self._definition.added_ids.values()))
        begins[1:] |= alone[1:] | alone[:-1]
        return np.cumsum(begins, dtype=np.int32)

    @functools.cached_property
    def _begins_word(self) -> NDArray[np.bool_]:
        """Whether a token begins with a space, or ends with it where that is its place."""
        vocab, width = self._definition.vocab, len(SPACE)
        bytes_ = np.frombuffer(vocab.blob, dtype=np.uint8)
        lengths = np.diff(vocab.offsets)
        at = vocab.offsets[1:] - width if self._model.treat_whitespace_as_suffix else vocab.offsets[:-1]
        found = lengths >= width
        for k in range(width):
            found[found] &= bytes_[at[found] + k] == SPACE[k]
        return found

    def stages(self, text: Text, special: Special) -> Iterator[tuple[str, AlignedText]]:
        """Yield the text as the model sees it: with no other stages, the alignment is for `aligned` to give."""
        self.matcher(special, text)
        yield "normalizer", AlignedText(self.core.segments(to_utf8(text))[0])

    def cache_info(self) -> dict[str, int]:
        """Return sizes and counts of the caches."""
        return self.core.cache_info()


def cut_at_spaces(text: str | bytes) -> list[Text]:
    """Return the parts of a text that single spaces between ASCII letters and digits cut it into, without these.

    Each has PART characters, or as many as there are before the next such space.

    >>> cut_at_spaces("one two")
    ['one two']
    """
    between = _BETWEEN if isinstance(text, str) else _BETWEEN_BYTES
    parts: list[Text] = []
    at = 0
    while found := between.search(text, at + PART):  # type: ignore[arg-type]
        parts.append(text[at : found.start()])
        at = found.end()
    return [*parts, text[at:]]
