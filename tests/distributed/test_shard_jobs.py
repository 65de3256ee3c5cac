"""Jobs of shards can be pickled, run in any process, and write the same files as one process."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

import tokkit
from tokkit import distributed
from tokkit.data import encode_shards
from tokkit.distributed import CountShard, EncodeShard, MergeCounts
from tokkit.distributed.shard_jobs import raise_failed
from tokkit.errors import CorpusError, OptionError, WorkerError
from tokkit.trainers import build_counts, merge_counts

TEXT = "low lower lowest\n\nnewer wider new\n"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def shards(tmp_path: Path) -> list[str]:
    (tmp_path / "data").mkdir()
    for n in range(5):
        (tmp_path / "data" / f"{n}.txt").write_text(TEXT * (n + 1) + f"only{n}\n")
    return [str(tmp_path / "data" / f"{n}.txt") for n in range(5)]


@pytest.fixture(scope="module")
def tok() -> tokkit.Tokenizer:
    return tokkit.train({"low": 3, "er": 2}, vocab_size=259, special_tokens=["<|end|>"])


def test_a_pool_of_processes_counts_and_encodes_to_the_files_of_one(
    shards: list[str], tok: tokkit.Tokenizer, tmp_path: Path
) -> None:
    tok.save(tmp_path / "tok.json")
    count = CountShard(tmp_path / "counts", pattern="cl100k")
    encode = EncodeShard(tmp_path / "tok.json", tmp_path / "ids", eos="<|end|>", unit="paragraph")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        counted, encoded = pool.map_async(count, shards), pool.map_async(encode, shards)
        rows = [*counted.get(), *encoded.get()]
    raise_failed(rows, len(rows))
    assert json.loads(json.dumps(rows)) == rows, "rows are plain values"
    encode.finish(shards)
    build_counts(shards, tmp_path / "counts1", pattern="cl100k")
    encode_shards(tok, shards, tmp_path / "ids1", eos="<|end|>", unit="paragraph")
    assert contents(tmp_path / "counts") == contents(tmp_path / "counts1")
    assert contents(tmp_path / "ids") == contents(tmp_path / "ids1")
    assert [count(shard)["counted"] for shard in shards] == [False] * 5
    assert [encode(shard)["encoded"] for shard in shards] == [False] * 5


def test_a_row_may_name_its_source(shards: list[str], tmp_path: Path) -> None:
    job = CountShard(tmp_path / "counts")
    for shard in shards:
        assert job({"shard": shard, "source": "de", "other": 1})["error"] == ""
    build_counts({"de": shards}, tmp_path / "same")
    assert contents(tmp_path / "counts") == contents(tmp_path / "same")


def test_a_shard_that_fails_is_told_at_the_end(shards: list[str], tok: tokkit.Tokenizer, tmp_path: Path) -> None:
    whole = gzip.compress(TEXT.encode() * 1000)
    (tmp_path / "cut.gz").write_bytes(whole[: len(whole) // 2])
    given = [shards[0], str(tmp_path / "cut.gz"), str(tmp_path / "none.txt"), shards[1]]
    for job in (CountShard(tmp_path / "counts"), EncodeShard(tok, tmp_path / "ids")):
        rows: list[dict[str, Any]] = [job(shard) for shard in given]
        assert [bool(row["error"]) for row in rows] == [False, True, True, False]
        with pytest.raises(CorpusError, match=r"2 of 4 shards failed; .*cut\.gz.*none\.txt.*does not exist"):
            raise_failed(rows, 4)
    assert len(contents(tmp_path / "counts")) == 2
    many = [{"shard": f"{n}.txt", "error": "is full", "kind": "OSError"} for n in range(9)]
    with pytest.raises(WorkerError, match=r"9 of 10 shards failed; .*0\.txt: is full; .*; and 4 more"):
        raise_failed(many, 10)


def test_a_wrong_option_is_that_and_not_a_failed_shard(
    shards: list[str], tok: tokkit.Tokenizer, tmp_path: Path
) -> None:
    rows = [EncodeShard(tok, tmp_path / "ids", pack="best-fit")(shard) for shard in shards]
    with pytest.raises(OptionError, match="seq_len is None"):
        raise_failed(rows, 5)


def test_a_node_of_a_tree_merges_once(shards: list[str], tmp_path: Path) -> None:
    files = [CountShard(tmp_path / "counts")(shard)["path"] for shard in shards]
    row = {"files": files, "path": str(tmp_path / "node.counts")}
    assert MergeCounts()(row)["error"] == ""
    merge_counts(files, tmp_path / "same.counts")
    assert (tmp_path / "node.counts").read_bytes() == (tmp_path / "same.counts").read_bytes()
    assert MergeCounts()({**row, "files": ["none"]})["error"] == "", "it is there"
    assert "none" in MergeCounts()({"files": ["none"], "path": str(tmp_path / "other.counts")})["error"]


def test_a_pickled_job_loads_its_tokenizer_where_it_runs(tok: tokkit.Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path / "tok.json")
    job = EncodeShard(tmp_path / "tok.json", tmp_path / "ids")
    assert job.loaded() is job.loaded()
    assert len(pickle.dumps(job)) < 1000
    copy = pickle.loads(pickle.dumps(EncodeShard(tok, tmp_path / "ids")))
    assert copy.loaded().fingerprint() == tok.fingerprint()


def test_without_ray_the_error_says_what_to_install(
    shards: list[str], tok: tokkit.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    for call in (
        lambda: distributed.count(shards, tmp_path / "counts"),
        lambda: distributed.encode(tok, shards, tmp_path / "ids"),
        lambda: distributed.train(shards, tmp_path / "counts", vocab_size=260),
    ):
        with pytest.raises(OptionError, match=r"pip install 'pytokkit\[ray\]'"):
            call()
