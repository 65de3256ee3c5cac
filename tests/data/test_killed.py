"""Runs that were killed and started again keep finished shards, and give the results of an uninterrupted run."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import tokkit
from conftest import LONG
from tokkit.data import encode_shards
from tokkit.trainers import build_counts

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork, as on Linux and macOS")


def count(source: Path, out: Path) -> None:
    build_counts(source, out, max_memory=10**6, threads=1)


def encode(source: Path, out: Path) -> None:
    tok = tokkit.train({"low": 2}, vocab_size=257, threads=1)
    encode_shards(tok, source, out, pack="best-fit", seq_len=64, pad=0, shuffle=1, threads=1)


def started(run: Callable[[], object]) -> int:
    """Run in a process of its own, and return its number."""
    child = os.fork()
    if child:
        return child
    try:
        run()
    finally:
        os._exit(0)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("run", [count, encode])
def test_a_run_that_is_killed_is_run_again_to_equal_files(run: Callable[[Path, Path], None], tmp_path: Path) -> None:
    drawn = random.Random(1)
    (tmp_path / "data").mkdir()
    for n in range(5):
        lines = "".join(f"{drawn.getrandbits(40):x} low\n" for _ in range(12_000))
        (tmp_path / "data" / f"{n}.txt").write_text(lines)
    out = tmp_path / "killed"
    for n in range(1, 5):
        child = started(lambda: run(tmp_path / "data", out))
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if out.exists() and len(os.listdir(out)) > n:
                time.sleep(drawn.random() * 0.02)
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                break
            time.sleep(0.001)
    run(tmp_path / "data", out)
    run(tmp_path / "data", tmp_path / "whole")
    assert contents(out) == contents(tmp_path / "whole"), "and nothing that the killed ones began is left"


@pytest.mark.skipif(not LONG, reason="kills for half a minute; TOKKIT_LONG=1")
@pytest.mark.parametrize("run", [count, encode])
def test_runs_that_are_killed_at_any_moment_leave_nothing_wrong(
    run: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    drawn = random.Random(2)
    (tmp_path / "data").mkdir()
    for n in range(4):
        lines = "".join(f"{drawn.getrandbits(40):x} low\n" for _ in range(3000))
        (tmp_path / "data" / f"{n}.txt").write_text(lines)
    began = time.monotonic()
    run(tmp_path / "data", tmp_path / "whole")
    took, killed = time.monotonic() - began, 0
    for number in range(10):
        out = tmp_path / f"killed-{number}"
        for _ in range(10):
            child = started(lambda out=out: run(tmp_path / "data", out))
            time.sleep(drawn.random() * took / 5)  # each has what those before it finished
            os.kill(child, signal.SIGKILL)
            killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        run(tmp_path / "data", out)
        assert contents(out) == contents(tmp_path / "whole")
    assert killed, "each was done before it was killed"
