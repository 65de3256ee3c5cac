"""Run one target that is written in Python: change inputs, keep those that take new edges of tokkit, report what fails.

    python tests/fuzz/python_fuzzer.py NAME --seconds 60 --kept FOLDER --findings FOLDER
    python tests/fuzz/python_fuzzer.py NAME … --replay

A target is a module target_NAME with `check(data)`, which raises what is wrong, and `CHANGE` (see mutate.py). It may
name DICTIONARIES besides its own. What it prints is what libFuzzer prints, as run.py reads it. Failures in one place
are one finding, kept once. An input that takes more than SECONDS_AN_INPUT ends the process by a signal, and one that
takes more memory than MEGABYTES fails.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import hashlib
import importlib
import logging
import math
import os
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

# The targets, and what the tests share: PYTHONSAFEPATH, as the tests set it, leaves out even our own folder.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import tokkit
from build import HERE, SECONDS_AN_INPUT, inputs
from edges import Edges
from mutate import words_of
from tokkit import limits

try:
    import resource
except ModuleNotFoundError:  # Windows: memory is not bounded there
    resource = None  # type: ignore[assignment]

PACKAGE = str(Path(tokkit.__file__).parent)
SECONDS_TO_WAIT = 3600
"""The wall time after which an input is ended that waits and does not work."""
MEGABYTES = 2048
MAX_BYTES = 1 << 15
MEMORY_FOLDER = "/dev/shm"
LIMITS = {
    "pattern_seconds": 0.2,
    "grown_bytes": 1 << 20,
    "file_bytes": 1 << 20,
    "held_bytes": 1 << 20,
    "padded_tokens": 1 << 16,
    "template_steps": 20_000,
}
"""Limits below the usual ones, so that an input reaches them in little time."""


def bound_process() -> None:
    """Give the process so much more memory than it has, and let what takes too long end it with a traceback."""
    warnings.simplefilter("ignore")
    logging.disable()
    if os.access(MEMORY_FOLDER, os.W_OK):  # files are written with fsync, which takes a third of the time on a disk
        tempfile.tempdir = MEMORY_FOLDER
    limits.set_defaults(**LIMITS)
    if resource is not None and sys.platform == "linux":
        has = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (has + (MEGABYTES << 20),) * 2)
    faulthandler.enable()
    if hasattr(signal, "setitimer"):
        faulthandler.register(signal.SIGPROF, chain=True)
        faulthandler.register(signal.SIGALRM, chain=True)


@contextlib.contextmanager
def bounded_time() -> Iterator[None]:
    """End the process by a signal if what is done within takes too long; a hang in C is ended as well."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    signal.setitimer(signal.ITIMER_PROF, SECONDS_AN_INPUT)
    signal.alarm(SECONDS_TO_WAIT)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.alarm(0)


