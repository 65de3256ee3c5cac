"""Tensors of GGUF files are mapped, not copied; files whose header and data disagree are refused."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gguf_files import ARRAY, F32, U32, Stored, Typed, gguf, text
from tokkit.errors import FormatError
from tokkit.files.gguf_tensors import BlockTensor, Contents, read_gguf
from tokkit.files.safetensors import Tensor

Open = Callable[[bytes], Contents]
NUMBERS = np.arange(6, dtype=np.float32).reshape(2, 3)
Q8_0 = np.float16(0.5).tobytes() + np.arange(-16, 16, dtype=np.int8).tobytes()
TENSORS = {
    "a": Stored(0, (2, 3), NUMBERS.tobytes()),
    "b": Stored(1, (6,), NUMBERS.astype("<f2").tobytes()),
    "c": Stored(8, (2, 32), Q8_0 * 2),
    "d": Stored(30, (3, 1, 2), (NUMBERS.view(np.uint32) >> 16).astype("<u2").tobytes()),
    "e": Stored(28, (), np.float64(7).tobytes()),
}


@pytest.fixture
def read(tmp_path: Path) -> Open:
    def read_(data: bytes) -> Contents:
        (tmp_path / "x.gguf").write_bytes(data)
        return read_gguf(tmp_path / "x.gguf")

    return read_


def described(name: str | bytes, shape: tuple[int, ...], kind: int, offset: int, n: int = 1) -> bytes:
    """A header of one tensor without keys."""
    axes = struct.pack(f"<I{len(shape)}Q", len(shape), *shape[::-1])
    return b"GGUF" + struct.pack("<IQQ", 3, n, 0) + text(name) + axes + struct.pack("<IQ", kind, offset)


@pytest.mark.parametrize("alignment", [1, 8, 32, 64])
def test_tensors_of_each_kind_are_read_in_place(alignment: int, read: Open) -> None:
    contents = read(gguf({"general.alignment": Typed(U32, alignment), "x": "y"}, tensors=TENSORS, alignment=alignment))
    assert contents.keys["x"] == b"y"
    assert {name: (t.dtype, t.shape) for name, t in contents.tensors.items()} == {
        "a": ("F32", (2, 3)), "b": ("F16", (6,)), "c": ("Q8_0", (2, 32)), "d": ("BF16", (3, 1, 2)), "e": ("F64", ()),
    }  # fmt: skip
    made = {name: tensor.float32() for name, tensor in contents.tensors.items()}
    np.testing.assert_array_equal(made["a"], NUMBERS)
    np.testing.assert_array_equal(made["b"], NUMBERS.reshape(-1))
    np.testing.assert_array_equal(made["c"], np.tile(np.arange(-16, 16) / 2, (2, 1)))
    np.testing.assert_array_equal(made["d"], NUMBERS.reshape(3, 1, 2))
    assert made["e"] == 7
    if alignment > 4:
        assert isinstance(contents.tensors["a"], Tensor)
        assert not contents.tensors["a"].data.flags.owndata
    assert isinstance(contents.tensors["c"], BlockTensor)


def test_a_file_without_tensors_has_keys_alone(read: Open) -> None:
    contents = read(gguf({"a": Typed(ARRAY, [1.5], F32)}))
    assert (contents.keys["a"], contents.tensors) == ([1.5], {})


def test_every_cut_of_a_file_is_noticed_and_named(read: Open) -> None:
    data = gguf({"a": "text"}, tensors=dict(list(TENSORS.items())[:3]))
    data = data[: len(data) - 28]  # what fills the last tensor up to the alignment may be missing
    assert len(read(data).tensors) == 3
    for end in range(len(data)):
        with pytest.raises(FormatError, match=r"x\.gguf: .*(cut|not a GGUF|is left|are left|only \d+ bytes)"):
            read(data[:end])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (described("w", (2, 3), 0, 0, n=2**60) + bytes(99), r"at byte 8: \d+ tensors by the header, but only"),
        (described("w", (2, 3), 0, 0, n=70_000) + bytes(2_000_000), r"the file has 70000 tensors; at most 65536"),
        (described("", (2, 3), 0, 0) + bytes(99), "a name of 0 bytes"),
        (described(b"\xff", (2, 3), 0, 0) + bytes(99), "a name that is not UTF-8"),
        (described("w", (2,) * 5, 0, 0) + bytes(999), "tensor w, at byte 33: 5 dimensions; it must be at most 4"),
        (described("w", (2, 0), 0, 0) + bytes(99), r"tensor w, at byte 33: no tensor has the shape \(2, 0\)"),
        (described("w", (2**63, 2**63), 0, 0) + bytes(99), "no tensor has the shape"),
        (described("w", (2**32, 2**20), 0, 0) + bytes(99), r"'w' ends at byte \d+ of a file that has \d+"),
        (described("w", (2, 3), 0, 2**64 - 32) + bytes(99), "ends at byte .* the file is cut or damaged"),
        (described("w", (2, 3), 0, 4) + bytes(99), "its offset 4 is not a multiple of the alignment, 32"),
        (described("w", (2, 3), 10, 0) + bytes(99), "its type has the number 10; F32, F16, .*Q4_0, .*Q6_K are read"),
        (described("w", (2, 31), 2, 0) + bytes(99), r"rows of a multiple of 32, and its shape is \(2, 31\)"),
        (described("w", (), 2, 0) + bytes(99), r"Q4_0 is for rows of a multiple of 32, and its shape is \(\)"),
        (described("w", (2, 128), 12, 0) + bytes(999), "Q4_K is for rows of a multiple of 256"),
        (gguf({"general.alignment": Typed(U32, 24)}, tensors=TENSORS), "general.alignment: 24; it is a power of two"),
        (gguf({"general.alignment": Typed(U32, 0)}, tensors=TENSORS), "general.alignment: 0; it is a power of two"),
        (gguf({"general.alignment": "32"}, tensors=TENSORS), "general.alignment: b'32'; it is a power of two"),
        (gguf({"split.count": Typed(U32, 3)}, tensors=TENSORS), "file 1 of 3 of a model; its name must be NAME-00001"),
        (gguf({"split.count": Typed(U32, 3), "split.no": Typed(U32, 2)}, tensors=TENSORS), "file 3 of 3 .*-00003-of"),
        (gguf({"split.count": "3"}, tensors=TENSORS), "split.count: b'3'; it must be a number"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_file_is_named(data: bytes, reason: str, read: Open) -> None:
    with pytest.raises(FormatError, match=reason):
        read(data)


def test_tensors_do_not_overlap_or_come_twice(read: Open) -> None:
    one = text("a") + struct.pack("<IQIQ", 1, 16, 0, 0)
    other = text("b") + struct.pack("<IQIQ", 1, 16, 0, 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, 2, 0)
    with pytest.raises(FormatError, match="'b' begins at byte 128, and the tensor 'a' ends at byte 160: they overlap"):
        read(head + one + other + bytes(200))
    with pytest.raises(FormatError, match="tensor a, at byte 57: the tensor is there twice"):
        read(head + one + one + bytes(200))


def test_sizes_that_a_great_file_has_room_for_cost_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(described("w", (2**16, 2**20), 0, 0))
    with path.open("r+b") as file:
        file.truncate(1 << 39)  # a hole
    begun = time.process_time()
    assert read_gguf(path).tensors["w"].shape == (2**16, 2**20)
    assert time.process_time() - begun < 5


def parts(folder: Path, **changed: bytes) -> Path:
    """Write a model in three files, some of them changed, and return the first."""
    names = [f"m-0000{i}-of-00003.gguf" for i in (1, 2, 3)]
    for i, (name, some) in enumerate(zip(names, ("ab", "c", "de"), strict=True)):
        about = {"split.no": Typed(U32, i), "split.count": Typed(U32, 3), "split.tensors.count": Typed(U32, 5)}
        data = gguf({**about, "x": f"file {i}"}, tensors={each: TENSORS[each] for each in some})
        (folder / name).write_bytes(changed.get(f"file_{i + 1}", data))
    return folder / names[0]


def test_several_files_are_one_model_with_the_keys_of_the_first(tmp_path: Path, read: Open) -> None:
    whole, found = read(gguf({}, tensors=TENSORS)), read_gguf(parts(tmp_path))
    assert found.keys["x"] == b"file 0"
    assert list(found.tensors) == list(whole.tensors)
    for name, tensor in whole.tensors.items():
        np.testing.assert_array_equal(found.tensors[name].float32(), tensor.float32())


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ({"split.no": 2, "split.count": 3}, r"m-00002-of-00003\.gguf: by its keys, this is file 3 of 3"),
        ({"split.no": 1, "split.count": 2}, r"m-00002-of-00003\.gguf: by its keys, this is file 2 of 2"),
        ({}, r"m-00002-of-00003\.gguf: by its keys, this is file 1 of 1"),
    ],
)
def test_a_file_of_another_model_is_refused(tmp_path: Path, file: dict[str, int], message: str) -> None:
    about = {key: Typed(U32, value) for key, value in file.items()}
    first = parts(tmp_path, file_2=gguf(about, tensors={"c": TENSORS["c"]}))
    with pytest.raises(FormatError, match=message):
        read_gguf(first)


def test_files_that_make_no_model_together_are_refused(tmp_path: Path) -> None:
    about = {"split.no": Typed(U32, 1), "split.count": Typed(U32, 3)}
    first = parts(tmp_path, file_2=gguf(about, tensors={"a": TENSORS["a"]}))
    with pytest.raises(FormatError, match=r"m-00002-of-00003\.gguf: an earlier file has the tensor 'a' too"):
        read_gguf(first)
    parts(tmp_path, file_2=gguf(about, tensors={"f": TENSORS["a"], "c": TENSORS["c"]}))
    with pytest.raises(FormatError, match=r"3 files have 6 tensors; split.tensors.count is 5"):
        read_gguf(first)
    with pytest.raises(FormatError, match=r"load it by the first, m-00001-of-00003\.gguf"):
        read_gguf(first.with_name("m-00003-of-00003.gguf"))
    parts(tmp_path)
    first.with_name("m-00003-of-00003.gguf").unlink()
    with pytest.raises(FileNotFoundError, match=r"m-00003-of-00003\.gguf"):
        read_gguf(first)
