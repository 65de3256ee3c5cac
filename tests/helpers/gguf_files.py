"""Writes GGUF files from keys and values, as the specification says."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
FORMATS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B", U64: "Q", I64: "q", F64: "d"}


class Typed(NamedTuple):
    """A value with the number of its type; for an array, with that of its elements, which may be arrays, as well."""

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
        parts = [value_bytes(*one) if isinstance(one, Typed) else value_bytes(element, one) for one in value]
        return struct.pack("<IQ", element, len(value)) + b"".join(parts)
    return struct.pack("<" + FORMATS[kind], value)


class Stored(NamedTuple):
    """A tensor: the number of its type, its shape, rows first, and its bytes."""

    kind: int
    shape: tuple[int, ...]
    data: bytes


def gguf(
    keys: Mapping[str, Typed | str | bytes] | Sequence[tuple[str, Typed | str | bytes]],
    version: int = 3,
    tensors: Mapping[str, Stored] | None = None,
    alignment: int = 32,
) -> bytes:
    """A str or bytes is a string; anything else is Typed. A list of pairs may have a key twice."""
    pairs = list(keys.items()) if isinstance(keys, Mapping) else list(keys)
    parts = [b"GGUF", struct.pack("<IQQ", version, len(tensors or ()), len(pairs))]
    for name, given in pairs:
        typed = given if isinstance(given, Typed) else Typed(STRING, given)
        parts += [text(name), struct.pack("<I", typed.kind), value_bytes(*typed)]
    return with_data(b"".join(parts), tensors or {}, alignment)


def with_data(head: bytes, tensors: Mapping[str, Stored], alignment: int = 32) -> bytes:
    """A header up to its last key, with what it says of tensors and their bytes."""
    data: list[bytes] = []
    offset = 0
    for name, tensor in tensors.items():
        axes = struct.pack(f"<{len(tensor.shape)}Q", *reversed(tensor.shape))
        head += text(name) + struct.pack("<I", len(tensor.shape)) + axes + struct.pack("<IQ", tensor.kind, offset)
        data += [tensor.data, bytes(-len(tensor.data) % alignment)]
        offset += len(data[-2]) + len(data[-1])
    return b"".join([head, bytes(-len(head) % alignment), *data]) if tensors else head


# ---- a SentencePiece model as GGUF


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Number and value of each field of a protocol buffer: bytes, or an int, or the four bytes of a float."""
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
            continue
        size = number() if tag & 7 == 2 else {1: 8, 5: 4}[tag & 7]
        yield tag >> 3, message[at : at + size]
        at += size


def of_sentencepiece(model: bytes) -> dict[str, Typed | str | bytes]:
    """The keys that a program which writes GGUF files makes of a SentencePiece model."""
    parts = list(fields(model))
    pieces = [dict(fields(value)) for number, value in parts if number == 1]
    trainer = dict(fields(next(value for number, value in parts if number == 2)))
    normalizer = dict(fields(next(value for number, value in parts if number == 3)))
    ids = {
        name: trainer.get(field, default)
        for name, field, default in (("unknown", 40, 0), ("bos", 41, 1), ("eos", 42, 2))
    }
    keys: dict[str, Typed | str | bytes] = {
        "model": "llama" if trainer.get(3, 1) == 2 else "t5",
        "pre": "default",
        "tokens": strings([piece[1] for piece in pieces]),
        "scores": Typed(ARRAY, [struct.unpack("<f", piece.get(2, bytes(4)))[0] for piece in pieces], F32),
        "token_type": Typed(ARRAY, [piece.get(3, 1) for piece in pieces], I32),
        "add_space_prefix": Typed(BOOL, normalizer.get(3, 1)),
        "remove_extra_whitespaces": Typed(BOOL, normalizer.get(4, 1)),
        **{f"{name}_token_id": Typed(U32, id_) for name, id_ in ids.items() if id_ < len(pieces)},
    }
    if normalizer.get(2):
        keys["precompiled_charsmap"] = Typed(ARRAY, list(normalizer[2]), U8)
    return {f"tokenizer.ggml.{name}": value for name, value in keys.items()}
