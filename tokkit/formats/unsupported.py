"""A file's first bytes in, what it is out, where that is a tokenizer that is not read yet."""

from __future__ import annotations

import re

_STARTS = {b"\x1f\x8b": "gzip data", b"PK\x03\x04": "a zip archive", b"\x80": "a Python pickle"}
# A message of field 1 that begins with the piece, which is its own field 1; then a score (0x15) or a type (0x18).
_SENTENCEPIECE = re.compile(rb"\n[\x02-\x7f]\n([\x01-\x7f])")
_PIECE_LIST = re.compile(rb"<(?:unk|pad|s)>\t-?[0-9]")


def in_file(data: bytes) -> str | None:
    r"""Return what a file is by its content, or None.

    >>> in_file(b"<unk>\t0\n<s>\t0\n")
    "the list of a sentencepiece model's pieces (.vocab)"
    """
    for start, what in _STARTS.items():
        if data.startswith(start):
            return what
    piece = _SENTENCEPIECE.match(data)
    if piece is not None and data[piece.end() + piece[1][0] :][:1] in (b"\x15", b"\x18"):
        return "a sentencepiece model"
    if _PIECE_LIST.match(data):
        return "the list of a sentencepiece model's pieces (.vocab)"
    return None
