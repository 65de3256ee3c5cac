""".safetensors files return their tensors; for a damaged file an error names the tensor."""

from __future__ import annotations

import errno
import json
import os
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extras import extra
from tokkit.errors import FormatError, OptionError, ShapeError, TokkitError
from tokkit.files.safetensors import DTYPES, MAX_HEADER, Tensor, read_safetensors, write_safetensors

Header = dict[str, Any]


def entry(dtype: str = "F32", shape: object = (2,), offsets: object = (0, 8)) -> Header:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def packed(header: Header | bytes, data: bytes = bytes(8)) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


@pytest.fixture
def read(tmp_path: Path) -> Callable[[bytes], Any]:
    """Bytes → what reading a file of them gives."""

    def read_(data: bytes) -> Any:
        path = tmp_path / "w.safetensors"
        path.write_bytes(data)
        return read_safetensors(path)

    return read_


def example(rng: np.random.Generator) -> dict[str, np.ndarray]:
    made = {
        "half": rng.standard_normal((3, 5)).astype(np.float16),
        "single": rng.standard_normal((2, 3, 4)).astype(np.float32),
        "double": rng.standard_normal(7),
        "scalar": np.array(2.5, dtype=np.float32),
        "none": np.empty((0, 9), dtype=np.int64),
        "flags": rng.random(11) < 0.5,
        "complex": np.array([1 + 2j], dtype=np.complex64),
    }
    for kind in ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"]:
        info = np.iinfo(kind)
        made[f"whole {kind}"] = rng.integers(info.min, info.max, (3, 2), dtype=kind, endpoint=True)
    return made


def test_tensors_come_back_as_they_were_written(tmp_path: Path) -> None:
    path, made = tmp_path / "w.safetensors", example(np.random.default_rng(1))
    write_safetensors(path, made, {"format": "np", "é": "雪"})
    found = read_safetensors(path)
    assert found.metadata == {"format": "np", "é": "雪"}
    assert found.keys() == made.keys()
    for name, array in made.items():
        tensor = found[name]
        assert np.dtype(DTYPES[tensor.dtype]) == array.dtype == tensor.data.dtype
        assert tensor.shape == array.shape == tensor.data.shape
        assert np.array_equal(tensor.data, array)
        assert not tensor.data.flags.writeable or not tensor.data.size
        assert tensor.data.flags.aligned


