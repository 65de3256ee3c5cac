"""Run the fuzz targets in turn, and print what each covered and found; the exit status is 1 for a finding.

    python tests/fuzz/run.py --seconds 60 [--until-quiet 600] [--target NAME …] [--corpus FOLDER] [--figures FILE]
    python tests/fuzz/run.py --seconds 60 --seed 1 --inputs 500  # the same inputs every time

Targets in C (fuzz_*.c) run under libFuzzer, those in Python (target_*.py) under python_fuzzer.py. An input that
a target fails on is kept in regressions/<target>/, from where tests/project/test_fuzz_replay.py runs it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

from build import HERE, PYTHON_TARGETS, TARGETS, BuildError, build, fuzzing_compiler, input_folders

COVERED = re.compile(r"^#(\d+)\s(.*)\bcov: (\d+)")
MAX_BYTES = 4096
MEGABYTES = 3000
DAY = 86400
C_INPUTS = 100
"""How many inputs a target in C runs for each one of a target in Python."""
INTERRUPTED = 72
"""The exit status of libFuzzer when a signal ends it, as we do when nothing was new: that is no finding."""
COLUMNS = ("target", "inputs", "edges", "quiet for", "findings", "seconds", "inputs/s")


class Result(NamedTuple):
    """What one target did. `quiet`: processor seconds since the last new edge, or since the corpus was read."""

    inputs: int
    edges: int
    quiet: float
    findings: int
    seconds: float
    report: str


def libfuzzer(program: Path, name: str, arguments: argparse.Namespace, kept: Path, findings: Path) -> list[str]:
    dictionary = HERE / "dictionaries" / f"{name}.dict"
    return [
        str(program),
        f"-max_total_time={arguments.seconds}",
        f"-seed={arguments.seed or 0}",  # 0 is any
        f"-runs={arguments.inputs * C_INPUTS if arguments.inputs else -1}",
        f"-max_len={MAX_BYTES}",
        f"-artifact_prefix={findings}/",
        "-timeout=0",  # of wall time; limit_main.c has a limit of processor time
        f"-report_slow_units={DAY}",  # wall time as well
        f"-rss_limit_mb={MEGABYTES}",
        "-print_final_stats=1",
        "-reload=0",
        "-len_control=10",  # most inputs say little before they are some hundred bytes long
        "-entropic=0",  # its weights of inputs take up to half of the time, and find fewer edges in it
        *([f"-dict={dictionary}"] if dictionary.is_file() else []),
        str(kept),
        *(str(folder) for folder in input_folders(name) if folder.is_dir()),
    ]


def python_fuzzer(name: str, arguments: argparse.Namespace, kept: Path, findings: Path) -> list[str]:
    options = [f"--seconds={arguments.seconds}", f"--kept={kept}", f"--findings={findings}"]
    options += [f"--{key}={value}" for key in ("seed", "inputs") if (value := getattr(arguments, key)) is not None]
    return [sys.executable, str(HERE / "python_fuzzer.py"), name, *options]


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process, which other work on the machine does not change; elsewhere wall time."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # no /proc, or the process has just ended
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Watch(threading.Thread):
    """Reads what a fuzzer prints: how many inputs it ran, how many edges they cover, and when one was last new."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        super().__init__(daemon=True)
        self._pid = process.pid
        self._lines = process.stderr
        self.inputs = self.edges = 0
        self.last_new = math.inf  # until it has started and read its corpus, however long that takes
        self.report: list[str] = []

    def run(self) -> None:
        for line in self._lines or ():
            if match := COVERED.match(line):
                edges = int(match[3])
                if (edges != self.edges and self.last_new < math.inf) or "INITED" in match[2]:
                    self.last_new = processor_seconds(self._pid)
                self.inputs, self.edges = int(match[1]), edges
            elif line.startswith("stat::number_of_executed_units"):
                self.inputs = int(line.split()[-1])
            elif not line.startswith(("stat::", "INFO:", "#")) and "NEW_FUNC" not in line:
                self.report.append(line)


