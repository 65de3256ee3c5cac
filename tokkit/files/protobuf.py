"""Reads and writes protocol buffers, to the extent that SentencePiece models need.

Unknown fields keep their bytes, so that reading and writing a message does not change it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tokkit.errors import FormatError

VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5
"""The wire types of values; the obsolete groups (3 and 4) are refused."""
_MAX_NUMBER = (1 << 29) - 1


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message: `value` is an int or bytes; the whole field is data[start:end] of the message."""

    number: int
    form: int
    value: int | bytes
    start: int
    end: int


def fields(data: bytes, where: str) -> Iterator[Field]:
    """Yield the fields of a message in order; FormatError names `where` and the byte that is wrong."""
    at = 0
    while at < len(data):
        start = at
        tag, at = _varint(data, at, where)
        number, form = tag >> 3, tag & 7
        if not 1 <= number <= _MAX_NUMBER:
            raise FormatError(
                f"{where}, byte {start}: the field number is {number}; it must be from 1 to {_MAX_NUMBER}"
            )
        value: int | bytes
        if form == VARINT:
            value, at = _varint(data, at, where)
        elif form in (BYTES, EIGHT_BYTES, FOUR_BYTES):
            length = {EIGHT_BYTES: 8, FOUR_BYTES: 4}.get(form, 0)
            if form == BYTES:
                length, at = _varint(data, at, where)
            if length > len(data) - at:
                raise FormatError(f"{where}, byte {start}: a field has {length} bytes; only {len(data) - at} are left")
            value = data[at : at + length]
            at += length
        else:
            raise FormatError(
                f"{where}, byte {start}: field {number} has wire type {form}; supported are 0, 1, 2 and 5"
            )
        yield Field(number, form, value, start, at)


def _varint(data: bytes, at: int, where: str) -> tuple[int, int]:
    value, start = 0, at
    for shift in range(0, 70, 7):
        if at == len(data):
            raise FormatError(f"{where}, byte {start}: a varint does not end")
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value & (1 << 64) - 1, at
    raise FormatError(f"{where}, byte {start}: a varint has more than 10 bytes")


# ---- values by the kinds that a message's description has for them


@dataclass(frozen=True, slots=True)
class Kind:
    """The declaration of a field: its number, Python type and default; its value is a list if `repeated`."""

    number: int
    type: type
    default: Any
    repeated: bool = False


_FORMS = {bool: VARINT, int: VARINT, float: FOUR_BYTES, str: BYTES, bytes: BYTES}


def values(data: bytes, kinds: Mapping[str, Kind], where: str) -> dict[str, Any]:
    """Return the values of the fields in `kinds`; if a single field occurs several times, the last one counts."""
    by_number = {kind.number: name for name, kind in kinds.items()}
    found: dict[str, Any] = {name: [] if kind.repeated else kind.default for name, kind in kinds.items()}
    for field in fields(data, where):
        name = by_number.get(field.number)
        if name is None:
            continue
        kind = kinds[name]
        if field.form != _FORMS[kind.type]:
            raise FormatError(
                f"{where}, byte {field.start}: {name} has wire type {field.form}; it must be {_FORMS[kind.type]}"
            )
        value = _value(field, kind, f"{where}.{name}")
        if kind.repeated:
            found[name].append(value)
        else:
            found[name] = value
    return found


def _value(field: Field, kind: Kind, where: str) -> Any:
    value = field.value
    if isinstance(value, int):
        # int32 and enums are written as signed 64-bit numbers.
        return bool(value) if kind.type is bool else value - (1 << 64 if value >> 63 else 0)
    if kind.type is float:
        return struct.unpack("<f", value)[0]
    if kind.type is str:
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise FormatError(f"{where}: not UTF-8 at byte {error.start}") from None
    return value


def written(number: int, value: Any) -> bytes:
    """Return a field in wire format, by the value's type: bool, int, float, str or bytes."""
    form = _FORMS[type(value)]
    tag = _written_varint(number << 3 | form)
    if form == VARINT:
        return tag + _written_varint(int(value))
    if form == FOUR_BYTES:
        return tag + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return tag + _written_varint(len(data)) + data


def _written_varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def updated(data: bytes, kinds: Mapping[str, Kind], changes: Mapping[str, Any], where: str) -> bytes:
    """Return a message with new values for some fields, and the rest unchanged.

    Fields that already have the value stay; absent fields whose new value is the default are not written. New fields
    are inserted in the order of their numbers.
    """
    has = values(data, kinds, where)
    new = {kinds[name].number: (kinds[name], value) for name, value in changes.items() if has[name] != value}
    parts = [(field.number, data[field.start : field.end]) for field in fields(data, where) if field.number not in new]
    for number, (kind, value) in new.items():
        given = value if kind.repeated else [value]
        after = next((k for k, (other, _) in enumerate(parts) if other > number), len(parts))
        parts[after:after] = [(number, written(number, kind.type(item))) for item in given]
    return b"".join(part for _, part in parts)
