"""Safe cuts of a text: positions that no token spans.

The core's rule (safe_cuts.h) in sets: a token spans the boundary of two characters with both of them whole, or
with one of them in part. The core's sets are hashed, so it may see fewer cuts than there are here, never more.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from reference.bpe_encode import rank_bpe


def is_first(byte: int) -> bool:
    """Does a character begin with this byte?"""
    return byte & 0xC0 != 0x80


class SafeCuts:
    """`partial=False` forgets the tokens that hold a character in part: wrong, to show that tests would see it."""

    def __init__(self, tokens: Iterable[bytes], *, partial: bool = True) -> None:
        self.whole: set[str] = set()
        self.bytes: set[bytes] = set()
        for token in tokens:
            for at in range(1, len(token)):
                if not is_first(token[at]):
                    continue
                before, behind = last_character(token[:at]), first_character(token[at:])
                if before and behind:
                    self.whole.add(before + behind)
                elif partial:
                    self.bytes.add(token[at - 1 : at + 1])

    def may_cut(self, before: str, behind: str) -> bool:
        return before + behind not in self.whole and before.encode()[-1:] + behind.encode()[:1] not in self.bytes

    def cuts(self, text: str) -> list[int]:
        """Return the offsets in bytes."""
        found, at = [], 0
        for before, behind in pairwise(text):
            at += len(before.encode())
            if self.may_cut(before, behind):
                found.append(at)
        return found


def first_character(text: bytes) -> str | None:
    """The whole character that the bytes begin with, or None."""
    for end in range(1, 5):
        try:
            return text[:end].decode() or None
        except UnicodeDecodeError:
            continue
    return None


def last_character(text: bytes) -> str | None:
    """The whole character that the bytes end with, or None."""
    for start in range(1, 5):
        try:
            found = text[-start:].decode()
        except UnicodeDecodeError:
            continue
        return found if len(found) == 1 else None
    return None


def between(data: bytes, cuts: Iterable[int], ids: dict[bytes, int]) -> list[int]:
    """Merge what stands between the cuts, each part as if alone."""
    bounds = [0, *cuts, len(data)]
    return [id_ for a, b in pairwise(bounds) for id_ in rank_bpe(data[a:b], ids)]
