"""Commands as processes: exit codes and no files left behind, with pipes, signals, full disks and odd names."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import LONG
from processes import seconds_to_end, wait_until_read

posix = pytest.mark.skipif(os.name != "posix", reason="needs the signals and pipes of Linux or macOS")


def finish(process: subprocess.Popen[bytes], input: bytes | None = None) -> tuple[int, bytes, bytes]:
    out, err = process.communicate(input, timeout=600)
    return process.returncode, out, err


def test_encode_and_decode_are_a_pipe_that_changes_nothing(start, tokenizer) -> None:
    text = "naïve café\r\n東京 🙂\n\n".encode()
    code, ids, err = finish(start("encode", tokenizer), text)
    assert (code, err) == (0, b"")
    assert finish(start("decode", tokenizer), ids) == (0, text, b"")


def test_errors_are_one_line_without_a_traceback(start, tokenizer, tmp_path) -> None:
    for args in (("encode", "absent.json"), ("encode", tokenizer, "absent.txt"), ("encode", tokenizer, tmp_path)):
        code, out, err = finish(start(*args))
        assert (code, out) == (1, b"")
        assert err.startswith(b"tokkit: error: ")
        assert err.count(b"\n") == 1


@posix
@pytest.mark.parametrize("output", ["ids", "tokens"])
def test_a_reader_that_goes_away_ends_it_quietly(start, tokenizer, tmp_path, output) -> None:
    (tmp_path / "big.txt").write_text("low lower lowest\n" * 200_000)
    process = start("encode", tokenizer, "big.txt", "--output", output, "--unit", "line")
    assert process.stdout is not None
    assert process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait(600) == 141


@posix
def test_a_long_text_is_written_whole_without_buffers_too(start, tokenizer, tmp_path, monkeypatch) -> None:
    # One write to a pipe that is read in part, or of more than 2 GiB, takes a part and says so by its number alone.
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    text = b"low lower\n" * 30_000
    (tmp_path / "long.txt").write_bytes(text)
    whole = start("truncate", tokenizer, "long.txt", "--limit", "10000000")
    assert whole.stdout is not None
    assert whole.stdout.read() == text
    assert whole.wait(600) == 0
    gone = start("truncate", tokenizer, "long.txt", "--limit", "10000000")
    assert gone.stdout is not None
    assert gone.stdout.read(1)
    gone.stdout.close()
    assert gone.wait(600) == 141


@posix
def test_a_reader_that_goes_away_before_the_last_flush_is_no_noise(start, tokenizer, tmp_path) -> None:
    (tmp_path / "small.txt").write_text("low lower\n")
    for args in (
        ("count", tokenizer, "small.txt"),
        ("inspect", tokenizer),
        ("encode", tokenizer, "small.txt"),
        ("info",),
    ):
        process = start(*args)
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait(600) == 141


def interrupted(process: subprocess.Popen[bytes], ready: bytes, number: int) -> tuple[int, bytes, float]:
    """Send a signal once `ready` has been seen on stderr; return exit code, what it said then, and processor time."""
    assert process.stderr is not None
    seen = b""
    while ready not in seen:
        line = process.stderr.readline()
        assert line, seen
        seen += line
    seconds = seconds_to_end(process, number)
    return process.returncode, process.stderr.read(), seconds


@posix
@pytest.mark.parametrize("stage", [b'"count"', b'"merge"'])
def test_ctrl_c_while_training_leaves_nothing_behind(start, tmp_path, stage) -> None:
    (tmp_path / "corpus.txt").write_text("\n".join(f"{i * 7919 % 999_983:x} word{i}" for i in range(400_000)))
    process = start(
        "train",
        "corpus.txt",
        "-o",
        "tok.json",
        "--split",
        "none",
        "--unit",
        "file",
        "--threads",
        1,
        "--progress",
        "json",
    )
    code, err, seconds = interrupted(process, stage, signal.SIGINT)
    assert code == 130
    assert err.splitlines()[-1] == b"tokkit: interrupted"
    assert seconds < 5, "a second is the promise, of a machine like ours"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.txt"]


@posix
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_encoding_leaves_the_old_file(start, tokenizer, tmp_path, number, code) -> None:
    (tmp_path / "big.txt").write_text("low lower lowest\n" * 1_500_000)
    (tmp_path / "out.ids").write_text("old")
    process = start("encode", tokenizer, "big.txt", "-o", "out.ids", "--force", "--progress", "json")
    assert interrupted(process, b"encode", number)[0] == code
    assert (tmp_path / "out.ids").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["big.txt", "out.ids"]


@posix
@pytest.mark.parametrize(
    "args",
    [
        ("encode", "TOKENIZER", "-o", "out.ids"),
        ("encode", "TOKENIZER", "-o", "out.npy"),
        *[("encode", "TOKENIZER", "-o", "out.bin")] * LONG,
        ("decode", "TOKENIZER", "-o", "out.txt"),
    ],
    ids=" ".join,
)
@pytest.mark.skipif(
    sys.platform not in ("linux", "darwin"),
    reason="needs Linux or macOS: elsewhere nothing says whether the process of a temporary file still runs",
)
def test_what_a_killed_command_left_goes_with_the_next_one(start, tokenizer, tmp_path, args) -> None:
    args = [tokenizer if arg == "TOKENIZER" else arg for arg in args]
    for _ in range(2):
        killed = start(*args)
        assert killed.stdin is not None
        killed.stdin.write(b"1 2 3\n" * 180_000)  # more than a block, of 1 MiB
        killed.stdin.flush()
        deadline = time.monotonic() + 600
        while not list(tmp_path.glob(".tokkit-*.tmp")):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        killed.kill()
        killed.wait(600)
        assert len(list(tmp_path.iterdir())) == 1, "the second has removed what the first left"
        killed.communicate()
    assert finish(start(*args), b"1 2 3\n") == (0, b"", b"")
    assert {path.name.removesuffix(".json") for path in tmp_path.iterdir()} == {args[-1]}


@posix
def test_ctrl_c_while_it_waits_for_stdin(start, tokenizer) -> None:
    process = start("count", tokenizer)
    assert process.stdin is not None
    process.stdin.write(b"low")
    process.stdin.flush()
    wait_until_read(process.stdin)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert process.stderr.read() == b"tokkit: interrupted\n"
    assert process.wait(600) == 130


@posix
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs the device /dev/full, which Linux has")
def test_a_full_disk_is_an_error_and_not_a_traceback(start, tokenizer, tmp_path) -> None:
    (tmp_path / "a.txt").write_text("low lower\n")
    with open("/dev/full", "wb") as full:
        for args in (("encode", tokenizer, "a.txt"), ("count", tokenizer, "a.txt"), ("info",)):
            code, _, err = finish(start(*args, stdout=full))
            assert code == 1
            assert err == b"tokkit: error: No space left on device\n"
    assert finish(start("encode", tokenizer, "a.txt", "-o", "/dev/full"))[0] == 1


@posix
def test_a_pipe_by_name_is_written_to_and_stays(start, tokenizer, tmp_path) -> None:
    os.mkfifo(tmp_path / "fifo")
    process = start("encode", tokenizer, "-o", "fifo")
    assert process.stdin is not None
    process.stdin.write(b"low\n")
    process.stdin.close()
    assert (tmp_path / "fifo").read_bytes().endswith(b"\n")
    assert process.wait(600) == 0
    assert (tmp_path / "fifo").is_fifo()


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="needs file names of any bytes, as on Linux")
def test_a_file_name_that_is_not_utf8_is_named_without_a_crash(start, tokenizer, tmp_path) -> None:
    name = b"caf\xe9.txt"
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))).write_text("low\n")
    path = os.fsdecode(name)
    code, out, err = finish(start("count", tokenizer, path))
    assert (code, err) == (0, b"")
    assert out.endswith(b"caf\\xe9.txt\n")
    assert json.loads(finish(start("count", tokenizer, path, "--json"))[1])["files"][0]["file"] == path
    assert finish(start("encode", tokenizer, path, "-o", os.fsdecode(b"out\xe9")))[0] == 0
    assert finish(start("encode", tokenizer, path, "-o", os.fsdecode(b"out\xe9")))[0] == 1
    assert finish(start("train", path, "-o", os.fsdecode(b"tok\xe9.json"), "--vocab-size", 257))[0] == 0
    for args in (("count", tokenizer, os.fsdecode(b"absent\xe9")), ("inspect", os.fsdecode(b"absent\xe9.json"))):
        code, _, err = finish(start(*args))
        assert code == 1
        assert err.startswith(b"tokkit: error: ")


def test_progress_is_json_lines_when_asked_and_silent_in_a_pipe(start, tmp_path) -> None:
    (tmp_path / "a.txt").write_text("low lower lowest\n" * 100)
    assert finish(start("train", "a.txt", "-o", "a.json", "--vocab-size", 260))[2] == b""
    err = finish(start("train", "a.txt", "-o", "b.json", "--vocab-size", 260, "--progress", "json"))[2]
    stages = [json.loads(line)["stage"] for line in err.splitlines()]
    assert stages[0] == "count"
    assert stages[-1] == "merge"
    assert b"#" in finish(start("train", "a.txt", "-o", "c.json", "--vocab-size", 260, "--progress", "bar"))[2]


@pytest.mark.parametrize("args", [("--help",), ("--version",), ("train", "--help"), ("completion", "fish")])
def test_help_needs_no_numpy(start, args) -> None:
    code = (
        "import sys\nfrom tokkit.cli import main\n"
        f"try:\n    main({list(args)!r})\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "sys.exit('numpy' in sys.modules)"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__import__("tokkit").__file__).parent.parent)}
    assert subprocess.run([sys.executable, "-c", code], env=env, stdout=subprocess.DEVNULL, timeout=600).returncode == 0


@posix
def test_a_pipe_by_name_is_trained_on_and_read_but_once(start, tmp_path) -> None:
    os.mkfifo(tmp_path / "fifo")
    process = start("train", "fifo", "-o", "tok.json", "--vocab-size", 260)
    (tmp_path / "fifo").write_text("low lower lowest\n")
    code, out, err = finish(process)
    assert (code, err) == (0, b"")
    assert b"compression" not in out
    assert (tmp_path / "tok.json").exists()


@posix
@pytest.mark.parametrize(
    "args",
    [
        ("encode", "TOKENIZER"),
        ("encode", "TOKENIZER", "--output", "npy", "-o", "x.npy"),
        ("decode", "TOKENIZER"),
        ("decode", "TOKENIZER", "--input", "npy"),
        ("count", "TOKENIZER"),
        ("train", "-", "-o", "x.json"),
        ("train", "--counts", "-", "-o", "x.json"),
    ],
    ids=" ".join,
)
def test_a_closed_stdin_is_an_error_and_not_a_traceback(tokenizer, tmp_path, args) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(__import__("tokkit").__file__).parent.parent)}
    given = [tokenizer if arg == "TOKENIZER" else arg for arg in args]
    # The shell closes it: subprocess has no word for that.
    command = ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-m", "tokkit", *given]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"tokkit: error: standard input is closed\n")
    assert not list(tmp_path.iterdir())


def test_ctrl_c_while_the_command_line_is_imported(tmp_path) -> None:
    (tmp_path / "click.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)")
    root = str(Path(__import__("tokkit").__file__).parent.parent)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), root])}
    command = [sys.executable, "-m", "tokkit", "info"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"tokkit: interrupted\n")


def test_ctrl_c_while_settings_are_read(run, monkeypatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tomllib.load", interrupted)
    Path("t.toml").write_text("")
    out = run("--config", "t.toml", "info")
    assert (out.exit_code, out.stderr) == (130, "tokkit: interrupted\n")
