"""No files of the core include one another in a circle: a header and the .c of its name are one module."""

from __future__ import annotations

import graphlib
import re

from conftest import ROOT

CSRC = ROOT / "tokkit" / "_core" / "csrc"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)\.h"', re.MULTILINE)
KERNEL_TABLES = ("nn/", "embed/")
"""Their tables of kernels include the types that kernels take, and what calls a kernel includes the table."""
MERGES = ("encode/bpe_",)


def includes() -> dict[str, set[str]]:
    """Which modules each includes; a header that includes itself by other macros is no circle."""
    found: dict[str, set[str]] = {}
    for path in CSRC.rglob("*.[ch]"):
        module = path.relative_to(CSRC).with_suffix("").as_posix()
        found.setdefault(module, set()).update(set(INCLUDE.findall(path.read_text(encoding="utf-8"))) - {module})
    return found


def test_no_c_files_include_one_another_in_a_circle() -> None:
    known = {name: names for name, names in includes().items() if not name.startswith((*KERNEL_TABLES, *MERGES))}
    assert len(known) > 80
    graphlib.TopologicalSorter(known).prepare()  # CycleError names a circle


def test_text_knows_nothing_of_split() -> None:
    names = {name for module, names in includes().items() if module.startswith("text/") for name in names}
    assert names
    assert not [name for name in names if name.startswith("split/")]
