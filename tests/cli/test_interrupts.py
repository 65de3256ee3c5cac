"""Ctrl-C at any moment of a command: exit code 130, one line, and no file left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs the signals of Linux or macOS")

INTERRUPTED = (130, b"tokkit: interrupted\n")
AT_EVENT = """
import os, signal, sys
from tokkit.__main__ import main
at, n = int(sys.argv.pop(1)), 0
def hook(event, args):
    global n
    n += 1
    if n == at:
        signal.raise_signal(signal.SIGINT)
sys.addaudithook(hook)
try:
    main()
finally:
    if not at:
        os.write(2, b"%d" % n)
"""
"""A command that is interrupted at one of the moments that Python tells of: imports, opened files, compiled code."""


@pytest.mark.parametrize("command", ["encode", "train"])
def test_an_interrupt_at_any_moment_ends_it_without_a_traceback(tokenizer: str, tmp_path: Path, command: str) -> None:
    (tmp_path / "a.txt").write_text("low lower lowest\n" * 1000)
    args = {
        "encode": [tokenizer, "a.txt", "-o", "out.json"],
        "train": ["a.txt", "-o", "out.json", "--vocab-size", "260"],
    }[command]

    def run(at: int) -> tuple[int, bytes]:
        done = subprocess.run(
            [sys.executable, "-c", AT_EVENT, str(at), command, *args],
            cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            timeout=600,
        )  # fmt: skip
        (tmp_path / "out.json").unlink(missing_ok=True)
        return done.returncode, done.stderr

    run(0)  # from now on its modules are compiled, as a user's are
    code, err = run(0)
    assert code == 0
    events = int(err)
    assert events > 200
    for at in [1, *(events * k // 4 for k in range(1, 4)), events - 1]:
        assert run(at) == INTERRUPTED, at
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt"]


def test_an_interrupt_after_any_time_shows_no_line_of_ours(start: Callable[..., subprocess.Popen[bytes]]) -> None:
    for delay in range(0, 100, 10):
        process = start("info")
        time.sleep(delay / 1000)
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=600)[1]
        # Before our first line a traceback is the interpreter's, or the signal ends it.
        ours = re.search(rb'tokkit/(__main__.py", line \d+, in main|cli/)', err)
        assert (process.returncode, err) == INTERRUPTED or not ours, err


def test_an_interrupt_that_python_wraps_is_one(run_code: Callable[[str], tuple[int, bytes]]) -> None:
    code = """
from tokkit.cli import errors
with errors.exits():
    raise RuntimeError("Error calling __set_name__") from {}
"""
    assert run_code(code.format("KeyboardInterrupt()")) == INTERRUPTED
    status, err = run_code(code.format("ValueError()"))
    assert status == 1
    assert b"RuntimeError: Error calling" in err


def test_an_interrupt_in_a_finalizer_is_not_lost(run_code: Callable[[str], tuple[int, bytes]]) -> None:
    code, err = run_code("""
import signal, time
from tokkit.interrupts import Raised, ends_the_process
class Last:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
class Faulty:
    def __del__(self):
        raise ValueError("shown as ever")
ends_the_process()
with Raised():
    Faulty()
    Last()
    time.sleep(60)
""")
    assert code == 130
    assert b"shown as ever" in err
    assert err.endswith(b"\ntokkit: interrupted\n")
    assert b"KeyboardInterrupt" not in err


def test_what_is_ignored_from_the_start_stays_so(run_code: Callable[[str], tuple[int, bytes]]) -> None:
    assert run_code("""
import signal
from tokkit.interrupts import Raised, ends_the_process
signal.signal(signal.SIGINT, signal.SIG_IGN)
ends_the_process()
with Raised():
    signal.raise_signal(signal.SIGINT)
""") == (0, b"")


def test_a_program_that_calls_the_command_line_keeps_its_own_handler(
    run_code: Callable[[str], tuple[int, bytes]],
) -> None:
    assert run_code("""
import signal
from tokkit.cli import main
def own(*_): pass
signal.signal(signal.SIGINT, own)
main(["info"], standalone_mode=False)
assert signal.getsignal(signal.SIGINT) is own
""") == (0, b"")


@pytest.fixture
def run_code(tmp_path: Path) -> Callable[[str], tuple[int, bytes]]:
    def call(code: str) -> tuple[int, bytes]:
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=600
        )
        return done.returncode, done.stderr

    return call
