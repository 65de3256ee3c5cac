"""The UTF-8 of a str by Python's codecs: surrogate pairs are joined, lone surrogates become U+FFFD."""

from __future__ import annotations

import re

SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")


def as_utf_16(found: re.Match[str]) -> str:
    """What a reader of UTF-16 sees in one pair or one lone surrogate; of long texts with many it would be slow."""
    return found.group().encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def without_surrogates(text: str) -> str:
    """The characters that a str with surrogates in it stands for."""
    return SURROGATES.sub(as_utf_16, text)


def utf8(text: str) -> bytes:
    """Their bytes."""
    return without_surrogates(text).encode()


def first_invalid(data: bytes) -> int:
    """The offset of the first byte that is not valid UTF-8, or the length."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return len(data)
