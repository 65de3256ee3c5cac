"""Random patterns of each dialect, and the splits that the libraries of these dialects make of a text."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

Split = Callable[[str], tuple[list[str], list[str]]]
"""Text → (matches and what lies between them, what lies between them alone), or (matches, [])."""

_LETTERS = ("a", "b", "c", "k", "K", "s", "S", "f", "i", "t", "é", "É", "ß", "ẞ", "ſ", "ﬁ", "ﬃ", "ʼ", "n", "中", "あ")
_OTHERS = (
    *("0", "1", "9", "٣", "²", "_", " ", "\t", "\n", "\r", "\u00a0", "\u0085", "\u2028", "-", "]", "[", "^", "&", "'"),
    *(".", ",", "$", "\u0301", "\u200c", "\U0001f600", "+", "Ⅷ", "ⓐ", "\u3000", "\x07"),
)
TEXT = (*_LETTERS, *_OTHERS)

_NAMES = ("L", "Lu", "Ll", "N", "Nd", "P", "S", "Z", "M", "Han", "Latin", "Alphabetic", "Letter", "Punct", "Greek")
_POSIX = ("alpha", "digit", "space", "punct", "upper", "lower", "alnum", "word", "xdigit", "cntrl", "graph", "blank")
_SHORT = {"oniguruma": "wWdDsShHR", "fancy_regex": "wWdDsShHRN"}


class Patterns:
    """Makes patterns of one dialect."""

    def __init__(self, rng: random.Random, dialect: str) -> None:
        self.rng, self.dialect = rng, dialect
        self.groups = 0

    def pattern(self) -> str:
        self.groups = 0
        return self.alternation(0)

    def alternation(self, depth: int) -> str:
        return "|".join(self.sequence(depth) for _ in range(self.rng.choice((1, 1, 1, 2, 3))))

    def sequence(self, depth: int) -> str:
        flags = self.rng.choice(("(?i)", "(?m)", "(?-i)")) if self.rng.random() < 0.03 else ""
        return flags + "".join(self.repeated(depth) for _ in range(self.rng.choice((1, 1, 2, 2, 3))))

    def repeated(self, depth: int) -> str:
        atom = self.atom(depth)
        if self.rng.random() < 0.55:
            return atom
        sign = self.rng.choice(("*", "+", "+", "?", "{2}", "{1,3}", "{2,}", "{,2}"))
        return atom + sign + self.rng.choice(("", "", "", "", "?", "+"))

    def atom(self, depth: int) -> str:
        kind = self.rng.random()
        if kind < 0.32:
            return self.escaped(self.rng.choice(TEXT))
        if kind < 0.5:
            return "\\" + self.rng.choice(_SHORT[self.dialect])
        if kind < 0.56:
            return self.name()
        if kind < 0.75:
            return self.char_class(0)
        if kind < 0.79:
            return "."
        if kind < 0.86:
            return self.rng.choice(("^", "$", r"\A", r"\z", r"\Z", r"\b", r"\B"))
        if depth > 2:
            return "a"
        if kind < 0.88 and self.groups:
            return rf"(?:\{self.rng.randint(1, self.groups)})"
        opening = self.rng.choice(("(?:", "(?:", "(", "(?>", "(?=", "(?!", "(?<=", "(?<!", "(?i:", "(?i:", "(?-i:"))
        inner = self.alternation(depth + 1)
        self.groups += opening == "("
        return f"{opening}{inner})"

    def escaped(self, c: str) -> str:
        if self.rng.random() < 0.1:
            return f"\\x{{{ord(c):x}}}"
        if c.isalnum() or c in " _" or not c.isascii() or not c.isprintable():
            return c
        return "\\" + c

    def name(self) -> str:
        sign, caret = self.rng.choice("ppP"), self.rng.choice(("", "", "^"))
        return rf"\{sign}{{{caret}{self.rng.choice(_NAMES)}}}"

    def char_class(self, depth: int) -> str:
        members = [self.member(depth) for _ in range(self.rng.choice((1, 2, 2, 3, 4)))]
        if self.rng.random() < 0.2:
            signs = ("&&",) if self.dialect == "oniguruma" else ("&&", "--", "~~")
            members.insert(self.rng.randrange(len(members) + 1), self.rng.choice(signs))
        first = self.rng.choice(("", "", "", "", "-", "]"))
        last = self.rng.choice(("", "", "", "-"))
        return f"[{self.rng.choice(('', '', '^'))}{first}{''.join(members)}{last}]"

    def member(self, depth: int) -> str:
        kind = self.rng.random()
        if kind < 0.45:
            return self.literal(self.rng.choice(TEXT))
        if kind < 0.6:
            return self.rng.choice(("a-c", "f-t", "0-9", "A-S", "à-ÿ", "一-龥", "!-.", r"\x{0}-\x{20}"))
        if kind < 0.75:
            return "\\" + self.rng.choice("wWdDsShH")
        if kind < 0.83:
            return self.name()
        if kind < 0.9 or depth > 1:
            return f"[:{self.rng.choice(('', '', '^'))}{self.rng.choice(_POSIX)}:]"
        return self.char_class(depth + 1)

    def literal(self, c: str) -> str:
        return c if c.isalnum() or not c.isascii() or c in "_ '$.,+" else "\\" + c if c.isprintable() else repr(c)[1:-1]


def text(rng: random.Random, most: int = 12) -> str:
    """Return a short text of characters that patterns have."""
    pool = rng.choice((TEXT, "abkKsSß \n", "aa b1_ \n", _LETTERS, _OTHERS))
    return "".join(rng.choice(pool) for _ in range(rng.randint(1, most)))


def of_tokenizers(library: object, pattern: str) -> Split:
    """Return the splitter of a library with the interface of tokenizers."""
    made = [
        library.pre_tokenizers.Split(library.Regex(pattern), behavior)  # type: ignore[attr-defined]
        for behavior in ("isolated", "removed")
    ]

    def split(text: str) -> tuple[list[str], list[str]]:
        found = [[piece for piece, _ in one.pre_tokenize_str(text)] for one in made]
        return found[0], found[1]

    return split


def of_tiktoken(library: object, pattern: str, texts: Sequence[str]) -> Split:
    """Return the splitter of a library with the interface of tiktoken, for some texts.

    Every piece of these texts is a token, so that the tokens of a text are its pretokens.
    """
    pieces = {bytes([byte]) for byte in range(256)}
    for one in texts:
        pieces |= {one[a:b].encode() for a in range(len(one)) for b in range(a + 1, len(one) + 1)}
    ranks = {piece: rank for rank, piece in enumerate(sorted(pieces, key=lambda piece: (len(piece), piece)))}
    encoding = library.Encoding  # type: ignore[attr-defined]
    made = encoding("any", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})

    def split(text: str) -> tuple[list[str], list[str]]:
        return [made.decode([id_]) for id_ in made.encode_ordinary(text)], []

    return split
