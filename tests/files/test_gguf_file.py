"""Keys of GGUF files: values of each type; lengths, counts and nesting that are larger than the file."""

from __future__ import annotations

import os
import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gguf_files
from gguf_files import ARRAY, BOOL, F32, F64, I8, I32, I64, STRING, U8, U32, U64, Typed, gguf, strings, text
from tokkit.errors import FormatError
from tokkit.files import gguf_file

Open = Callable[..., dict[str, Any]]


@pytest.fixture
def read(tmp_path: Path) -> Open:
    """The bytes of a file → its keys."""

    def read_(data: bytes, wanted: Callable[[str], bool] = lambda name: True) -> dict[str, Any]:
        (tmp_path / "x.gguf").write_bytes(data)
        with (tmp_path / "x.gguf").open("rb") as file:
            return dict(gguf_file.read(file, wanted))

    return read_


def header(n_keys: int, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, 0, n_keys)


def key(name: str, kind: int) -> bytes:
    return text(name) + struct.pack("<I", kind)


def test_values_of_each_type_are_read(read: Open) -> None:
    fixed = {f"n{kind}": Typed(kind, 1) for kind in gguf_files.FORMATS}
    found = read(gguf({**fixed, "s": "é", "list": strings(["a", "", "b"]), "last": Typed(I64, -(2**63))}))
    assert [found[name] for name in fixed] == [1] * len(fixed)
    assert found[f"n{BOOL}"] is True
    assert found["s"] == "é".encode()
    assert found["list"] == [b"a", b"", b"b"]
    assert found["last"] == -(2**63)
    arrays = read(gguf({f"a{kind}": Typed(ARRAY, [0, 1, 1], kind) for kind in gguf_files.FORMATS}))
    for kind, array in zip(gguf_files.FORMATS, arrays.values(), strict=True):
        assert array.tolist() == [0, 1, 1], kind
    assert arrays[f"a{F64}"].dtype == np.float64
    nested = Typed(ARRAY, [], ARRAY)
    assert read(gguf({"n": nested, "after": "x"})) == {"n": None, "after": b"x"}


