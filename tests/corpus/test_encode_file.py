"""Files of ids contain the ids of the whole text, for all block sizes, threads, shards and error policies."""

from __future__ import annotations

import errno
import gzip
import io
import json
import lzma
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pytest

import tokkit
from conftest import SPECIALS
from strategies import adversarial
from tokkit.corpus import encode_file, id_writers
from tokkit.errors import CorpusError, OptionError, SameFileError, SpecialTokenError
from tokkit.formats import tokenizer_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

pytestmark = pytest.mark.threads

PATTERNS = ["gpt2", "cl100k", "o200k", "llama3", "qwen2", "none", r"\w+|\W"]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of some bytes, and threads for any text, so that short texts try what long ones do."""
    monkeypatch.setattr(encode_file, "BLOCK_BYTES", 61)
    monkeypatch.setattr(encode_file, "CHARACTERS_A_THREAD", 100)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ids_of(path: str, dtype: str = "<u2") -> NDArray[np.integer]:
    return np.load(path) if path.endswith(".npy") else np.fromfile(path, dtype=dtype)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("special", ["text", "all"])
def test_a_file_has_the_ids_of_its_text(
    make_tokenizer: Callable[..., tokkit.Tokenizer], folder: Path, pattern: str, special: str
) -> None:
    tok = make_tokenizer("rank", pattern, SPECIALS)
    for seed, size in ((831, 20_000), (833, 3), (835, 0), (837, 700)):
        text = adversarial(seed, size)
        Path("in.txt").write_bytes(text.encode())
        wanted = tok.encode(text, special=special)
        for threads, out in ((1, "out.npy"), (3, "out.bin")):
            written = tok.encode_file("in.txt", out, special=special, threads=threads)
            assert ids_of(out).tolist() == wanted
            assert (written.n_ids, written.n_bytes) == (len(wanted), len(text.encode()))
            assert written.files == [folder / name for name in ((out, out + ".json") if threads == 3 else (out,))]


def test_a_file_of_many_blocks_has_the_ids_of_its_text(tok: tokkit.Tokenizer, folder: Path) -> None:
    text = adversarial(839, 1_000_000) + "a" * 3_000_000 + adversarial(841, 200_000)
    Path("in.txt").write_bytes(text.encode())
    for threads in (1, 2):
        tok.encode_file("in.txt", "out.npy", threads=threads)
        assert np.array_equal(np.load("out.npy"), tok.encode_to_numpy(text))


@pytest.mark.usefixtures("small_blocks")
def test_a_file_has_the_ids_of_a_text_that_the_core_leaves_to_the_components(folder: Path) -> None:
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "special"), False)
    file = {
        "version": "1.0",
        "added_tokens": [{"id": 3, "content": "*", "normalized": True, **flags}],
        "normalizer": {"type": "Replace", "pattern": {"String": "é"}, "content": "a a"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]},
        "model": {"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0, "a": 1, "▁a": 2}},
    }
    tok = tokkit.Tokenizer(tokenizer_json.from_json(file))
    Path("in.txt").write_text("é* a", encoding="utf-8")
    tok.encode_file("in.txt", "out.npy")
    assert ids_of("out.npy").tolist() == tok.encode("é* a") == [2, 2, 3, 1]


@pytest.mark.parametrize("kind", ["npy", "bin"])
def test_shards_joined_are_the_whole(tok: tokkit.Tokenizer, folder: Path, kind: str) -> None:
    text = adversarial(843, 5000)
    Path("in.txt").write_bytes(text.encode())
    wanted = tok.encode(text)
    for shard_ids in (1000, len(wanted), 10 * len(wanted)):
        written = tok.encode_file("in.txt", f"ids.{kind}", shard_ids=shard_ids, threads=2)
        about = json.loads(Path(f"ids.{kind}.json").read_text())
        shards = [(Path(shard["file"]), shard["count"]) for shard in about["shards"]]
        assert [n for _, n in shards] == [len(wanted[i : i + shard_ids]) for i in range(0, len(wanted), shard_ids)]
        assert [id_ for path, _ in shards for id_ in ids_of(str(path))] == wanted
        assert (about["count"], about["tokenizer"], about["dtype"]) == (len(wanted), tok.fingerprint(), "uint16")
        assert {path.name for path in written.files} >= {path.name for path, _ in shards} | {f"ids.{kind}.json"}
        assert all(path.exists() for path in written.files)
    with pytest.raises(OptionError, match="shard_ids"):
        tok.encode_file("in.txt", "x.npy", shard_ids=0)


def test_ids_are_as_wide_as_the_greatest_needs(make_tokenizer: Callable[..., tokkit.Tokenizer], folder: Path) -> None:
    Path("in.txt").write_text("low lower<|far|>")
    for far, dtype in ((65535, np.uint16), (65536, np.uint32)):
        tok = make_tokenizer("rank", "cl100k", {"<|far|>": far})
        tok.encode_file("in.txt", "out.npy", special="all")
        assert np.load("out.npy").dtype == dtype
        assert np.load("out.npy")[-1] == far
        tok.encode_file("in.txt", "out.bin", special="all")
        about = json.loads(Path("out.bin.json").read_text())
        assert (about["dtype"], about["special_tokens"], about["documents"]) == (
            np.dtype(dtype).name,
            {"<|far|>": far},
            1,
        )


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("threads", [1, 3])
def test_bytes_that_are_not_utf_8_are_named_or_read_as_asked(tok: tokkit.Tokenizer, folder: Path, threads: int) -> None:
    text = adversarial(845, 3000)
    before = text[:1000].encode()
    for bad in (b"\xff", b"\xe4\xbd", b"\xed\xa0\x80", b"\xf0\x9f\x99"):
        data = before + bad + text[1000:2000].encode() + bad + text[2000:].encode() + bad
        Path("in.txt").write_bytes(data)
        for _ in range(3):
            with pytest.raises(CorpusError, match=rf"in.txt: byte {len(before)} \(0x{bad[0]:02x}\) is not UTF-8"):
                tok.encode_file("in.txt", "out.npy", threads=threads)
        assert os.listdir() == ["in.txt"]
        for errors in ("replace", "ignore"):
            tok.encode_file("in.txt", "cleaned.npy", threads=threads, input_errors=errors)
            assert np.load("cleaned.npy").tolist() == tok.encode(data.decode(errors=errors))
            os.unlink("cleaned.npy")
    with pytest.raises(OptionError, match="input_errors"):
        tok.encode_file("in.txt", "out.npy", input_errors="never")


@pytest.mark.usefixtures("small_blocks")
def test_a_special_token_may_be_refused(tok: tokkit.Tokenizer, folder: Path) -> None:
    text = "some words. " * 30 + "<|endoftext|>" + " more" * 50 + "<|end|>"
    Path("in.txt").write_text(text)
    with pytest.raises(SpecialTokenError, match=r"in.txt holds the special token '<\|endoftext\|>' at byte 360"):
        tok.encode_file("in.txt", "out.npy", special="raise", threads=3)
    assert os.listdir() == ["in.txt"]
    Path("in.txt").write_text("some words. " * 30)
    tok.encode_file("in.txt", "out.npy", special="raise")
    assert np.load("out.npy").tolist() == tok.encode("some words. " * 30)


def test_what_cannot_be_read_or_written_is_an_error_and_leaves_nothing(tok: tokkit.Tokenizer, folder: Path) -> None:
    Path("in.txt").write_text("low")
    Path("folder.npy").mkdir()
    Path("records.jsonl").write_text("{}")
    Path("cut.txt.gz").write_bytes(gzip.compress(b"low lower" * 100)[:-9])
    Path("not.txt.gz").write_bytes(b"low lower")
    Path("bad.txt.xz").write_bytes(lzma.compress(b"low lower" * 100)[:-20] + bytes(20))
    before = sorted(os.listdir())
    for path, out, error, said in (
        ("absent.txt", "out.npy", CorpusError, "does not exist"),
        ("folder.npy", "out.npy", CorpusError, "is a directory"),
        ("records.jsonl", "out.npy", CorpusError, "records"),
        ("cut.txt.gz", "out.npy", CorpusError, "ends early"),
        ("not.txt.gz", "out.npy", CorpusError, r"not\.txt\.gz cannot be read"),
        ("bad.txt.xz", "out.npy", CorpusError, r"bad\.txt\.xz cannot be read"),
        ("*.*", "out.npy", OptionError, "names 5 files"),
        ("in.txt", "out.txt", OptionError, "must end in .npy or .bin"),
        ("in.txt", "folder.npy", IsADirectoryError, "name a file"),
        ("in.txt", "absent/out.npy", FileNotFoundError, "no directory"),
        (5, "out.npy", TypeError, "path"),
    ):
        with pytest.raises(error, match=said):
            tok.encode_file(path, out)  # type: ignore[arg-type]
        assert sorted(os.listdir()) == before
    with pytest.raises(OptionError, match="special"):
        tok.encode_file("in.txt", "out.npy", special="some")


def test_an_old_file_is_replaced_whole_or_kept(tok: tokkit.Tokenizer, folder: Path) -> None:
    Path("in.txt").write_text("low lower")
    Path("out.npy").write_bytes(b"old")
    os.chmod("out.npy", 0o640)
    os.symlink("out.npy", "link.npy")
    with pytest.raises(FileExistsError, match=r"out\.npy exists"):
        tok.encode_file("in.txt", "out.npy", overwrite=False)
    assert Path("out.npy").read_bytes() == b"old"
    tok.encode_file("in.txt", "link.npy")
    assert np.load("out.npy").tolist() == tok.encode("low lower")
    assert Path("link.npy").is_symlink()
    assert Path("out.npy").stat().st_mode & 0o777 == 0o640
    tok.encode_file("in.txt", "new.npy", overwrite=False)
    assert sorted(os.listdir()) == ["in.txt", "link.npy", "new.npy", "out.npy"]


def test_an_output_that_is_the_input_is_refused_by_whatever_name(tok: tokkit.Tokenizer, folder: Path) -> None:
    Path("in.npy").write_text("low lower")
    os.link("in.npy", "hard.npy")
    os.symlink("in.npy", "soft.npy")
    Path("ids.bin.json").write_text("low lower")
    Path("ids-00001.bin").write_text("low lower " * 9)
    for path, out, shard_ids in (
        *(("in.npy", out, None) for out in ("in.npy", "./in.npy", "hard.npy", "soft.npy", folder / "in.npy")),
        ("hard.npy", "soft.npy", None),
        ("in.np[y]", "hard.npy", None),
        ("ids.bin.json", "ids.bin", None),
        ("ids.bin.json", "ids.bin", 5),
        ("ids-00001.bin", "ids.bin", 2),
    ):
        for overwrite in (True, False) if shard_ids is None and str(out) != "ids.bin" else (True,):
            with pytest.raises((SameFileError, FileExistsError)) as caught:
                tok.encode_file(path, out, shard_ids=shard_ids, overwrite=overwrite)
            assert caught.type is SameFileError or not overwrite
    with pytest.raises(SameFileError, match=r"^the output soft\.npy and the input hard\.npy are the same file"):
        tok.encode_file("hard.npy", "soft.npy")
    encoder = tok.file_encoder(special="text", threads=1, input_errors="strict", narrow=True)
    with (
        pytest.raises(SameFileError),
        id_writers.IdWriter("hard.npy", "npy", dtype="uint16", about={}) as writer,
    ):
        encoder.encode("in.npy", writer)
    assert sorted(os.listdir()) == ["hard.npy", "ids-00001.bin", "ids.bin.json", "in.npy", "soft.npy"]
    assert {Path(name).read_text().strip("low er") for name in os.listdir()} == {""}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("threads", [1, 3])
def test_a_full_disk_is_an_error_and_not_a_hang(
    tok: tokkit.Tokenizer, folder: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    Path("in.txt").write_text("some words. " * 3000)
    calls = iter(range(50))

    class Full(io.FileIO):
        def write(self, part: memoryview) -> int:
            if next(calls, None) is None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().write(part)

    create = id_writers.IdWriter._create

    def full(self: id_writers.IdWriter, target: str) -> BinaryIO:
        with create(self, target) as file:
            return Full(os.dup(file.fileno()), "wb")

    monkeypatch.setattr(id_writers.IdWriter, "_create", full)
    with pytest.raises(OSError, match=r"No space.*out\.npy"):
        tok.encode_file("in.txt", "out.npy", threads=threads)
    assert os.listdir() == ["in.txt"]


def test_compressed_files_are_read_as_their_text(tok: tokkit.Tokenizer, folder: Path) -> None:
    text = adversarial(847, 50_000)
    Path("in.txt.gz").write_bytes(gzip.compress(text.encode()))
    written = tok.encode_file("in.txt.gz", "out.npy")
    assert np.load("out.npy").tolist() == tok.encode(text)
    assert written.n_bytes == len(text.encode())


@pytest.mark.skipif(os.name != "posix", reason="needs the signals of Linux or macOS")
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupted_file_leaves_nothing_behind(tok: tokkit.Tokenizer, folder: Path, threads: int) -> None:
    Path("in.txt").write_bytes(adversarial(113, 100_000).encode() * 2000)
    before = threading.active_count()
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        tok.encode_file("in.txt", "out.npy", threads=threads)
    timer.join()
    assert threading.active_count() == before
    assert os.listdir() == ["in.txt"]
    assert tok.decode(tok.encode("fine")) == "fine"


def test_memory_does_not_grow_with_the_file(run: Callable[..., str], folder: Path) -> None:
    code = """
import resource, sys, tokkit
tok = tokkit.train(iter(["low lower lowest the of and "] * 50), vocab_size=280)
peaks = []
for size in (4, 40):
    with open("in.txt", "w") as file:
        for _ in range(size):
            file.write("low lower the of and\\\\n" * 47_000)
    tok.encode_file("in.txt", "out.npy", threads=2)
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print(*peaks)
"""
    pytest.importorskip("resource")
    small, large = map(int, run(code.replace("\\\\n", "\\n")).split())
    assert large - small < 8 << 10  # KiB; the file has 40 MB, its ids as many bytes
