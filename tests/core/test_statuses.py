"""The statuses of the core are one enum, in base.h, and Cython takes them from one place."""

from __future__ import annotations

import re
from pathlib import Path

CORE = Path(__file__).resolve().parents[2] / "tokkit" / "_core"
ENUM = re.compile(r"\benum\b(?:\s+\w+)?\s*\{(.*?)\}", re.DOTALL)
NO_STATUS = {"TK_NO_TOKEN"}  # an id
VALUE = re.compile(r"\b(TK_\w+)\s*=\s*(-?\d+)\b")


def without_comments(source: str) -> str:
    return re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL)


def statuses() -> dict[str, int]:
    source = without_comments((CORE / "csrc" / "base.h").read_text())
    found = re.search(r"enum tk_status \{(.*?)\}", source, re.DOTALL)
    assert found
    return {name: int(value) for name, value in VALUE.findall(found[1])}


def test_statuses_have_distinct_values_and_0_is_success() -> None:
    found = statuses()
    assert found["TK_OK"] == 0
    assert len(set(found.values())) == len(found) >= 8


def test_no_other_enum_has_negative_values() -> None:
    wrong = [
        f"{path.relative_to(CORE)}: {name}"
        for path in sorted((CORE / "csrc").rglob("*.[ch]"))
        for body in ENUM.findall(without_comments(path.read_text()))
        for name, value in VALUE.findall(body)
        if int(value) < 0 and name not in {*statuses(), *NO_STATUS}
    ]
    assert not wrong


def test_only_base_pxd_declares_statuses() -> None:
    declared = re.compile(rf"^ +(?:int|enum:?) .*\b({'|'.join(statuses())})\b", re.MULTILINE)
    found = {path.name for path in CORE.rglob("*.p[xy]*") if declared.search(path.read_text())}
    assert found == {"base.pxd"}
