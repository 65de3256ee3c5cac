"""Random split patterns with texts that try them, and the patterns of published tokenizers."""

from __future__ import annotations

import random

from tokkit.pretokenizers import patterns

LETTERS = "ab c\nA'1é"
"""Few characters, so that what a pattern repeats and forbids meets in short texts."""

_ATOMS = (
    *("a", "b", " ", "c", "A", "é", "'", r"\n", ".", r"\s", r"\S", r"\d", r"\w", r"\W", r"\p{L}", r"\P{L}", r"\p{Lu}"),
    *("[ab]", "[^a]", "[^ab ]", r"[\sa]", r"[^\s\p{L}]", "[a-c]", r"[\p{L}\d]", r"\x61", "[^\\n]", r"[b\-']", r"\R"),
)
_REPEATS = ("*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "{,2}", "{1,3}")
_LOOKS = (
    r"(?!\S)",
    r"(?=\s)",
    "(?!a)",
    "(?=b)",
    "$",
    r"\Z",
    "(?=[ab]|$)",
    r"(?!\s+)",
    "(?=a*)",
    "(?!b|c)",
    "(?=(?!a).)",
)


def pattern(rng: random.Random, depth: int = 3) -> str:
    """Return a pattern of the syntax that is compiled; some of them are refused, as possible matches of nothing."""
    options = [_sequence(rng, depth) for _ in range(rng.choice((1, 1, 2, 3)))]
    return "|".join(options)


def any_case(rng: random.Random) -> str:
    """Return a pattern that ignores case as a whole: where a part does, `regex` mistakes sets for one another."""
    return rng.choice(("", "", "", "(?i)")) + pattern(rng)


def _sequence(rng: random.Random, depth: int) -> str:
    parts = []
    for _ in range(rng.choice((1, 1, 2, 3, 4))):
        if rng.random() < 0.1:
            parts.append(rng.choice(_LOOKS))
            continue
        if depth and rng.random() < 0.3:
            part = rng.choice(("(?:", "(?:", "(", "(?>", "(?s:", "(?<n>")) + pattern(rng, depth - 1) + ")"
        else:
            part = rng.choice(_ATOMS)
        if rng.random() < 0.45:
            part += rng.choice(_REPEATS) + rng.choice(("", "", "?", "+"))
        parts.append(part)
    return "".join(parts)


def text(rng: random.Random, longest: int = 14) -> str:
    """Return a short text of few letters, which often come in runs."""
    parts: list[str] = []
    for _ in range(rng.randrange(longest)):
        parts.append(parts[-1] if parts and rng.random() < 0.4 else rng.choice(LETTERS))
    return "".join(parts)


def long_text(rng: random.Random) -> str:
    """Return runs of one letter, about as long as the way that the automaton goes between two checks."""
    return "".join(rng.choice(LETTERS) * rng.choice((1, 2, 30, 63, 64, 65, 130)) for _ in range(rng.randint(1, 6)))


PUBLISHED = {
    **patterns.NAMES,
    "r50k": patterns.R50K,
    **{f"deepseek-v3, {turn}": text for turn, text in enumerate(patterns.DEEPSEEK_V3_IN_TURN, 1)},
    "stablelm": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
    ),
    "han apart": (
        r"(?V1)[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|"
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "starcoder, digits": r"\p{N}",
    "falcon": r"[0-9][0-9][0-9]",
    "bloom": r"(?V1) ?[^(\s|[.,!?…。，、।۔،])]+",
    "words": r"\w+|[^\w\s]+",
    "camel case": r"\p{Lu}?\p{Ll}+|\p{Lu}+(?!\p{Ll})|\d{1,3}|\s+|[^\s\w]+|_",
    "lines": r"[^\n]+|\n+",
    "lazy": r'".*?"|\w+?(?=\s|$)|\s+?|.',
}
"""Published ones (bloom's has a class within a class, which `regex` reads with V1 only), and such as users write."""
