"""Characters of a pattern that ignores case: where one may equal several, as ß and "ss" do."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tokkit.unicode_regex import case_folding, tree
from tokkit.unicode_regex.code_points import CodePoints
from tokkit.unicode_regex.tree import Chars, Node


@dataclass(frozen=True, slots=True)
class Letter:
    """A character that ignores case, before it is known which others stand beside it."""

    code: int
    points: CodePoints
    full: bool

    @property
    def node(self) -> Node:
        """The character alone."""
        return letters([self]) if self.full else Chars(self.points)


def joined(parts: Sequence[Node | Letter], *, full: bool) -> Node:
    """Return the parts in turn; with `full`, letters side by side match what is equal to them as a whole."""
    made: list[Node] = []
    run: list[Letter] = []
    for part in (*parts, tree.EMPTY):
        if isinstance(part, Letter):
            run.append(part)
            continue
        if run:
            made.append(letters(run) if full else tree.concat(Chars(letter.points) for letter in run))
            run = []
        made.append(part)
    return tree.concat(made)


def letters(run: Sequence[Letter]) -> Node:
    """Return what is equal to a text by full case folding (Unicode Standard, section 3.13)."""
    return word(_folds(chr(letter.code) for letter in run))


def word(folded: str) -> Node:
    """Return what folds to a text that is folded already."""
    nodes: list[Node] = [tree.EMPTY]  # of the rest, from the end on
    for at in range(len(folded) - 1, -1, -1):
        options = [tree.concat((_equal(folded[at]), nodes[0]))]
        for length in (2, 3):
            characters = _several().get(folded[at : at + length])
            if characters and at + length <= len(folded):
                wide = Chars(case_folding.folded(CodePoints.of(map(ord, characters))))
                options.append(tree.concat((wide, nodes[length - 1])))
        nodes.insert(0, tree.alt(options))
    return nodes[0]


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
    own = _own()
    return "".join(case_folding.representative(c) for character in characters for c in own.get(character, character))
