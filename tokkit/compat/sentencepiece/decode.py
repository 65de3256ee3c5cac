"""Decodes ids or pieces to text and the surface of each, as sentencepiece's processor does."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tokkit.compat.sentencepiece.messages import message
from tokkit.compat.sentencepiece.text import Piece, SentencePieceText, gaps, in_characters
from tokkit.decoders.sentencepiece import SentencePiece, surfaces_of
from tokkit.models.sentencepiece import CONTROL, SPACE, UNKNOWN, SentencePieceModel

_ODD = "\ufffd"
_SPACE = SPACE.decode()


def repaired(data: bytes) -> tuple[bytes, Any]:
    """Return bytes with U+FFFD for each byte of invalid UTF-8, and the origin of each byte."""
    made, at = bytearray(), 0
    places: list[int] = []
    while at < len(data):
        try:
            good = len(data[at:].decode().encode())
        except UnicodeDecodeError as error:
            good, bad = error.start, error.end - error.start
        else:
            bad = 0
        made += data[at : at + good] + _ODD.encode() * bad
        places += range(at, at + good)
        for k in range(at + good, at + good + bad):
            places += [k] * len(_ODD.encode())
        at += good + bad
    return bytes(made), np.array([*places, len(data)], dtype=np.int64)


class Decoder:
    """Decodes ids and pieces with one model."""

    def __init__(self, model: SentencePieceModel) -> None:
        self._model = model
        self._n_ids = model.pieces.n_ids
        self._whole = SentencePiece(model, self._n_ids)

    @functools.cached_property
    def pieces(self) -> list[str]:
        """The piece of each id."""
        return [piece.decode() for piece in self._model.pieces]

    @functools.cached_property
    def _ids(self) -> dict[str, int]:
        """The ids of pieces; -1, which is not decoded at once, for what is never visible and begins with a space."""
        ids = {piece: id_ for id_, piece in enumerate(self.pieces)}
        hidden = [self.pieces[id_] for id_ in self._model.ids_of(CONTROL, UNKNOWN)]
        return ids | {piece: -1 for piece in hidden if piece.startswith(_SPACE)}

    def plain(self, given: list[Any]) -> Any:
        """Return the text of a list of ids or of pieces, or of each of a list of such lists.

        None for what `decode` must look at: other types, ids without a piece, bytes.
        """
        if not given:
            return None
        first = given[0]
        if type(first) is int or (type(first) is list and first and type(first[0]) is int):
            return self._whole.texts(given)
        if type(first) is str:
            return self._whole.text_of_pieces(given, self._ids)
        if type(first) is not list or not first or type(first[0]) is not str:
            return None
        found = [self._whole.text_of_pieces(one, self._ids) if type(one) is list else None for one in given]
        return None if None in found else found

    def checked(self, ids: Any) -> list[int]:
        """Return ids as a list; for invalid ids TypeError or IndexError, as in sentencepiece."""
        found = ids.tolist() if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu" else list(ids)
        if not all(isinstance(id_, (int, np.integer)) for id_ in found):
            raise TypeError("Input must be an integer buffer, list of integers, or a sequence of integers.")
        found = [int(id_) for id_ in found]
        if found and not 0 <= min(found) <= max(found) < self._n_ids:
            raise IndexError("OUT_OF_RANGE: piece id is out of range.")
        return found

    def text_of_ids(self, ids: Any) -> str:
        """Return the text of ids."""
        return self._whole.decode(self.checked(ids))

    def proto_of_ids(self, ids: Any) -> SentencePieceText:
        """Return the text of ids with the surface of each."""
        found = self.checked(ids)
        return self._proto(found, [self.pieces[id_] for id_ in found])

    def proto_of_pieces(self, pieces: Any) -> SentencePieceText:
        """Return the text of pieces with the surface of each; other strings are their own surface."""
        names = _names_of(pieces)
        return self._proto(self._ids_of(names), names)

    def text_of_pieces(self, pieces: Any) -> str:
        """Return the text of `proto_of_pieces`."""
        names = _names_of(pieces)
        return self._whole.denormalized("".join(surfaces_of(self._model, self._ids_of(names), names)))

    def _ids_of(self, names: list[str]) -> list[int]:
        unknown = self._model.unk_id
        found = [self._model.pieces.get(name) for name in names]
        return [unknown if id_ is None else id_ for id_ in found]

    def _proto(self, ids: list[int], names: list[str]) -> SentencePieceText:
        surfaces = surfaces_of(self._model, ids, names)
        text = "".join(surfaces)
        places = gaps([len(surface.encode()) for surface in surfaces])
        pieces = [
            Piece(name, id_, surface, a, b)
            for name, id_, surface, (a, b) in zip(names, ids, surfaces, places, strict=True)
        ]
        return SentencePieceText(self._whole.denormalized(text), pieces)


def _names_of(pieces: Any) -> list[str]:
    names = [piece.decode(errors="replace") if isinstance(piece, bytes) else piece for piece in pieces]
    if not all(isinstance(name, str) for name in names):
        raise TypeError("Input must be a list of str or bytes")
    return names


# ---- arguments and results of a processor's decode


def decode(decoder: Decoder, given: Any, chosen: Any, *, as_bytes: bool) -> Any:
    """Decode an id or piece, a list of them, or a list of lists, and return the result as a type.

    Texts are bytes with `as_bytes`, or if the first piece is bytes.
    """
    given = [] if given is None or (isinstance(given, (str, bytes)) and not given) else given
    if isinstance(given, (str, bytes)) or not hasattr(given, "__len__"):
        given = [given]
    several = given.ndim > 1 if isinstance(given, np.ndarray) else bool(len(given)) and _is_sequence(given[0])
    lists = given if several else [given]
    first: Any = next((one for one in lists if _is_sequence(one) and len(one)), ())
    pieces = _has_pieces(first)
    as_bytes = as_bytes or (pieces and isinstance(first[0], bytes))
    made = [_decode_one(decoder, one, chosen, as_bytes, pieces) for one in lists]
    return made if several else made[0]


def _is_sequence(given: Any) -> bool:
    return hasattr(given, "__len__") and not isinstance(given, (str, bytes))


def _has_pieces(given: Any) -> bool:
    return len(given) > 0 and not isinstance(given, np.ndarray) and isinstance(given[0], (str, bytes))


def _decode_one(decoder: Decoder, given: Any, chosen: Any, as_bytes: bool, pieces: bool) -> Any:
    if chosen in (str, bytes):
        text = decoder.text_of_pieces(given) if pieces else decoder.text_of_ids(given)
        return text if chosen is str and not as_bytes else text.encode()
    if chosen not in ("proto", "serialized_proto", "offset_mapping"):
        raise ValueError(f"unknown return_type={chosen} or input type")
    proto = decoder.proto_of_pieces(given) if pieces else decoder.proto_of_ids(given)
    if chosen == "proto":
        return message(proto)
    if chosen == "serialized_proto":
        return proto.SerializeToString()
    utf8, places = proto.text.encode(), [(piece.begin, piece.end) for piece in proto.pieces]
    names: list[Any] = [piece.piece for piece in proto.pieces]
    return {
        "text": utf8 if as_bytes else proto.text,
        "ids": [piece.id for piece in proto.pieces],
        "pieces": [name.encode() for name in names] if as_bytes else names,
        "offsets": places if as_bytes else in_characters(utf8, places),
    }
