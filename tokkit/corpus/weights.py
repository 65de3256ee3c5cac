"""Weights of the sources of a corpus, given or from a temperature, as exact fractions and as integers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from fractions import Fraction

from tokkit.errors import OptionError
from tokkit.escaping import show

Weight = int | float | str | Decimal | Fraction

MAX_WEIGHT = 10**6
MAX_DIVISOR = 10**6
"""Maximum common denominator of all weights; counts multiplied by these limits stay far below 2**63."""
MAX_DIGITS = 40
STEP = Decimal("0.001")
"""Weights from a temperature are rounded to multiples of this, halves to even."""
_EXACT = Context(prec=50, rounding=ROUND_HALF_EVEN)


def weight_of(name: str, given: object) -> Fraction:
    """Return a weight as an exact number; a float counts as the decimal that Python prints for it.

    >>> weight_of("de", 0.1), weight_of("th", "2.5"), weight_of("el", "1/3")
    (Fraction(1, 10), Fraction(5, 2), Fraction(1, 3))
    """
    try:
        if isinstance(given, bool) or not isinstance(given, (int, float, str, Decimal, Fraction)):
            raise ValueError
        if isinstance(given, Fraction):
            made = given
        else:
            text = repr(given) if isinstance(given, float) else str(given)
            # An exponent such as 1e999999999 would be expanded to all its digits.
            if len(text) > MAX_DIGITS or ("/" not in text and abs(Decimal(text).adjusted()) > MAX_DIGITS):
                raise ValueError
            made = Fraction(text)
    except (ArithmeticError, ValueError):
        raise OptionError(
            f"the weight of {show(name)} is {given!r}; it must be a number, such as 2, 0.5 or 1/3"
        ) from None
    if not 0 < made <= MAX_WEIGHT or made.denominator > MAX_DIVISOR:
        raise OptionError(
            f"the weight of {show(name)} is {given!r}; it must be above 0 and at most {MAX_WEIGHT:,}, with a "
            f"denominator of at most {MAX_DIVISOR:,}"
        )
    return made


def weights_of(given: Mapping[str, Weight]) -> dict[str, Fraction]:
    """Return the weights of sources as exact numbers; OptionError for an invalid weight."""
    if not isinstance(given, Mapping):
        raise OptionError(f"weights is {given!r:.80}; it must be a mapping of names of sources to numbers")
    return {name: weight_of(name, value) for name, value in given.items()}


def text_of(weight: Fraction) -> str:
    """Return a weight as text: a decimal if it can be one, else a fraction.

    >>> text_of(Fraction(2)), text_of(Fraction(1853, 1000)), text_of(Fraction(1, 3))
    ('2', '1.853', '1/3')
    """
    bare = weight.denominator
    for factor in (2, 5):
        while bare % factor == 0:
            bare //= factor
    return f"{Decimal(weight.numerator) / weight.denominator:f}" if bare == 1 else str(weight)


def temperature_of(given: object) -> Decimal:
    """Return a temperature as a decimal; OptionError if it is below 1."""
    try:
        if isinstance(given, bool) or not isinstance(given, (int, float, str, Decimal)):
            raise InvalidOperation
        made = Decimal(repr(given) if isinstance(given, float) else given)
        if made.is_nan() or made < 1:
            raise InvalidOperation
    except InvalidOperation:
        raise OptionError(f"temperature is {given!r}; it must be a number of at least 1, or inf") from None
    return made


def by_temperature(amounts: Mapping[str, int], temperature: Decimal) -> dict[str, Fraction]:
    """Return the weights that raise the shares of sources to the power of 1/temperature (Devlin et al., mBERT).

    The largest source has the weight 1, and each other one (largest / amount) ** (1 - 1/temperature), rounded to
    thousandths, so no count gets smaller. They are computed in decimal, so that all machines agree.

    >>> by_temperature({"en": 900, "th": 100}, Decimal(2))
    {'en': Fraction(1, 1), 'th': Fraction(3, 1)}
    >>> by_temperature({"en": 900, "th": 100}, Decimal("inf"))["th"]
    Fraction(9, 1)
    """
    empty = [name for name, amount in amounts.items() if amount < 1]
    if empty:
        raise OptionError(f"{show(empty[0])} has no words, so a temperature cannot weight it")
    greatest = max(amounts.values())
    power = Decimal(1) if temperature.is_infinite() else _EXACT.subtract(1, _EXACT.divide(1, temperature))
    found = {}
    for name, amount in amounts.items():
        ratio = _EXACT.divide(Decimal(greatest), Decimal(amount))
        weight = _EXACT.power(ratio, power).quantize(STEP, context=_EXACT)
        found[name] = weight_of(name, weight)
    return found


def integers(weights: Sequence[Fraction]) -> tuple[list[int], int]:
    """Return integer factors and a common divisor; the weights are the quotients.

    >>> integers([Fraction(1, 2), Fraction(2, 3), Fraction(1)])
    ([3, 4, 6], 6)
    """
    divisor = math.lcm(*(weight.denominator for weight in weights))
    if divisor > MAX_DIVISOR:
        raise OptionError(
            f"the common denominator of all weights is {divisor:,}; it must be at most {MAX_DIVISOR:,}: give weights "
            "with fewer digits"
        )
    return [int(weight * divisor) for weight in weights], divisor
