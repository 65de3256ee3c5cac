"""`SentencePieceModel`: the pieces, scores, types and rules of a SentencePiece model file, as plain data.

Formats read and write it, trainers return it, and engine/sentencepiece.py runs it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tokkit._core.token_tables import TokenIndex
from tokkit.errors import OptionError, VocabError
from tokkit.vocab import Vocab

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
"""The types of pieces, by their numbers in model files."""
Kind = Literal["unigram", "bpe", "word", "char"]
KINDS: tuple[Kind, ...] = ("unigram", "bpe", "word", "char")
"""The kinds of models, in the order of their numbers in model files, which start at 1."""
SPACE = "\u2581".encode()
"""The character that marks a space in pieces."""
SUFFIX = ".model"
"""The suffix of model files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePieceNormalizer:
    """How text is normalized before encoding, or denormalized after decoding.

    `charsmap` is a map in the form of `tokkit._core.text`, empty for none. `name` is its name in the file, which
    has no effect. `spec` is the message of the file without the map, and is written back unchanged.
    """

    name: str = "identity"
    charsmap: bytes = field(default=b"", repr=False)
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True
    spec: bytes = field(default=b"", repr=False, compare=False)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SentencePieceModel:
    """A SentencePiece model: piece `i` has the id `i`, the score `scores[i]` (float32) and the type `types[i]` (uint8).

    Exactly one piece is of the type UNKNOWN. With `byte_fallback` there is a BYTE piece <0x00> … <0xFF> for each byte.
    `bos_piece`, `eos_piece`, `pad_piece` name the control pieces of these roles, if there are any. `trainer_spec`,
    `kept_pieces` and `others` are raw parts of the file, which are written back unchanged; encoding and comparison
    ignore them.
    """

    kind: Kind
    pieces: Vocab
    scores: NDArray[np.float32]
    types: NDArray[np.uint8]
    normalizer: SentencePieceNormalizer = SentencePieceNormalizer()
    denormalizer: SentencePieceNormalizer | None = None
    treat_whitespace_as_suffix: bool = False
    byte_fallback: bool = False
    unk_surface: str = " \u2047 "
    unk_piece: str = "<unk>"
    bos_piece: str = "<s>"
    eos_piece: str = "</s>"
    pad_piece: str = "<pad>"
    trainer_spec: bytes = field(default=b"", repr=False, compare=False)
    kept_pieces: tuple[tuple[int, bytes], ...] = field(default=(), repr=False, compare=False)
    others: bytes = field(default=b"", repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise OptionError(f"the kind of model is {self.kind!r}; it must be one of {', '.join(KINDS)}")
        n = self.pieces.n_ids
        for name, dtype in (("scores", np.float32), ("types", np.uint8)):
            values = np.array(getattr(self, name), dtype=dtype)  # a copy, so that nobody can change it
            if values.shape != (n,):
                raise VocabError(f"{name} have the shape {values.shape}, and there are {n} pieces")
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        if len(self.pieces) != n or self.pieces.empty is not None:
            raise VocabError(f"the piece {int(np.argmin(np.diff(self.pieces.offsets)))} is empty")
        finite = np.isfinite(self.scores)
        if self.kind in ("word", "char"):  # their scores decide nothing; -inf: a required character that never occurs
            finite |= np.isneginf(self.scores)
        if not np.all(finite):
            raise VocabError(f"the score of piece {np.argmin(finite)} is {self.scores[np.argmin(finite)]}")
        if n and not 1 <= int(self.types.min()) <= int(self.types.max()) <= BYTE:
            raise VocabError(
                f"types are from {self.types.min()} to {self.types.max()}; they must be from {NORMAL} to {BYTE}"
            )
        unknown = np.flatnonzero(self.types == UNKNOWN)
        if len(unknown) != 1:
            raise VocabError(f"{len(unknown)} pieces have the type unknown; it must be exactly one")
        self._check_twice()
        self._check_bytes()

    def _check_twice(self) -> None:
        again = TokenIndex(self.pieces.blob, self.pieces.offsets).twice
        if again >= 0:
            piece = self.pieces[again]
            raise VocabError(f"the pieces {self.pieces[piece]} and {again} are both {piece.decode(errors='replace')!r}")

    def _check_bytes(self) -> None:
        names = {self.pieces[id_] for id_ in np.flatnonzero(self.types == BYTE).tolist()}
        if names and not self.byte_fallback:
            raise VocabError(f"{min(names).decode(errors='replace')!r} has the type byte, but byte_fallback is not set")
        wanted = {b"<0x%02X>" % byte for byte in range(256)}
        if self.byte_fallback and names != wanted:
            other = min(names ^ wanted).decode(errors="replace")
            raise VocabError(f"byte_fallback needs a byte piece for each byte, <0x00> to <0xFF>; see {other!r}")

    def ids_of(self, *types: int) -> list[int]:
        """Return the ids of the pieces of some types, in ascending order."""
        ids: list[int] = np.flatnonzero(np.isin(self.types, types)).tolist()
        return ids

    @property
    def unk_id(self) -> int:
        """The id of the unknown piece."""
        return int(np.flatnonzero(self.types == UNKNOWN)[0])

    def _control(self, piece: str) -> int:
        id_ = self.pieces.get(piece.encode())
        return -1 if id_ is None or self.types[id_] != CONTROL else id_

    @property
    def bos_id(self) -> int:
        """The id of the control piece for the beginning of a text; -1 if there is none."""
        return self._control(self.bos_piece)

    @property
    def eos_id(self) -> int:
        """The id of the control piece for the end of a text; -1 if there is none."""
        return self._control(self.eos_piece)

    @property
    def pad_id(self) -> int:
        """The id of the control piece for padding; -1 if there is none."""
        return self._control(self.pad_piece)

    def restricted(self, valid: Collection[bytes]) -> SentencePieceModel:
        """Return a model with only the pieces `valid` and those of one character; all others become unused."""
        types = self.types.copy()
        for id_ in self.ids_of(NORMAL, UNUSED):
            piece = self.pieces[id_]
            kept = piece in valid or len(piece.decode(errors="replace")) == 1
            types[id_] = NORMAL if kept else UNUSED
        return replace(self, types=types)
