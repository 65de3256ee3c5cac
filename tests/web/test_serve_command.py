"""`tokkit serve` as a process: it prints its address, answers, and ends cleanly."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import generators
from extras import extra

extra("uvicorn")
extra("starlette")
pytestmark = pytest.mark.parity


def started(*arguments: str | Path) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "tokkit", "serve", *map(str, arguments), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly_while_it_streams(tmp_path: Path, number: int) -> None:
    process, line = started(generators.folder(tmp_path / "small"), "--max-new-tokens", "60")
    name, url = line.split()[:2]
    body = {"prompt": "the cat", "max_tokens": 50, "stream": True, "logit_bias": {"300": -1000}}
    with urllib.request.urlopen(urllib.request.Request(f"{url}/completions", json.dumps(body).encode())) as answer:
        assert (name, answer.readline()[:6]) == ("small:", b"data: ")
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert errors.strip() in ("", "tokkit: interrupted")


def test_a_signal_ends_what_clients_wait_for_with_an_error(tmp_path: Path) -> None:
    home = generators.folder(tmp_path / "long", max_position_embeddings=100_000)
    process, line = started(home, "--max-new-tokens", "90000")
    body = {"prompt": "the cat", "max_tokens": 90_000, "stream": True, "logit_bias": {"300": -1000}}
    request = urllib.request.Request(f"{line.split()[1]}/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request) as answer:
        assert answer.readline()[:6] == b"data: "
        process.send_signal(signal.SIGINT)
        *_, last = [line for line in answer if line.strip()]
    _, errors = process.communicate(timeout=60)
    assert b"the server is being stopped" in last
    assert (process.returncode, errors.strip()) == (130, "tokkit: interrupted")


def test_two_decoders_are_refused(tmp_path: Path) -> None:
    small = generators.folder(tmp_path / "small")
    process, line = started(small, small)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, line) == (1, "")
    assert "small is the second decoder; a server has one decoder and one encoder" in errors
