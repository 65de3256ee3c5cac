"""A change of the flags is a reason to build everything anew."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import pytest

SETUP = Path(__file__).resolve().parents[2] / "setup.py"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="clang-cl has the same flags for every build")


def test_what_is_older_than_the_last_change_of_flags_is_built_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("Cython")
    monkeypatch.chdir(tmp_path)
    seen = []
    for name, value in [("DEBUG", ""), ("DEBUG", "0"), ("DEBUG", "1"), ("DEBUG", ""), ("SANITIZE", "thread")]:
        monkeypatch.setenv("TOKKIT_SANITIZE", "")
        monkeypatch.setenv(f"TOKKIT_{name}", value)
        path = Path(runpy.run_path(str(SETUP))["stamp"]())
        seen.append(path.stat().st_mtime_ns != 0)
        os.utime(path, ns=(0, 0))
    assert seen == [True, False, True, True, True]