def where(error: BaseException) -> str:
    """The kind of an error and the innermost lines of tokkit and of the target that it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if frame.filename.startswith((PACKAGE, str(HERE)))] or frames
    return " ".join([type(error).__name__, *(f"{Path(frame.filename).name}:{frame.lineno}" for frame in inside[-2:])])


class Fuzzer:
    """Changes inputs of one target, and keeps those that take new edges."""

    def __init__(self, name: str, target: ModuleType, kept: Path, findings: Path, seed: int | None) -> None:
        self.target, self.kept, self.findings = target, kept, findings
        dictionaries = (name, *getattr(target, "DICTIONARIES", ()))
        self.words = [word for each in dictionaries for word in words_of(HERE / "dictionaries" / f"{each}.dict")]
        self.rng = random.Random(seed)
        self.edges = Edges(PACKAGE)
        self.corpus: list[bytes] = []
        self.n = 0
        self.failures: set[str] = set()
        # Open all the time: to close a file is to write it to the disk, which takes half of the time.
        self.current = open(kept.parent / f"{name}.current", "wb", buffering=0)  # noqa: SIM115

    def say(self, what: str) -> None:
        print(f"#{self.n}\t{what} cov: {self.edges.count} corp: {len(self.corpus)}", file=sys.stderr, flush=True)

    def run(self, data: bytes) -> int:
        """Run one input and return how many new edges it took; a failure is kept if it is the first in its place."""
        self.n += 1
        if not self.n & (self.n - 1):
            self.say("pulse")
        self.current.seek(0)
        self.current.write(data)
        self.current.truncate()
        failure: list[Exception] = []

        def check() -> None:
            try:
                self.target.check(data)
            except Exception as error:
                failure.append(error)

        with bounded_time():
            new = self.edges.run(check)
        for error in failure:
            place = where(error)
            if place not in self.failures:
                self.failures.add(place)
                path = self.findings / f"crash-{hashlib.sha1(data).hexdigest()}"
                path.write_bytes(data)
                text = "".join(traceback.format_exception(error))
                print(f"{place}: kept as {path.name}\n{text[-4000:]}", file=sys.stderr, flush=True)
        return new

    def run_and_keep(self, data: bytes) -> None:
        """Run one input, and keep it if it takes new edges."""
        if self.run(data):
            self.corpus.append(data)
            (self.kept / hashlib.sha1(data).hexdigest()).write_bytes(data)
            self.say("NEW")

    def load(self, paths: list[Path]) -> None:
        """Run the inputs that there are, and keep those that cover something the others do not."""
        for path in sorted(paths, key=lambda path: path.stat().st_size):
            data = path.read_bytes()
            if self.run(data) or not self.corpus:
                self.corpus.append(data)
        self.say("INITED")

    def changed(self) -> bytes:
        """Return a new input: inputs found of late are changed more often than the first."""
        rng, corpus = self.rng, self.corpus
        recent = corpus[-1 - int(len(corpus) * rng.random() ** 2 * 0.999)]
        data = rng.choice((rng.choice(corpus), recent))
        return self.target.CHANGE(rng, data, rng.choice(corpus), self.words)[:MAX_BYTES]

    def fuzz(self, seconds: float, inputs: float) -> None:
        """Go on until the time is over, so many inputs were run, or a signal says so."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.n < inputs:
            self.run_and_keep(self.changed())
        self.over()

    def over(self) -> None:
        """Say the figures."""
        self.current.close()
        Path(self.current.name).unlink(missing_ok=True)
        self.say("DONE")
        print(f"stat::number_of_executed_units: {self.n}", file=sys.stderr, flush=True)


def replay(names: list[str]) -> int:
    """Run the seeds and regressions of targets; 1 if any failed."""
    failed = 0
    for name in names:
        target = importlib.import_module(f"target_{name}")
        for path in inputs(name):
            try:
                with bounded_time():
                    target.check(path.read_bytes())
            except Exception:
                failed = 1
                print(f"{path.relative_to(HERE)}:\n{traceback.format_exc()[-3000:]}", file=sys.stderr)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description="Run a fuzz target that is written in Python.")
    parser.add_argument("names", nargs="+")
    parser.add_argument("--replay", action="store_true", help="run the seeds and regressions, and nothing else")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--inputs", type=float, default=math.inf, help="the most")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--kept", type=Path, help="where inputs are kept that cover more")
    parser.add_argument("--findings", type=Path, help="where inputs are kept that fail")
    arguments = parser.parse_args()
    bound_process()
    if arguments.replay:
        return replay(arguments.names)
    (name,) = arguments.names
    fuzzer = Fuzzer(name, importlib.import_module(f"target_{name}"), arguments.kept, arguments.findings, arguments.seed)

    def ended(*_: Any) -> None:
        # Whatever runs at this moment is not waited for.
        fuzzer.edges.stop()
        fuzzer.over()
        os._exit(bool(fuzzer.failures))

    signal.signal(signal.SIGTERM, ended)
    fuzzer.load([*inputs(name), *arguments.kept.glob("*")])
    fuzzer.fuzz(arguments.seconds, arguments.inputs)
    return bool(fuzzer.failures)


if __name__ == "__main__":
    sys.exit(main())
