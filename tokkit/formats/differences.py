"""Describes how a tokenizer differs in another format: rules that differ, and texts that show it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tokkit.definition import Definition
from tokkit.errors import FormatError, TokkitError

MAX_TEXTS = 20_000
"""Maximum number of short texts that are tried for a rule."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A rule by which a saved tokenizer differs, and a text that shows it, with its ids here and in the file.

    `text` is None, without ids, if no such text is known although the rules differ.
    """

    rule: str
    text: str | None = None
    ids: tuple[int, ...] = ()
    ids_there: tuple[int, ...] = ()

    def __str__(self) -> str:
        """Return a sentence."""
        if self.text is None:
            return f"{self.rule} (none of the texts that were tried shows it)"
        return f"{self.rule}; {self.text!r} has the ids {_shown(self.ids)} here and {_shown(self.ids_there)} there"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that differs between a definition and a format, and texts that may show it."""

    what: str
    texts: Iterable[str]


def find(definition: Definition, there: Definition, rules: Sequence[Rule]) -> list[Difference]:
    """Return a difference for each rule, with the first of its texts that has other ids `there`."""
    from tokkit.engine.compile import engine_of

    here, other = engine_of(definition), engine_of(there)
    found = []
    for rule in rules:
        shown = Difference(rule.what)
        for text in list(rule.texts)[:MAX_TEXTS]:
            ids, ids_there = here.encode(text), other.encode(text)
            if ids != ids_there:
                shown = Difference(rule.what, text, tuple(ids), tuple(ids_there))
                break
        found.append(shown)
    return found


def refusal(differences: Sequence[Difference], format: str) -> FormatError:
    """Return the error for differences that were not allowed."""
    said = ". ".join(map(str, differences))
    return FormatError(f"{format} would give other ids: {said}. Use lossy=True (--lossy) to save it nevertheless")


def found_or_refused(
    definition: Definition, there: Definition, rules: Sequence[Rule], format: str, *, lossy: bool
) -> list[Difference]:
    """Return the differences, if they are allowed; FormatError for differences that are not."""
    try:
        found = find(definition, there, rules)
    except TokkitError:  # a definition that cannot run is written without a test
        found = [Difference(rule.what) for rule in rules]
    if not lossy:
        raise refusal(found, format)
    return found


def _shown(ids: Sequence[int], limit: int = 12) -> str:
    return f"[{', '.join(map(str, ids[:limit]))}{', …' if len(ids) > limit else ''}]"