def test_types_that_numpy_lacks_are_bits_and_become_float32(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    values = np.array([1.5, -3.0, 0.0, np.inf, 2.0**-130], dtype=np.float32)
    bits = (values.view(np.uint32) >> 16).astype(np.uint16)
    write_safetensors(path, {"b": Tensor("BF16", (5,), bits), "f": Tensor("F8_E4M3", (5,), bits.astype(np.uint8))})
    found = read_safetensors(path)
    assert (found["b"].dtype, found["f"].dtype) == ("BF16", "F8_E4M3")
    assert np.array_equal(found["b"].float32(), values)
    with pytest.raises(FormatError, match="F8_E4M3; it must be F16, BF16, F32 or F64"):
        found["f"].float32()
    for dtype in (np.float16, np.float32, np.float64):
        write_safetensors(path, {"x": values.astype(dtype)})
        assert np.array_equal(read_safetensors(path)["x"].float32(), values.astype(dtype).astype(np.float32))


def test_arrays_that_follow_one_another_are_one_tensor(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    rows = np.arange(12, dtype=np.float32).reshape(6, 2)
    write_safetensors(path, {"rows": [rows[:1], rows[1:1], rows[1:]]})
    # And the mapped rows of the file that is replaced may be among them.
    write_safetensors(path, {"rows": [read_safetensors(path)["rows"].data, rows[:2]]})
    assert np.array_equal(read_safetensors(path)["rows"].data, np.concatenate([rows, rows[:2]]))


def test_what_is_read_outlives_the_file(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    write_safetensors(path, {"x": np.arange(1000)})
    x = read_safetensors(path)["x"].data
    write_safetensors(path, {"x": np.zeros(1)})
    assert np.array_equal(x, np.arange(1000))


@pytest.mark.parametrize("order", [">", "<"])
def test_any_layout_in_memory_is_written_as_values(tmp_path: Path, order: str) -> None:
    whole = np.arange(24, dtype=np.float32).reshape(4, 6).astype(order + "f4")
    for array in (whole.T, whole[::2, ::-1], whole[:, 3]):
        write_safetensors(tmp_path / "w.safetensors", {"x": array})
        assert np.array_equal(read_safetensors(tmp_path / "w.safetensors")["x"].data, array)


def test_tensors_that_stand_between_their_steps_are_read_too(read: Callable[[bytes], Any]) -> None:
    header = {"a": entry("U8", [1], [0, 1]), "b": entry("F32", [2], [1, 9])}
    found = read(packed(header, b"\7" + np.array([1, 2], dtype="<f4").tobytes()))
    assert found["b"].data.tolist() == [1, 2]
    assert found["b"].data.flags.aligned


@pytest.mark.parametrize("header", [{}, {"__metadata__": {"a": "b"}}, {"x": entry(shape=[0, 2**40], offsets=[0, 0])}])
def test_a_file_may_hold_nothing(read: Callable[[bytes], Any], header: Header) -> None:
    assert all(not tensor.data.size for tensor in read(packed(header, b"")).values())


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file has 0 bytes; a .safetensors file begins"),
        (bytes(7), "the file has 7 bytes"),
        (bytes(8), "its header starts b'', not with an object"),
        (struct.pack("<Q", MAX_HEADER + 1), "its header has 100000001 bytes; the maximum is 100000000"),
        (struct.pack("<Q", 2**64 - 1) + b"{}", "its header has 18446744073709551615 bytes"),
        (b"\x80\2}q\0(X\4\0\0\0abcd", "its header has"),
        (struct.pack("<Q", 3) + b"{}", "its header has 3 bytes, but only 2 are left"),
        (packed(b"[]"), r"starts b'\[\]', not with an object"),
        (packed(b"\xef\xbb\xbf{}"), "not with an object of JSON"),
        (packed(b"{"), "not JSON"),
        (packed(b'{"\xff": 1}'), "not UTF-8"),
        (packed(b'{"a": ' + b"[" * 10**5), "nested too deep"),
        (packed(b'{"x": NaN}'), "NaN"),
        (packed(b'{"x": 1, "x": 2}'), "the key 'x' is given twice"),
        (packed({"__metadata__": {"a": 1}}), r"__metadata__\.a: a string is needed, not an integer"),
        (packed({"__metadata__": []}), "__metadata__: an object is needed"),
        (packed(b'{"__metadata__": {"a": "b\\ud800"}}'), r"the text 'b\\ud800': a lone surrogate has no UTF-8"),
        (packed(b'{"__metadata__": {"\\udfff": "b"}}'), r"the text '\\udfff'"),
        (packed(b'{"\\ud800": {}}'), r"the text '\\ud800'"),
        (packed({"x": 1}), "tensor 'x': an object is needed, not an integer"),
        (packed({"x": {}}), r"tensor 'x'\.dtype: missing"),
        (packed({"x": entry("F4")}), "tensor 'x': its dtype is 'F4'; it must be one of BOOL, U8"),
        (packed({"x": entry("f32")}), "tensor 'x': its dtype is 'f32'"),
        (packed({"x": entry(shape=2)}), r"tensor 'x'\.shape: an array is needed, not an integer"),
        (packed({"x": entry(shape=[2.0])}), "tensor 'x': shape: whole numbers from 0 .* not a number"),
        (packed({"x": entry(shape=[True, 2])}), "tensor 'x': shape: whole numbers .* not a boolean"),
        (packed({"x": entry(shape=[-1, -2])}), "tensor 'x': shape: whole numbers from 0 .* not -1"),
        (packed({"x": entry(shape=[2**63])}), "tensor 'x': shape: whole numbers"),
        (packed({"x": entry(shape=[1] * 65)}), "its shape has 65 axes; the maximum is 64"),
        (packed({"x": entry(shape=[2**32] * 4)}), "is too large for any memory"),
        (packed({"x": entry(shape=[0, 2**32, 2**32], offsets=[0, 0])}), "is too large for any memory"),
        (packed({"x": entry(shape=[0, 2**61], offsets=[0, 0])}), "is too large for any memory"),
        (packed({"x": entry(shape=[3])}), r"F32 of shape \(3,\) has 12 bytes; data_offsets give 8"),
        (packed({"x": entry("F64", [2])}), r"F64 of shape \(2,\) has 16 bytes; data_offsets give 8"),
        (packed({"x": entry(offsets=[0, 8, 8])}), r"data_offsets is \[0, 8, 8\]; it must be"),
        (packed({"x": entry(offsets=[8, 0])}), r"data_offsets is \[8, 0\]; it must be"),
        (packed({"x": entry(offsets=[-8, 0])}), "data_offsets: whole numbers"),
        (packed({"x": entry(offsets=[4, 12])}), "bytes 4 to 12, but there are 8 bytes of data: the file is truncated"),
        (packed({"x": entry()}, bytes(7)), "bytes 0 to 8, but there are 7 bytes of data: the file is truncated"),
        (packed({"x": entry()}, bytes(9)), "the data have 9 bytes, and the tensors end at byte 8"),
        (packed({}, bytes(1)), "the data have 1 bytes, and the tensors end at byte 0"),
        (packed({"x": entry(offsets=[1, 9])}, bytes(9)), "bytes 0 to 1 between the start of the data and .* 'x'"),
        (packed({"x": entry(), "y": entry(offsets=[4, 12])}, bytes(12)), "'x', up to byte 8, and 'y', from byte 4"),
        (packed({"x": entry(), "y": entry()}), "overlap"),
        (packed({"x": entry(), "y": entry(offsets=[9, 17])}, bytes(17)), "bytes 8 to 9 between 'x' and the tensor 'y'"),
        (packed({"b": entry("BOOL", [8])}, b"\0\1\0\1\0\1\2\1"), "tensor 'b' has the boolean 2; it must be 0 or 1"),
        (packed({"a\n" * 50: entry("F9")}), r"tensor 'a\\na\\n.*\.\.\.: its dtype"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_tensor(data: bytes, reason: str, read: Callable[[bytes], Any]) -> None:
    with pytest.raises(FormatError, match=reason) as raised:
        read(data)
    assert "w.safetensors: " in str(raised.value)
    assert "\n" not in str(raised.value)


def test_every_cut_of_a_file_is_noticed(tmp_path: Path, read: Callable[[bytes], Any]) -> None:
    write_safetensors(tmp_path / "whole", {"a": np.arange(3), "b": np.ones(5, dtype=np.int8)}, {"k": "v"})
    data = (tmp_path / "whole").read_bytes()
    for end in range(len(data)):
        with pytest.raises(FormatError):
            read(data[:end])


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"a directory; it must be a \.safetensors file"):
        read_safetensors(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_safetensors(tmp_path / "absent")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(FormatError, match="a pipe; it must be"):
            read_safetensors(tmp_path / "pipe")


SHAPES = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@settings(max_examples=60)
@given(st.dictionaries(st.text(max_size=5), st.tuples(st.sampled_from(sorted(DTYPES)), SHAPES), max_size=5), st.data())
def test_any_tensors_survive_a_round_trip(
    tmp_path_factory: pytest.TempPathFactory, shapes: dict[str, tuple[str, tuple[int, ...]]], data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.safetensors"
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    made = {}
    for name, (dtype, shape) in shapes.items():
        n = int(np.prod(shape)) * np.dtype(DTYPES[dtype]).itemsize
        bits = rng.integers(0, 2 if dtype == "BOOL" else 256, n, dtype=np.uint8)
        made[name] = Tensor(dtype, shape, bits.view(DTYPES[dtype]).reshape(shape))
    try:
        write_safetensors(path, made)
    except UnicodeEncodeError:
        return
    found = read_safetensors(path)
    assert found.keys() == made.keys()
    for name, tensor in made.items():
        assert (found[name].dtype, found[name].shape) == (tensor.dtype, tensor.shape)
        assert found[name].data.tobytes() == tensor.data.tobytes()


def spoilt(rng: random.Random, data: bytes) -> bytes:
    """The bytes of a file with some of them changed, cut out, put in twice or put elsewhere."""
    made = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at, n = rng.randrange(len(made)), rng.randint(1, 9)
        match rng.randrange(4):
            case 0:
                made[at] = rng.choice(b'0123456789{}[],":-FIU \xff\0' if at > 8 else bytes(range(256)))
            case 1:
                del made[at : at + n]
            case 2:
                made[at:at] = made[at : at + n]
            case _:
                made[at : at + n] = made[-n:]
        if not made:
            return b""
    return bytes(made)


def test_a_spoilt_file_is_refused_or_read_whole(tmp_path: Path, read: Callable[[bytes], Any]) -> None:
    rng = random.Random(9)
    whole = {"ab": np.arange(3, dtype=np.float32), "c": np.ones((2, 2), dtype=np.int8), "d": np.zeros((0, 3))}
    write_safetensors(tmp_path / "whole", whole, {"k": "v"})
    data = (tmp_path / "whole").read_bytes()
    refused = 0
    for _ in range(400):
        try:
            found = read(spoilt(rng, data))
        except FormatError:
            refused += 1
        else:
            for tensor in found.values():
                assert len(tensor.data.tobytes()) == tensor.data.nbytes
    assert 100 < refused < 400


def test_the_formats_own_library_reads_what_we_write_and_we_read_its(tmp_path: Path) -> None:
    theirs = extra("safetensors.numpy")
    made = example(np.random.default_rng(2))
    write_safetensors(tmp_path / "ours", made)
    loaded = theirs.load_file(tmp_path / "ours")
    theirs.save_file(made, tmp_path / "theirs")
    assert loaded.keys() == made.keys()
    for name, tensor in read_safetensors(tmp_path / "theirs").items():
        assert np.array_equal(loaded[name], made[name])
        assert np.array_equal(tensor.data, made[name])


def test_what_the_formats_own_library_refuses_we_refuse(tmp_path: Path, read: Callable[[bytes], Any]) -> None:
    theirs = extra("safetensors")
    rng = random.Random(5)
    write_safetensors(tmp_path / "whole", {"a": np.arange(2, dtype=np.int8), "b": np.ones(1)}, {"k": "v"})
    data = (tmp_path / "whole").read_bytes()
    for _ in range(400):
        tried = spoilt(rng, data)
        try:
            found = read(tried)
        except FormatError:
            continue
        wanted = dict(theirs.deserialize(tried))
        assert {name: (t.dtype, list(t.shape), t.data.tobytes()) for name, t in found.items()} == {
            name: (t["dtype"], t["shape"], bytes(t["data"])) for name, t in wanted.items()
        }


@pytest.mark.parametrize(
    ("tensors", "error", "reason"),
    [
        ({"__metadata__": np.ones(1)}, OptionError, "'__metadata__' cannot be the name"),
        ({1: np.ones(1)}, OptionError, "1 cannot be the name"),
        ({"a\ud800": np.ones(1)}, OptionError, r"'\\ud800' is a lone surrogate"),
        ({"x": np.array(["a"])}, OptionError, "tensor 'x' is an array of <U1; it must be BOOL, U8"),
        ({"x": np.array([None])}, OptionError, "tensor 'x' is an array of object"),
        ({"x": None}, TypeError, "tensor 'x' is NoneType"),
        ({"x": []}, TypeError, "tensor 'x' is list"),
        ({"x": [np.ones((1, 2)), np.ones((1, 3))]}, ShapeError, r"\(1, 2\) and float64 of shape \(1, 3\)"),
        ({"x": [np.ones(2), np.ones(2, dtype=np.float32)]}, ShapeError, "float64 .* and float32"),
        ({"x": Tensor("BF16", (2,), np.ones(2, dtype=np.float32))}, OptionError, "BF16 is not an array of float32"),
        ({"x": Tensor("F5", (2,), np.ones(2))}, OptionError, "F5 is not an array of float64"),
        ({"x": Tensor("F64", (3,), np.ones(2))}, ShapeError, r"has the shape \(3,\)"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path: Path, tensors: Any, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        write_safetensors(tmp_path / "w.safetensors", tensors)
    assert not list(tmp_path.iterdir())


def test_metadata_are_text(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="metadata must be text"):
        write_safetensors(tmp_path / "w.safetensors", {}, {"epoch": 3})  # type: ignore[dict-item]


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "w.safetensors"
    write_safetensors(path, {"x": np.ones(4)})
    before, real, calls = path.read_bytes(), os.write, []

    def full(*given: Any) -> int:
        calls.append(given)
        if len(calls) > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*given)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        write_safetensors(path, {"x": np.zeros(4)})
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["w.safetensors"]
    with pytest.raises(FileExistsError):
        write_safetensors(path, {"x": np.zeros(4)}, overwrite=False)


def test_errors_are_of_the_family() -> None:
    with pytest.raises(TokkitError):
        Tensor("I8", (1,), np.ones(1, dtype=np.int8)).float32()
