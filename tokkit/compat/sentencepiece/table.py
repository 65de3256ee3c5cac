"""Look-ups of pieces and ids, as in sentencepiece's processor."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tokkit.models.sentencepiece import BYTE, CONTROL, UNKNOWN, UNUSED, SentencePieceModel


class PieceTable:
    """Look-ups that take one id or piece, or a sequence of them. Without a model there are no pieces."""

    def _model(self) -> SentencePieceModel | None:
        """Return the model, None if there is none."""
        return None

    def _found(self, id_: int) -> SentencePieceModel:
        model = self._model()
        if isinstance(id_, bool) or not hasattr(id_, "__index__"):
            raise TypeError(f"an id is {type(id_).__name__}; it must be int")
        if model is None or not 0 <= id_ < model.pieces.n_ids:
            raise IndexError("OUT_OF_RANGE: piece id is out of range.")
        return model

    def _type_is(self, id: Any, type_: int) -> Any:
        return _each(id, lambda one: bool(self._found(one).types[one] == type_))

    def get_piece_size(self) -> int:
        """Return the number of pieces."""
        model = self._model()
        return 0 if model is None else model.pieces.n_ids

    piece_size = vocab_size = get_piece_size

    def piece_to_id(self, piece: Any) -> Any:
        """Return the id of a piece, or the unknown id."""
        return _each(piece, self._id)

    def _id(self, piece: str | bytes) -> int:
        if not isinstance(piece, (str, bytes)):
            raise TypeError(f"a piece is {type(piece).__name__}; it must be str or bytes")
        model = self._model()
        found = None if model is None else model.pieces.get(piece)
        return found if found is not None else 0 if model is None else model.unk_id

    def id_to_piece(self, id: Any) -> Any:
        """Return the piece of an id."""
        return _each(id, lambda one: self._found(one).pieces[int(one)].decode())

    def get_score(self, id: Any) -> Any:
        """Return the score of an id's piece."""
        return _each(id, lambda one: float(self._found(one).scores[one]))

    def is_unknown(self, id: Any) -> Any:
        """Return whether an id is the unknown piece's."""
        return self._type_is(id, UNKNOWN)

    def is_control(self, id: Any) -> Any:
        """Return whether an id is a control piece's."""
        return self._type_is(id, CONTROL)

    def is_unused(self, id: Any) -> Any:
        """Return whether an id is an unused piece's."""
        return self._type_is(id, UNUSED)

    def is_byte(self, id: Any) -> Any:
        """Return whether an id is a byte piece's."""
        return self._type_is(id, BYTE)

    def unk_id(self) -> int:
        """Return the id of the unknown piece."""
        model = self._model()
        return 0 if model is None else model.unk_id

    def bos_id(self) -> int:
        """Return the id of the beginning-of-text piece; -1 if there is none."""
        model = self._model()
        return -1 if model is None else model.bos_id

    def eos_id(self) -> int:
        """Return the id of the end-of-text piece; -1 if there is none."""
        model = self._model()
        return -1 if model is None else model.eos_id

    def pad_id(self) -> int:
        """Return the id of the padding piece; -1 if there is none."""
        model = self._model()
        return -1 if model is None else model.pad_id

    def __len__(self) -> int:
        return self.get_piece_size()

    def __getitem__(self, piece: Any) -> Any:
        return self.piece_to_id(piece)


def _each(given: Any, work: Callable[[Any], Any]) -> Any:
    several = isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, (str, bytes))
    return [work(one) for one in given] if several else work(given)


def add_spellings(face: type, *also: str) -> None:
    """Add CamelCase aliases for the public methods of a class, and for those named in `also`."""
    names = [name for name, value in vars(face).items() if not name.startswith("_") and callable(value)]
    names += [name for name, value in vars(face).items() if isinstance(value, (classmethod, staticmethod))]
    for name in {*names, *also} - {"from_file", "from_proto"}:
        spelt = re.sub(r"(?:^|_)([a-z])", lambda match: match[1].upper(), name).replace("Nbest", "NBest")
        setattr(face, spelt, getattr(face, name))
