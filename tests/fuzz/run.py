"""Seconds in, each fuzz target run for so long, with what it covered and found; 1 is the exit status of a finding.

    python tests/fuzz/run.py --seconds 60 [--target NAME …] [--corpus FOLDER]

An input that a target falls over is kept in regressions/<target>/, from where tests/test_fuzz_replay.py runs it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from build import HERE, TARGETS, BuildError, build, fuzzing_compiler

COVERED = re.compile(r"^#(\d+)\s.*\bcov: (\d+)")
LAST_PART = 0.25  # of the time: edges that are new in it say that more time would find more
MOST_BYTES = 4096
COLUMNS = ("target", "inputs", "edges", "new at the end", "findings", "seconds", "inputs/s")


class Result(NamedTuple):
    inputs: int
    edges: int
    new_edges: int
    findings: int
    seconds: float
    report: str


def options(name: str, seconds: int, corpus: Path, findings: Path) -> list[str]:
    dictionary = HERE / f"{name}.dict"
    return [
        f"-max_total_time={seconds}",
        f"-max_len={MOST_BYTES}",
        f"-artifact_prefix={findings}/",
        "-timeout=20",
        "-report_slow_units=20",
        "-rss_limit_mb=3000",
        "-print_final_stats=1",
        "-reload=0",
        "-len_control=10",  # most inputs say little before they are some hundred bytes long
        *([f"-dict={dictionary}"] if dictionary.is_file() else []),
        str(corpus),
        *(str(folder) for folder in (HERE / "seeds" / name, HERE / "regressions" / name) if folder.is_dir()),
    ]


def fuzz(program: Path, name: str, seconds: int, corpus: Path) -> Result:
    """Run one target; what it falls over goes to its regressions."""
    findings, kept = HERE / "regressions" / name, corpus / name
    findings.mkdir(parents=True, exist_ok=True)
    kept.mkdir(parents=True, exist_ok=True)
    before = set(findings.iterdir())
    began, edges, early, inputs, report = time.monotonic(), 0, 0, 0, []
    with subprocess.Popen(
        [program, *options(name, seconds, kept, findings)], stderr=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if match := COVERED.match(line):
                inputs, edges = int(match[1]), int(match[2])
                if time.monotonic() - began < seconds * (1 - LAST_PART):
                    early = edges
            elif line.startswith("stat::number_of_executed_units"):
                inputs = int(line.split()[-1])
            elif not line.startswith(("stat::", "INFO:", "#")) and "NEW_FUNC" not in line:
                report.append(line)
    found = set(findings.iterdir()) - before
    if not any(findings.iterdir()):
        findings.rmdir()
    failed = len(found) or int(process.returncode != 0)
    took = time.monotonic() - began
    return Result(inputs, edges, edges - early, failed, took, "".join(report[-60:]) if failed else "")


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the fuzz targets in turn.")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--target", action="append", choices=TARGETS, help="all by default; may be given again")
    parser.add_argument("--corpus", type=Path, help="where inputs are kept that cover more; a folder that goes away")
    parser.add_argument("--built", type=Path, help="where programs are built; a folder that goes away")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder)
        compiler = fuzzing_compiler(temporary)
        if compiler is None:
            print("no clang with libFuzzer and sanitizers is here (CLANG names one): nothing was run")
            return 0
        names = arguments.target or TARGETS
        try:
            programs = build(compiler, arguments.built or temporary, names, fuzzer=True)
        except BuildError as error:
            print(error, file=sys.stderr)
            return 2
        print("{:<16}{:>10}{:>8}{:>16}{:>10}{:>9}{:>10}".format(*COLUMNS), flush=True)
        failed = 0
        for name in names:
            done = fuzz(programs[name], name, arguments.seconds, arguments.corpus or temporary / "corpus")
            numbers = f"{done.edges:>8}{done.new_edges:>16}{done.findings:>10}{done.seconds:>9.0f}"
            print(f"{name:<16}{done.inputs:>10}{numbers}{done.inputs / max(done.seconds, 1e-3):>10.0f}")
            print(done.report, end="", flush=True)
            failed += done.findings
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
