"""Fixtures: a small tokenizer's file, and two ways to run a command: in this process and in a new one."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import tokkit
from tokkit.cli import main

TEXT = "low lower lowest\nnewer wider new\nnaïve café, 東京 🙂\nthe quick brown fox jumps\n" * 20
Run = Callable[..., Result]
Start = Callable[..., "subprocess.Popen[bytes]"]
Interrupted = Callable[..., str]


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a tokenizer of 300 tokens, one of them special."""
    path = tmp_path_factory.mktemp("tokenizer") / "tok.json"
    tokkit.train(iter([TEXT]), vocab_size=300, special_tokens=["<|end|>"]).save(path)
    return str(path)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """(arguments, input=bytes or str) → the result of a command run in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("TOKKIT_")]:
        monkeypatch.delenv(name)

    def call(*args: object, input: bytes | str | None = None) -> Result:
        # click before 8.2 mixes the two streams unless told not to.
        options = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
        result = CliRunner(**options).invoke(main, [str(arg) for arg in args], prog_name="tokkit", input=input)
        # Anything but an exit is an error that a user would see as a traceback.
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
        return result

    return call


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """(arguments, and options of Popen) → a process of the command, its three streams pipes by default."""
    root = str(Path(tokkit.__file__).resolve().parent.parent)
    env = {name: value for name, value in os.environ.items() if not name.startswith("TOKKIT_")} | {"PYTHONPATH": root}

    def call(*args: object, **options: object) -> subprocess.Popen[bytes]:
        streams: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | options
        command = [sys.executable, "-m", "tokkit", *map(str, args)]
        return subprocess.Popen(command, cwd=tmp_path, env=env, **streams)

    return call


@pytest.fixture
def interrupted(start: Start, tmp_path: Path) -> Interrupted:
    """(arguments, after=bytes, output=name) → what a command prints that Ctrl-C ends after a line with these bytes.

    A command that is done before the signal comes is started again.
    """

    def call(*args: object, after: bytes, output: str) -> str:
        for _ in range(9):
            process = start(*args)
            assert process.stderr is not None
            seen = []
            for line in process.stderr:
                seen.append(line)
                if after in line:
                    process.send_signal(signal.SIGINT)
                    break
            err = (b"".join(seen) + process.communicate(timeout=600)[1]).decode()
            if process.returncode:
                assert process.returncode == 130, err
                assert "Traceback" not in err
                assert not (tmp_path / output).exists()
                return err
            (tmp_path / output).unlink()
        pytest.fail("each of 9 runs was done before the signal came, or took no notice of it")

    return call
