"""A str of each width becomes the same UTF-8 as by Python's codecs, on every instruction set."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import LONG
from reference.utf8 import first_invalid, utf8
from tokkit._core.text import isas, to_utf8, utf8_invalid

ISAS = pytest.mark.parametrize("isa", isas())
LENGTHS = range(131)
# The widest character of a str decides how wide all of its units are: 1, 2 or 4 bytes.
WIDTHS = {1: "é", 2: "東", 4: "🦜"}
# First and last of each length in UTF-8, and beside the surrogates.
EDGES = "\0\x7f\x80\xff\u0100\u07ff\u0800\ud7ff\ue000\ufffd\uffff\U00010000\U0010ffff"
HIGH, LOW = "\ud83e", "\udd9c"
SURROGATES = (
    HIGH,
    LOW,
    HIGH + LOW,
    LOW + HIGH,
    HIGH + HIGH + LOW,
    HIGH + LOW + LOW,
    "\ud800",
    "\udbff",
    "\udc00\udfff",
)


def check(text: str, isa: str) -> None:
    found = to_utf8(text, isa)
    if found != utf8(text):  # pytest would take long to show how long texts differ
        pytest.fail(f"{isa}: {text.encode('unicode_escape')[:400]!r} became {found[:400]!r}")


@ISAS
def test_one_odd_character_is_right_at_every_offset_of_every_length(isa: str) -> None:
    for fill, odd in product(("a", *WIDTHS.values()), ("a", "\x7f", "\x80", *WIDTHS.values(), "\u07ff", "\uffff")):
        if fill == odd:
            continue
        for n in LENGTHS if LONG else [*range(36), 47, 48, 49, 63, 64, 65, 66, 127, 128, 129, 130]:
            for at in range(n):
                check(fill * at + odd + fill * (n - 1 - at), isa)


@ISAS
@pytest.mark.parametrize("widest", WIDTHS.values())
def test_texts_of_one_character_are_right_at_every_length(isa: str, widest: str) -> None:
    for n, character in product(LENGTHS, EDGES):
        check(character * n, isa)
        check(character * n + widest, isa)


@ISAS
@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("fill", ["a", "é", "東", "🦜"])
def test_surrogates_are_joined_or_replaced_at_every_place_of_a_block(isa: str, width: int, fill: str) -> None:
    if width == 2 and fill == "🦜":
        return  # there is no such str
    end = WIDTHS[width]
    for odd, n in product(SURROGATES, (*range(20), 31, 32, 33, 63, 64, 65, 66) if not LONG else range(70)):
        for at in range(n + 1):
            check(fill * at + odd + fill * (n - at) + end, isa)
            check(end + fill * at + odd, isa)  # half a pair is the last unit


@ISAS
def test_every_code_point_is_right_at_every_place_of_a_block(isa: str) -> None:
    every = list(map(chr, range(0x110000)))
    for shift in range(0, 33, 1 if LONG else 11):
        for last in (0x100, 0x10000, 0x110000):
            check("é" * shift + "".join(every[:last]), isa)
    rng = random.Random(31)
    for last in (0x100, 0x3000, 0xD800, 0x10000, 0x110000):
        check("".join(map(chr, (rng.randrange(last) for _ in range(50_000)))), isa)
        check("".join(chr(rng.randrange(last)) * rng.choice((1, 1, 1, 7, 30)) for _ in range(5000)), isa)


@given(st.text(st.characters(codec=None, exclude_categories=())), st.integers(0, 40), st.integers(1, 4))
@settings(max_examples=20_000 if LONG else 300)
def test_any_str_is_what_the_codecs_make_of_it(text: str, shift: int, times: int) -> None:
    for isa in isas():
        check("é" * shift + text * times, isa)


# Characters at the bounds of each length, and sequences that are none: cut, too long, surrogates, beyond U+10FFFF.
VALID = [character.encode() for character in "a\x7f\x80\u07ff\u0800\u0fff\u1000\ud7ff\ue000\uffff\U00010000\U0010ffff"]
INVALID = [
    *map(bytes.fromhex, ["80", "bf", "c0af", "c2", "c27f", "c2c2", "dfc0", "e0a0", "e09fbf", "e28041", "eda080"]),
    *map(bytes.fromhex, ["edbfbf", "ef80", "f08fbfbf", "f09080", "f0908041", "f4908080", "f48fbf", "f5808080"]),
    *map(bytes.fromhex, ["ff", "fe", "c1bf"]),
]


@ISAS
@pytest.mark.parametrize("fill", [b"a", "é".encode(), "東".encode(), "🦜".encode()])
def test_the_first_invalid_byte_is_found_at_every_place_of_a_block(isa: str, fill: bytes) -> None:
    for odd, n in product(VALID + INVALID, range(0, 140, 1 if LONG else 7)):
        for after in (b"", b"a", fill * 40, b"\x80", b"z" * 70 + b"\xff"):
            data = b"b" * (n % len(fill)) + fill * (n // len(fill)) + odd + after
            assert utf8_invalid(data, isa) == first_invalid(data), data


@ISAS
def test_any_bytes_are_as_python_decodes_them(isa: str) -> None:
    rng = random.Random(83)
    for _ in range(20_000 if LONG else 2_000):
        units = rng.choices([*VALID, b"abcdefgh" * 8] * 20 + INVALID, k=rng.randrange(60))
        data = b"".join(units)
        assert utf8_invalid(data, isa) == first_invalid(data), data
