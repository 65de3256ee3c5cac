"""Ray with two workers gives the bytes of one process, even if workers are killed or shards are damaged."""

from __future__ import annotations

import gzip
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import tokkit
from extras import extra
from tokkit import distributed
from tokkit.data import Tokens, encode_shards
from tokkit.distributed import ray_pipelines
from tokkit.errors import CorpusError, OptionError
from tokkit.trainers import Mixture, build_counts, merge_counts

ray = extra("ray")
extra("pandas")
extra("pyarrow")

START = "import ray; ray.init(num_cpus=2, include_dashboard=False, logging_level='error')"
WRITER = re.compile(r"\.tokkit-[0-9a-f]{8}-[0-9a-f]{16}-([0-9]+)-.*\.tmp")
N_SHARDS = 8


@pytest.fixture(scope="module", autouse=True)
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    # Ray gives workers the driver's folder as a place to import from: not one where a tokkit lies that is not built.
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("ray_cwd"))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
        ray.data.DataContext.get_current().enable_progress_bars = False
        yield
        ray.shutdown()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shards of two megabytes with many words: what writes one can be met while it does."""
    folder = tmp_path_factory.mktemp("ray") / "data"
    folder.mkdir()
    drawn = random.Random(1)
    for n in range(N_SHARDS):
        (folder / f"{n}.txt").write_text("".join(f"{drawn.getrandbits(40):x} low\n" for _ in range(130_000)))
    return folder


@pytest.fixture(scope="module")
def whole(data: Path) -> Path:
    """What one process makes of the shards."""
    out = data.parent / "whole"
    build_counts(data, out / "counts", threads=1)
    merge_counts(out / "counts", out / "all.counts")
    tokkit.train({"low": 3, "01": 2}, vocab_size=258).save(data.parent / "tok.json")
    encode_shards(tokkit.load(data.parent / "tok.json"), data, out / "ids", eos=10)
    return out


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


class Killer(threading.Thread):
    """Kills, once, the worker that is writing into a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder, self.killed, self.stop = folder, 0, False

    def run(self) -> None:
        while not self.killed and not self.stop:
            names = os.listdir(self.folder) if self.folder.exists() else []
            found = [match for name in names if (match := WRITER.fullmatch(name))]
            if found and len(names) > 2:
                self.killed = int(found[0][1])
                os.kill(self.killed, signal.SIGKILL)
            time.sleep(0.0005)

    def __enter__(self) -> Killer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop = True
        self.join()


def test_counts_are_those_of_one_process_though_a_worker_is_killed(
    data: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_pipelines, "FAN_IN", 3)
    seen = []
    with Killer(tmp_path / "counts") as killer:
        made = distributed.count(
            data, tmp_path / "counts", merged=tmp_path / "all.counts", workers=2, progress=lambda *at: seen.append(at)
        )
    assert killer.killed not in (0, os.getpid())
    assert [shard.shard for shard in made] == [str(data / f"{n}.txt") for n in range(N_SHARDS)]
    assert seen == [("count", n, N_SHARDS) for n in range(1, N_SHARDS + 1)]
    assert contents(tmp_path / "counts") == contents(whole / "counts"), "and nothing that the killed one began is left"
    assert (tmp_path / "all.counts").read_bytes() == (whole / "all.counts").read_bytes()
    with ray_pipelines._tree([str(shard.path) for shard in made], tmp_path / "counts") as left:
        assert len(left) == 3, "of eight files three at a time"
    assert not (tmp_path / "counts" / ray_pipelines.TREE).exists()


def test_ids_are_those_of_one_process_though_a_worker_is_killed(data: Path, whole: Path, tmp_path: Path) -> None:
    with Killer(tmp_path / "ids") as killer:
        made = distributed.encode(data.parent / "tok.json", data, tmp_path / "ids", eos=10, workers=2)
    assert killer.killed not in (0, os.getpid())
    assert contents(tmp_path / "ids") == contents(whole / "ids")
    assert sum(shard.tokens for shard in made) == len(Tokens(tmp_path / "ids"))


def test_a_driver_that_is_killed_is_started_again(data: Path, whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "counts"
    script = f"{START}; from tokkit import distributed; distributed.count({str(data)!r}, {str(out)!r})"
    driver = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while driver.poll() is None and len(list(out.glob("*.counts"))) < 2:
        time.sleep(0.005)
    assert driver.poll() is None
    driver.kill()
    driver.wait()
    made = distributed.count(data, out, workers=2)
    assert sum(not shard.counted for shard in made) >= 2, "what it had finished is kept"
    # Workers of the driver that is gone may still write for a moment, what these have written too.
    assert {name: contents(out)[name] for name in contents(whole / "counts")} == contents(whole / "counts")


def test_a_corrupt_shard_is_named_and_the_others_are_done(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    packed = gzip.compress(b"low lower lowest\n" * 5000)
    for n in range(4):
        (tmp_path / "data" / f"{n}.txt.gz").write_bytes(packed if n != 2 else packed[: len(packed) // 2])
    with pytest.raises(CorpusError, match=r"1 of 4 shards failed; .*2\.txt\.gz"):
        distributed.count(tmp_path / "data", tmp_path / "counts", merged=tmp_path / "all.counts", workers=2)
    assert len(list((tmp_path / "counts").glob("*.counts"))) == 3
    assert not (tmp_path / "all.counts").exists()
    (tmp_path / "data" / "2.txt.gz").write_bytes(packed)
    made = distributed.count(tmp_path / "data", tmp_path / "counts", merged=tmp_path / "all.counts", workers=2)
    assert [shard.counted for shard in made] == [False, False, True, False]
    build_counts(tmp_path / "data", tmp_path / "same")
    merge_counts(tmp_path / "same", tmp_path / "same.counts")
    assert (tmp_path / "all.counts").read_bytes() == (tmp_path / "same.counts").read_bytes()


def test_a_mixture_is_trained_as_by_one_process(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_pipelines, "FAN_IN", 2)
    monkeypatch.chdir(tmp_path)  # where relative paths of workers are too
    for n in range(5):
        (tmp_path / f"{n}.txt").write_text("low lower\n" * n + "newest wider straße\n" * 3 + f"x{n}\n")
    sources = {"a": ["0.txt", "1.txt", "2.txt"], "b": ["3.txt", "4.txt"]}
    weights = {"a": "1/3", "b": 2}
    tok = distributed.train(sources, "counts", weights=weights, vocab_size=280, pattern="cl100k", workers=2)
    assert (
        tok.fingerprint()
        == tokkit.train(Mixture(sources, weights=weights), vocab_size=280, pattern="cl100k").fingerprint()
    )


def test_wrong_options_are_refused_before_anything_runs(data: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="model is 'gpt'"):
        distributed.count(data, tmp_path / "counts", model="gpt")
    with pytest.raises(OptionError, match="workers is 0"):
        distributed.count(data, tmp_path / "counts", workers=0)
    with pytest.raises(OptionError, match="give merged, a file"):
        distributed.count(data, tmp_path / "counts", weights={"a": 2})
    with pytest.raises(OptionError, match="standard input"):
        distributed.count("-", tmp_path / "counts")
    with pytest.raises(CorpusError, match="given twice"):
        distributed.encode(data.parent / "tok.json", [data / "0.txt", data / "0.txt"], tmp_path / "ids")
