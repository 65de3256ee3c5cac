"""Decodes ids of a SentencePiece model as SentencePiece does: spaces, bytes, unknown and control pieces.

Control pieces decode to nothing. A byte piece is its byte; each byte of invalid UTF-8 becomes U+FFFD. If the model
adds a space before texts, or removes extra ones, the space at the start of the first visible piece is dropped.
"""

from __future__ import annotations

import codecs
import functools
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit import limits
from tokkit._core.charsmap import Normalizer
from tokkit._core.decode import Detokenizer
from tokkit._core.pieces import PieceTexts
from tokkit._core.text import Grown
from tokkit.models.sentencepiece import BYTE, CONTROL, SPACE, UNKNOWN, SentencePieceModel, SentencePieceNormalizer

_EACH_BYTE = "tokkit-replace-each-byte"
_SPACED, _HIDDEN = 1, 2  # marks of ids, by the numbers of the core


def _replace_each_byte(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error(_EACH_BYTE, _replace_each_byte)


class SentencePiece:
    """Decodes ids; KeyError(id) for an id without a token. Ids beyond the model's decode to "", like control pieces.

    >>> from tokkit.vocab import Vocab
    >>> model = SentencePieceModel(
    ...     kind="bpe", pieces=Vocab.from_list([b"<unk>", "▁a".encode()]), scores=[0, 0], types=[2, 1]
    ... )
    >>> SentencePiece(model, 2).decode([1, 0, 1])
    'a ⁇  a'
    """

    def __init__(self, model: SentencePieceModel, n_ids: int) -> None:
        self._model = model
        texts, ends, marks = _texts_of(model, n_ids)
        self._detokenizer = Detokenizer(texts, ends, np.ones(n_ids, dtype=np.uint8))
        self._strips = model.normalizer.add_dummy_prefix or model.normalizer.remove_extra_whitespaces
        self._strips_all = model.normalizer.remove_extra_whitespaces
        self._marks = marks
        self._texts = PieceTexts(
            self._detokenizer,
            marks.tobytes(),
            strips=self._strips,
            strips_all=self._strips_all,
            apart=model.byte_fallback,
            errors=_EACH_BYTE,
        )
        self._denormalizer = _denormalizer(model.denormalizer)
        self.denormalizes = self._denormalizer is not None
        """Whether the complete text is denormalized."""

    @functools.cached_property
    def _spaced(self) -> frozenset[int]:
        return frozenset(np.flatnonzero(self._marks & _SPACED).tolist())

    @functools.cached_property
    def _invisible(self) -> frozenset[int]:
        return frozenset(np.flatnonzero(self._marks & _HIDDEN).tolist())

    def texts(self, given: list[int] | list[list[int]]) -> Any:
        """Return the text of a list of ids, or of each of a list of such lists, as `decode` does.

        None if something in a list is not an int, or not an id, and for other cases that only `decode` decides.
        """
        return None if self.denormalizes else self._texts.texts(given)

    def text_of_pieces(self, pieces: list[str], ids: dict[str, int]) -> str | None:
        """Return the text of pieces, by their ids; a str that is not a piece is its own text.

        None for other objects than str, and for cases that only `surfaces_of` decides.
        """
        return None if self.denormalizes else self._texts.text_of_pieces(pieces, ids)

    def token_text(self, id_: int) -> bytes:
        """Return the bytes that one id adds inside a text."""
        return self._detokenizer.decode_bytes([id_])

    def spellings(self) -> tuple[list[bytes], dict[int, bytes]] | None:
        """Return the bytes that each id adds to a text, and those for ids that add different bytes at its start.

        Control and unknown pieces have b"". None with a denormalizer, which looks at the complete text.
        """
        if self.denormalizes:
            return None
        hidden = self._invisible.union(self._model.ids_of(UNKNOWN))
        texts = [b"" if id_ in hidden else self.token_text(id_) for id_ in range(self._detokenizer.n_ids)]
        return texts, {id_: texts[id_][1:] for id_ in self._spaced - hidden} if self._strips else {}

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """Return the bytes of the text of ids, which may be invalid UTF-8; with a denormalizer, those of `decode`."""
        return self.decode(ids).encode() if self.denormalizes else self.joined(ids)

    def joined(self, ids: Iterable[int]) -> bytes:
        """Return the bytes of the text of ids before it is denormalized."""
        ids = ids if isinstance(ids, list) else list(ids)
        made = self._detokenizer.decode_bytes(ids)
        if not self._strips or not made:
            return made
        return made[self._leading(ids) :]

    def _leading(self, ids: Iterable[int]) -> int:
        """Return the number of bytes of spaces that are dropped at the start of the joined texts."""
        gone = 0
        for id_ in ids:
            if id_ in self._spaced:
                gone += 1
                if self._strips_all and self._detokenizer.lengths[id_] == 1:
                    continue
                return gone
            if self._detokenizer.lengths[id_]:
                return gone
        return gone

    def decode(self, ids: Iterable[int], errors: str = "replace") -> str:
        """Return the text of ids; invalid UTF-8 is handled as by bytes.decode with these `errors`.

        With "replace" each invalid byte becomes U+FFFD.
        """
        ids = ids if isinstance(ids, list) else list(ids)
        if errors == "replace" and not self.denormalizes and (made := self._texts.text(ids)) is not None:
            return made
        errors = _EACH_BYTE if errors == "replace" else errors
        joined = self.joined(ids)
        # Bytes on both sides of an invisible piece belong to different characters.
        if self._model.byte_fallback and not self._invisible.isdisjoint(ids):
            gone = self._detokenizer.lengths[ids].sum() - len(joined)
            ends = np.cumsum(self._detokenizer.lengths[ids]) - gone
            cuts = [0, *np.maximum(ends[np.isin(ids, list(self._invisible))], 0).tolist(), len(joined)]
            text = "".join([joined[a:b].decode("utf-8", errors) for a, b in pairwise(cuts)])
        else:
            text = joined.decode("utf-8", errors)
        return self.denormalized(text)

    def denormalized(self, text: str) -> str:
        """Return a decoded text, denormalized by the model's rules."""
        if self._denormalizer is None:
            return text
        try:
            return self._denormalizer.normalize(text).decode()
        except Grown as error:
            raise limits.grown(error, self._denormalizer.most) from None


def _texts_of(model: SentencePieceModel, n_ids: int) -> tuple[bytes, NDArray[np.int64], NDArray[np.uint8]]:
    """Return the texts of the ids, joined; the span of each; and which begin with a space or are never visible."""
    pieces, types = model.pieces, model.types
    blob, offsets = np.frombuffer(pieces.blob + bytes(len(SPACE)), dtype=np.uint8), pieces.offsets
    n = len(pieces.blob) + 1
    is_space = (blob[:n] == SPACE[0]) & (blob[1 : n + 1] == SPACE[1]) & (blob[2 : n + 2] == SPACE[2])
    before = np.append(0, np.cumsum(is_space))[offsets]
    joined, ends = pieces.blob.replace(SPACE, b" "), offsets - before * (len(SPACE) - 1)
    lengths = np.diff(ends)
    parts, done = [], 0
    for id_ in model.ids_of(CONTROL, UNKNOWN, BYTE):
        text = b"" if types[id_] == CONTROL else model.unk_surface.encode()
        if types[id_] == BYTE:
            text = bytes([int(pieces[id_][3:5], 16)])
        parts += [joined[done : ends[id_]], text]
        done = int(ends[id_ + 1])
        lengths[id_] = len(text)
    parts.append(joined[done:])
    marks = np.full(n_ids, _HIDDEN, dtype=np.uint8)
    marks[: len(types)] = is_space[offsets[:-1]] * _SPACED | (types == CONTROL) * _HIDDEN
    more = np.zeros(n_ids - len(types), dtype=np.int64)
    return b"".join(parts), np.append(0, np.cumsum(np.append(lengths, more))), marks


def _denormalizer(rules: SentencePieceNormalizer | None) -> Normalizer | None:
    if rules is None or not rules.charsmap:
        return None
    made = Normalizer(
        rules.charsmap,
        add_prefix=rules.add_dummy_prefix,
        remove_extra=rules.remove_extra_whitespaces,
        escape=rules.escape_whitespaces,
    )
    made.most = limits.current().grown_bytes
    return made


class SentencePieceStream:
    """Decodes a stream of ids: the concatenated results, with that of `flush()`, equal `decode` of all ids.

    With a denormalizer, which may look at more than one token, `flush` returns everything.
    """

    def __init__(self, decoder: SentencePiece, errors: str, unknown: Callable[[object], Exception]) -> None:
        """Start a stream; `unknown` makes the error for an id without a token."""
        self._whole, self._errors, self._unknown = decoder, errors, unknown
        self._begin()

    def _begin(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(_EACH_BYTE if self._errors == "replace" else self._errors)
        self._first: list[int] | None = []

    def step(self, id_: int) -> str:
        """Take one id and return the text that is now complete."""
        try:
            text = self._whole.token_text(id_)
        except KeyError as error:
            raise self._unknown(error.args[0]) from None
        if self._first is None:
            made = self._decoder.decode(text, not text)
            if not text:
                self._decoder.reset()
            return made
        self._first.append(int(id_))
        if self._whole.denormalizes or not (seen := self._whole.joined(self._first)):
            return ""
        self._first = None
        return self._decoder.decode(seen)

    def flush(self) -> str:
        """Return the text that is held back, and start a new sequence."""
        first, decoder = self._first, self._decoder
        try:
            return decoder.decode(b"", final=True) if first is None else self._whole.decode(first, self._errors)
        finally:
            self._begin()


# ---- pieces by their names

_MARK, _INVALID = "\u2581", "\ufffd"


def surfaces_of(model: SentencePieceModel, ids: list[int], names: list[str]) -> list[str]:
    """Return the text that each piece adds to a decoded text; an unknown piece with a name of its own is that name."""
    rules, types = model.normalizer, model.types
    made: list[str] = []
    begun, k = not (rules.add_dummy_prefix or rules.remove_extra_whitespaces), 0
    while k < len(ids):
        if types[ids[k]] == BYTE:
            end = next((i for i in range(k, len(ids)) if types[ids[i]] != BYTE), len(ids))
            made += _of_bytes(bytes(int(name[3:5], 16) for name in names[k:end]))
            begun, k = True, end
            continue
        surface, drops_space = _surface(model, ids[k], names[k], begun)
        made.append(surface)
        begun = begun or drops_space or bool(surface)
        k += 1
    return made


def text_of_names(model: SentencePieceModel, names: list[str]) -> str:
    """Return the text of pieces that are given by name; a name that is not a piece is its own text."""
    found = [model.pieces.get(name) for name in names]
    ids = [model.unk_id if id_ is None else id_ for id_ in found]
    text = "".join(surfaces_of(model, ids, names))
    return text if model.denormalizer is None else SentencePiece(model, len(model.pieces)).denormalized(text)


def _surface(model: SentencePieceModel, id_: int, name: str, begun: bool) -> tuple[str, bool]:
    """Return the text of a piece, and whether a space was dropped before it, which ends the start of the text."""
    if model.types[id_] == CONTROL:
        return "", False
    if id_ == model.unk_id:
        return (model.unk_surface if name.encode() == model.pieces[id_] else name), False
    bare = name.removeprefix(_MARK) if not begun else name
    return bare.replace(_MARK, " "), bare != name and not model.normalizer.remove_extra_whitespaces


def _of_bytes(data: bytes) -> list[str]:
    """Return the surface of each byte: a character is its last byte's, and each invalid byte is U+FFFD."""
    made: list[str] = []
    at = 0
    while at < len(data):
        width = next((n for n in range(1, 5) if _is_character(data[at : at + n])), 0)
        made += [""] * (width - 1) + [data[at : at + width].decode()] if width else [_INVALID]
        at += width or 1
    return made


def _is_character(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False
