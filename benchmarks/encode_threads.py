"""Times a whole batch with one thread, two threads, and two processes of one thread; the job is JSON.

The processes share nothing, each has half of the documents: what they reach together is what two CPUs of this machine
give at that moment. Virtual CPUs may be two halves of one core, and neighbours use the memory as well.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import corpora, rivals
from benchmarks.harness import child, differing, ratio, show, timed

TIMEOUT_S = 600.0
KINDS = ("one thread", "two threads", "two processes")


def encode_when_asked(path: Path, documents: list[str], ends: Connection) -> None:
    """Encode the documents each time a message comes, and answer it; an empty message ends this."""
    faces = rivals.tokkit(path)
    while ends.recv_bytes():
        faces.batch(documents, 1)
        ends.send_bytes(b"done")


def job(path: str, corpus: str, mb: float, size: int, runs: int) -> dict[str, Any]:
    """Return {kind: seconds of each run, "differing": documents}, measured in this process and another."""
    documents = corpora.read(corpus, mb).documents(size)
    faces = rivals.tokkit(Path(path))
    right = [faces.encode(document) for document in documents]
    wrong = differing(faces.batch_ids(faces.batch(documents, 2)), right)
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    other = spawn.Process(target=encode_when_asked, args=(Path(path), documents[1::2], there), daemon=True)
    other.start()
    there.close()  # so that the end of the other process is seen here

    def by_processes(_: object) -> None:
        here.send_bytes(b"go")
        faces.batch(documents[::2], 1)
        here.recv_bytes()

    ways: list[Callable[[Any], object]] = [
        lambda texts: faces.batch(texts, 1),
        lambda texts: faces.batch(texts, 2),
        by_processes,
    ]
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for number in range(runs + 1):
        for kind, way in zip(KINDS, ways, strict=True):
            seconds, _ = timed(way, [documents])
            if number:  # before, every thread and process learns the words
                found[kind].append(seconds)
    here.send_bytes(b"")
    other.join()
    return {**found, "differing": wrong}


def run(settings: dict[str, Any]) -> bool:
    """Print the table of one corpus (`settings` are those of `job`); return whether the ids are right."""
    megabytes = corpora.read(settings["corpus"], settings["mb"]).megabytes
    found = child("benchmarks.encode_threads", settings, threads=2, timeout=TIMEOUT_S)
    if "error" in found:
        print(f"# threads: {found['error']}")
        return False
    rows = [
        {
            "": kind,
            "MB/s": f"{megabytes / median(found[kind]):.0f}",
            "× one thread": f"{ratio(found[kind], found['one thread']):.2f}",
            "best × best": f"{min(found['one thread']) / min(found[kind]):.2f}",
            "differing documents": found["differing"] if kind == "two threads" else "-",
        }
        for kind in KINDS
    ]
    show(f"two threads, {settings['corpus']}, {megabytes:.1f} MB, {settings['runs']} runs", rows)
    return not found["differing"]


if __name__ == "__main__":
    print(json.dumps(job(**json.loads(sys.argv[1]))))
