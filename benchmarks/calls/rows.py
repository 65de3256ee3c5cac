"""What a row of bench_calls is: a call that is made on both sides, its floor, and the objects it is made on."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks import corpora

FLOOR = 1.2
"""How many times as fast as the original every call must be, if its row states no other floor."""

USERS, DISK, JINJA = "a function of the user", "the disk", "jinja2"
"""Reasons why a row has no floor: what takes the time is none of the two libraries."""


@dataclass(frozen=True)
class Texts:
    """What is encoded: 1,000 sentences of some 35 tokens, 200 documents of 2 kB, one sentence."""

    name: str
    sentences: list[str]
    documents: list[str]

    @cached_property
    def sentence(self) -> str:
        """The first sentence that is as long as most."""
        middle = sorted(map(len, self.sentences))[len(self.sentences) // 2]
        return next(text for text in self.sentences if len(text) >= middle)

    def text(self, megabytes: float) -> str:
        """Return a long text of the corpus."""
        return corpora.read(self.name, megabytes).data.decode()

    @cached_property
    def words(self) -> list[list[str]]:
        """The sentences split at white space."""
        return [text.split() for text in self.sentences]


def read_texts(corpus: str, sentences: int, documents: int) -> Texts:
    """Return texts of a corpus, which are repeated where it is too short."""
    text = corpora.read(corpus, 2.0).data.decode()
    found = [s for block in text.split("\n\n") for s in block.split(". ") if len(s) > 20]
    cut = [text[i : i + 2000] for i in range(0, len(text), 2000)]
    return Texts(corpus, repeated(found, sentences), repeated(cut, documents))


def repeated(texts: list[str], n: int) -> list[str]:
    """Return `n` texts."""
    return (texts * (1 + n // len(texts)))[:n]


class Side:
    """One of the two libraries with what its calls are made on; a library's file makes it with lazy properties.

    Files that calls write go to `folder`, which is new and empty.
    """

    def __init__(self, ours: bool, texts: Texts) -> None:
        self.ours, self.texts = ours, texts
        self._folder = tempfile.TemporaryDirectory(prefix="bench_calls_")
        self.folder = Path(self._folder.name)


def identity(result: Any) -> Any:
    """Return the result: it is compared as it is."""
    return result


@dataclass(frozen=True)
class Row:
    """A call, made as `run(side, given)` on both sides, where `given` are inputs that are the same for both.

    `theirs` is run on the other side where its call differs. `before` makes, untimed, the object on which a single
    call is made, and replaces the side. Results are compared after `read`. A row with a reason in `apart` has no floor;
    a row with `per` makes so many calls of its name, or one for each of the inputs that `per` names. `once` rows do not
    depend on the vocabulary.
    """

    name: str
    run: Callable[[Any, Any], Any]
    theirs: Callable[[Any, Any], Any] | None = None
    before: Callable[[Any, Any], Any] | None = None
    read: Callable[[Any], Any] = identity
    same: Callable[[Any, Any], str] | None = None
    per: int | str = 1
    floor: float = FLOOR
    apart: str = ""
    once: bool = False


@dataclass
class Group:
    """The rows of one library and one vocabulary, and how to make the sides and the inputs, once a row is wanted."""

    library: str
    vocabulary: str
    rows: Sequence[Row]
    make: Callable[[bool], Any]
    inputs: Callable[[Any], Any]
    absent: str = ""
    _made: dict[bool, Any] = field(default_factory=dict)

    def side(self, ours: bool) -> Any:
        """Return ours or theirs, made when first asked for."""
        if ours not in self._made:
            self._made[ours] = self.make(ours)
        return self._made[ours]

    @cached_property
    def given(self) -> Any:
        """Inputs that both sides get, as the original makes them."""
        return self.inputs(self.side(False))

    def calls_of(self, row: Row) -> int:
        """Return how many calls of its name a row makes."""
        return len(getattr(self.given, row.per)) if isinstance(row.per, str) else row.per

    def name(self, row: Row) -> str:
        """Return the name by which `--only` finds a row."""
        return " ".join(filter(None, (self.library, self.vocabulary, row.name)))