def fuzz(command: list[str], quiet: float, findings: Path, current: Path) -> Result:
    """Run one target until its time is over, or nothing was new for `quiet` processor seconds."""
    before = set(findings.iterdir())
    began = time.monotonic()
    used = 0.0
    # Sets of str in one order: with a seed, what an input covers is what it covered the last time.
    env = os.environ | {"PYTHONHASHSEED": "0"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace", env=env) as process:
        watch = Watch(process)
        watch.start()
        while process.poll() is None:
            used = processor_seconds(process.pid)
            if used - watch.last_new > quiet:
                process.terminate()  # both kinds end in order, with their figures
            time.sleep(0.2)
        seconds = time.monotonic() - began
        watch.join()
    if process.returncode < 0 and current.is_file():  # a signal: Python had no time to keep the input
        data = current.read_bytes()
        (findings / f"crash-{hashlib.sha1(data).hexdigest()}").write_bytes(data)
    found = len(set(findings.iterdir()) - before) or int(process.returncode not in (0, INTERRUPTED))
    report = "".join(watch.report[-60:]) if found else ""
    return Result(watch.inputs, watch.edges, max(0.0, used - watch.last_new), found, seconds, report)


def add_figures(file: Path, name: str, done: Result) -> None:
    """Add a run to the figures of all runs: inputs, seconds and findings are sums, the others are of this run."""
    figures = json.loads(file.read_text()) if file.exists() else {}
    had = figures.get(name, {"inputs": 0, "seconds": 0, "findings": 0})
    figures[name] = {
        "inputs": had["inputs"] + done.inputs,
        "edges": done.edges,
        "quiet": round(done.quiet),
        "findings": had["findings"] + done.findings,
        "seconds": had["seconds"] + round(done.seconds),
    }
    file.write_text(json.dumps(figures, indent=1, sort_keys=True))


def built(arguments: argparse.Namespace, temporary: Path) -> dict[str, Path]:
    """Return the programs of the C targets that are asked for; none where no compiler can make them."""
    wanted = [name for name in arguments.target if name in TARGETS]
    compiler = fuzzing_compiler(temporary) if wanted else None
    if compiler is None:
        if wanted:
            print("no clang with libFuzzer and sanitizers is here (CLANG names one): the targets in C are not run")
        return {}
    return build(compiler, arguments.built or temporary, wanted, fuzzer=True)


def run_target(name: str, program: Path | None, arguments: argparse.Namespace, corpus: Path) -> Result:
    """Run one target, by its program if it is one in C."""
    kept, findings = corpus / name, arguments.findings / name
    for folder in (kept, findings):
        folder.mkdir(parents=True, exist_ok=True)
    if program is not None:
        command = libfuzzer(program, name, arguments, kept, findings)
    else:
        command = python_fuzzer(name, arguments, kept, findings)
    done = fuzz(command, arguments.until_quiet, findings, corpus / f"{name}.current")
    if not any(findings.iterdir()):
        findings.rmdir()
    return done


def parsed() -> argparse.Namespace:
    every = [*TARGETS, *PYTHON_TARGETS]
    parser = argparse.ArgumentParser(description="Run the fuzz targets in turn.")
    option = parser.add_argument
    option("--seconds", type=int, default=60, help="for each target; the most, with --until-quiet")
    option("--inputs", type=int, help=f"the most for each target in Python; for one in C, {C_INPUTS} times as many")
    option("--seed", type=int, help="of what is drawn; another each time by default")
    quiet = "end a target after so many processor seconds without a new edge"
    option("--until-quiet", type=float, default=float("inf"), help=quiet)
    option("--target", action="append", choices=every, help="all by default; may be given again")
    option("--part", default="1/1", help="2/3 runs each third of the targets, from the second on")
    option("--corpus", type=Path, help="where inputs are kept that cover more; a folder that goes away")
    option("--findings", type=Path, default=HERE / "regressions", help="where inputs are kept that fail")
    option("--figures", type=Path, help="a file to which the figures of this run are added")
    option("--built", type=Path, help="where programs are built; a folder that goes away")
    arguments = parser.parse_args()
    part, parts = map(int, arguments.part.split("/"))
    arguments.target = (arguments.target or every)[part - 1 :: parts]
    return arguments


def main() -> int:
    arguments = parsed()
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder)
        try:
            programs = built(arguments, temporary)
        except BuildError as error:
            print(error, file=sys.stderr)
            return 2
        print("{:<18}{:>10}{:>8}{:>11}{:>10}{:>9}{:>10}".format(*COLUMNS), flush=True)
        failed = 0
        for name in arguments.target:
            if name in TARGETS and name not in programs:
                continue
            done = run_target(name, programs.get(name), arguments, arguments.corpus or temporary / "corpus")
            numbers = f"{done.inputs:>10}{done.edges:>8}{done.quiet:>10.0f}s{done.findings:>10}{done.seconds:>9.0f}"
            print(f"{name:<18}{numbers}{done.inputs / max(done.seconds, 1e-3):>10.0f}")
            print(done.report, end="", flush=True)
            if arguments.figures:
                add_figures(arguments.figures, name, done)
            failed += done.findings
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
