"""Measures MB/s of encoding document by document: first passes, later passes, and unseen text after other text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from statistics import median
from typing import Any

from benchmarks import rivals
from benchmarks.corpora import Corpus
from benchmarks.harness import Timing, differing, ratio, show, spread, timed

Makers = Mapping[str, Callable[[], rivals.Faces]]


def check(makers: Makers, corpus: Corpus, size: int) -> dict[str, int]:
    """Return name → documents whose ids differ from the reference's. Also wakes the CPU up before the timing."""
    right = timed(makers[rivals.reference([*makers])]().encode, corpus.documents(size))[1]
    return {name: differing(timed(make().encode, corpus.documents(size))[1], right) for name, make in makers.items()}


def _encoder(make: Callable[[], rivals.Faces]) -> Callable[[str], rivals.Ids]:
    return make().encode


def measure(makers: Makers, corpus: Corpus, *, size: int, rounds: int, passes: int) -> dict[str, Timing]:
    """Time the contenders in turn, round after round, so that a busy minute hits all of them alike."""
    timings = {name: Timing() for name in makers}
    for _ in range(rounds):
        for name, make in makers.items():
            timings[name].round(partial(_encoder, make), partial(corpus.documents, size), passes)
    return timings


def rows(timings: Mapping[str, Timing], wrong: Mapping[str, int], megabytes: float) -> list[dict[str, Any]]:
    """Return a row a contender; "tokkit ×" is how many times faster tokkit is."""
    found = []
    ours = timings.get("tokkit")
    for name, t in timings.items():
        found.append(
            {
                "": name,
                "warm MB/s": f"{megabytes / median(t.warm):.1f}",
                "new MB/s": f"{megabytes / median(t.new):.1f}" if t.new else "-",
                "cold MB/s": f"{megabytes / median(t.cold):.1f}",
                "tokkit × warm": f"{ratio(ours.warm, t.warm):.2f}" if ours else "-",
                "tokkit × new": f"{ratio(ours.new, t.new):.2f}" if ours and t.new else "-",
                "tokkit × cold": f"{ratio(ours.cold, t.cold):.2f}" if ours else "-",
                "± warm": spread(t.warm),
                "± cold": spread(t.cold),
                "load ms": f"{median(t.load) * 1e3:.0f}",
                "differing documents": wrong[name],
            }
        )
    return found


def run(makers: Makers, corpus: Corpus, *, size: int, rounds: int, passes: int) -> bool:
    """Print the table of one corpus; return whether tokkit's ids are right."""
    wrong = check(makers, corpus, size)
    n = len(corpus.documents(size))
    right = rivals.reference([*makers])
    timings = measure(makers, corpus, size=size, rounds=rounds, passes=passes)
    show(
        f"{corpus.name}: {corpus.megabytes:.1f} MB, {n} documents, right ids: {right}",
        rows(timings, wrong, corpus.megabytes),
    )
    return not wrong.get("tokkit")
