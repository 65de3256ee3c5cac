"""Modules that have moved are found by their old names, with a warning."""

from __future__ import annotations

import importlib
import sys

import pytest

import tokkit
from tokkit.moved import MOVED, RENAMED


@pytest.mark.parametrize("old", MOVED)
def test_a_module_that_has_moved_is_found_by_its_old_name(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(DeprecationWarning, match=f"{old} is {MOVED[old]} now") as told:
        exec(compile(f"import {old}", __file__, "exec"))
    assert told[0].filename == __file__, "the warning names the line that imports"
    found = sys.modules[old]
    new = importlib.import_module(MOVED[old])
    names = [name for name in dir(found) if not name.startswith("__")]
    assert names
    assert all(getattr(found, name) is getattr(new, name) for name in names)


@pytest.mark.filterwarnings("ignore:.* now:DeprecationWarning")
@pytest.mark.parametrize("old", RENAMED)
def test_what_has_another_name_in_a_module_that_has_moved_is_found_there_by_its_old_one(old: str) -> None:
    new = importlib.import_module(MOVED[old])
    for name, now in RENAMED[old].items():
        assert getattr(importlib.import_module(old), name) is getattr(new, now)


def test_a_name_that_never_was_is_no_module() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("tokkit.nothing")
    assert tokkit.Encoding.__module__.startswith("tokkit.encoding")
