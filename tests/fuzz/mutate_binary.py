"""Changes of binary files by their structure: protocol buffers, GGUF, and files that begin with a header of JSON."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from typing import Any

import gguf_files
import mutate
import mutate_json

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
Field = list[Any]
"""Number, wire type and value of a field of a protocol buffer: an int, or bytes."""


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    parts = []
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data: bytes) -> list[Field] | None:
    """The fields of a message; None for bytes that are none."""
    found, at = [], 0
    try:
        while at < len(data):
            tag, at = read_varint(data, at)
            if tag & 7 == VARINT:
                value, at = read_varint(data, at)
                found.append([tag >> 3, VARINT, value])
                continue
            if tag & 7 not in (FIXED64, BYTES, FIXED32):
                return None
            size = 8 if tag & 7 == FIXED64 else 4
            if tag & 7 == BYTES:
                size, at = read_varint(data, at)
            if at + size > len(data):
                return None
            found.append([tag >> 3, tag & 7, data[at : at + size]])
            at += size
    except IndexError:
        return None
    return found


def message(given: list[Field]) -> bytes:
    parts = []
    for number, kind, value in given:
        parts.append(varint(number << 3 | kind))
        parts.append(varint(value) if kind == VARINT else varint(len(value)) + value if kind == BYTES else value)
    return b"".join(parts)


def change_value(rng: random.Random, field: Field, other: list[Field], words: Sequence[bytes]) -> None:
    number, kind, value = field
    if kind == VARINT:
        field[2] = mutate.number(rng, value)
    elif kind == FIXED32:
        score = rng.choice((0.0, -0.0, -1.0, 1.0, -1e30, 1e38, 1e-45, float("nan"), float("inf"), float("-inf")))
        field[2] = rng.choice((struct.pack("<f", score), rng.randbytes(4)))
    elif kind == FIXED64:
        field[2] = rng.randbytes(8)
    else:
        inner = fields(value)
        same = [one for one in other if one[:2] == [number, kind]]
        donor = rng.choice(same)[2] if same else value
        if inner and rng.random() < 0.8:
            field[2] = of_message(rng, value, donor, words)
        elif rng.random() < 0.5:
            field[2] = mutate.of_bytes(rng, value, donor, words)
        else:
            text = mutate.of_text(rng, value.decode("utf-8", "replace"), words)
            field[2] = text.encode("utf-8", "surrogatepass")


def of_message(rng: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    """Change a field, leave it out, repeat it, move it, renumber it, or take one of another message."""
    given, others = fields(data), fields(other) or []
    if not given:
        return mutate.of_bytes(rng, data, other, words)
    at, to = rng.randrange(len(given)), rng.randrange(len(given))
    kind = rng.randrange(10)
    if kind == 0:
        del given[at]
    elif kind == 1:
        given.insert(to, list(given[at]))
    elif kind == 2:
        given[at], given[to] = given[to], given[at]
    elif kind == 3 and others:
        given.insert(to, rng.choice(others))
    elif kind == 4:
        given[at][0] = rng.choice((max(1, mutate.number(rng, given[at][0]) & 0x1FFFFFFF), rng.randrange(1, 60)))
    elif kind == 5:
        given.insert(to, [rng.randrange(1, 60), VARINT, rng.choice(mutate.NUMBERS)])
    else:
        change_value(rng, given[at], others, words)
    return message(given)


PROTOBUF = mutate.one_of(of_message, of_message, of_message, of_message, mutate.of_bytes)


# ---- GGUF


Keys = list[tuple[str, gguf_files.Typed]]


def gguf_parts(data: bytes) -> tuple[Keys, dict[str, gguf_files.Stored]]:
    """The keys and the tensors of a file as `gguf_files.gguf` takes them; struct.error or others for what is none."""
    at = 24

    def take(form: str) -> Any:
        nonlocal at
        (value,) = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize("<" + form)
        return value

    def text() -> bytes:
        nonlocal at
        n = take("Q")
        at += n
        if at > len(data):
            raise IndexError(at)
        return data[at - n : at]

    def value(kind: int) -> Any:
        if kind == gguf_files.ARRAY:
            element, n = take("I"), take("Q")
            return gguf_files.Typed(kind, [value(element) for _ in range(n)], element)
        return text() if kind == gguf_files.STRING else take(gguf_files.FORMATS[kind])

    found: Keys = []
    for _ in range(struct.unpack_from("<Q", data, 16)[0]):
        name, kind = text().decode(), take("I")
        made = value(kind)
        found.append((name, made if kind == gguf_files.ARRAY else gguf_files.Typed(kind, made)))
    places = []
    for _ in range(struct.unpack_from("<Q", data, 8)[0]):
        name, shape = text().decode(), [take("Q") for _ in range(take("I"))][::-1]
        places.append((name, tuple(shape), take("I"), take("Q")))
    start = at + -at % 32
    ends = [start + place[3] for place in places[1:]] + [len(data)]
    return found, {
        name: gguf_files.Stored(kind, shape, data[start + offset : end])
        for (name, shape, kind, offset), end in zip(places, ends, strict=False)
    }


def of_number(rng: random.Random, kind: int, value: Any) -> Any:
    """A number of a type near another."""
    if kind in (gguf_files.F32, gguf_files.F64):
        return rng.choice((0.0, -1.0, value * 2, float("nan"), float("inf"), -value))
    form = gguf_files.FORMATS[kind]
    size = 8 * struct.calcsize("<" + form)
    made = mutate.number(rng, value) & (1 << size) - 1
    return made - (1 << size) if form.islower() and made >> size - 1 else made


def of_typed(rng: random.Random, typed: gguf_files.Typed, words: Sequence[bytes]) -> gguf_files.Typed:
    kind, value, element = typed
    if kind == gguf_files.STRING and words and rng.random() < 0.3:
        return typed._replace(value=rng.choice(words))
    if kind == gguf_files.STRING:
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        return typed._replace(value=mutate.of_text(rng, text, words).encode("utf-8", "surrogatepass"))
    if kind != gguf_files.ARRAY:
        return typed._replace(value=of_number(rng, kind, value))
    value = list(value)
    at, to = (rng.randrange(len(value)) for _ in "ab") if value else (0, 0)
    change = rng.randrange(5)
    if change == 0 or not value:
        return typed._replace(value=value[:at])
    if change == 1:
        value.insert(to, value[at])
    elif change == 2:
        value[at], value[to] = value[to], value[at]
    elif change == 3:
        del value[at]
    else:
        inner = value[at]
        nested = isinstance(inner, gguf_files.Typed)
        made = of_typed(rng, inner if nested else gguf_files.Typed(element, inner), words)
        value[at] = made if nested else made.value
    return typed._replace(value=value)


def change_tensor(
    rng: random.Random, tensors: dict[str, gguf_files.Stored], others: dict[str, gguf_files.Stored]
) -> dict[str, gguf_files.Stored]:
    """Tensors with one that is left out, added, of another type, shape or file, or with other bytes."""
    name = rng.choice(list(tensors))
    tensor, kind = tensors[name], rng.randrange(7)
    if kind == 0:
        return {other: one for other, one in tensors.items() if other != name}
    if kind == 6 and others:
        added = rng.choice(list(others))
        return {**tensors, added: others[added]}
    if kind == 1:
        tensor = tensor._replace(kind=rng.choice((0, 1, 2, 3, 6, 7, 8, 10, 12, 13, 14, 28, 30, 99)))
    elif kind == 2 and tensor.shape:
        shape = list(tensor.shape)
        axis = rng.randrange(len(shape))
        shape[axis] = mutate.number(rng, shape[axis]) & (1 << 64) - 1
        tensor = tensor._replace(shape=tuple(shape))
    elif kind == 3:
        tensor = others.get(name, rng.choice(list(tensors.values())))
    else:
        tensor = tensor._replace(data=mutate.of_bytes(rng, tensor.data, tensor.data, ()))
    return {**tensors, name: tensor}


def of_gguf(rng: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    """Change a key, its type or its value, leave it out, or take one of another file; or change a tensor."""
    try:
        (keys, tensors), (others, other_tensors) = gguf_parts(data), gguf_parts(other)
    except (struct.error, IndexError, KeyError, UnicodeDecodeError, MemoryError, RecursionError):
        return mutate.of_bytes(rng, data, other, words)
    if not keys or not others:
        return other
    version = rng.choice((3, 3, 3, 3, 2))
    if tensors and rng.random() < 0.4:
        return gguf_files.gguf(keys, version, change_tensor(rng, tensors, other_tensors))
    at = rng.randrange(len(keys))
    name, typed = keys[at]
    kind = rng.randrange(9)
    if kind == 0:
        del keys[at]
    elif kind == 1:
        keys.append(rng.choice(others))
    elif kind == 8 and words:
        # A key that the dictionary names; without a prefix of its own it is the architecture's, or another key's.
        word = rng.choice(words).decode("utf-8", "replace")
        whole = word.startswith(("general.", "split.", "tokenizer."))
        keys.append((word if whole else f"{name.partition('.')[0]}.{word}", typed))
    elif kind == 2:
        keys[at] = (mutate.of_text(rng, name, words).encode("utf-8", "replace").decode(), typed)
    elif kind == 3:
        keys[at] = (name, dict(others).get(name, typed))
    elif kind == 4:
        keys[at] = (name, rng.choice((*others, *keys))[1])
    else:
        keys[at] = (name, of_typed(rng, typed, words))
    return gguf_files.gguf(keys, version, tensors)


GGUF = mutate.one_of(of_gguf, of_gguf, of_gguf, of_gguf, mutate.of_bytes)


# ---- the length of a header in 8 bytes, the header in JSON, and data


def of_header(rng: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    """Change the header as a tree, and often the data and the length with it."""
    n, m = (int.from_bytes(one[:8], "little") for one in (data, other))
    if n > len(data) or m > len(other):
        return mutate.of_bytes(rng, data, other, words)
    header = mutate_json.of_tree(rng, data[8 : 8 + n], other[8 : 8 + m], words)
    length = len(header) if rng.random() < 0.95 else mutate.number(rng, len(header)) & (1 << 64) - 1
    body = data[8 + n :]
    if rng.random() < 0.3:
        body = mutate.of_bytes(rng, body, other[8 + m :], ())
    return length.to_bytes(8, "little") + header + body


HEADER = mutate.one_of(of_header, of_header, of_header, mutate.of_bytes)


def of_metadata(rng: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    """Change a JSON document that is a text of the header's metadata, as .safetensors files have them."""
    n, m = (int.from_bytes(one[:8], "little") for one in (data, other))
    header, donor = mutate_json.loaded(data[8 : 8 + n]), mutate_json.loaded(other[8 : 8 + m])
    texts = header.get("__metadata__") if isinstance(header, dict) else None
    others = donor.get("__metadata__") if isinstance(donor, dict) else None
    if not isinstance(texts, dict) or not texts or not isinstance(others, dict):
        return of_header(rng, data, other, words)
    key = rng.choice(list(texts))
    given, from_other = (str(one.get(key, "")).encode("utf-8", "replace") for one in (texts, others))
    texts[key] = mutate_json.of_tree(rng, given, from_other, words).decode("utf-8", "replace")
    made = mutate_json.dumped(rng, header)
    return len(made).to_bytes(8, "little") + made + data[8 + n :]


METADATA = mutate.one_of(of_metadata, of_metadata, of_header, mutate.of_bytes)
