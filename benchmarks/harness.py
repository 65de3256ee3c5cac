"""Shared by all benchmarks: timing, conditions, medians, ratios and tables."""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpora import ROOT

PACKAGES = {
    "tokkit": "tokkit", "tiktoken": "tiktoken", "tokenizers": "tokenizers", "gigatoken": "gigatoken",
    "quicktok": "quicktok-v1", "toktok": "toktok-rs", "nanotoken": "nanotoken", "gigabpe": "gigabpe", "numpy": "numpy",
}  # fmt: skip
"""Import name → name in the package index."""

ALLOWED = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
"""The CPUs of this process before anything was pinned; empty where the system cannot tell."""

ENOUGH_S = 2.0
"""No further warm pass of a round begins once a contender has had this many seconds."""


def thread_settings(threads: int) -> dict[str, str]:
    """Return the environment that holds every contender to `threads`; read by the Rust pools when they first start."""
    return {
        "RAYON_NUM_THREADS": str(threads),
        "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
        "TOKKIT_NUM_THREADS": str(threads),
    }


@contextmanager
def pinned(threads: int) -> Iterator[None]:
    """Keep this process, and the children it starts, on the first `threads` CPUs and to as many threads."""
    settings = thread_settings(threads)
    before = {name: os.environ.get(name) for name in settings}
    cpus = os.sched_getaffinity(0) if ALLOWED else set()
    os.environ.update(settings)
    if ALLOWED:
        os.sched_setaffinity(0, ALLOWED[:threads])
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
        if ALLOWED:
            os.sched_setaffinity(0, cpus)


def show_conditions(threads: str, **more: object) -> None:
    """Print the lines that a figure means nothing without, and note them."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    lines = {
        "versions": ", ".join([f"Python {platform.python_version()}", *(version(name) for name in PACKAGES)]),
        "CPU": f"{_cpu()}, {len(ALLOWED) or os.cpu_count()} for this process, load average {load} at the start",
        "ISA": f"TOKKIT_ISA={os.environ.get('TOKKIT_ISA') or '(unset)'}; the CPU has {_isa()}",
        "threads": threads,
        "clock": _results.clock,
        **more,
    }
    _results.conditions.update({key: str(value) for key, value in lines.items()})
    print("\n".join(f"# {key}: {value}" for key, value in lines.items()), flush=True)


def version(name: str) -> str:
    """Return the name and version of a package that is imported by `name`."""
    try:
        if name == "tokkit":
            # What is measured may be a tree built in place, which has no metadata, or another's.
            return f"tokkit {importlib.import_module('tokkit.version').__version__}"
        return f"{name} {importlib.metadata.version(PACKAGES.get(name, name))}"
    except ImportError:
        return f"{name} (not installed)"


def _cpuinfo(key: str) -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.split(":")[0].strip() == key), "")


def _cpu() -> str:
    family, model = _cpuinfo("cpu family"), _cpuinfo("model")
    name = _cpuinfo("model name") or platform.processor() or platform.machine()
    return f"{name} (family {family}, model {model})" if family else name


def _isa() -> str:
    flags = _cpuinfo("flags").split()
    return (
        ", ".join(flag for flag in ("sse4_2", "avx2", "avx512bw", "avx512_vbmi2") if flag in flags) or "flags unknown"
    )


CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
"""What time is: "cpu", the processor time of this process, leaves out what others take on a shared machine."""


def now() -> float:
    """Return the seconds of the clock that `--clock` names."""
    return CLOCKS[_results.clock]()


def timed(call: Callable[[Any], object], documents: Iterable[Any]) -> tuple[float, list[Any]]:
    """Return (seconds, results) of `call` on each document. Results are kept, as a user would keep them."""
    start = now()
    results = [call(document) for document in documents]
    return now() - start, results


def per_call(call: Callable[[Any], object], argument: object, *, runs: int, seconds: float = 0.02) -> float:
    """Return the median over `runs` of the seconds that one call takes, each run some `seconds` long."""
    once = timed(call, [argument])[0]
    arguments = [argument] * max(1, min(100_000, int(seconds / max(once, 1e-7))))
    return statistics.median(_loop(call, arguments) / len(arguments) for _ in range(runs))


def _loop(call: Callable[[Any], object], arguments: Sequence[object]) -> float:
    start = now()
    for argument in arguments:
        call(argument)
    return now() - start


@dataclass
class Timing:
    """Seconds of one contender, one entry a round: loading, first pass of a fresh tokenizer, median of later passes.

    `new` is what all documents would take at the speed of the second half in a tokenizer that has encoded the first.
    """

    load: list[float] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    new: list[float] = field(default_factory=list)

    def round(
        self, make: Callable[[], Callable[[Any], object]], fresh: Callable[[], Sequence[Any]], passes: int
    ) -> None:
        """Time one round: `make` a fresh tokenizer, call it on `fresh` documents once (cold), then again (warm).

        Of two documents and more, another tokenizer encodes the first half, and then the second (new).
        """
        documents = fresh()
        start = now()
        call = make()
        self.load.append(now() - start)
        self.cold.append(timed(call, documents)[0])
        later: list[float] = []
        while len(later) < passes and sum(later) < ENOUGH_S:
            later.append(timed(call, documents)[0])
        self.warm.append(statistics.median(later))
        documents = fresh()
        half = len(documents) // 2
        if half:
            call = make()
            timed(call, documents[:half])
            share = sum(map(len, documents[half:])) / sum(map(len, documents))
            self.new.append(timed(call, documents[half:])[0] / share)


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the median over the rounds of theirs / ours: how many times faster we are in the same minute.

    >>> ratio([1.0, 2.0, 1.0], [8.0, 17.0, 9.0])
    8.5
    """
    return statistics.median(b / a for a, b in zip(ours, theirs, strict=True))


