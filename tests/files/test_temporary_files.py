"""Which temporary files of other processes, killed, alive or on another machine, the next writer removes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tokkit
from processes import wait_until_read
from tokkit.files import files, temporary_files

ROOT = Path(tokkit.__file__).resolve().parent.parent
pytestmark = pytest.mark.skipif(
    temporary_files._place() == temporary_files.NOWHERE,
    reason="needs /proc or sysctl, which say when a process started, as on Linux and macOS",
)

WRITERS = {
    "write_atomically": """
from tokkit.files.files import write_atomically
def data():
    yield b"half"
    print("ready", flush=True)
    sys.stdin.read()
write_atomically("out.npy", data())
""",
    "encode_file": """
import os, threading, time, tokkit
def tell():
    while not [name for name in os.listdir() if name.startswith(".tokkit-")]:
        time.sleep(0.01)
    print("ready", flush=True)
threading.Thread(target=tell).start()
tokkit.train(iter(["low lower"]), vocab_size=260).encode_file("-", "out.npy", shard_ids=100_000)
""",
    "cli": """
import contextlib
from tokkit.cli.output import writing
with writing("out.npy", force=True) as file:
    file.write(b"half")
    print("ready", flush=True)
    sys.stdin.read()
""",
}
Start = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """The name of a writer → its process, which has begun to write and waits."""
    monkeypatch.chdir(tmp_path)
    running = []

    def begin(name: str) -> subprocess.Popen[bytes]:
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
        command = [sys.executable, "-c", "import sys\n" + WRITERS[name]]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        running.append(process)
        assert process.stdin is not None
        assert process.stdout is not None
        if name == "encode_file":
            process.stdin.write(b"low lower\n" * 300_000)
            process.stdin.flush()
        assert process.stdout.readline() == b"ready\n"
        wait_until_read(process.stdin)
        before: set[str] = set()
        for _ in range(600):  # until all that came is written: one shard is renamed before the next begins
            state, _ = temporary_files._state_and_start(str(process.pid)) or ("S", 0)
            if state == "S" and (now := left()) and now == before:
                break
            before = left()
            time.sleep(0.1)
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def left() -> set[str]:
    return {name for name in os.listdir() if name.startswith(".tokkit-")}


@pytest.mark.parametrize("name", WRITERS)
def test_what_a_killed_writer_left_goes_with_the_next_one_of_the_same_file(start: Start, name: str) -> None:
    Path("out.npy").write_bytes(b"old")
    killed = start(name)
    assert left()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    remains = left()
    assert remains
    assert Path("out.npy").read_bytes() == b"old"
    files.write_atomically("other.npy", b"new")
    assert left() == remains, "another file's writer leaves it"
    again = start(name)
    assert left()
    assert not left() & remains
    again.communicate()
    assert left() == set()
    assert again.returncode == 0


@pytest.mark.parametrize("name", WRITERS)
def test_what_a_living_writer_writes_stays(start: Start, name: str) -> None:
    alive = start(name)
    writing = left()
    assert writing
    for _ in range(3):
        files.write_atomically("out.npy", b"new")
        assert left() >= writing
    os.kill(alive.pid, signal.SIGSTOP)
    time.sleep(0.1)
    files.write_atomically("out.npy", b"new")
    assert left() >= writing
    os.kill(alive.pid, signal.SIGCONT)
    alive.communicate()
    assert alive.returncode == 0
    assert left() == set()
    assert os.path.exists("out-00000.npy") if name == "encode_file" else Path("out.npy").read_bytes() == b"half"


def named(target: str, place: str, number: int, began: int) -> str:
    return f".tokkit-{temporary_files._key(target)}-{place}-{number}-{began}-0123abcd.tmp"


def test_only_what_is_surely_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    place, (_, began) = temporary_files._place(), temporary_files._state_and_start("self") or ("", 0)
    kept = [
        named("out", place, os.getpid(), began),
        named("out", place, os.getpid(), 0),
        named("out", "0123456789abcdef", gone.pid, 7),  # another host, boot or namespace
        named("out", temporary_files.NOWHERE, gone.pid, 7),
        named("other", place, gone.pid, 7),
        named("out", place, 9_999_999_999, 7),  # no number of a process
        named("out", place, 1, 0),
        ".tokkit-0123456789abcdef.tmp",
        ".tokkit-notes.tmp",
        "out.tmp",
    ]
    removed = [named("out", place, gone.pid, 7)]
    if began:
        removed.append(named("out", place, os.getpid(), began - 1))  # the number has another process by now
    for name in (*kept, *removed):
        Path(name).write_bytes(b"x")
    Path(named("out", place, gone.pid, 8)).mkdir()
    temporary_files.clear("out")
    assert sorted(os.listdir()) == sorted([*kept, named("out", place, gone.pid, 8)])
    temporary_files.clear(str(tmp_path / "absent" / "out"))


def test_a_writer_that_died_and_was_not_waited_for_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    zombie = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    assert zombie.stdout is not None
    zombie.stdout.read()
    deadline = time.monotonic() + 600
    while (found := temporary_files._state_and_start(str(zombie.pid))) is not None and found[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    if found is None:
        pytest.skip("needs /proc, which Linux has")
    name = Path(named("out", temporary_files._place(), zombie.pid, found[1]))
    name.touch()
    temporary_files.clear("out")
    assert not name.exists()
    zombie.wait()


def test_a_place_that_is_unknown_removes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "platform", "plan9")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    Path(named("out", temporary_files.NOWHERE, gone.pid, 0)).touch()
    assert temporary_files.NOWHERE in temporary_files.new("out")
    temporary_files.clear("out")
    assert len(os.listdir()) == 1


def test_no_other_module_names_files_that_are_not_whole() -> None:
    sources = [path for path in (ROOT / "tokkit").rglob("*.py") if path.name != "temporary_files.py"]
    assert len(sources) > 100
    assert not [path.name for path in sources if ".tmp" in path.read_text(encoding="utf-8")]
