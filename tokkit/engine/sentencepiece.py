"""The engine of SentencePiece models: text → ids exactly as in SentencePiece, in the core.

Special tokens that the caller allows are found in the original text, and the text between two of them is encoded
separately, with a space before it if the model adds one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokkit._core.align import AlignedText
from tokkit._core.encode.plan import Encoder
from tokkit._core.encode.sp_engine import SentencePieceEncoder
from tokkit._core.text import to_utf8
from tokkit.definition import Definition
from tokkit.engine.engine import Engine
from tokkit.engine.special_tokens import Special, slices
from tokkit.errors import OptionError, VocabError
from tokkit.models.names import described
from tokkit.models.sentencepiece import NORMAL, SPACE, UNUSED, USER_DEFINED, SentencePieceModel
from tokkit.unicode_regex.atoms import N_ATOMS, Tables, atom
from tokkit.vocab import Vocab

if TYPE_CHECKING:
    from tokkit._core.text import Text


CACHE_UNITS = 1 << 18
"""Maximum number of units, of 32 bytes each, in one thread's cache; a new cache has an eighth of that."""

BEGINS_WORD, ENDS_WORD = 1, 2
"""Marks of ids, by the numbers of csrc/encode/plan.h."""

_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def encoder_of(model: SentencePieceModel, added: Collection[tuple[str, int]] = ()) -> SentencePieceEncoder:
    """Return the core's encoder of a model; VocabError for a vocabulary that is too large.

    `added` are the tokens, (text, id), that may cut a text before the model sees it.
    """
    normalizer = model.normalizer
    try:
        return SentencePieceEncoder(
            model.pieces.blob,
            model.pieces.offsets,
            model.scores,
            model.types,
            charsmap=normalizer.charsmap,
            unknown=model.unk_id,
            model=model.kind,
            byte_fallback=model.byte_fallback,
            dummy_prefix=normalizer.add_dummy_prefix,
            remove_extra=normalizer.remove_extra_whitespaces,
            escape=normalizer.escape_whitespaces,
            suffix=model.treat_whitespace_as_suffix,
            cache_units=CACHE_UNITS,
            word_marks=word_marks(model, [id_ for _, id_ in added]),
            rule=cut_rule(model) if all(_parts_of_text(text) for text, _ in added) else None,
        )
    except ValueError as error:
        raise VocabError(str(error)) from None


def cut_rule(model: SentencePieceModel) -> Tables | None:
    """Return the rule for cuts between an ASCII letter or digit and a space, None if parts may have other ids.

    A part that begins with such a space gets no further space, and loses none. The cut changes nothing else if no
    piece, no rule of the normalizer and no user-defined symbol has a space after another character, and if ids do not
    depend on their neighbours: adjacent unknown characters join, and Unigram's sums of scores are rounded.
    """
    rules = model.normalizer
    if (
        (model.kind != "bpe" or not model.byte_fallback or model.treat_whitespace_as_suffix)
        or (not rules.escape_whitespaces or rules.charsmap)
        or model.ids_of(USER_DEFINED, UNUSED)
        or _has_inner_space(model)
    ):
        return None
    left, right = np.zeros(N_ATOMS, dtype=np.uint8), np.zeros(N_ATOMS, dtype=np.uint8)
    left[[atom(letter) for letter in _LETTERS]] = right[atom(" ")] = 1
    return left, right


def _parts_of_text(added: str) -> bool:
    """Return whether the rule above never cuts inside an added token or at its end."""
    return " " not in added and added[-1:] not in _LETTERS


def word_marks(model: SentencePieceModel, alone: Collection[int]) -> NDArray[np.uint8]:
    """Return which ids begin a word, and which end one: those with a space there, or that are whole words."""
    has_space = _ends_in_space(model.pieces) if model.treat_whitespace_as_suffix else _begins_with_space(model.pieces)
    marks = has_space * np.uint8(ENDS_WORD if model.treat_whitespace_as_suffix else BEGINS_WORD)
    marks[[id_ for id_ in alone if id_ < len(marks)]] = BEGINS_WORD | ENDS_WORD
    return marks


