"""What a training does with special tokens in its text, and the texts that it must not learn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tokkit._core.split import AddedMatcher
from tokkit._core.train.word_counts import WordCounts
from tokkit.byte_symbols import is_utf_8
from tokkit.corpus.readers import Block
from tokkit.corpus.stream_blocks import Cut
from tokkit.trainers.counts import Counter
from tokkit.trainers.options import checked_list, choice

IN_TEXT = ("boundary", "text")


def matcher_of(texts: Sequence[str]) -> AddedMatcher | None:
    """Return what finds these texts, the leftmost and then the longest; None for no texts."""
    return AddedMatcher.plain({text.encode(): id_ for id_, text in enumerate(texts)}) if texts else None


def cut_at(counter: Counter, texts: Sequence[str]) -> Counter:
    """Return a counter for which documents end at the given texts, which are part of no word."""
    matcher = matcher_of(texts)
    if matcher is None:
        return counter

    def add(table: WordCounts, block: Block, errors: str) -> None:
        if errors != "strict" and not is_utf_8(block.data):
            block = block.validated(errors)
        if (cut := matcher.cut_out(block.data, block.packed_ends())) is not None:
            if not is_utf_8(block.data):
                block.validated(errors)  # before the cuts, so that the error names the offset in the file
            block = replace(block, data=cut[0], ends=cut[1], unit="item")
        counter.add(table, block, errors)

    if counter.cut is None:
        return replace(counter, add=add)
    longest = max(len(text.encode()) for text in texts)
    return replace(counter, add=add, cut=partial(_cut_between, matcher, longest, counter.cut))


def _cut_between(matcher: AddedMatcher, longest: int, cut: Cut, text: bytearray, n: int, searched: int) -> int:
    """Return where a text that holds special tokens may be cut: in what follows the last one, or right after it.

    A special token may begin at the end of text[:n] and go on after it; nothing before `known` is part of such a one.
    """
    known = n - longest + 1
    data, begin = bytes(memoryview(text)[:n]), 0
    while known > 0 and (found := matcher.first(data, begin)) is not None:
        if found[1] > known:
            known = min(known, found[0])
            break
        begin = found[1]
    if known <= begin:
        return begin
    at = cut(bytearray(memoryview(data)[begin:known]), known - begin, max(searched - longest + 1 - begin, 0))
    return begin + at if at > 0 else begin or at


def parts_of(texts: Sequence[str]) -> Callable[[bytes], Iterable[bytes]] | None:
    """Return a function that cuts a word at the given texts; None for no texts."""
    matcher = matcher_of(texts)
    if matcher is None:
        return None

    def parts(word: bytes) -> Iterable[bytes]:
        if (cut := matcher.cut_out(word, np.int64(len(word)).tobytes())) is None:
            return [word]
        ends = np.frombuffer(cut[1], dtype=np.int64).tolist()
        return [cut[0][start:end] for start, end in zip([0, *ends], ends, strict=False)]

    return parts


@dataclass(frozen=True, kw_only=True)
class WithBoundaries:
    """The option `special`: what special tokens in the text of a training are.

    With "boundary", a text is cut at them, as when it is encoded with `special="all"`, and nothing of them is learned;
    with "text", they are learned like any other text.
    """

    special: str = "boundary"
    special_tokens: Sequence[str] = ()

    def check_special(self) -> None:
        """Raise OptionError for another value of `special`."""
        choice("special", self.special, *IN_TEXT)

    @property
    def boundaries(self) -> list[str]:
        """The texts at which words end."""
        return sorted(self.special_tokens or ()) if self.special == "boundary" else []

    def with_boundaries(self, counting: dict[str, object]) -> dict[str, object]:
        """Return a definition of words, which also depends on the boundaries."""
        return {**counting, "special_tokens": self.boundaries} if self.boundaries else counting


@dataclass(frozen=True, kw_only=True)
class WithForbidden:
    """The option `forbidden_tokens`: no token that the training makes has one of these texts in it.

    The text of a token is what it stands for in the normalized text: without the prefix of WordPiece and the
    end-of-word mark of classic BPE, and with a space for U+2581 in SentencePiece's models. Merges that would make such
    a token are not made, such pieces and words are left out. Only what is learned counts: the special tokens, the bytes
    and the characters of the alphabet stay.
    """

    forbidden_tokens: Sequence[str] = ()

    def check_forbidden(self) -> None:
        """Check the option; OptionError for an empty text, or one that is given twice."""
        found = checked_list("forbidden_tokens", "forbidden token", self.forbidden_tokens)
        object.__setattr__(self, "forbidden_tokens", tuple(found))

    @property
    def forbidden(self) -> AddedMatcher | None:
        """What finds the forbidden texts in the text of a token; None if there are none."""
        return matcher_of(self.forbidden_tokens)

    def allows(self) -> Callable[[bytes], bool]:
        """Return whether a token may have a text, as a function."""
        forbidden = self.forbidden
        return lambda text: forbidden is None or forbidden.first(text) is None
