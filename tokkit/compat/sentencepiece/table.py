"""Look-ups of pieces and ids, as in sentencepiece's processor."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tokkit._core.pieces import PieceCalls
from tokkit.models.sentencepiece import BYTE, CONTROL, UNKNOWN, UNUSED, SentencePieceModel

NO_ROLES = (0, -1, -1, -1)
_TYPES = {"is_unknown": UNKNOWN, "is_control": CONTROL, "is_unused": UNUSED, "is_byte": BYTE}


class PieceTable(PieceCalls):
    """Look-ups that take one id or piece, or a sequence of them. Without a model there are no pieces."""

    _roles = NO_ROLES
    """The ids of the pieces unknown, beginning and end of text, and padding."""
    _ids: dict[str | bytes, int]
    """The ids of pieces that were asked for."""
    _n_pieces = 0
    _filled = False
    """Whether the tables are filled, which the first look-up does."""

    def _model(self) -> SentencePieceModel | None:
        """Return the model, None if there is none."""
        return None

    def _set_model(self, model: SentencePieceModel) -> None:
        """Make the tables those of this model, at the next look-up."""
        self._n_pieces = model.pieces.n_ids
        self._roles = model.unk_id, model.bos_id, model.eos_id, model.pad_id
        self._ids, self._filled = {}, False
        self.set_tables([], self._ids, [], [])

    def _fill(self) -> bool:
        """Fill the tables, and return whether they were empty."""
        model = self._model()
        if model is None or self._filled:
            return False
        self._filled = True
        pieces = [piece.decode() for piece in model.pieces]
        self.set_tables(pieces, self._ids, model.scores.tolist(), model.types.tolist())
        return True

    def look_up(self, name: str, given: Any) -> Any:
        """Return what a look-up, by its name, returns for what is not in its table."""
        if name == "piece_to_id":
            return _each(given, self._id)
        if self._fill():
            return getattr(self, name)(given)
        if name == "id_to_piece":
            return _each(given, lambda one: self._found(one).pieces[int(one)].decode())
        if name == "get_score":
            return _each(given, lambda one: float(self._found(one).scores[one]))
        return _each(given, lambda one: bool(self._found(one).types[one] == _TYPES[name]))

    def _found(self, id_: int) -> SentencePieceModel:
        model = self._model()
        if isinstance(id_, bool) or not hasattr(id_, "__index__"):
            raise TypeError(f"an id is {type(id_).__name__}; it must be int")
        if model is None or not 0 <= id_ < model.pieces.n_ids:
            raise IndexError("OUT_OF_RANGE: piece id is out of range.")
        return model

    def get_piece_size(self) -> int:
        """Return the number of pieces."""
        return self._n_pieces

    piece_size = vocab_size = get_piece_size

    def _id(self, piece: str | bytes) -> int:
        if not isinstance(piece, (str, bytes)):
            raise TypeError(f"a piece is {type(piece).__name__}; it must be str or bytes")
        model = self._model()
        found = None if model is None else model.pieces.get(piece)
        if found is None:
            return self._roles[0]
        self._ids[piece] = found
        return found

    def unk_id(self) -> int:
        """Return the id of the unknown piece."""
        return self._roles[0]

    def bos_id(self) -> int:
        """Return the id of the beginning-of-text piece; -1 if there is none."""
        return self._roles[1]

    def eos_id(self) -> int:
        """Return the id of the end-of-text piece; -1 if there is none."""
        return self._roles[2]

    def pad_id(self) -> int:
        """Return the id of the padding piece; -1 if there is none."""
        return self._roles[3]

    def __len__(self) -> int:
        return self.get_piece_size()


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
