"""`LongestMatch`: the model of RWKV's world vocabulary, over bytes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tokkit.errors import OptionError
from tokkit.models import base
from tokkit.unicode_regex.atoms import ATOM_RANGES, N_ATOMS, OTHER, Matrix
from tokkit.vocab import Vocab

if TYPE_CHECKING:
    from tokkit._core.encode.models import PieceEncoder


@dataclass(frozen=True, slots=True, kw_only=True)
class LongestMatch:
    """Takes the longest token that the bytes at each place begin with. Tokens are bytes, also parts of characters.

    A byte that no token begins with is one `unk_token`; without that, its text cannot be encoded. `spellings` has other
    texts of tokens, by id: they become this token too, which still decodes to its own text.

    >>> from tokkit._core.align import AlignedText
    >>> model = LongestMatch().encoder(Vocab.from_list([b"a", b"ab", b"abcd", b"b", b"c"]))
    >>> ids, spans, _ = model.encode(AlignedText("abcab"))
    >>> ids.tolist(), spans.tolist()
    ([1, 4, 1], [[0, 2], [2, 3], [3, 5]])
    """

    tokens_are_bytes: ClassVar[bool] = True

    unk_token: str | None = None
    spellings: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        base.check_text(optional=True, unk_token=self.unk_token)
        base.check_text(optional=False, **{f"spellings[{id_}]": text for id_, text in self.spellings.items()})

    def encoder(self, vocab: Vocab, *, added_ids: Collection[int] = ()) -> base.CompiledModel:
        """Build the tables; `added_ids` are ids in the vocabulary that only added tokens have, not the model."""
        marks = base.own_tokens(vocab, added_ids)
        unknown = None if self.unk_token is None else vocab.get(self.unk_token)
        if self.unk_token is not None and unknown is None:
            raise OptionError(f"unk_token is {self.unk_token!r}, which is not in the vocabulary")
        return base.build("longest_match", self._spelt(vocab), marks, {"unknown": unknown})

    def _spelt(self, vocab: Vocab) -> Vocab:
        """Return the tokens as texts have them."""
        if not self.spellings:
            return vocab
        texts = {id_: token for token, id_ in vocab.items()}
        texts |= {id_: text.encode() for id_, text in self.spellings.items()}
        return Vocab.from_list(texts.get(id_, b"") for id_ in range(vocab.n_ids))

    def splittable(self, vocab: Vocab, core: PieceEncoder) -> Matrix:
        """Return the pairs of atoms between which a text may be cut: no token has their bytes next to each other.

        So no token lies across a cut, and the longest token before it is the same in the whole text.
        """
        spelt = self._spelt(vocab)
        blob = np.frombuffer(spelt.blob, dtype=np.uint8)
        inside = np.ones(max(len(blob) - 1, 0), dtype=np.bool_)
        ends = spelt.offsets[1:-1]
        inside[ends[(ends > 0) & (ends < len(blob))] - 1] = False
        joined = np.zeros((256, 256), dtype=np.bool_)
        joined[blob[:-1][inside], blob[1:][inside]] = True
        last, first = _bytes_of_atoms()
        return ~(last.astype(np.uint8) @ joined @ first.T.astype(np.uint8)).astype(np.bool_)


def _bytes_of_atoms() -> tuple[Matrix, Matrix]:
    """Return the bytes that the characters of each atom may end with, and may begin with: bool (N_ATOMS, 256)."""
    last, first = (np.zeros((N_ATOMS, 256), dtype=np.bool_) for _ in range(2))
    last[range(OTHER), range(OTHER)] = first[range(OTHER), range(OTHER)] = True
    last[OTHER:, 0x80:0xC0] = True
    first[OTHER, 0xC2:0xF5] = True
    for atom, ranges in ATOM_RANGES.items():
        for start, end in ranges:
            first[atom, chr(start).encode()[0] : chr(end).encode()[0] + 1] = True
    return last, first
