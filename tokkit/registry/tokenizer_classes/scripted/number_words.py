"""`NumberWords`: writes numbers as English words, as SpeechT5's tokenizer does if it normalizes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tokkit.errors import CorpusError
from tokkit.registry.tokenizer_classes.scripted.changed_text import ChangedText

_CURRENCIES = {
    "$": "dollars", "€": "euros", "£": "pounds", "¢": "cents", "¥": "japanese yen", "₹": "indian rupees",
    "₽": "russian rubles", "฿": "thai baht", "₺": "turkish liras", "₴": "ukrainian hryvnia", "₣": "swiss francs",
    "₡": "costa rican colon", "₱": "philippine peso", "₪": "israeli shekels", "₮": "mongolian tögrög",
    "₩": "south korean won", "₦": "nigerian naira", "₫": "vietnamese Đồng", "﷼": "saudi riyal",
}  # fmt: skip
"""Symbols in the order in which a number may have them."""
_SCALES = (
    "", "thousand", "million", "billion", "trillion", "quadrillion", "quintillion", "sextillion", "septillion",
    "octillion", "nonillion", "decillion",
)  # fmt: skip
_SMALL = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_COMMAS = re.compile(r"\d+,\d+")
_NUMBER = re.compile(
    r"(?<!\w)(?P<minus>-?)(?P<symbols>" + "".join(re.escape(symbol) + "?" for symbol in _CURRENCIES) + ")"
    r"(?P<whole>\d+)(?:\.(?P<decimals>\d{1,2}))?(?P<percent>%?)(?!\w)"
)
_SPACES = re.compile(" +")


@dataclass(frozen=True, slots=True)
class NumberWords:
    """Writes numbers, with a minus, a currency and a percent sign, as words, and joins spaces."""

    def __call__(self, text: ChangedText) -> ChangedText:
        """Return the changed text; CorpusError for a number that transformers cannot convert either."""
        text = text.replaced(_COMMAS, lambda match: match[0].replace(",", ""))
        return text.replaced(_NUMBER, _words).replaced(_SPACES, " ")


def _words(match: re.Match[str]) -> str:
    symbols, decimals = match["symbols"], match["decimals"] or "00"
    if len(symbols) > 1 or len(match["whole"]) > 3 * len(_SCALES):
        raise CorpusError(
            f"{match[0]!r} cannot be written as words; a number has one currency at most, and up to "
            f"{3 * len(_SCALES)} digits"
        )
    made = _whole(match["whole"])
    if decimals != "00":
        made += " point " + " ".join(_SMALL[int(digit)] for digit in decimals)
    made = "minus " * bool(match["minus"]) + made + " percent" * bool(match["percent"])
    return made + f" {_CURRENCIES[symbols]}" if symbols else made


def _whole(digits: str) -> str:
    """Return the words of a number without decimals; zero has none."""
    digits = digits.rjust(-(-len(digits) // 3) * 3, "0")
    groups = [int(digits[i : i + 3]) for i in range(0, len(digits), 3)]
    words = [
        f"{_below_thousand(number)} {_SCALES[len(groups) - 1 - i]}".rstrip()
        for i, number in enumerate(groups)
        if number
    ]
    return " ".join(words)


def _below_thousand(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    words = [f"{_SMALL[hundreds]} hundred"] if hundreds else []
    if rest:
        tens, ones = divmod(rest, 10)
        small = _SMALL[rest] if rest < 20 else f"{_TENS[tens - 2]} {_SMALL[ones]}" if ones else _TENS[tens - 2]
        words.append(small)
    return " and ".join(words)
