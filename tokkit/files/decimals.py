"""Reads a JSON number as the float that tokenizers reads, and writes it back.

tokenizers does not round decimals to the nearest float: it takes the digits as one 64-bit integer, rounds that, and
multiplies or divides by a power of ten. A quarter of T5's scores differ in the last place, which decides between
segmentations of equal score. `read` does the same. `write` finds digits that `read` reads as the same float, which
exist for every float that it has read, and prefers digits that correct readers read as this float too.
"""

from __future__ import annotations

import math

MAX = (1 << 64) - 1
POWERS = 308
"""The highest power of ten that is applied in one step; lower exponents take several."""
EXACT_DIGITS = 15
TENS = [float(f"1e{power}") for power in range(20)]


def read(text: str) -> float:
    """Return the float that tokenizers reads for a JSON number with a point or exponent (for json's `parse_float`).

    >>> read("-2.0122928619384766") == -2.0122928619384766, read("-9.132585525512695") == -9.132585525512695
    (False, True)
    """
    whole, _, fraction = text.partition(".")
    if len(text) < 20 and fraction.isdecimal():  # the usual case
        value = int(whole.lstrip("-") + fraction) / TENS[len(fraction)]
        return -value if text[0] == "-" else value
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) <= EXACT_DIGITS and not exponent:
        return float(text)
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = whole + fraction
    power = int(exponent or 0) - len(fraction)
    taken = len(digits) if len(digits) < 20 else next(n for n in range(len(digits), 0, -1) if int(digits[:n]) <= MAX)
    value = float(int(digits[:taken]))
    power += len(digits) - taken
    while abs(power) > POWERS and value:
        if power > 0:
            raise ValueError(f"{text} is too large for a float")
        value /= 1e308
        power += POWERS
    if value:
        value = value * _ten_to(power) if power >= 0 else value / _ten_to(-power)
    if math.isinf(value):
        raise ValueError(f"{text} is too large for a float")
    return -value if text.startswith("-") else value


def of_number(value: float | int) -> float:
    """Return a parsed number as a float: integers of more than 64 bits as `read` reads their digits.

    ValueError for an integer that is too large.
    """
    return read(str(value)) if isinstance(value, int) and abs(value) > MAX else float(value)


def _ten_to(power: int) -> float:
    return float(f"1e{power}")


def write(value: float) -> str:
    """Return digits that tokenizers reads as this finite float; if there are none, the shortest correct ones.

    >>> write(-2.5), write(-2.0122928619384766), read(write(-2.0122928619384766)) == -2.0122928619384766
    ('-2.5', '-2.0122928619384764', True)
    """
    shortest = repr(value)
    if read(shortest) == value:
        return shortest
    size, best = abs(value), ""
    places = 15 - math.floor(math.log10(size))  # of 16 digits; 64 bits hold 19
    for power in (*range(max(places, 1), min(places + 5, POWERS)), *range(places, min(places + 5, 1))):
        near = size * _ten_to(power) if power > 0 else size / _ten_to(-power)
        for integer in (near, math.nextafter(near, math.inf), math.nextafter(near, 0)):
            spelt = f"{int(integer)}e{-power}"
            if 0 < power < 2 * EXACT_DIGITS:
                digits = f"{int(integer):0{power + 1}}"
                spelt = f"{digits[:-power]}.{digits[-power:]}"
            if integer <= MAX and read(spelt) == size and (not best or float(spelt) == size):
                best = spelt
        if best and float(best) == size:
            break
    return ("-" if value < 0 else "") + (best or repr(size))
