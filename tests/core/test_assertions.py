"""TK_ASSERT ends the process with its place where it is on, and is not there where it is off."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT

CSRC = ROOT / "tokkit" / "_core" / "csrc"
PROGRAM = """
#include "base.h"
static int evaluated;
static int is_even(int n) { return evaluated++, n % 2 == 0; }
int main(int argc, char **argv) {
    (void)argv;
    TK_ASSERT(is_even(argc + 1));
    TK_ASSERT(is_even(argc));
    return evaluated;
}
"""


def result(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if os.name != "posix" or compiler is None:
        pytest.skip("needs a C compiler on Linux or macOS: install one, or name it in CC")
    (folder / "program.c").write_text(PROGRAM)
    command = [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", *flags, f"-I{CSRC}", "program.c", "-o", "program"]
    subprocess.run(command, cwd=folder, check=True)
    return subprocess.run([folder / "program"], capture_output=True, text=True)


def test_an_assertion_that_does_not_hold_ends_the_process(tmp_path: Path) -> None:
    done = result(tmp_path, "-DTK_CHECKS")
    assert done.returncode == -signal.SIGABRT
    assert done.stderr == "program.c:8: TK_ASSERT(is_even(argc)) does not hold\n"


def test_an_assertion_that_is_off_evaluates_nothing(tmp_path: Path) -> None:
    done = result(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_core_states_what_must_hold() -> None:
    rooms: dict[str, int] = {}
    for path in CSRC.rglob("*.[ch]"):
        found = len(re.findall(r"^\s+TK_ASSERT\(", path.read_text(), re.MULTILINE))
        room = path.relative_to(CSRC).parts[0]
        rooms[room] = rooms.get(room, 0) + found
    assert sum(rooms.values()) >= 300
    assert min(rooms[room] for room in ("embed", "grammars", "nn", "split", "text", "train")) >= 25
