"""Compiles the drivers of tests/core/csrc, which run the C core on texts beside pages that cannot be read."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ROOT

CSRC = ROOT / "tokkit" / "_core" / "csrc"
SOURCES = ("*.c", "files/json_lines.c", "text/*.c", "split/*.c", "encode/*.c", "sentencepiece/*.c")


@pytest.fixture(scope="session")
def compile_driver(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """name of a file in tests/core/csrc → its program; the C core is compiled once for all of them."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if os.name != "posix" or compiler is None:
        pytest.skip("needs a C compiler on Linux or macOS: install one, or name it in CC")
    if not CSRC.is_dir():
        pytest.skip(f"needs the C sources, which a checkout and the sdist have; they are not at {CSRC}")
    made = tmp_path_factory.mktemp("guard")
    # -Og compiles the vector kernels in half the time of -O0. Drivers say what it is to free (guard_free).
    flags = ["-std=c11", "-Og", "-fno-strict-aliasing", "-DTK_CHECKS", "-Dfree=guard_free", f"-I{CSRC}"]

    def run(*arguments: str | Path) -> None:
        done = subprocess.run([compiler, *arguments], cwd=made, capture_output=True, text=True)
        assert not done.returncode, done.stderr

    run(*flags, "-c", *(path for names in SOURCES for path in CSRC.glob(names)))
    core = list(made.glob("*.o"))

    def compile_(name: str) -> Path:
        run(*flags, ROOT / "tests" / "core" / "csrc" / f"{name}.c", *core, "-lm", "-o", made / name)
        return made / name

    return compile_
