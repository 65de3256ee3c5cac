"""Times one long pretoken against normal text, first pass against first pass; the job is JSON.

A process of its own for each contender and piece: some need minutes for a megabyte of one letter, or crash.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import corpora, rivals
from benchmarks.harness import child, ratio, show, timed

PIECES = {"letter a": "a", "^": "^", "spaces": " ", "combining marks": "\u0301"}


def piece(kind: str, mb: float) -> str:
    """Return a new str of `mb` megabytes of UTF-8: one character again and again."""
    return PIECES[kind] * int(mb * 1e6 / len(PIECES[kind].encode()))


def job(path: str, contender: str, kind: str, corpus: str, mb: float, rounds: int) -> dict[str, Any]:
    """Return seconds per byte of normal text and of the piece, a fresh tokenizer each time, and a digest of the ids."""
    normal: list[float] = []
    long: list[float] = []
    digest = ""
    for _ in range(rounds):
        for text, times in ((corpora.read(corpus, mb).data.decode(), normal), (piece(kind, mb), long)):
            seconds, ids = timed(rivals.ALL[contender](Path(path)).encode, [text])
            times.append(seconds / len(text.encode()))
        digest = hashlib.sha256(np.asarray(ids[0], dtype=np.uint32).tobytes()).hexdigest()
    return {"normal": normal, "long": long, "digest": digest}


def run(settings: dict[str, Any], contenders: list[str], *, timeout: float) -> bool:
    """Print the table (`settings` are those of `job`); return whether tokkit's ids are those of the reference."""
    rows, lines, fine = [], [], True
    for kind in PIECES:
        digests: dict[str, str] = {}
        for name in contenders:
            found = child(
                "benchmarks.encode_long", {**settings, "contender": name, "kind": kind}, threads=1, timeout=timeout
            )
            if "error" in found:
                lines.append(f"# {name}, {kind}: {found['error']}")
                fine = fine and name != "tokkit"
                continue
            digests[name] = found["digest"]
            rows.append(
                {
                    "": kind,
                    "contender": name,
                    "ns/byte": f"{median(found['long']) * 1e9:.1f}",
                    "normal text": f"{median(found['normal']) * 1e9:.1f}",
                    "× normal": f"{ratio(found['normal'], found['long']):.2f}",
                    "ids": "",
                }
            )
        if digests:
            right = rivals.reference([*digests])
            for row in rows:
                if row[""] == kind:
                    equal = digests[str(row["contender"])] == digests[right]
                    row["ids"] = f"as {right}" if equal else f"differ from {right}"
                    fine = fine and (equal or row["contender"] != "tokkit")
    about = f"one piece of {settings['mb']:g} MB, a fresh tokenizer and process each; normal text: {settings['corpus']}"
    show(about, rows, notes=lines)
    return fine


if __name__ == "__main__":
    print(json.dumps(job(**json.loads(sys.argv[1]))))