def _begins_with_space(pieces: Vocab) -> NDArray[np.bool_]:
    return _with_space_at(pieces, pieces.offsets[:-1])


def _ends_in_space(pieces: Vocab) -> NDArray[np.bool_]:
    return _with_space_at(pieces, pieces.offsets[1:] - len(SPACE))


def _with_space_at(pieces: Vocab, at: NDArray[np.int64]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = _is_space(pieces)[np.maximum(at, 0)]
    found[np.diff(pieces.offsets) < len(SPACE)] = False
    return found


def _has_inner_space(model: SentencePieceModel) -> bool:
    """Return whether any piece that merging makes has U+2581 after another character."""
    is_space, offsets = _is_space(model.pieces), model.pieces.offsets
    at = np.flatnonzero(is_space)
    piece = np.searchsorted(offsets, at, side="right") - 1
    first, in_one = at == offsets[piece], at + len(SPACE) <= offsets[piece + 1]
    behind_another = ~first & ~(is_space[at - len(SPACE)] & (at - len(SPACE) >= offsets[piece]))
    return bool((behind_another & in_one & (model.types[piece] == NORMAL)).any())


def _is_space(pieces: Vocab) -> NDArray[np.bool_]:
    """Return for each byte of the blob whether U+2581 begins there, and one more False."""
    blob = np.frombuffer(pieces.blob + bytes(len(SPACE)), dtype=np.uint8)
    n = len(pieces.blob) + 1
    found: NDArray[np.bool_] = blob[:n] == SPACE[0]
    found &= blob[1 : n + 1] == SPACE[1]
    found &= blob[2 : n + 2] == SPACE[2]
    return found


class SentencePieceEngine(Engine):
    """Runs one definition in the core. Safe to share between threads."""

    split_engine = "model"
    uncut_reason = "scores and unknown characters depend on earlier text"

    def __init__(self, definition: Definition) -> None:
        if not isinstance(definition.model, SentencePieceModel):
            raise OptionError(f"this engine is for SentencePiece models, not for {described(definition.model)}")
        if unusual := [token.content for token in definition.added_tokens if not token.plain]:
            raise OptionError(f"{unusual[0]!r}: a SentencePiece model supports only added tokens without options")
        self._model = definition.model
        self.core = encoder_of(definition.model, definition.added_vocab.items())
        """The encoder for text without a search for added tokens."""
        super().__init__(definition)

    def encoder_for(self, *, as_stated: bool, normalized_first: bool) -> Encoder:
        """Return the model's encoder, the same one for all policies."""
        return self.core

    def added_in(self, text: Text) -> list[tuple[int, int]]:
        """Return (byte, id) of each added token in a text if all are allowed."""
        return [(at, id_) for at, _, id_ in slices(self._way("all")[1], to_utf8(text)) if id_ is not None]

    def surfaces(self, text: Text, special: Special, ids: NDArray[np.uint32], words: object) -> list[bytes] | None:
        """Return the surface of each token; that of an unknown piece is normalized.

        None, for the text that each token covers, where no piece is unknown.
        """
        if self._model.unk_id not in ids:
            return None
        found, made = list[int](), list[bytes]()
        for _, part, id_ in slices(self._way(special)[1], to_utf8(text)):
            if id_ is not None:
                found.append(id_)
                made.append(part)
                continue
            normalized, of_part, spans, _ = self.segments(part)
            found += of_part.tolist()
            made += [normalized[a:b] for a, b in spans.tolist()]
        return made if found == ids.tolist() else None

    def stages(self, text: Text, special: Special) -> Iterator[tuple[str, AlignedText]]:
        """Yield the text as the model sees it; there are no other stages, and `aligned` gives the alignment."""
        self._way(special, text)
        yield "normalizer", AlignedText(self.segments(to_utf8(text))[0])

    def segments(self, utf8: bytes) -> tuple[bytes, NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint32]]:
        """Return (normalized text, ids, spans in it, the origin of each of its bytes)."""
        try:
            return self.core.segments(utf8)
        except OverflowError as error:
            raise self.unusable(error) from None
