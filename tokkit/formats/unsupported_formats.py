"""Recognizes tokenizer files that cannot be read, for clear error messages."""

from __future__ import annotations

import re

_STARTS = {b"\x1f\x8b": "gzip data", b"PK\x03\x04": "a zip archive", b"\x80": "a Python pickle"}
_PIECE_LIST = re.compile(rb"<(?:unk|pad|s)>\t-?[0-9]")


def name_of(data: bytes) -> str | None:
    r"""Return the type of a file, by its content, or None.

    >>> name_of(b"<unk>\t0\n<s>\t0\n")
    "the list of a sentencepiece model's pieces (.vocab)"
    """
    for start, what in _STARTS.items():
        if data.startswith(start):
            return what
    if _PIECE_LIST.match(data):
        return "the list of a sentencepiece model's pieces (.vocab)"
    return None
