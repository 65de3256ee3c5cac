"""Makes the charsmap of a SentencePiece normalization, by name or from a TSV file."""

from __future__ import annotations

import functools
import zlib
from importlib import resources

from tokkit.errors import FormatError, OptionError
from tokkit.normalizers.charsmap_builder import compile_rules

NAMES = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity")
"""The values of SentencePiece's --normalization_rule_name."""


@functools.cache
def charsmap(name: str) -> bytes:
    """Return the charsmap of a normalization by its name; for "identity" it is empty.

    The maps do exactly what those of SentencePiece 0.2.3 do: NFKC of Unicode 17; _cf adds case folding, and nmt_ adds
    rules for white space and control characters. data/make_charsmaps.py makes them; a map is read at its first use.
    """
    if name == "identity":
        return b""
    if name not in NAMES:
        raise OptionError(f"the normalization is {name!r}; it must be one of {', '.join(NAMES)}, or your own rules")
    return zlib.decompress(resources.files("tokkit.normalizers").joinpath("charsmaps", f"{name}.z").read_bytes())


def read_tsv(text: str) -> dict[str, str]:
    r"""Return the rules of a TSV: code points in hexadecimal, a tab, and their replacement.

    FormatError names an invalid line. If a text has two rules, the last one counts.

    >>> read_tsv("FF21 41\t61\tcomment\n41\n")
    {'ＡA': 'a', 'A': ''}
    """
    rules = {}
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        if not line:
            continue
        source, *more = line.split("\t")
        try:
            found = [_text(field) for field in (source, more[0] if more else "")]
        except (ValueError, OverflowError):
            raise FormatError(
                f"line {number}: {line[:60]!r} is invalid; write code points in hexadecimal, such as 41"
            ) from None
        if not found[0]:
            raise FormatError(f"line {number}: the text to replace is empty; write its code points before the tab")
        rules[found[0]] = found[1]
    return rules


def _text(field: str) -> str:
    text = "".join(chr(int(point, 16)) for point in field.split())
    text.encode()  # surrogates cannot be encoded
    return text


def compile_tsv(text: str) -> bytes:
    """Return the charsmap of the rules of a TSV."""
    return compile_rules(read_tsv(text))
