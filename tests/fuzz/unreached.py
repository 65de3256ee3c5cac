"""Print the lines of tokkit that no input of a target reaches, and the branches that all take the same way.

    python tests/fuzz/unreached.py NAME [--kept FOLDER] [PART …]

It runs the seeds and regressions of a target, and the inputs in the folder that --kept names: `run.py --corpus CORPUS`
leaves them in CORPUS/NAME. It looks at functions that some input calls; with PARTs, only at files whose path below
tokkit has one of them. What it prints shows which seeds and which words of the dictionary the target lacks. Python 3.12
or later is needed.
"""

from __future__ import annotations

import argparse
import importlib
import linecache
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))  # which PYTHONSAFEPATH leaves out

from python_fuzzer import PACKAGE, bound_process, bounded_time  # isort: skip  # puts tests on the path
from build import inputs
from edges import MonitoredEdges


class Reached(MonitoredEdges):
    """The edges taken, with the lines they begin at and the branches of which both ways were taken."""

    def __init__(self, folder: str) -> None:
        self._lines: set[tuple[int, int]] = set()
        self._forked: set[tuple[int, int]] = set()
        super().__init__(folder)

    def _line(self, code: CodeType, line: int) -> Any:
        if code.co_filename.startswith(self._folder):  # others may be freed, and their addresses used again
            self._lines.add((id(code), line))
        return super()._line(code, line)

    def _branch(self, code: CodeType, place: int, to: int) -> Any:
        known = (id(code), place) in self._first_way
        said = super()._branch(code, place, to)
        if known and said is self._monitoring.DISABLE:
            self._forked.add((id(code), place))
        return said

    def functions(self) -> list[CodeType]:
        """Return the code of the functions called, by file and line."""
        called = (code for code in self._held.values() if code.co_name != "<module>")
        return sorted(called, key=lambda code: (code.co_filename, code.co_firstlineno))

    def unreached(self, code: CodeType) -> list[int]:
        """Return the lines of a function that were not reached."""
        lines = {line for *_, line in code.co_lines() if line and line != code.co_firstlineno}
        return sorted(line for line in lines if (id(code), line) not in self._lines)

    def one_way(self, code: CodeType) -> list[tuple[int, int]]:
        """Return the line of each branch of which one way was taken, and the line that it leads to."""
        lines = [position[0] or code.co_firstlineno for position in code.co_positions()]
        taken = self._first_way.items()
        ways = ((at[1], to) for at, to in taken if at[0] == id(code) and at not in self._forked)
        return sorted((lines[place // 2], lines[to // 2]) for place, to in ways)


def run(check: Callable[[bytes], object], paths: list[Path]) -> Reached:
    """Run inputs and return what they reached; one that fails is named, and the others are run."""
    reached = Reached(PACKAGE)
    for path in paths:
        try:
            with bounded_time():
                check(path.read_bytes())
        except Exception as error:
            print(f"{path}: {type(error).__name__}: {error}", file=sys.stderr)
    reached.stop()
    return reached


def report(reached: Reached, parts: list[str]) -> Iterator[str]:
    for code in reached.functions():
        path = os.path.relpath(code.co_filename, PACKAGE)
        missing, ways = reached.unreached(code), reached.one_way(code)
        if not (missing or ways) or (parts and not any(part in path for part in parts)):
            continue
        yield f"{path}: {code.co_qualname}"  # type: ignore[attr-defined, unused-ignore]
        places = [(line, f"{line}") for line in missing] + [(line, f"{line}, always to {to}") for line, to in ways]
        yield from (f"  {place}: {linecache.getline(code.co_filename, line).strip()}" for line, place in places)


def main() -> int:
    parser = argparse.ArgumentParser(description="Print the lines and branches that no input of a target takes.")
    parser.add_argument("name", help="a target in Python")
    parser.add_argument("parts", nargs="*", metavar="PART", help="part of the path of a file of tokkit")
    parser.add_argument("--kept", type=Path, help="a folder of further inputs")
    arguments = parser.parse_intermixed_args()
    if sys.version_info < (3, 12):
        parser.error("Python 3.12 or later is needed, which has sys.monitoring")
    bound_process()
    target = importlib.import_module(f"target_{arguments.name}")
    paths = [*inputs(arguments.name), *(sorted(arguments.kept.glob("*")) if arguments.kept else ())]
    for text in report(run(target.check, paths), arguments.parts):
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
