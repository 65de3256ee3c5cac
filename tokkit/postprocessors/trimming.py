"""Trims the spaces of byte-level tokens from their offsets."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokkit._core.spans import trim, trim_by_id
from tokkit.encoding import Encoding
from tokkit.errors import OptionError
from tokkit.vocab import Vocab

SPACE = "Ġ"
"""The symbol of the space byte in byte-level vocabularies."""
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
Integers = NDArray[np.int64]


class Trim(NamedTuple):
    """One trimming step: whether the tokenizer puts a space before a text, and whether the text begins its group."""

    add_prefix_space: bool
    at_start: bool = True


@dataclass(frozen=True, eq=False)
class Spaces:
    """The number of spaces at the beginning and end of each token of a vocabulary, by id; computed once."""

    leading: Integers
    trailing: Integers
    varying: NDArray[np.bool_] | None = None
    """Ids whose spaces must be counted in the text that the token covers, at each occurrence."""

    @functools.cached_property
    def codes(self) -> bytes:
        """The table of `trim_by_id`: both counts of a token packed in a byte, 255 if they do not fit."""
        code: Integers = np.minimum(self.leading, 15) | np.minimum(self.trailing, 15) << 4
        code[(self.leading > 14) | (self.trailing > 14)] = 255
        if self.varying is not None:
            code[self.varying] = 255
        return code.astype(np.uint8).tobytes()

    def trimmed(
        self, offsets: Integers, ids: NDArray[np.uint32], trims: Sequence[Trim], before: int = 0, after: int = 0
    ) -> Integers | None:
        """Return trimmed offsets, except the first and last; None if some token must be examined in its text."""
        return trim_by_id(offsets, ids, self.codes, tuple(trims), before, after)

    def with_varying(self, ids: Collection[int]) -> Spaces:
        """Return a copy in which tokens of these ids are examined in their text."""
        varying = np.zeros(len(self.leading), dtype=bool)
        varying[list(ids)] = True
        return Spaces(self.leading, self.trailing, varying)

    def around(self, encoding: Encoding) -> tuple[Integers, Integers]:
        """Return the number of spaces at the beginning and end of each token of an encoding."""
        ids = encoding.column("ids")
        leading, trailing = self.leading[ids], self.trailing[ids]
        if self.varying is not None:
            for i in np.flatnonzero(self.varying[ids]).tolist():
                text = encoding.column("surfaces")[i].decode()
                leading[i] = len(text) - len(text.lstrip(SPACE + WHITE_SPACE))
                trailing[i] = len(text) - len(text.rstrip(SPACE + WHITE_SPACE))
        return leading, trailing

    @classmethod
    def of(cls, vocab: Vocab) -> Spaces:
        """Count the spaces in a vocabulary of byte symbols, where "Ġ" is a space; in added tokens, count white space.

        >>> Spaces.of(Vocab.from_list(["ĠĠa".encode(), b"b "])).leading.tolist()
        [2, 0]
        """
        # begins[b]: whether a character begins at byte b of the tokens; count[b]: number of characters before it.
        begins = (np.frombuffer(vocab.blob + b"a", dtype=np.uint8) & 0xC0) != 0x80
        count = np.zeros(len(begins), dtype=np.int64)
        np.cumsum(begins[:-1], out=count[1:])
        try:
            points = np.frombuffer(vocab.blob.decode().encode("utf-32-le"), dtype=np.uint32)
        except UnicodeDecodeError:
            points = None
        if points is None or not begins[vocab.offsets].all():
            raise OptionError("these tokens are bytes, not byte symbols: offsets need Spaces.of_bytes")
        return cls(*_runs(np.isin(points, [ord(c) for c in SPACE + WHITE_SPACE]), count[vocab.offsets]))

    @classmethod
    def of_bytes(cls, vocab: Vocab, added: Collection[int] = ()) -> Spaces:
        r"""Count the spaces in a vocabulary of bytes, where b" " corresponds to "Ġ".

        `added` ids are counted as in `of`.

        >>> Spaces.of_bytes(Vocab.from_list([b"  a", b"\n", b"\n "]), added=[2]).trailing.tolist()
        [0, 0, 2]
        """
        leading, trailing = _runs(np.frombuffer(vocab.blob, dtype=np.uint8) == ord(" "), vocab.offsets)
        if ids := list(added):
            of_added = cls.of(Vocab.from_list([vocab[id_] for id_ in ids]))
            leading[ids], trailing[ids] = of_added.leading, of_added.trailing
        return cls(leading, trailing)


def _runs(blank: NDArray[np.bool_], offsets: Integers) -> tuple[Integers, Integers]:
    """Return the number of leading and of trailing true values in each slice offsets[i]:offsets[i + 1]."""
    n = len(blank)
    places = np.arange(n, dtype=np.int64)
    # The first false value at or after each position, and the last one at or before it.
    after, before = np.full(n + 1, n, dtype=np.int64), np.full(n + 1, -1, dtype=np.int64)
    after[:n] = np.minimum.accumulate(np.where(blank, n, places)[::-1])[::-1]
    before[1:] = np.maximum.accumulate(np.where(blank, -1, places))
    starts, ends = offsets[:-1], offsets[1:]
    return np.minimum(after[starts], ends) - starts, ends - 1 - np.maximum(before[ends], starts - 1)


def trimmed(encoding: Encoding, trims: Sequence[Trim], spaces: Spaces | None) -> Integers:
    """Return the offsets of an encoding without the spaces at the beginning and end of its tokens.

    A single space at the beginning of a text is kept if the tokenizer may have added it.
    """
    if spaces is None:
        spaces = Spaces.of(Vocab.from_list(encoding.token_bytes))
        leading, trailing = spaces.leading, spaces.trailing
    else:
        if (made := spaces.trimmed(encoding.column("offsets"), encoding.column("ids"), trims)) is not None:
            return made
        leading, trailing = spaces.around(encoding)
    offsets: Integers = encoding.column("offsets").copy(order="C")
    for each in trims:
        trim(offsets, leading, trailing, each.add_prefix_space, each.at_start)
    return offsets
