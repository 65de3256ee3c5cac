"""`ByteIds`: the model of ByT5 and others, whose tokens are the bytes of a text."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokkit.checks import checked_int
from tokkit.errors import VocabError
from tokkit.models import base
from tokkit.unicode_regex.atoms import Matrix, everywhere
from tokkit.vocab import MAX_ID, Vocab

if TYPE_CHECKING:
    from tokkit._core.encode.models import PieceEncoder


@dataclass(frozen=True, slots=True)
class ByteIds:
    """The id of a byte is its value plus `offset`; the ids before are for special tokens.

    >>> from tokkit._core.align import AlignedText
    >>> ids, spans, _ = ByteIds(3).encoder(byte_vocab(3)).encode(AlignedText("aé"))
    >>> ids.tolist(), spans.tolist()
    ([100, 198, 172], [[0, 1], [1, 2], [2, 3]])
    """

    offset: int

    def __post_init__(self) -> None:
        checked_int("ByteIds", "offset", self.offset, maximum=MAX_ID - 255)

    def encoder(self, vocab: Vocab, *, added_ids: Collection[int] = ()) -> base.CompiledModel:
        """Return the encoder; the vocabulary must have ids up to that of the last byte."""
        if vocab.n_ids < self.offset + 256:
            raise VocabError(f"the vocabulary has {vocab.n_ids} ids; the 256 bytes have those from {self.offset} on")
        return base.build("bytes", vocab, base.own_tokens(vocab, added_ids), {"first_byte": self.offset})

    def splittable(self, vocab: Vocab, core: PieceEncoder) -> Matrix:
        """Return the pairs of atoms between which a text may be cut: all."""
        return everywhere()


def byte_vocab(offset: int, first: int = 0) -> Vocab:
    """Return the vocabulary of bytes, each the character of its value; ids before `first` are left out."""
    tokens = [b""] * offset + [chr(byte).encode() for byte in range(256)]
    return Vocab.from_list([b"" if id_ < first else token for id_, token in enumerate(tokens)])
