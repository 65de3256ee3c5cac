"""`CharBPE`: the BPE model of tokenizer.json, over characters.

This is not `bpe.BPE`, which merges bytes in a separate engine. Here a pretoken starts as characters, with a
prefix or suffix that depends on their position in the word; characters without a token become bytes or unknown tokens.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit import renamed
from tokkit._core.encode.models import PieceEncoder, find_merges
from tokkit.checks import check_flag
from tokkit.errors import OptionError, VocabError
from tokkit.models import base
from tokkit.unicode_regex.atoms import BLANK, HAN, LEADS, OTHER, WHITE, Matrix, nowhere
from tokkit.vocab import Vocab


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CharBPE:
    """Byte-pair encoding over characters: listed pairs merge, the earliest in the list first, then the leftmost.

    `merges` is a uint32 array of shape (n, 3), the ids of left, right and result in order of priority (`merge_ids`
    makes it from pairs of strings); of a repeated pair the last counts. The other fields are those of tokenizer.json:
    `unk_token=None` drops characters that have no token, and `dropout` is the probability of skipping a merge if
    `encode` gets a seed. With `suffix_apart`, which tokenizer.json does not have, the suffix is a separate symbol after
    the last character, as in subword-nmt 0.1.

    >>> from tokkit._core.align import AlignedText
    >>> vocab = Vocab.from_list([b"<unk>", b"l", b"o", b"w</w>", b"lo"])
    >>> model = CharBPE(merges=merge_ids(vocab, [("l", "o")]), unk_token="<unk>", end_of_word_suffix="</w>")
    >>> ids, spans, words = model.encoder(vocab).encode(AlignedText("slow"))
    >>> ids.tolist(), spans.tolist(), words.tolist()
    ([0, 4, 3], [[0, 1], [1, 3], [3, 4]], [0, 0, 0])
    """

    merges: NDArray[np.uint32]
    dropout: float | None = None
    unk_token: str | None = None
    continuing_subword_prefix: str | None = None
    end_of_word_suffix: str | None = None
    suffix_apart: bool = False
    fuse_unk: bool = False
    byte_fallback: bool = False
    ignore_merges: bool = False

    def __post_init__(self) -> None:
        merges = np.asarray(self.merges)
        if merges.ndim != 2 or merges.shape[1] != 3 or merges.dtype.kind not in "iu":
            raise VocabError(
                f"merges are {merges.dtype} of shape {merges.shape}; they must be integer ids of shape (n, 3)"
            )
        if merges.size and not 0 <= merges.min() <= merges.max() <= np.iinfo(np.uint32).max:
            raise VocabError(f"merges hold ids from {merges.min()} to {merges.max()}; ids are 32-bit numbers")
        merges = np.array(merges, dtype=np.uint32, order="C")  # a copy, so that nobody can change it
        merges.flags.writeable = False
        object.__setattr__(self, "merges", merges)
        base.check_text(
            optional=True,
            unk_token=self.unk_token,
            continuing_subword_prefix=self.continuing_subword_prefix,
            end_of_word_suffix=self.end_of_word_suffix,
        )
        for name in ("suffix_apart", "fuse_unk", "byte_fallback", "ignore_merges"):
            check_flag(name, getattr(self, name))
        dropout = self.dropout
        number = isinstance(dropout, (int, float)) and not isinstance(dropout, bool)
        if dropout is not None and not (number and 0 <= dropout <= 1):
            raise OptionError(f"dropout is {dropout!r}; it must be a probability from 0 to 1, or None")

    @renamed.keywords(foreign="added_ids")
    def encoder(self, vocab: Vocab, *, added_ids: Collection[int] = ()) -> base.CompiledModel:
        """Build the tables; `added_ids` are ids in the vocabulary that only added tokens have, not the model."""
        marks = base.own_tokens(vocab, added_ids)
        if self.suffix_apart and base.id_of(self.end_of_word_suffix or None, vocab, marks) is None:
            raise VocabError(f"the end of words, {self.end_of_word_suffix!r}, is a separate symbol; it must be a token")
        options: dict[str, object] = {
            "merges": self.merges,
            "dropout": float(self.dropout or 0),
            "unknown": base.id_of(self.unk_token, vocab, marks),
            "drops_unknown": self.unk_token is None,
            "prefix": (self.continuing_subword_prefix or "").encode(),
            "suffix": (self.end_of_word_suffix or "").encode(),
            "suffix_apart": self.suffix_apart,
            "fuses": self.fuse_unk,
            "byte_fallback": self.byte_fallback,
            "whole_piece": self.ignore_merges,
        }
        return base.build("bpe", vocab, marks, options)

    def splittable(self, vocab: Vocab, core: PieceEncoder) -> Matrix:
        """Return the pairs of atoms between which a pretoken may be cut: no merge joins them, and both are tokens.

        A merge across the cut would have a left token that ends in the first atom and a right token that begins with
        the second, and `joined` has all such pairs. So every merge stays on one side, and the sides do not affect each
        other. Unknown characters would break this, because they may fuse into one token, or be dropped so that their
        neighbours become adjacent. Therefore both characters must be tokens, or unknown characters must become bytes
        that never merge. A cut before U+2581 is always allowed if no token has it after another character.
        """
        between = not self.continuing_subword_prefix and not self.end_of_word_suffix
        made = nowhere()
        if self.dropout or self.ignore_merges or not (core.cuts_at_blanks or between):
            return made
        joined = nowhere()
        joined[_atoms(vocab, self.merges[:, 0], last=True), _atoms(vocab, self.merges[:, 1], last=False)] = True
        joined[[WHITE, LEADS, HAN]] = joined[OTHER]
        joined[:, [WHITE, LEADS, HAN]] = joined[:, [OTHER]]
        if between:
            others = [core.falls_back] * 5
            own = np.array([core.falls_back or core.has(bytes([code])) for code in range(128)] + others)
            made |= own[:, None] & own[None, :]
        if core.cuts_at_blanks:
            made[:, BLANK] = True
        made[BLANK, BLANK] = False
        return made & ~joined


def _atoms(vocab: Vocab, ids: NDArray[np.uint32], *, last: bool) -> NDArray[np.int64]:
    """Return the atom of the first or last character of each token: an ASCII character, U+2581, or OTHER."""
    blank = "\u2581".encode()
    padded = np.frombuffer(bytes(len(blank)) + vocab.blob + bytes(len(blank)), dtype=np.uint8)
    n = len(vocab.blob) + len(blank) + 1  # 1 for an empty token after the last byte
    is_blank = (padded[:n] == blank[0]) & (padded[1 : n + 1] == blank[1]) & (padded[2 : n + 2] == blank[2])
    starts, ends = vocab.offsets[:-1], vocab.offsets[1:]
    found = np.minimum(padded[ends - 1 + len(blank) if last else starts + len(blank)], OTHER).astype(np.int64)
    found[is_blank[ends if last else starts + len(blank)] & (ends - starts >= len(blank))] = BLANK
    return np.asarray(found[ids])


@renamed.keywords(foreign="added_ids")
def merge_ids(
    vocab: Vocab,
    merges: Sequence[str] | Sequence[tuple[str, str]],
    *,
    continuing_subword_prefix: str | None = None,
    added_ids: Collection[int] = (),
) -> NDArray[np.uint32]:
    """Return the ids of merges: uint32 of shape (n, 3), left, right and result.

    A merge is a pair of strings, or one string with a space between the two. Its result is the two joined, the right
    one without the prefix. VocabError names the first merge that is invalid or whose tokens do not exist.
    """
    cut = len((continuing_subword_prefix or "").encode())
    marks = base.own_tokens(vocab, added_ids)
    types = set(map(type, merges))
    spaced = types == {str}
    if not spaced and not (types <= {tuple, list} and set(map(len, merges)) <= {2}):
        raise VocabError(
            "merges are mixed; they must all be pairs of strings, or all be strings with a space between the two"
        )
    strings: Iterable[Any] = merges if spaced else chain.from_iterable(merges)
    try:
        text = "\0".join(strings).encode()
    except (TypeError, UnicodeEncodeError) as error:
        raise VocabError(f"merges must be pairs of strings of valid text: {error}") from None
    if text.count(0) == (1 if spaced else 2) * len(merges) - 1:
        found, n = find_merges(vocab.blob, vocab.offsets, marks, text, ord(" ") if spaced else 0, cut, len(merges))
        if n == len(merges):
            return found
    # A token contains the separator itself, or there is an error to report.
    return np.array(list(_one_by_one(vocab, marks, merges, cut)), dtype=np.uint32).reshape(-1, 3)


def _one_by_one(
    vocab: Vocab, marks: NDArray[np.uint8], merges: Sequence[Any], cut: int
) -> Iterator[tuple[int | None, ...]]:
    for number, merge in enumerate(merges):
        pair = merge.split(" ") if isinstance(merge, str) else merge
        if len(pair) != 2:
            raise VocabError(f"merge {number} is {merge!r}, which is not two strings with a space between them")
        left, right = pair
        if len(right.encode()) < cut:
            raise VocabError(f"merge {number} joins {left!r} and {right!r}, which is shorter than the prefix")
        tokens = (left, right, left + right.encode()[cut:].decode(errors="replace"))
        ids = tuple(base.id_of(token, vocab, marks) for token in tokens)
        if None in ids:
            absent = tokens[ids.index(None)]
            raise VocabError(f"merge {number} joins {left!r} and {right!r}, but no token is {absent!r}")
        yield ids