def test_keys_that_nobody_wants_are_passed_over(read: Open) -> None:
    big = strings(["x" * 1000] * 3000)
    keys = {"a": big, "b": Typed(ARRAY, [1] * 400_000, F64), "c": "x" * 3_000_000, "d": Typed(U8, 3), "want": "yes"}
    data = gguf(keys)
    assert read(data, lambda name: name == "want") == {"want": b"yes"}
    assert read(data)["a"] == [b"x" * 1000] * 3000
    assert len(read(data)["c"]) == 3_000_000


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GGML" + bytes(40), r"^at byte 0: not a GGUF file"),
        (b"GG", r"^at byte 0: 4 bytes are needed, and 2 are left"),
        (header(0, 1), r"^at byte 4: GGUF version 1; versions 2 and 3 are read"),
        (header(0, 0), r"^at byte 4: GGUF version 0"),
        (header(0, 4), r"^at byte 4: GGUF version 4"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), r"^at byte 4: a big-endian GGUF file"),
        (header(0)[:20], r"^at byte 16: 8 bytes are needed, and 4 are left"),
        (header(1), r"^at byte 16: 1 keys by the header, but only 0 bytes are left"),
        (header(2**63) + bytes(99), r"^at byte 16: \d+ keys by the header, but only 99 bytes are left"),
        (header(1 << 17) + bytes(1 << 21), r"^at byte 16: the file has 131072 keys; at most 65536 are read"),
        (header(1) + bytes(99), r"^key number 0, at byte 24: a name of 0 bytes"),
        (header(1) + struct.pack("<Q", 2**64 - 1) + bytes(99), r"^key number 0, at byte 24: a name of \d+ bytes"),
        (header(1) + text(b"\xff") + bytes(9), r"^key number 0, at byte 24: a name that is not UTF-8"),
        (header(1) + key("some.key", 13) + bytes(9), r"^some\.key, at byte 40: no value has the type 13"),
        (header(1) + key("some.key", 2**31) + bytes(9), r"^some\.key, at byte 40: no value has the type 2147483648"),
        (header(1) + key("a\nb", 99) + bytes(9), r"^'a\\nb', at byte 35: no value"),
        (header(1) + key("k", U64) + bytes(7), r"^k, at byte 37: 8 bytes are needed, and 7 are left"),
        (header(1) + key("k", BOOL) + b"\2", r"^k, at byte 37: a boolean is 0 or 1, not 2"),
        (header(1) + key("k", STRING) + struct.pack("<Q", 5) + b"abcd", r"^k, at byte 45: 5 bytes are needed, and 4"),
        (header(1) + key("k", STRING) + b"\xff" * 20, r"^k, at byte 45: \d{20} bytes are needed, and 12"),
        (header(1) + key("k", ARRAY) + struct.pack("<IQ", STRING, 9) + bytes(64),
         r"^k, at byte 41: 9 strings by the header, but only 64 bytes"),
        (header(1) + key("k", ARRAY) + struct.pack("<IQ", STRING, 2) + text("ab") + struct.pack("<Q", 9) + b"xy",
         r"^k, at byte 59: 17 bytes are needed, and 10 are left"),
        (header(1) + key("k", ARRAY) + struct.pack("<IQ", F32, 2**62) + bytes(64), r"^k, at byte 41: \d+ values by"),
        (header(1) + key("k", ARRAY) + struct.pack("<IQ", 77, 1) + bytes(64), r"^k, at byte 37: no value has the type"),
        (header(1) + key("k", ARRAY) + struct.pack("<IQ", ARRAY, 1) * 9, r"^k, at byte 73: arrays nested more than 4"),
        (header(1) + key("k", ARRAY) + struct.pack("<IQ", ARRAY, 2**40) + bytes(99), r"arrays by the header"),
        (gguf([("a", "x"), ("b", Typed(U32, 1)), ("a", "y")]), r"^a, at byte 63: the key is given"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_key_and_byte(data: bytes, reason: str, read: Open) -> None:
    for wanted in (lambda name: True, lambda name: False):
        with pytest.raises(FormatError, match=reason):
            read(data, wanted)


def test_an_array_of_booleans_has_no_other_values(read: Open) -> None:
    with pytest.raises(FormatError, match=r"^k, at byte 37: a boolean is 0 or 1"):
        read(gguf({"k": Typed(ARRAY, [1, 3], BOOL)}))


def test_every_cut_of_a_file_is_noticed(read: Open) -> None:
    data = gguf(
        {"a": "text", "b": strings(["x", "yz"]), "c": Typed(ARRAY, [1, 2], I32), "d": Typed(I8, 1), "e": Typed(F64, 2)}
    )
    for wanted in (lambda name: True, lambda name: False):
        assert len(read(data, wanted)) in (0, 5)
        for end in range(len(data)):
            with pytest.raises(FormatError, match=r"at byte \d+"):
                read(data[:end], wanted)


def test_a_model_of_gigabytes_costs_no_more_than_its_keys(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf({"a": strings(["token"] * 1000)}))
    with path.open("r+b") as file:
        file.truncate(1 << 40)  # a hole, where the tensors would be
    if os.stat(path).st_size != 1 << 40:
        pytest.skip("needs a file system with sparse files of a terabyte, as ext4 has")
    tracemalloc.start()
    with path.open("rb") as file:
        assert len(gguf_file.read(file, lambda name: True)["a"]) == 1000  # type: ignore[arg-type]
    assert tracemalloc.get_traced_memory()[1] < 8 * gguf_file.CHUNK
    tracemalloc.stop()


@pytest.mark.parametrize("what", ["one string", "strings", "numbers", "empty strings", "nested", "passed over"])
def test_lengths_that_a_great_file_has_room_for_are_bounded_as_well(tmp_path: Path, what: str) -> None:
    """A file of a terabyte, which may be one of holes, has room for any count; memory and time have not."""
    body = {
        "one string": key("k", STRING) + struct.pack("<Q", 1 << 39),
        "strings": key("k", ARRAY) + struct.pack("<IQ", STRING, 1 << 33),
        "numbers": key("k", ARRAY) + struct.pack("<IQ", F64, 1 << 33),
        "empty strings": key("k", ARRAY) + struct.pack("<IQ", STRING, gguf_file.MAX_STRINGS),
        "nested": key("k", ARRAY) + struct.pack("<IQ", ARRAY, 1 << 33),
        "passed over": key("other", ARRAY) + struct.pack("<IQ", U8, 1 << 39),
    }[what]
    path = tmp_path / "model.gguf"
    path.write_bytes(header(2) + body)
    with path.open("r+b") as file:
        file.truncate(1 << 40)
    begun = time.process_time()
    with path.open("rb") as file, pytest.raises(FormatError, match="at byte"):
        gguf_file.read(file, lambda name: name == "k")
    assert time.process_time() - begun < 30  # half a terabyte would take hours
