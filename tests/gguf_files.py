"""Keys and values in, the bytes of a GGUF file out: for tests, written plainly after the specification."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
FORMATS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B", U64: "Q", I64: "q", F64: "d"}


class Typed(NamedTuple):
    """A value with the number of its type; for an array, with that of its elements as well."""

    kind: int
    value: Any
    element: int = STRING


def strings(texts: Sequence[str | bytes]) -> Typed:
    return Typed(ARRAY, texts, STRING)


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def value_bytes(kind: int, value: Any, element: int = STRING) -> bytes:
    if kind == STRING:
        return text(value)
    if kind == ARRAY:
        return struct.pack("<IQ", element, len(value)) + b"".join(value_bytes(element, one) for one in value)
    return struct.pack("<" + FORMATS[kind], value)


def gguf(
    keys: Mapping[str, Typed | str | bytes] | Sequence[tuple[str, Typed | str | bytes]], version: int = 3
) -> bytes:
    """A str or bytes is a string; anything else is Typed. A list of pairs may have a key twice."""
    pairs = list(keys.items()) if isinstance(keys, Mapping) else list(keys)
    parts = [b"GGUF", struct.pack("<IQQ", version, 0, len(pairs))]
    for name, given in pairs:
        typed = given if isinstance(given, Typed) else Typed(STRING, given)
        parts += [text(name), struct.pack("<I", typed.kind), value_bytes(*typed)]
    return b"".join(parts)
