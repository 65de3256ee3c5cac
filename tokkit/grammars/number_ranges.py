"""Numbers of JSON within bounds, as nodes: automata that compare digit by digit.

The text of a bounded number has no exponent, and is not "-0".
"""

from __future__ import annotations

import functools
from decimal import Decimal
from typing import NamedTuple

from tokkit.grammars.nodes import Chars, Node, OneOf, Repeat, many, one_of, optional, sequence, text
from tokkit.unicode_regex.code_points import CodePoints

NEVER = OneOf(())


@functools.cache
def digits(low: int = 0, high: int = 9) -> Node:
    """Return the node of one digit in a range."""
    return Chars(CodePoints.ranges([(48 + low, 48 + high)])) if low <= high else NEVER


ANY = many(digits())
POSITIVE = sequence(many(text("0")), digits(1), ANY)
"""Digits after a point that are not all zero."""
INTEGER = sequence(optional(text("-")), one_of(text("0"), sequence(digits(1), ANY)))
FRACTION = sequence(text("."), Repeat(digits(), 1, None))
EXPONENT = sequence(
    Chars(CodePoints.ranges([(0x45, 0x45), (0x65, 0x65)])),
    optional(Chars(CodePoints.ranges([(0x2B, 0x2B), (0x2D, 0x2D)]))),
    Repeat(digits(), 1, None),
)
NUMBER = sequence(INTEGER, optional(FRACTION), optional(EXPONENT))


class Bound(NamedTuple):
    """A bound of a number; the number may be equal to it unless `open`."""

    value: Decimal
    open: bool = False


def integers(low: int | None, high: int | None) -> Node:
    """Return the integers of a range, both ends included; None is no limit."""
    if low is None and high is None:
        return INTEGER
    options = []
    if low is None or low < 0:
        options.append(
            sequence(text("-"), _naturals(1 if high is None else max(1, -high), None if low is None else -low))
        )
    if high is None or high >= 0:
        options.append(_naturals(max(low or 0, 0), high))
    return one_of(*options)


def decimals(low: Bound | None, high: Bound | None) -> Node:
    """Return the numbers of a range."""
    if low is None and high is None:
        return NUMBER
    zero = Bound(Decimal(0))
    options = []
    if low is None or low.value < 0:
        least = Bound(-high.value, high.open) if high is not None and high.value < 0 else Bound(Decimal(0), True)
        most = None if low is None else Bound(-low.value, low.open)
        options.append(sequence(text("-"), _magnitudes(least, most)))
    if high is None or high.value >= 0:
        options.append(_magnitudes(zero if low is None or low.value < 0 else low, high))
    return one_of(*options)


def _naturals(low: int, high: int | None) -> Node:
    if high is not None and low > high:
        return NEVER
    first, last, n = str(low), str(high), len(str(low))
    if high is None:
        return one_of(_same_length(first, "9" * n), sequence(digits(1), Repeat(digits(), n, None)))
    if len(last) == n:
        return _same_length(first, last)
    return one_of(
        _same_length(first, "9" * n),
        sequence(digits(1), Repeat(digits(), n, len(last) - 2)) if len(last) - 2 >= n else NEVER,
        _same_length("1" + "0" * (len(last) - 1), last),
    )


def _same_length(low: str, high: str) -> Node:
    """Return the numbers between two numbers with the same number of digits."""
    n = len(low)
    if low == "0" * n and high == "9" * n:
        return Repeat(digits(), n, n)
    first, last = int(low[0]), int(high[0])
    if first == last:
        return sequence(text(low[0]), _same_length(low[1:], high[1:]))
    return one_of(
        sequence(text(low[0]), _same_length(low[1:], "9" * (n - 1))),
        sequence(digits(first + 1, last - 1), Repeat(digits(), n - 1, n - 1)),
        sequence(text(high[0]), _same_length("0" * (n - 1), high[1:])),
    )


def _parts(value: Decimal) -> tuple[int, str]:
    """Return the integer part of a number, and the digits after the point without trailing zeros."""
    whole, _, rest = format(value, "f").partition(".")
    return int(whole), rest.rstrip("0")


def _magnitudes(low: Bound, high: Bound | None) -> Node:
    """Return the numbers of a range that is not below zero."""
    least, after_least = _parts(low.value)
    if high is None:
        above = sequence(_naturals(least + 1, None), optional(FRACTION))
        return one_of(above, sequence(text(str(least)), _at_least(after_least, low.open)))
    most, after_most = _parts(high.value)
    if low.value > high.value:
        return NEVER
    if least == most:
        return sequence(text(str(least)), _between(after_least, low.open, after_most, high.open))
    return one_of(
        sequence(text(str(least)), _at_least(after_least, low.open)),
        sequence(_naturals(least + 1, most - 1), optional(FRACTION)),
        sequence(text(str(most)), _at_most(after_most, high.open)),
    )


def _at_least(low: str, open_: bool) -> Node:
    if not low and not open_:
        return optional(FRACTION)
    return sequence(text("."), _rest_at_least(low, open_))


def _rest_at_least(low: str, open_: bool) -> Node:
    """Return the digits that may follow if all digits so far are those of the bound."""
    if not low:
        return POSITIVE if open_ else ANY
    return one_of(sequence(text(low[0]), _rest_at_least(low[1:], open_)), sequence(digits(int(low[0]) + 1), ANY))


def _at_most(high: str, open_: bool) -> Node:
    if not high:
        return NEVER if open_ else optional(sequence(text("."), Repeat(text("0"), 1, None)))
    return optional(sequence(text("."), _digits_at_most(high, open_)))


def _digits_at_most(high: str, open_: bool) -> Node:
    return one_of(sequence(digits(0, int(high[0]) - 1), ANY), sequence(text(high[0]), _rest_at_most(high[1:], open_)))


def _rest_at_most(high: str, open_: bool) -> Node:
    if not high:
        return NEVER if open_ else many(text("0"))
    return optional(_digits_at_most(high, open_))


def _between(low: str, low_open: bool, high: str, high_open: bool) -> Node:
    """Return what may follow the integer part, which both bounds have in common."""
    ends, more = _rest_between(low, low_open, high, high_open)
    after = sequence(text("."), more)
    return optional(after) if ends else after


def _rest_between(low: str, low_open: bool, high: str, high_open: bool) -> tuple[bool, Node]:
    """Return whether the number may end while it equals both bounds so far, and the digits that may follow."""
    ends = not low and not low_open and (bool(high) or not high_open)
    if not low and not high:
        return ends, Repeat(text("0"), 1, None) if ends else NEVER
    first, last = (side[:1] or "0" for side in (low, high))
    if first == last:
        inner_ends, more = _rest_between(low[1:], low_open, high[1:], high_open)
        return ends, sequence(text(first), optional(more) if inner_ends else more)
    more = one_of(
        sequence(text(first), _rest_at_least(low[1:], low_open)),
        sequence(digits(int(first) + 1, int(last) - 1), ANY),
        sequence(text(last), _rest_at_most(high[1:], high_open)),
    )
    return ends, more if first < last else NEVER
