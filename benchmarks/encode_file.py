"""Times `encode_file` against encoding the same text in memory; the job is JSON.

A process of its own for each number of threads. What is read lies in the system's page cache, and what is written
goes there: the disk is not measured.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import corpora
from benchmarks.harness import child, ratio, show

TIMEOUT_S = 600.0


def seconds(call: Callable[[], object]) -> float:
    """Return the wall time of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def job(path: str, corpus: str, mb: float, rounds: int, passes: int, threads: int) -> dict[str, Any]:
    """Return seconds of each pass in memory and through files, of a fresh tokenizer a round, and whether ids differ."""
    import tokkit

    times: dict[str, list[float]] = {"memory cold": [], "memory": [], "file cold": [], "file": []}
    differ = False
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "text.txt", Path(folder) / "ids.npy"
        source.write_bytes(corpora.read(corpus, mb).data)
        for _ in range(rounds):
            text = source.read_bytes().decode()
            in_memory, through_file = tokkit.load(path), tokkit.load(path)
            calls = {
                "memory": lambda: in_memory.encode_to_numpy(text, threads=threads),  # noqa: B023 - called this round
                "file": lambda: through_file.encode_file(source, out, threads=threads),  # noqa: B023
            }

            def fresh(call: Callable[[], object]) -> float:
                out.unlink(missing_ok=True)  # a file that is replaced waits for the disk
                return seconds(call)

            for name, call in calls.items():
                times[name + " cold"].append(fresh(call))
            differ |= not np.array_equal(np.load(out), in_memory.encode_to_numpy(text))
            for name, call in calls.items():
                times[name].append(median(fresh(call) for _ in range(passes)))
    return {"times": times, "differ": differ}


def run(settings: dict[str, Any], *, threads: list[int]) -> bool:
    """Print the table of one corpus (`settings` are those of `job`); return whether the ids in the files are right."""
    megabytes = corpora.read(settings["corpus"], settings["mb"]).megabytes
    rows, fine = [], True
    for n in threads:
        found = child("benchmarks.encode_file", {**settings, "threads": n}, threads=n, timeout=TIMEOUT_S)
        if "error" in found:
            print(f"# files with {n} threads: {found['error']}")
            fine = False
            continue
        fine = fine and not found["differ"]
        times = found["times"]
        rows.append(
            {
                "threads": n,
                "file warm MB/s": f"{megabytes / median(times['file']):.1f}",
                "in memory": f"{megabytes / median(times['memory']):.1f}",
                "of that": f"{ratio(times['file'], times['memory']):.2f}",
                "file cold MB/s": f"{megabytes / median(times['file cold']):.1f}",
                "in memory, cold": f"{megabytes / median(times['memory cold']):.1f}",
                "of that, cold": f"{ratio(times['file cold'], times['memory cold']):.2f}",
                "ids": "differ" if found["differ"] else "equal",
            }
        )
    show(f"a file of {settings['corpus']}, {megabytes:.1f} MB, to a .npy file", rows)
    return fine


if __name__ == "__main__":
    print(json.dumps(job(**json.loads(sys.argv[1]))))
