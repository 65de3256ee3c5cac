"""Imports a package that '.[test]' leaves out; if it is absent, the test skips.

Files that import this module are marked `parity`. `.ci/run` installs all such packages and runs these files with
TOKKIT_EXTRAS=1: a package that is absent is a failure then.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any, NoReturn

import pytest

ALL_ARE_HERE = os.environ.get("TOKKIT_EXTRAS", "") not in ("", "0")


def extra(name: str, *, minversion: str | None = None) -> Any:
    """Import a module; without it, or with an older one, skip."""
    try:
        return pytest.importorskip(name, minversion=minversion, exc_type=ImportError)
    except pytest.skip.Exception as skipped:
        _absent(str(skipped))


def folder_of(package: str) -> Path:
    """Return where a package is, which is not imported; without it, skip."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        _absent(f"{package.replace('_', '-')} is not installed")
    return Path(spec.origin).parent


def _absent(why: str) -> NoReturn:
    if ALL_ARE_HERE:
        pytest.fail(f"{why}; TOKKIT_EXTRAS says that all extras are")
    pytest.skip(f"{why} (an extra)", allow_module_level=True)
