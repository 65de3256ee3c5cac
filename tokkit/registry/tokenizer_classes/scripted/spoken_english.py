"""English text as CLVP reads it: ASCII in lower case, numbers and abbreviations in words."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokkit.errors import CorpusError
from tokkit.registry.tokenizer_classes.scripted.edits import edit, replaced

if TYPE_CHECKING:
    from tokkit._core.align import AlignedText

_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = ("", " thousand", " million", " billion", " trillion", " quadrillion")
_LONG = {
    **{"mrs": "misess", "mr": "mister", "dr": "doctor", "st": "saint", "co": "company", "jr": "junior"},
    **{"maj": "major", "gen": "general", "drs": "doctors", "rev": "reverend", "lt": "lieutenant", "hon": "honorable"},
    **{"sgt": "sergeant", "capt": "captain", "esq": "esquire", "ltd": "limited", "col": "colonel", "ft": "fort"},
}


def in_words(number: int) -> str:
    """Return a number from 0 in words, up to quadrillions.

    >>> in_words(1_000_021), in_words(342)
    ('one million, twenty-one', 'three hundred forty-two')
    """
    if number >= 1000 ** len(_SCALES):
        return "number out of range"
    groups = []
    for scale in _SCALES:
        number, group = divmod(number, 1000)
        if group:
            groups.append(_below_thousand(group) + scale)
    return ", ".join(reversed(groups)) or "zero"


def _below_thousand(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    words = [f"{_SMALL[hundreds]} hundred"] if hundreds else []
    if rest >= 20:
        tens, ones = divmod(rest, 10)
        words.append(_TENS[tens - 2] + (f"-{_SMALL[ones]}" if ones else ""))
    elif rest:
        words.append(_SMALL[rest])
    return " ".join(words)


def _year(number: int) -> str:
    """Return a number in words; those from 1001 to 2999 as years are read, in part."""
    if 2000 < number < 2010:
        return f"two thousand {in_words(number % 100)}"
    if number != 2000 and 1000 < number < 3000 and number % 100 == 0:
        return f"{in_words(number // 100)} hundred"
    return in_words(number)


def _ordinal(match: re.Match[str]) -> str:
    number = _int(match.group()[:-2])
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return in_words(number) + ending


def _dollars(match: re.Match[str]) -> str:
    amount = match.group(1)
    parts = amount.split(".")
    if len(parts) > 2:
        return f"{amount} dollars"
    counts = [_int(part) if part else 0 for part in (*parts, "")[:2]]
    said = [
        f"{n} {unit}" if n == 1 else f"{n} {unit}s" for n, unit in zip(counts, ("dollar", "cent"), strict=True) if n
    ]
    return ", ".join(said) or "zero dollars"


def _int(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise CorpusError(f"the number {digits[:40]!r} cannot be read; change it in the text") from None


def _abbreviation(short: str, said: str) -> Rule:
    return re.compile(rf"\b{short}\."), lambda match: said


def _in_ascii(part: str) -> list[tuple[int, str]] | None:
    if part.isascii() and part == part.lower():
        return None
    return [(1, character.lower() if character.isascii() else "") for character in part]


Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]
_RULES: list[Rule] = [
    (re.compile(r"[0-9][0-9,]+[0-9]"), lambda match: match.group().replace(",", "")),
    (re.compile(r"£([0-9,]*[0-9])"), lambda match: f"{match.group(1)} pounds"),
    (re.compile(r"\$([0-9.,]*[0-9])"), _dollars),
    (re.compile(r"[0-9]+\.[0-9]+"), lambda match: match.group().replace(".", " point ")),
    (re.compile(r"[0-9]+(?:st|nd|rd|th)"), _ordinal),
    (re.compile(r"[0-9]+"), lambda match: _year(_int(match.group()))),
    *(_abbreviation(short, said) for short, said in _LONG.items()),
    (re.compile(r"\s+"), lambda match: " "),
    (re.compile('"'), lambda match: ""),
]


@dataclass(frozen=True, slots=True)
class SpokenEnglish:
    """Normalizer of CLVP: other characters than ASCII are removed, and what is not words becomes words."""

    def normalize(self, text: AlignedText) -> None:
        """Change each part of the text that is not an added token."""
        edit(text, _in_ascii)
        for pattern, said in _RULES:
            edit(text, lambda part: replaced(part, pattern, said))  # noqa: B023
