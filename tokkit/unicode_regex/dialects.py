r"""The dialects of patterns: four tables of what differs between them, and how a pattern says which one it is in.

A pattern is text. In its own dialect it is one of the `regex` package; a pattern of another origin begins with a mark,
`(?fancy_regex)` (tiktoken) or `(?oniguruma)` (tokenizers), unless both read it alike. `ecma` is that of JSON schemas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from tokkit.unicode_regex import case_folding, code_points, properties, tree
from tokkit.unicode_regex.code_points import CodePoints
from tokkit.unicode_regex.tree import END, START, Node

CONTROLS = {"f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_BELL, _ESCAPE = {"a": 7}, {"e": 27}

_NEXT_LINE, _NO_BREAK = CodePoints.of([0x85]), CodePoints.of([0xFEFF])

Named = Callable[[str], CodePoints | None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dialect:
    """What a dialect has, and what its signs mean."""

    name: str
    controls: Mapping[str, int]  # escape → control character
    code_points: re.Pattern[str]  # escapes of code points, after the backslash; a group has the hexadecimal digits
    themselves: str = ""  # letters that mean themselves after a backslash
    letters: Mapping[str, Callable[[], CodePoints]] = field(default_factory=dict)  # escape → set; capitals: the rest
    named: Named  # \p{...}
    one_letter_names: bool = True  # \pL
    posix: Named | None = None  # [[:alpha:]]
    word: Callable[[], CodePoints] | None = None  # \w outside of classes, \b and \B
    anchors: dict[str, Node]  # ^, $, and the letters of escapes
    line_ends: CodePoints = field(default_factory=lambda: CodePoints.of([10]))  # what . does not match
    flags: str = ""  # of (?flags) and (?flags:...)
    dot_all: str = "s"
    flags_reach: str = "none"  # what (?flags) is for: "group", "alternatives" (a group of the rest), or "none"
    group: re.Pattern[str]  # the kinds of groups, after "(?"
    nested: bool = False  # classes in classes
    operators: tuple[tuple[str, ...], ...] = ()  # of classes, those that bind least first
    operands_may_be_empty: bool = False
    first_bracket: bool = True  # the first ] of a class is a character
    brace: re.Pattern[str]  # counted repeats
    possessive: str = "*+?{"  # repeats after which + is possessive
    lazy: bool = True
    literal_brace: bool = False
    repeated_repeats: bool = False
    most_repeats: int = 1000
    fold: Callable[[CodePoints], CodePoints] | None = None  # what a set matches if case is ignored; None asks regex
    folds: str = ""  # "content": of a class before it is negated; "each": of each name and class in a class
    full_folds: bool = False  # one character may be equal to several

    def __repr__(self) -> str:
        return self.name


_NAME = r"[A-Za-z_][A-Za-z_0-9]*"
_LOOKS = r"(?P<kind><=|<!|>|=|!|:)"
_COUNTED = r"\{(?P<minimum>\d*)(?P<comma>,(?P<maximum>\d*))?\}"

REGEX = Dialect(
    name="regex",
    controls={**CONTROLS, **_BELL},
    code_points=re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})"),
    letters={letter: partial(code_points.escape, letter) for letter in "dsw"},
    named=lambda name: code_points.category(name) if code_points.is_category(name) else None,
    word=partial(code_points.escape, "w"),
    anchors={"^": START, "$": END, "A": START, "Z": END, "z": END},
    flags="is",
    group=re.compile(rf"\?(?:P?<(?P<name>{_NAME})>|(?P<on>[is]*)(?:-(?P<off>[is]+))?:|{_LOOKS})"),
    brace=re.compile(_COUNTED),
)  # fmt: skip

REGEX_V1 = Dialect(
    **{
        **{name: getattr(REGEX, name) for name in Dialect.__dataclass_fields__},
        "nested": True,
        "operators": (("||",), ("~~",), ("&&",), ("--",)),
    }
)
"""The same after (?V1)."""

ONIGURUMA = Dialect(
    name="oniguruma",
    controls={**CONTROLS, **_BELL, **_ESCAPE},
    code_points=re.compile(r"x([0-7]?[0-9A-Fa-f])(?![0-9A-Fa-f])|x([0-7][0-9A-Fa-f])|x\{([0-9A-Fa-f]{1,8})\}|u([0-9A-Fa-f]{4})"),
    themselves="EFIJLQTUVijlmoq",
    letters={
        "d": partial(code_points.escape, "d"),
        "s": partial(code_points.escape, "s"),
        "w": partial(properties.word, joiners=False),
        "h": lambda: properties.HEX,
    },
    named=properties.oniguruma,
    one_letter_names=False,
    posix=properties.posix,
    word=properties.oniguruma_word,
    anchors={"^": tree.LINE_START, "$": tree.LINE_END, "A": START, "z": END, "Z": tree.LAST_LINE_END},
    flags="imx",
    dot_all="m",
    flags_reach="alternatives",
    group=re.compile(rf"\?(?:<(?P<name>{_NAME})>|'(?P<quoted>{_NAME})'|(?P<on>[imx]*)(?:-(?P<off>[imx]+))?(?P<rest>[:)])|{_LOOKS})"),
    nested=True,
    operators=(("&&",),),
    operands_may_be_empty=True,
    brace=re.compile(r"\{(?!,?\})(?P<minimum>\d*)(?P<comma>,(?P<maximum>\d*))?\}"),
    possessive="*+?",
    literal_brace=True,
    repeated_repeats=True,
    most_repeats=100_000,
    fold=case_folding.folded,
    folds="content",
    full_folds=True,
)  # fmt: skip

FANCY_REGEX = Dialect(
    name="fancy_regex",
    controls={**CONTROLS, **_BELL, **_ESCAPE},
    code_points=re.compile(
        r"[xuU]\{([0-9A-Fa-f]{1,8})\}|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})"
    ),
    letters={
        "d": partial(code_points.escape, "d"),
        "s": partial(code_points.escape, "s"),
        "w": partial(properties.word, joiners=True),
        "h": lambda: properties.HEX,
    },
    named=properties.fancy_regex,
    posix=properties.ascii_posix,
    word=partial(properties.word, joiners=True),
    anchors={"^": START, "$": END, "A": START, "z": END, "Z": tree.BEFORE_LINE_ENDS},
    flags="imsxUu",
    flags_reach="group",
    group=re.compile(rf"\?(?:P?<(?P<name>{_NAME})>|(?P<on>[imsxUu]*)(?:-(?P<off>[imsxU]+))?(?P<rest>[:)])|{_LOOKS})"),
    nested=True,
    operators=(("&&", "--", "~~"),),
    operands_may_be_empty=True,
    brace=re.compile(_COUNTED),
    literal_brace=True,
    fold=case_folding.folded,
    folds="each",
)  # fmt: skip

ECMA = Dialect(
    name="ecma",
    controls=CONTROLS,
    code_points=re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}"),
    letters={
        "d": lambda: CodePoints.ranges([(0x30, 0x39)]),
        "s": lambda: code_points.escape("s") - _NEXT_LINE | _NO_BREAK,
        "w": lambda: CodePoints.ranges([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)]),
    },
    named=properties.fancy_regex,
    one_letter_names=False,
    anchors={"^": START, "$": END},
    line_ends=CodePoints.of([10, 13, 0x2028, 0x2029]),
    group=re.compile(rf"\?(?:<(?P<name>{_NAME})>|{_LOOKS})"),
    first_bracket=False,
    brace=re.compile(r"\{(?P<minimum>\d+)(?P<comma>,(?P<maximum>\d*))?\}"),
    possessive="",
)  # fmt: skip

LINES: dict[str, Node] = {"^": tree.ANY_LINE_START, "$": tree.LINE_END}
"""Anchors with the flag for lines, (?m) in the dialects that have it."""

MARKED = {dialect.name: dialect for dialect in (FANCY_REGEX, ONIGURUMA)}
_MARK = re.compile(rf"\(\?({'|'.join(MARKED)})\)")


def of(pattern: str) -> tuple[Dialect, str]:
    r"""Return the dialect of a pattern, and its text without the mark.

    >>> of(r"(?oniguruma)\h+"), of(r"\w+")
    ((oniguruma, '\\h+'), (regex, '\\w+'))
    """
    mark = _MARK.match(pattern)
    return (MARKED[mark[1]], pattern[mark.end() :]) if mark else (REGEX, pattern)


def unmarked(pattern: str) -> str:
    """Return a pattern without its mark, as its origin wrote it."""
    return of(pattern)[1]


def mark(dialect: Dialect) -> str:
    """Return the mark of a dialect."""
    return f"(?{dialect.name})" if dialect.name in MARKED else ""
