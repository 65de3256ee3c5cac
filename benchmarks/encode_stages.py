"""Counts cycles a byte of each stage of encoding, for each tier and ISA, cold and warm."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tokkit
from benchmarks.corpora import Corpus
from benchmarks.harness import show
from tokkit.cli import stage_timing

TIERS = ("scanner", "compiled")


@contextmanager
def split_by(tier: str) -> Iterator[None]:
    """Have tokenizers that are made meanwhile split with `tier`, or with what comes after it."""
    before = os.environ.get("TOKKIT_SPLIT")
    os.environ["TOKKIT_SPLIT"] = tier
    try:
        yield
    finally:
        os.environ.pop("TOKKIT_SPLIT")
        if before is not None:
            os.environ["TOKKIT_SPLIT"] = before


def run(path: Path, corpus: Corpus, *, size: int, runs: int) -> bool:
    """Print a table a tier, the limit below it; return whether each tier ran and counted the ids that encoding gives.

    A stage is the difference of two medians, each of `runs` passes: it may be a little below 0.
    """
    documents = [document.encode() for document in corpus.documents(size)]
    fine = True
    for tier in TIERS:
        with split_by(tier):
            tok = tokkit.load(path)
            found = stage_timing.measured(tok.definition, documents, runs)
        title = f"stages, {corpus.name}, {corpus.megabytes:.1f} MB: {stage_timing.title(found)}"
        if found["tier"] != tier:
            print(f"\n## {title}")
            fine = False
            continue
        ids = sum(map(tok.count, documents))
        fine &= all(row["ids"] == ids for row in found["isas"])
        head, *rows = stage_timing.rows(found)
        show(title, [dict(zip(head, row, strict=True)) for row in rows])
        print(f"# {stage_timing.LIMIT_LINE}", flush=True)
    return fine
