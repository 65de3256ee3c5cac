"""`tokkit model train` on the command line: what it writes and prints, and Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tokkit.interrupts import INTERRUPTED

if TYPE_CHECKING:
    from conftest import Run

TINY = ["--context", "16", "--batch", "2", "--vocab-size", "260"]


def write_corpus() -> None:
    Path("config.json").write_text(
        json.dumps({"model_type": "llama", "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2})
    )
    Path("notes.txt").write_text("the cat sat on the mat; " * 40)


def test_the_command_writes_a_model_that_other_commands_take(run: Run) -> None:
    write_corpus()
    train = ["model", "train", "notes.txt", "--shape", "config.json", *TINY, "--steps", "3"]
    done = run(*train, "-o", "model", "--progress", "json")
    assert done.exit_code == 0, done.stderr
    *told, last = done.stderr.splitlines()
    assert json.loads(told[-1])["done"] == 3
    assert json.loads(told[-1])["tokens_per_second"] > 0
    assert last.startswith("tokkit: model: ")
    assert "3 steps, 96 tokens; loss " in last
    assert run("model", "next", "model", "the cat").exit_code == 0
    assert run(*train, "-o", "model").exit_code == 1
    assert run(*train, "-o", "model", "--force").exit_code == 0
    again = run(*train, "-o", "model", "--resume")
    assert again.exit_code == 1
    assert "to resume from" in again.stderr
    tuned = run("model", "train", "notes.txt", *TINY, "--steps", "1", "--from", "model", "-o", "model", "--force")
    adapter = run(
        "model", "train", "notes.txt", *TINY, "--steps", "1", "--from", "model", "-o", "adapter", "--lora", "2"
    )
    assert adapter.exit_code == 0, adapter.stderr
    assert run("model", "next", "adapter", "the cat").exit_code == 0
    assert run("model", "merge", "model", "adapter", "-o", "merged").exit_code == 0
    assert run("model", "next", "merged", "the cat").exit_code == 0
    assert tuned.exit_code == 2  # the model that is read would be replaced
    assert run("model", "next", "model", "the cat").exit_code == 0


@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
def test_ctrl_c_leaves_a_checkpoint_and_ends_with_130(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_corpus()
    command = [sys.executable, "-m", "tokkit", "model", "train", "notes.txt", "-o", "model", "--shape", "config.json"]
    command += [*TINY, "--steps", "100000", "--progress", "json"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert json.loads(process.stderr.readline())["stage"] == "train"
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == INTERRUPTED
    assert "--resume continues" in rest
    assert "Traceback" not in rest
    assert Path("model/training.safetensors").stat().st_size > 10_000
