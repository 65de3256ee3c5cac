"""Times whole batches, in a process of its own for each number of threads; the job is JSON on stdin.

The Rust pools take their size when they first start, so one process cannot measure two.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import corpora, rivals
from benchmarks.harness import Timing, child, differing, ratio, show

TIMEOUT_S = 600.0


def job(
    path: str, contenders: list[str], corpus: str, mb: float, size: int, rounds: int, passes: int, threads: int
) -> dict[str, Any]:
    """Return name → {"cold", "warm": seconds a round, "differing": documents}, measured in this process."""
    makers, _ = rivals.contenders(contenders, Path(path))
    text = corpora.read(corpus, mb)
    right = [makers[rivals.reference([*makers])]().encode(document) for document in text.documents(size)]
    timings = {name: Timing() for name in makers}
    wrong = {}
    for name, make in makers.items():
        faces = make()
        wrong[name] = differing(faces.batch_ids(faces.batch(text.documents(size), threads)), right)
    for _ in range(rounds):
        for name, make in makers.items():

            def whole(make: Any = make) -> Any:
                faces = make()
                return lambda batch: faces.batch(batch, threads)

            timings[name].round(whole, lambda: [text.documents(size)], passes)
    return {name: {"cold": t.cold, "warm": t.warm, "differing": wrong[name]} for name, t in timings.items()}


def run(settings: dict[str, Any], *, threads: list[int]) -> bool:
    """Print the table of one corpus (`settings` are those of `job`); return whether tokkit's ids are right."""
    megabytes = corpora.read(settings["corpus"], settings["mb"]).megabytes
    rows = []
    fine = True
    for n in threads:
        found = child("benchmarks.encode_batch", {**settings, "threads": n}, threads=n, timeout=TIMEOUT_S)
        found.pop("started", None)
        if "error" in found:
            print(f"# batches with {n} threads: {found['error']}")
            fine = False
            continue
        ours = found.get("tokkit")
        fine = fine and not (ours and ours["differing"])
        for name, t in found.items():
            rows.append(
                {
                    "": name,
                    "threads": n,
                    "warm MB/s": f"{megabytes / median(t['warm']):.1f}",
                    "cold MB/s": f"{megabytes / median(t['cold']):.1f}",
                    "tokkit × warm": f"{ratio(ours['warm'], t['warm']):.2f}" if ours else "-",
                    "tokkit × cold": f"{ratio(ours['cold'], t['cold']):.2f}" if ours else "-",
                    "differing documents": t["differing"],
                }
            )
    show(f"batches of {settings['corpus']}, {megabytes:.1f} MB in one call", rows)
    return fine


if __name__ == "__main__":
    print(json.dumps(job(**json.loads(sys.argv[1]))))
