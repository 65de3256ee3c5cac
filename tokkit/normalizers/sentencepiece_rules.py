"""The charsmap of a SentencePiece normalization, by its name or from the lines of a TSV."""

from __future__ import annotations

import functools
import zlib
from importlib import resources

from tokkit.errors import FormatError, OptionError
from tokkit.normalizers.charsmap_builder import compile_rules

NAMES = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity")
"""What SentencePiece's --normalization_rule_name takes."""


@functools.cache
def charsmap(name: str) -> bytes:
    """Return the map of a normalization by its name; that of "identity" is empty.

    The maps are those of SentencePiece 0.2.3 in all they do: NFKC of Unicode 17, with case folding where the name ends
    in _cf, and white space and controls brought into order where it begins with nmt_. data/make_charsmaps.py makes
    them; the first call reads one.
    """
    if name == "identity":
        return b""
    if name not in NAMES:
        raise OptionError(f"the normalization is {name!r}; it must be one of {', '.join(NAMES)}, or rules of your own")
    return zlib.decompress(resources.files("tokkit.normalizers").joinpath("charsmaps", f"{name}.z").read_bytes())


def read_tsv(text: str) -> dict[str, str]:
    r"""Return the rules of a TSV: code points in hexadecimal, a tab, and those to put in their place, if any.

    FormatError names the line that is not of that kind. Of two rules for one text the last counts.

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
            raise FormatError(f"line {number}: {line[:60]!r} is not code points, such as 41, in hexadecimal") from None
        if not found[0]:
            raise FormatError(f"line {number}: nothing is to be replaced")
        rules[found[0]] = found[1]
    return rules


def _text(field: str) -> str:
    text = "".join(chr(int(point, 16)) for point in field.split())
    text.encode()  # which surrogates have none of
    return text


def compile_tsv(text: str) -> bytes:
    """Return the charsmap of the rules of a TSV."""
    return compile_rules(read_tsv(text))
