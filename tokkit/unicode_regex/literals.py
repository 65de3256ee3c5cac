"""Characters of a pattern that ignores case: where one may equal several, as ß and "ss" do."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

from tokkit.unicode_regex import case_folding, tree
from tokkit.unicode_regex.code_points import CodePoints
from tokkit.unicode_regex.tree import Chars, Node


@dataclass(frozen=True, slots=True)
class Letters:
    """Characters that ignore case, before it is known which others follow them."""

    text: str


def node_of(part: Node | Letters) -> Node:
    """Return the node of a part, after which no letters belong to it any more."""
    return letters(part.text) if isinstance(part, Letters) else part


def joined(parts: Iterable[Node | Letters]) -> Node | Letters:
    """Return parts in turn; letters side by side are one text."""
    made: list[Node | Letters] = []
    for part in parts:
        last = made[-1] if made else None
        if isinstance(part, Letters) and isinstance(last, Letters):
            made[-1] = Letters(last.text + part.text)
        else:
            made.append(part)
    return made[0] if len(made) == 1 else tree.concat(map(node_of, made))


def letters(text: str) -> Node:
    """Return what is equal to a text by full case folding (Unicode Standard, section 3.13), as far as in Oniguruma.

    From the left, the longest part that one character is equal to may be that character: "ss" may be ß, and "sss" ß
    and s, but not s and ß. A character that is equal to several may be these as they are: ﬃ may be "ffi", but not f, ﬁ.
    """
    parts: list[Node] = []
    at = 0
    while at < len(text):
        fold = _own().get(text[at])
        length, wide = next(
            ((n, found) for n in (3, 2) if (found := _several().get(_folds(text[at : at + n])))), (1, frozenset[str]())
        )
        if fold is not None:
            length, wide = 1, case_folding.full_folds()[fold] | {text[at]}
        plain = tree.concat(map(_equal, fold or text[at : at + length]))
        same = case_folding.folded(CodePoints.of(map(ord, wide)))
        parts.append(tree.alt((plain, Chars(same))) if wide else plain)
        at += length
    return tree.concat(parts)


def words_of(points: CodePoints) -> list[Node]:
    """Return what several characters are equal to one member of a set."""
    return [
        tree.concat(map(_equal, fold))
        for fold, characters in _several().items()
        if any(ord(character) in points for character in characters)
    ]


def _equal(character: str) -> Node:
    return Chars(case_folding.folded(CodePoints.of([ord(character)])))


@functools.cache
def _several() -> dict[str, frozenset[str]]:
    return {_folds(fold): characters for fold, characters in case_folding.full_folds().items()}


@functools.cache
def _own() -> dict[str, str]:
    return {c: fold for fold, found in case_folding.full_folds().items() for c in found}


def _folds(characters: Iterable[str]) -> str:
    return "".join(map(case_folding.representative, characters))