def spread(seconds: Sequence[float]) -> str:
    """Return by how much the rounds differ: (greatest - least) / median."""
    return f"{(max(seconds) - min(seconds)) / statistics.median(seconds):.0%}"


def differing(results: Sequence[Any], reference: Sequence[Any]) -> int:
    """Return in how many documents the ids differ."""
    pairs = zip(results, reference, strict=True)
    return sum(not np.array_equal(np.asarray(a, dtype=np.int64), np.asarray(b, dtype=np.int64)) for a, b in pairs)


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Return the rows (column → cell; all have the columns of the first) with their columns in line."""
    if not rows:
        return "(no figures)"
    cells = [[str(name) for name in rows[0]], *([str(row[name]) for name in rows[0]] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    lines = [
        "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True)))
        for line in cells
    ]
    return "\n".join(line.rstrip() for line in lines)


def section(name: str, notes: Sequence[str] = ()) -> None:
    """Print what the tables that follow are of, and notes below it."""
    _results.section = name
    print("\n".join([f"\n# {name}", *notes]), flush=True)


def show(title: str, rows: Sequence[Mapping[str, object]], notes: Sequence[str] = ()) -> None:
    """Print a table under its title, and write it to the file that `--json` names."""
    print("\n".join(["", *([f"## {title}"] if title else []), *notes, table(rows)]), flush=True)
    cells = [{name: str(cell) for name, cell in row.items()} for row in rows]
    _results.tables.append({"section": _results.section, "title": title, "rows": cells})
    _results.write()


@dataclass
class Results:
    """What a program has printed, for `--json`: conditions, and tables with the cells as they were shown."""

    path: Path | None = None
    section: str = ""
    clock: str = "wall"
    conditions: dict[str, str] = field(default_factory=dict)
    tables: list[dict[str, Any]] = field(default_factory=list)

    def write(self) -> None:
        """Write the file anew: a run that is broken off keeps the tables that it has shown."""
        if self.path is not None:
            found = {"program": Path(sys.argv[0]).stem, "conditions": self.conditions, "tables": self.tables}
            self.path.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


_results = Results()


def child(module: str, job: Mapping[str, object], *, threads: int, timeout: float) -> dict[str, Any]:
    """Run `python -m module JOB` as a process of its own and return the JSON object that its last line holds.

    Adds "started" (time.time() before the start). A crash or the timeout gives {"error": reason}.
    """
    command = [sys.executable, "-m", module, json.dumps(job)]
    started = time.time()
    with pinned(threads):
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return {"error": f"over {timeout:.0f} s"}
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        return {"error": f"exit status {done.returncode}: {last[:200]}"}
    return {"started": started, **json.loads(done.stdout.strip().splitlines()[-1])}


def names(text: str) -> list[str]:
    """Read an option such as `a,b`."""
    return [name for name in text.split(",") if name]


class Parser(argparse.ArgumentParser):
    """A parser whose help shows the defaults, that has `--clock` and `--json`, and that can refuse unknown names."""

    def __init__(self, description: str | None) -> None:
        super().__init__(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
        self.add_argument("--clock", choices=CLOCKS, default="wall", help="what time is, but in processes of their own")
        self.add_argument("--json", type=Path, metavar="FILE", help="write conditions and tables to a file, too")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the options, after taking note of where results are written."""
        found = super().parse_args(args, namespace)
        _results.path, _results.clock = found.json, found.clock
        return found

    def known(self, what: str, given: Iterable[str], there_are: Iterable[str]) -> None:
        """End the program with status 2 where something given is not known."""
        if unknown := sorted({*given}.difference(there_are)):
            self.error(f"unknown {what} {', '.join(unknown)}; there are {', '.join(there_are)}")
