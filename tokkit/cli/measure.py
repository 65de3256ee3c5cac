"""Measures the first and the later passes of encoders over documents, after comparing their ids."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Encode = Callable[[list[str]], Any]
"""Encodes all documents; returns the ids as a sequence of rows or as (flat ids, offsets)."""

DOCUMENT_BYTES = 100_000
COLD_RUNS = 3
"""Maximum number of first passes; each needs a new tokenizer."""
SECONDS = 3.0
"""Time, including building, after which an encoder gets only the minimum number of passes."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Median seconds, over all documents, of first passes of new encoders and of later passes of one encoder.

    `cold_passes` and `warm_passes` are the numbers of passes.
    """

    cold: float
    warm: float
    cold_passes: int
    warm_passes: int


def cut(text: str, size: int = DOCUMENT_BYTES) -> list[bytes]:
    """Cut a text into documents of about `size` bytes, after line feeds."""
    data = text.encode()
    documents, at = [], 0
    while at < len(data):
        end = data.find(b"\n", at + size) + 1 or len(data)
        documents.append(data[at:end])
        at = end
    return documents


def documents(texts: Sequence[str]) -> list[bytes]:
    """Return the documents of texts; see `cut`."""
    return [document for text in texts for document in cut(text)]


def rows(output: Any) -> list[NDArray[np.uint32]]:
    """Return the ids of each document, from any form that an encoder returns."""
    if isinstance(output, tuple):
        flat, offsets = output
        return [np.asarray(flat[a:b], dtype=np.uint32) for a, b in itertools.pairwise(offsets)]
    return [np.asarray(row, dtype=np.uint32) for row in output]


def first_difference(a: Sequence[NDArray[np.uint32]], b: Sequence[NDArray[np.uint32]]) -> str | None:
    """Return where two lists of rows differ, None where they are equal."""
    if len(a) != len(b):
        return f"{len(b)} documents came back, not {len(a)}"
    for number, (x, y) in enumerate(zip(a, b, strict=True)):
        if not np.array_equal(x, y):
            n = min(len(x), len(y))
            apart = np.flatnonzero(x[:n] != y[:n])
            return f"ids differ: document {number}, from token {int(apart[0]) if len(apart) else n} on"
    return None


def time_encoders(
    builds: Mapping[str, Callable[[], Encode]],
    documents: Sequence[bytes],
    runs: int,
    tick: Callable[[], object] = lambda: None,
    seconds: float = SECONDS,
) -> dict[str, Timing]:
    """Time first passes of encoders built anew, then later passes of the last ones; building is not timed.

    Each encoder has at least one pass of each type. First passes repeat, up to COLD_RUNS, within half of `seconds`,
    later passes, up to `runs`, within `seconds`. `tick` is called for each pass, including skipped ones.

    The encoders alternate, so that changes in the machine's speed affect all of them. Each gets its own str objects,
    because CPython caches the UTF-8 of a str, which would save work for later encoders.
    """
    cold: dict[str, list[float]] = {name: [] for name in builds}
    warm: dict[str, list[float]] = {name: [] for name in builds}
    used = dict.fromkeys(builds, 0.0)
    ready: dict[str, tuple[Encode, list[str]]] = {}
    for number in range(min(runs, COLD_RUNS)):
        for name, build in builds.items():
            if number == 0 or used[name] < seconds / 2:
                started = time.perf_counter()
                ready[name] = build(), [document.decode() for document in documents]
                cold[name].append(_seconds(*ready[name]))
                used[name] += time.perf_counter() - started
            tick()
    for number in range(runs):
        for name, (encode, texts) in ready.items():
            if number == 0 or used[name] < seconds:
                warm[name].append(_seconds(encode, texts))
                used[name] += warm[name][-1]
            tick()
    return {
        name: Timing(statistics.median(cold[name]), statistics.median(warm[name]), len(cold[name]), len(warm[name]))
        for name in builds
    }


def _seconds(encode: Encode, texts: list[str]) -> float:
    started = time.perf_counter()
    encode(texts)
    return time.perf_counter() - started
