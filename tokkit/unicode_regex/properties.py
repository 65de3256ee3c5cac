r"""Sets of characters that patterns name: `\p{...}`, `\w`, `[:alpha:]`, in each dialect, by Unicode 16.0.

General categories come from the core's table; scripts, blocks and binary properties from the `regex` package, whose
version is corrected to 16.0 (code_points.py). Properties whose members have changed since are refused by name.
"""

from __future__ import annotations

import functools
import re

from tokkit.unicode_regex import code_points
from tokkit.unicode_regex.code_points import ALL, CodePoints

ASCII = CodePoints.ranges([(0, 0x7F)])
HEX = CodePoints.ranges([(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)])
_JOINERS = CodePoints.ranges([(0x200C, 0x200D)])


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LONG_NAMES = {
    "letter": "L", "casedletter": "Lc", "uppercaseletter": "Lu", "lowercaseletter": "Ll", "titlecaseletter": "Lt",
    "modifierletter": "Lm", "otherletter": "Lo", "mark": "M", "combiningmark": "M", "nonspacingmark": "Mn",
    "spacingmark": "Mc", "enclosingmark": "Me", "number": "N", "decimalnumber": "Nd", "letternumber": "Nl",
    "othernumber": "No", "punctuation": "P", "connectorpunctuation": "Pc", "dashpunctuation": "Pd",
    "openpunctuation": "Ps", "closepunctuation": "Pe", "initialpunctuation": "Pi", "finalpunctuation": "Pf",
    "otherpunctuation": "Po", "symbol": "S", "mathsymbol": "Sm", "currencysymbol": "Sc", "modifiersymbol": "Sk",
    "othersymbol": "So", "separator": "Z", "spaceseparator": "Zs", "lineseparator": "Zl", "paragraphseparator": "Zp",
    "other": "C", "control": "Cc", "format": "Cf", "privateuse": "Co", "unassigned": "Cn",
    "punct": "P", "digit": "Nd", "cntrl": "Cc",
}  # fmt: skip
_CHANGED = _words(
    "changeswhencasemapped cwcm changeswhentitlecased cwt changeswhenuppercased cwu diacritic dia "
    "extendedpictographic extpict noncharactercodepoint nchar patternsyntax patsyn"
)
"""Properties that Unicode 17.0 has changed for characters of 16.0, so that `regex` does not know the older members."""
_BINARY = _words(
    "alphabetic alpha asciihexdigit ahex bidicontrol bidic cased caseignorable ci changeswhencasefolded cwcf "
    "changeswhenlowercased cwl dash defaultignorablecodepoint di deprecated dep emoji emojicomponent ecomp "
    "emojimodifier emod emojimodifierbase ebase emojipresentation epres extender ext graphemebase grbase "
    "graphemeextend grext hexdigit hex idcontinue idc ideographic ideo idsbinaryoperator idsb idstart ids "
    "idstrinaryoperator idst joincontrol joinc logicalorderexception loe lowercase lower math patternwhitespace "
    "patws prependedconcatenationmark pcm quotationmark qmark radical regionalindicator ri sentenceterminal sterm "
    "softdotted sd terminalpunctuation term unifiedideograph uideo uppercase upper variationselector vs whitespace "
    "wspace space xidcontinue xidc xidstart xids"
)
_FULL_NAMES = {"idc": "idcontinue", "vs": "variationselector", "ids": "idstart", "ri": "regionalindicator"}
"""Short names that `regex` takes for another property."""


def simplified(name: str) -> str:
    """Return a name as UAX #44 compares names: without case, spaces, hyphens and low lines."""
    return re.sub(r"[ _-]", "", name).lower()


def category_named(name: str) -> CodePoints | None:
    """Return a general category by a short or long name, None for another name.

    >>> 0x41 in category_named("Uppercase_Letter"), category_named("Greek")
    (True, None)
    """
    short = _LONG_NAMES.get(simplified(name), simplified(name).capitalize())
    if short == "Lc":
        return CodePoints.union(map(code_points.category, ("Lu", "Ll", "Lt")))
    return code_points.category(short) if code_points.is_category(short) else None


