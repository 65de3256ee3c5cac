"""Replaces a character by one of the same category and script that all versions of Unicode have."""

from __future__ import annotations

from functools import cache

import regex

# One character, old and without ties to ASCII, for each number of data/make_unicode_tables.py: the 30 general
# categories in their order, then white space among the controls, then line ends.
REPRESENTATIVES = (
    ("Lu", "É"), ("Ll", "é"), ("Lt", "ǅ"), ("Lm", "ʰ"), ("Lo", "א"), ("Mn", "\u0301"), ("Mc", "\u0903"),
    ("Me", "\u20dd"), ("Nd", "٣"), ("Nl", "Ⅷ"), ("No", "²"), ("Pc", "‿"), ("Pd", "—"), ("Ps", "༺"), ("Pe", "༻"),
    ("Pi", "«"), ("Pf", "»"), ("Po", "¿"), ("Sm", "±"), ("Sc", "¢"), ("Sk", "¨"), ("So", "©"), ("Zs", "\u3000"),
    ("Zl", "\u2028"), ("Zp", "\u2029"), ("Cc", "\x01"), ("Cf", "\u2060"), ("Cs", "\ufffd"), ("Co", "\ue000"),
    ("Cn", "\U0003ffff"), ("white control", "\t"), ("line end", "\n"),
)  # fmt: skip
# The same for characters of the script Han; the two that are alone of their kind stand for themselves.
HAN = {"Lm": "々", "Lo": "㐀", "Mc": "\U00016ff0", "Nl": "〇", "Po": "\U00016fe2", "So": "⺀"}
THEMSELVES = frozenset(map(chr, [*range(0x80), 0x17F])) - frozenset("\x1c\x1d\x1e\x1f")


def category(character: str) -> int:
    """The number of a character's category in Unicode 16.0.0: from the core, or without it from unicodedata2."""
    try:
        from tokkit._core.text import category as of_core
    except ImportError:
        import unicodedata2

        if character in "\n\r":
            return 31
        if character in "\t\v\f\x85":
            return 30
        return [name for name, _ in REPRESENTATIVES].index(unicodedata2.category(character))
    return of_core(ord(character))


@cache
def is_han(character: str) -> bool:
    """Is the script of this character Han, in Unicode 16.0.0? No character that it knows has become Han since."""
    return REPRESENTATIVES[category(character)][0] != "Cn" and regex.match(r"\p{Han}", character) is not None


@cache
def representative(character: str) -> str:
    """A character that every pattern here takes for the same."""
    if character in THEMSELVES or "\u3040" <= character <= "\u30ff":
        return character
    if "一" <= character <= "龥":
        return "中"
    name, stand_in = REPRESENTATIVES[category(character)]
    return HAN[name] if is_han(character) else stand_in
