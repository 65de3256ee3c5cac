"""Shards of ids: each format has the ids of encode_batch, each shard is written once, contradictions are named."""

from __future__ import annotations

import errno
import gzip
import json
import os
import random
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokkit
from extras import extra
from tokkit.data import Tokens, encode_shards, writers
from tokkit.data.packing import Packed, best_fit, sequential
from tokkit.errors import CorpusError, FormatError, OptionError, SpecialTokenError, VocabError

WORDS = ["low", "lower", "newest", "straße", "日本", "."]
EOS = "<|end|>"


@pytest.fixture(scope="module")
def tok() -> tokkit.Tokenizer:
    return tokkit.train(iter([" ".join(WORDS * 5)]), vocab_size=290, special_tokens=[EOS, "<|pad|>"])


@pytest.fixture
def shards(tmp_path: Path) -> list[str]:
    drawn = random.Random(1)
    made = []
    for n in range(3):
        texts = [" ".join(drawn.choices(WORDS, k=drawn.randint(1, 30))) for _ in range(40)] + [""]
        path = tmp_path / f"part-{n}.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
        made.append(str(path))
    return made


def texts_of(shards: list[str]) -> list[str]:
    return [json.loads(line)["text"] for path in shards for line in Path(path).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("format", ["bin", "npy", "megatron"])
@pytest.mark.parametrize("dtype", ["auto", "uint32"])
def test_a_shard_holds_the_ids_of_its_documents(
    format: Any, dtype: Any, tok: tokkit.Tokenizer, shards: list[str], tmp_path: Path
) -> None:
    made = encode_shards(tok, shards, tmp_path / "ids", format=format, dtype=dtype, bos=EOS, eos=1)
    tokens = Tokens(tmp_path / "ids")
    tokens.verify()
    wide = "int32" if format == "megatron" else "uint32"
    assert tokens.dtype == ("uint16" if dtype == "auto" else wide)
    texts = texts_of(shards)
    wanted = [[tok.special_tokens[EOS], *tok.encode(text), 1] for text in texts]
    assert [tokens.document(n).tolist() for n in range(tokens.n_documents)] == wanted
    flat = [id_ for ids in wanted for id_ in ids]
    assert tokens[:].tolist() == flat
    assert len(tokens) == len(flat) == sum(m.tokens for m in made)
    for piece in (slice(5, 9), slice(-7, None), slice(300, 20, -3), slice(3, 900, 7), slice(9, 9)):
        assert tokens[piece].tolist() == flat[piece]
    assert tokens[-1] == flat[-1]
    with pytest.raises(IndexError):
        tokens[len(tokens)]


def test_the_index_of_megatron_says_types_lengths_and_places(
    tok: tokkit.Tokenizer, shards: list[str], tmp_path: Path
) -> None:
    made = encode_shards(tok, shards[:1], tmp_path / "ids", format="megatron", eos=EOS)
    index = next(path for path in made[0].files if path.suffix == ".idx").read_bytes()
    mark, version, code, n, n_documents = struct.unpack_from("<9sQBQQ", index)
    assert (mark, version, code, n, n_documents) == (b"MMIDIDX\0\0", 1, 8, 41, 42)
    lengths = np.frombuffer(index, "<i4", n, 34)
    assert lengths.tolist() == [len(tok.encode(text)) + 1 for text in texts_of(shards[:1])]
    pointers = np.frombuffer(index, "<i8", n, 34 + 4 * n)
    assert pointers.tolist() == (2 * (np.cumsum(lengths) - lengths)).tolist()
    assert np.frombuffer(index, "<i8", n + 1, 34 + 12 * n).tolist() == list(range(n + 1))


def packed_naively(packed: Packed, lengths: list[int], seq_len: int) -> list[int]:
    """Which document each place of the rows has: -1 for padding."""
    made = [-1] * (packed.n_rows * seq_len)
    starts = np.cumsum([0, *lengths])
    for source, n, target in zip(packed.sources, packed.lengths, packed.targets, strict=True):
        assert target // seq_len == (target + n - 1) // seq_len, "a segment stays in its row"
        for k in range(n):
            assert made[target + k] == -1, "nothing is written twice"
            made[target + k] = source + k
    assert sorted(place for place in made if place >= 0) == list(range(int(starts[-1]))), "nothing is lost"
    return made


@pytest.mark.parametrize("seed", range(4))
def test_packing_keeps_every_id_once(seed: int) -> None:
    drawn = random.Random(seed)
    lengths = [drawn.choice([0, 1, 3, 7, 8, 9, 20, drawn.randint(0, 50)]) for _ in range(60)]
    starts = np.cumsum([0, *lengths])[:-1].astype(np.int64)
    rows = packed_naively(sequential(starts, np.array(lengths), 8), lengths, 8)
    assert rows[: sum(lengths)] == list(range(sum(lengths))), "one document after another"
    packed = best_fit(starts, np.array(lengths), 8)
    made = packed_naively(packed, lengths, 8)
    segments = sorted(zip(packed.sources.tolist(), packed.lengths.tolist(), strict=True))
    wanted = [(int(s) + k, min(8, n - k)) for s, n in zip(starts, lengths, strict=True) for k in range(0, n, 8)]
    assert segments == sorted(wanted), "only what is longer than a row is cut"
    free = sorted(made[row : row + 8].count(-1) for row in range(0, len(made), 8))
    shortest = min(n for _, n in segments)
    assert len([room for room in free if room >= 8 - shortest + 1]) <= 1, "no two rows would fit into one"


def test_best_fit_takes_the_row_that_it_leaves_least_room_in() -> None:
    lengths = np.array([5, 4, 3, 2, 2], dtype=np.int64)
    packed = best_fit(np.cumsum(lengths) - lengths, lengths, 7)
    rows = {
        (int(s), int(n)): int(t) // 7 for s, n, t in zip(packed.sources, packed.lengths, packed.targets, strict=True)
    }
    assert rows == {(0, 5): 0, (5, 4): 1, (9, 3): 1, (12, 2): 0, (14, 2): 2}
    assert packed.n_rows == 3
    assert best_fit(np.zeros(0, np.int64), np.zeros(0, np.int64), 7).n_rows == 0


@pytest.mark.parametrize("pack", ["sequential", "best-fit"])
@pytest.mark.parametrize("shuffle", [None, 7])
def test_rows_have_whole_documents_and_masks(
    pack: Any, shuffle: int | None, tok: tokkit.Tokenizer, shards: list[str], tmp_path: Path
) -> None:
    options: dict[str, Any] = {"pack": pack, "seq_len": 32, "eos": EOS, "pad": "<|pad|>", "shuffle": shuffle}
    encode_shards(tok, shards, tmp_path / "rows", **options)
    tokens = Tokens(tmp_path / "rows")
    batches = tokens.batches(32, 1, segments=True)
    pad, eos = tok.special_tokens["<|pad|>"], tok.special_tokens[EOS]
    found, goes_on = [], []
    for batch in batches:
        ids, numbers = batch.ids[0], batch.segments[0]
        assert ((numbers == 0) == (ids == pad)).all()
        assert numbers[0] == 1
        for number in range(1, numbers.max() + 1):
            segment = ids[numbers == number].tolist()
            goes_on += segment
            if segment[-1] == eos:
                found.append(tok.decode(goes_on[:-1]))
                goes_on = []
            elif pack == "best-fit":
                assert len(segment) == 32, "only a long document is cut"
    if pack == "sequential":
        assert sorted(found) == sorted(texts_of(shards))
        assert (found == texts_of(shards)) == (shuffle is None)
    total = sum(np.count_nonzero(shard != pad) for shard in tokens.shards)
    assert total == sum(len(tok.encode(text)) + 1 for text in texts_of(shards))
    again = encode_shards(tok, shards, tmp_path / "again", **options)
    for one in again:
        for path in one.files:
            assert path.read_bytes() == (tmp_path / "rows" / path.name).read_bytes(), "one seed, one result"
    with pytest.raises(OptionError, match="packed rows of 32 ids"):
        tokens.batches(16, 1)
    with pytest.raises(OptionError, match="packed rows"):
        tokens.document(0)


def test_arrow_and_parquet_have_a_row_for_each_document_or_packed_row(
    tok: tokkit.Tokenizer, shards: list[str], tmp_path: Path
) -> None:
    pyarrow, parquet = extra("pyarrow"), extra("pyarrow.parquet")
    wanted = [[*tok.encode(text), 0] for text in texts_of(shards[:1])]
    for format in ("arrow", "parquet"):
        made = encode_shards(tok, shards[:1], tmp_path / format, format=format, eos=EOS)
        path = made[0].files[0]
        table = parquet.read_table(path) if format == "parquet" else pyarrow.ipc.open_stream(path).read_all()
        assert table["input_ids"].to_pylist() == wanted
        with pytest.raises(OptionError, match=f"in the format {format}"):
            Tokens(tmp_path / format)
    made = encode_shards(
        tok, shards[:1], tmp_path / "rows", format="parquet", eos=EOS, pack="best-fit", seq_len=16, pad=1
    )
    table = parquet.read_table(made[0].files[0])
    assert {len(row) for row in table["input_ids"].to_pylist()} == {16}
    assert {len(row) for row in table["segment_ids"].to_pylist()} == {16}


def test_without_pyarrow_its_formats_are_refused(
    tok: tokkit.Tokenizer, shards: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(OptionError, match=r"pip install 'pytokkit\[tables\]'"):
        encode_shards(tok, shards, tmp_path / "ids", format="parquet")


def test_a_second_run_encodes_only_what_changed(tok: tokkit.Tokenizer, shards: list[str], tmp_path: Path) -> None:
    out = tmp_path / "ids"
    first = encode_shards(tok, shards, out)
    manifest = (out / "manifest.json").read_bytes()
    assert [m.encoded for m in encode_shards(tok, shards, out)] == [False] * 3
    assert (out / "manifest.json").read_bytes() == manifest
    Path(shards[1]).write_text('{"text": "new"}\n', encoding="utf-8")
    next(path for path in first[2].files if path.suffix == ".bin").unlink()
    assert [m.encoded for m in encode_shards(tok, shards, out)] == [False, True, True]
    assert Tokens(out).n_documents == 41 + 1 + 41
    with pytest.raises(OptionError, match="contains shards with eos None, but eos is 0 now; choose another folder"):
        encode_shards(tok, shards, out, eos=EOS)
    other = tokkit.train({"low": 1}, vocab_size=256)
    with pytest.raises(OptionError, match="with tokenizer '"):
        encode_shards(other, shards, out)


def test_a_folder_refuses_shards_of_other_options_before_it_has_a_manifest_too(
    tok: tokkit.Tokenizer, shards: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "ids"
    encode_shards(tok, shards[:1], out, with_manifest=False)  # as a run that was stopped leaves it
    other = tokkit.train({"low": 1}, vocab_size=256)
    with pytest.raises(OptionError, match="contains shards with tokenizer '"):
        encode_shards(other, shards, out)
    encode_shards(tok, shards, out)
    with pytest.raises(OptionError, match="contains shards with unit 'line', but unit is 'file' now"):
        encode_shards(tok, shards, out, unit="file")
    assert Tokens(out).n_documents == 3 * 41
    assert Tokens(out).manifest["unit"] == "line"


@pytest.mark.parametrize("format", ["bin", "npy", "megatron", "arrow", "parquet"])
@pytest.mark.parametrize("shuffle", [None, 1])
def test_a_full_disk_is_named_by_the_shard_and_finished_shards_stay(
    format: Any, shuffle: int | None, tok: tokkit.Tokenizer, shards: list[str], tmp_path: Path
) -> None:
    if format in ("arrow", "parquet"):
        extra("pyarrow")
    out = tmp_path / "ids"
    encode_shards(tok, shards[:1], out, format=format, shuffle=shuffle)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writers.WRITERS[format], "finish", full)
        with pytest.raises(OSError, match="No space left") as raised:
            encode_shards(tok, shards, out, format=format, shuffle=shuffle)
    assert os.path.basename(raised.value.filename).startswith("part-1.jsonl.")
    assert not [path.name for path in out.iterdir() if not path.name.startswith(("part-0", "manifest"))]
    assert [m.encoded for m in encode_shards(tok, shards, out, format=format, shuffle=shuffle)] == [False, True, True]


def test_a_manifest_that_disagrees_with_its_files_is_named(
    tok: tokkit.Tokenizer, shards: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "ids"
    with pytest.raises(FormatError, match=r"has no manifest\.json"):
        Tokens(tmp_path)
    made = encode_shards(tok, shards, out)
    path = next(path for path in made[1].files if path.suffix == ".bin")
    data = path.read_bytes()
    path.write_bytes(data[:-2])
    with pytest.raises(FormatError, match=rf"manifest\.json disagrees .*{path.name} has .* bytes, but"):
        Tokens(out)
    path.write_bytes(b"\1" + data[1:])
    with pytest.raises(FormatError, match=rf"{path.name} has a different sha256"):
        Tokens(out).verify()
    path.unlink()
    with pytest.raises(FormatError, match=rf"{path.name} does not exist"):
        Tokens(out)
    path.write_bytes(data)
    ends = next(path for path in made[1].files if path.name.endswith(".ends.npy"))
    ends.write_bytes(ends.read_bytes()[:-8] + struct.pack("<q", 10**9))
    with pytest.raises(FormatError, match=r"has ends outside its ids"):
        Tokens(out).document(50)
    (out / "manifest.json").write_text("{}")
    with pytest.raises(FormatError, match=r"manifest\.json is not a manifest"):
        Tokens(out)


def test_a_shard_that_fails_is_named_and_those_before_stay(
    tok: tokkit.Tokenizer, shards: list[str], tmp_path: Path
) -> None:
    cut = tmp_path / "z.jsonl.gz"
    cut.write_bytes(gzip.compress(Path(shards[0]).read_bytes() * 50)[:-20])
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"low\nlow \xff\n")
    for path, options in ((cut, {}), (bad, {}), (cut, {"shuffle": 1})):
        out = tmp_path / f"{path.name}{len(options)}"
        with pytest.raises(CorpusError, match=path.name):
            encode_shards(tok, [*shards, str(path)], out, **options)
        assert len(list(out.glob("*.shard.json"))) == 3
        assert not [file.name for file in out.iterdir() if path.name in file.name or file.name.startswith(".")]
        assert [m.encoded for m in encode_shards(tok, shards, out, **options)] == [False] * 3
    (made,) = encode_shards(tok, bad, tmp_path / "replaced", input_errors="replace")
    assert made.documents == 2
    special = tmp_path / "special.txt"
    special.write_text(f"low {EOS}\n")
    with pytest.raises(SpecialTokenError, match=r"special\.txt"):
        encode_shards(tok, special, tmp_path / "s", special="raise")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"format": "csv"}, OptionError, "format is 'csv'"),
        ({"dtype": "int8"}, OptionError, "dtype is 'int8'"),
        ({"eos": 999}, OptionError, "eos is 999; it must be a token, or an id below 283"),
        ({"eos": "<|none|>"}, VocabError, r"eos is '<\|none\|>', which is neither"),
        ({"pad": 1}, OptionError, "pad fills packed rows"),
        ({"seq_len": 8}, OptionError, "seq_len needs packed rows"),
        ({"pack": "best-fit", "eos": 0}, OptionError, "seq_len is None"),
        ({"pack": "best-fit", "seq_len": 8}, OptionError, "give pad"),
        ({"pack": "tight", "seq_len": 8}, OptionError, "pack is 'tight'"),
        ({"pack": "best-fit", "seq_len": 8, "eos": 0, "format": "megatron"}, OptionError, "Megatron packs"),
        ({"shuffle": -1}, OptionError, "shuffle is -1"),
        ({"unit": "page"}, OptionError, "unit is 'page'"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(
    options: dict[str, Any],
    error: type[Exception],
    message: str,
    tok: tokkit.Tokenizer,
    shards: list[str],
    tmp_path: Path,
) -> None:
    with pytest.raises(error, match=message):
        encode_shards(tok, shards, tmp_path / "ids", **options)
    assert not (tmp_path / "ids").exists()