@functools.cache
def named(name: str, kind: str = "") -> CodePoints | None:
    """Return a category, script or binary property by its name, None for an unknown one.

    `kind` is "Script", "Script_Extensions" or "Block" for a value of that property. ValueError for a property whose
    members by Unicode 16.0 are not known.
    """
    plain = simplified(name)
    if not kind:
        if plain in ("any", "assigned", "ascii"):
            return {"any": ALL, "ascii": ASCII, "assigned": ~code_points.category("Cn")}[plain]
        if (category := category_named(name)) is not None:
            return category
        if plain in _CHANGED:
            raise ValueError(f"{name!r} has other members in newer versions of Unicode")
        if plain in _BINARY:
            return code_points.ask(rf"\p{{{_FULL_NAMES.get(plain, plain)}}}")
        kind = "Script"
    if plain in ("zzzz", "unknown", "noblock", "nb"):  # all that is unassigned, or for private use
        return None
    try:
        found = code_points.ask(rf"\p{{{kind}={plain}}}", versioned=kind != "Block")
    except ValueError:
        return None
    return found if (found - code_points.category("Cn")).bounds.size else None  # newer than 16.0


def word(*, joiners: bool) -> CodePoints:
    """Return the characters of words, with U+200C and U+200D or without them."""
    found = code_points.escape("w")
    return found if joiners else found - _JOINERS


def oniguruma_word() -> CodePoints:
    r"""Return what Oniguruma's `\w` matches outside of classes: of Latin-1, also the superscripts and fractions."""
    return word(joiners=False) | CodePoints.ranges([(0xB2, 0xB3), (0xB9, 0xB9), (0xBC, 0xBE)])


def oniguruma(name: str) -> CodePoints | None:
    r"""Return what `\p{name}` matches in Oniguruma, None for a name that it does not have."""
    plain = simplified(name)
    if plain.startswith("in") and (block := named(plain[2:], "Block")) is not None:
        return block
    if plain == "posixpunct":
        return posix("punct")
    found = None if plain == "punct" else posix(plain)
    return named(name) if found is None else found


def posix(name: str) -> CodePoints | None:
    """Return a POSIX class as Oniguruma has it for Unicode, None for another name."""
    if name == "word":
        return word(joiners=False)
    if name == "xdigit":
        return HEX
    if name == "ascii":
        return ASCII
    if name == "digit":
        return code_points.escape("d")
    if name == "alnum":
        return code_points.ask("[[:alpha:]]") | code_points.escape("d")
    if name == "punct":
        return code_points.category("P") | code_points.category("S")
    if name not in ("alpha", "blank", "cntrl", "graph", "lower", "print", "space", "upper"):
        return None
    return code_points.ask(f"[[:{name}:]]")


def fancy_regex(name: str) -> CodePoints | None:
    r"""Return what `\p{name}`, `\p{property=value}` and `\p{property:value}` match, None for unknown names."""
    key, sign, value = (*(part.strip() for part in re.split("(!=|=|:)", name, maxsplit=1)), "", "")[:3]
    if not sign:
        return named(key)
    kind = {
        "sc": "Script", "script": "Script", "scx": "Script_Extensions", "scriptextensions": "Script_Extensions",
        "gc": "", "generalcategory": "",
    }.get(simplified(key))  # fmt: skip
    if kind is None:
        raise ValueError(f"{key!r} is a property whose values are not known")
    found = category_named(value) if not kind else named(value, kind)
    return ~found if sign == "!=" and found is not None else found


def ascii_posix(name: str) -> CodePoints | None:
    """Return a POSIX class of ASCII characters, as Rust's regex has it; None for another name."""
    ranges = {
        "alnum": "09 AZ az", "alpha": "AZ az", "ascii": "\0\x7f", "blank": "\t\t \x20\x20", "cntrl": "\0\x1f \x7f\x7f",
        "digit": "09", "graph": "!~", "lower": "az", "print": "\x20~", "punct": "!/ :@ [` {~", "space": "\t\r \x20\x20",
        "upper": "AZ", "word": "09 AZ az __", "xdigit": "09 AF af",
    }.get(name)  # fmt: skip
    if ranges is None:
        return None
    return CodePoints.ranges((ord(ranges[k]), ord(ranges[k + 1])) for k in range(0, len(ranges), 3))
