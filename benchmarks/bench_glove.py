"""Times counting of co-occurrence and training of GloVe beside the authors' programs; counts and losses come first.

The rivals are the programs `cooccur` and `glove` of GloVe 1.2, compiled as their Makefile says, in the folder that
`--programs` names; without them only tokkit is timed. Both sides get the same words, windows and records. An epoch of a
rival is the difference between a run with more epochs and a run with one, which leaves out files and initialization.
Times are processor time of one thread, but in the table of threads.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.corpora import ROOT
from tokkit.embeddings import GloVe, SparseMatrix, count_cooccurrence
from tokkit.embeddings.training_ids import TrainingIds

CORPUS = Path(os.environ.get("TOKKIT_SHARED_DATA", ROOT.parent / "shared" / "data")) / "corpora" / "english-prose.txt"
RECORD = [("word", "<i4"), ("context", "<i4"), ("count", "<f8")]
"""A record of the authors' files; words are numbered from 1."""


def children_s(command: list[str], folder: Path, **files: Any) -> tuple[float, str]:
    """Run a program; return the seconds of processor time that it took, and what it printed to stderr."""
    before = os.times()
    done = subprocess.run(command, cwd=folder, stderr=subprocess.PIPE, check=True, **files)
    after = os.times()
    printed: str = done.stderr.decode("utf-8", "replace")
    return after.children_user + after.children_system - before.children_user - before.children_system, printed


def same_counts(path: Path, counts: SparseMatrix) -> bool:
    """Return whether a file of `cooccur` has the same numbers, in the same order.

    It counts its first pair twice if a corpus is so small that none of its pairs goes to a second file.
    """
    found = np.fromfile(path, RECORD)
    return (
        len(found) == counts.nnz
        and bool((found["word"] - 1 == counts.row_numbers()).all())
        and bool((found["context"] - 1 == counts.indices).all())
        and bool(np.allclose(found["count"], counts.data, rtol=1e-9))
    )


def counting(
    corpus: Path, programs: Path | None, folder: Path, options: argparse.Namespace
) -> tuple[SparseMatrix, bool]:
    """Time text → counts; write what the programs read; return the counts, and whether both sides agree."""
    window, rounds = options.window, options.rounds
    ours: list[float] = []
    theirs: list[float] = []
    fine = True
    for _ in range(rounds):
        start = time.process_time()
        with TrainingIds.of(corpus_file=corpus, min_count=options.min_count) as ids:
            vocabulary = ids.vocabulary
            counts = count_cooccurrence(ids, window=window)
        ours.append(time.process_time() - start)
        pairs = zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)
        (folder / "vocab.txt").write_text("".join(f"{word} {n}\n" for word, n in pairs), "utf-8")
        if programs is not None:
            command = [
                str(programs / "cooccur"),
                "-window-size",
                str(window),
                "-vocab-file",
                "vocab.txt",
                "-memory",
                "2",
            ]
            with open(corpus, "rb") as text, open(folder / "counts.bin", "wb") as out:
                theirs.append(children_s(command, folder, stdin=text, stdout=out)[0])
            fine &= same_counts(folder / "counts.bin", counts)
    row: dict[str, object] = {"text → counts": f"window {window}, {counts.nnz:,} pairs", "tokkit s": f"{min(ours):.2f}"}
    if programs is not None:
        row |= {"cooccur s": f"{min(theirs):.2f}", "tokkit ×": f"{harness.ratio(ours, theirs):.1f}"}
        row |= {"same counts": "yes" if fine else "NO"}
    harness.show("", [row])
    return counts, fine


def shuffled_file(counts: SparseMatrix, path: Path) -> None:
    """Write the counts in a random order, as the program `shuffle` does."""
    records = np.empty(counts.nnz, RECORD)
    records["word"], records["context"] = counts.row_numbers() + 1, counts.indices + 1
    records["count"] = counts.data
    np.random.default_rng(0).shuffle(records)
    records.tofile(path)


def training(counts: SparseMatrix, programs: Path | None, folder: Path, options: argparse.Namespace) -> bool:
    """Time epochs; return whether the losses are near those of the program."""
    d, epochs, rounds = options.dimension, options.epochs, options.rounds
    if programs is not None:
        shuffled_file(counts, folder / "shuffled.bin")
    ours: list[float] = []
    theirs: list[float] = []
    losses: list[float] = []
    expected: list[float] = []
    for _ in range(rounds):
        model = GloVe(vector_size=d, threads=1, epochs=1)
        model.train(counts)
        ends = [time.process_time()]
        model.on_epoch = lambda *_, ends=ends: ends.append(time.process_time())
        model.train(counts, epochs=epochs)
        losses = model.losses
        # The first interval has the shuffling too, which the program `shuffle` does for the rival.
        ours.append(float(np.median(np.diff(ends)[1:])))
        if programs is not None:
            command = [str(programs / "glove"), "-input-file", "shuffled.bin", "-vocab-file", "vocab.txt"]
            command += ["-vector-size", str(d), "-threads", "1", "-binary", "1", "-save-file", "vectors", "-iter"]
            once, _ = children_s([*command, "1"], folder)
            more, printed = children_s([*command, str(1 + epochs)], folder)
            theirs.append((more - once) / epochs)
            expected = [float(line.split("cost: ")[1]) for line in printed.splitlines() if "cost: " in line]
    n = counts.nnz
    row: dict[str, object] = {"GloVe, 1 thread": f"d {d}", "tokkit M pairs/s": f"{n / min(ours) * 1e-6:.2f}"}
    if programs is not None:
        row |= {"glove M pairs/s": f"{n / min(theirs) * 1e-6:.2f}", "tokkit ×": f"{harness.ratio(ours, theirs):.1f}"}
        row |= {"± tokkit": harness.spread(ours), "± glove": harness.spread(theirs)}
    harness.show("", [row])
    print("losses of tokkit:", " ".join(f"{loss:.6f}" for loss in losses))
    if programs is not None:
        print("losses of glove: ", " ".join(f"{loss:.6f}" for loss in expected))
    return programs is None or bool(np.allclose(losses, expected, rtol=0.01))


def threads(counts: SparseMatrix, options: argparse.Namespace) -> None:
    """Time epochs by several threads, by the clock on the wall."""
    rows = []
    for n in range(1, options.threads + 1):
        ends: list[float] = []
        model = GloVe(
            vector_size=options.dimension,
            threads=n,
            epochs=4,
            on_epoch=lambda *_, ends=ends: ends.append(time.perf_counter()),
        )
        loss = model.train(counts)[-1]
        best = counts.nnz / float(np.diff(ends).min()) * 1e-6
        rows.append({"threads": n, "tokkit M pairs/s": f"{best:.2f}", "loss of epoch 4": f"{loss:.6f}"})
    harness.show("threads, wall time", rows)


def main() -> int:
    """Run the program."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="a text file; sentences are lines")
    parser.add_argument("--programs", type=Path, help="folder of the authors' compiled programs cooccur and glove")
    parser.add_argument("--dimension", type=int, default=100)
    parser.add_argument("--window", type=int, default=10)
    parser.add_argument("--min-count", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="time up to so many threads too")
    options = parser.parse_args()
    harness.show_conditions("1 each", rounds=options.rounds, corpus=options.corpus.name)
    programs = options.programs.resolve() if options.programs else None
    with tempfile.TemporaryDirectory() as folder:
        counts, fine = counting(options.corpus, programs, Path(folder), options)
        fine &= training(counts, programs, Path(folder), options)
    if options.threads > 1:
        threads(counts, options)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
