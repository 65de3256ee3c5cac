"""Times loading published tokenizer.json files, beside tokenizers; ids are compared first.

Each file is in the page cache, and loaded by either in turn, one thread; "first ids" is a load and one short text,
which has what is left to the first call. Exit status 1 if ids differ, or if loading takes more than 2/3 of the time
that tokenizers takes.
"""

from __future__ import annotations

import gc
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import corpora, harness

VOCABS = (
    "gpt2", "roberta-base", "phi-2", "mistral-v1", "t5", "bert-base-uncased", "bert-base-chinese",
    "bert-base-multilingual-cased",
)  # fmt: skip
MAX_RATIO = 2 / 3
SHORT = "Loading a tokenizer should not take longer than reading its file."


def first_ids(load: Callable[[str], Callable[[str], list[int]]], path: str) -> list[int]:
    """Return the ids of a short text by a tokenizer made for it."""
    return load(path)(SHORT)


def tokkit_encode(path: str) -> Callable[[str], list[int]]:
    """Load with tokkit."""
    import tokkit

    return tokkit.load(path).encode


def tokenizers_encode(path: str) -> Callable[[str], list[int]]:
    """Load with tokenizers."""
    import tokenizers

    rival = tokenizers.Tokenizer.from_file(path)
    return lambda text: rival.encode(text, add_special_tokens=False).ids


def measure(path: Path, texts: list[str], rounds: int) -> dict[str, object]:
    """Return the row of one file; ValueError if ids differ."""
    loaders = {"tokkit": tokkit_encode, "tokenizers": tokenizers_encode}
    ours, theirs = (load(str(path)) for load in loaders.values())
    if different := harness.differing([ours(text) for text in texts], [theirs(text) for text in texts]):
        raise ValueError(f"{path.parent.name}: the ids of {different} texts of {len(texts)} differ")
    del ours, theirs
    loads: dict[str, list[float]] = {name: [] for name in loaders}
    firsts: dict[str, list[float]] = {name: [] for name in loaders}
    for _ in range(rounds):
        for name, load in loaders.items():
            gc.collect()
            loads[name].append(harness.timed(load, [str(path)])[0])
            firsts[name].append(harness.timed(lambda p, load=load: first_ids(load, p), [str(path)])[0])
    row: dict[str, object] = {"vocabulary": path.parent.name, "MB": f"{path.stat().st_size / 1e6:.1f}"}
    for what, seconds in (("load", loads), ("first ids", firsts)):
        for name in loaders:
            row[f"{what}: {name} ms"] = f"{statistics.median(seconds[name]) * 1e3:.1f}"
        row[f"{what} ratio"] = f"{1 / harness.ratio(seconds['tokkit'], seconds['tokenizers']):.2f}"
    row["±"] = harness.spread(loads["tokkit"])
    return row


def main() -> int:
    """Measure what the command line names; return the exit status."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--vocab", type=harness.names, default=",".join(VOCABS), help="which of the vocabularies")
    parser.add_argument("--corpus", default="english-prose", help="a name, or a text file: whose ids are compared")
    parser.add_argument("--rounds", type=int, default=15, help="rounds, in which the contenders take turns")
    args = parser.parse_args()
    parser.known("vocabularies", args.vocab, VOCABS)
    try:
        texts = corpora.read(args.corpus, 0.2).documents(10_000)
    except FileNotFoundError as error:
        parser.error(str(error))
    slow, rows = [], []
    with harness.pinned(1):
        figures = f"medians of {args.rounds} rounds, in turn; ratio: ours / theirs, median of the rounds"
        harness.show_conditions("1", compared=f"ids of {len(texts)} texts of {args.corpus}", figures=figures)
        for name in args.vocab:
            path = corpora.SHARED / "vocabs" / name / "tokenizer.json"
            if not path.is_file():
                print(f"{name}: no file {path.name} in the shared data", file=sys.stderr)
                continue
            try:
                rows.append(measure(path, texts, args.rounds))
            except ValueError as error:
                print(error, file=sys.stderr)
                return 1
            if float(str(rows[-1]["load ratio"])) > MAX_RATIO:
                slow.append(name)
        harness.show("", rows)
    if slow:
        print(f"loading takes more than 2/3 of the time of tokenizers: {', '.join(slow)}", file=sys.stderr)
    return 1 if slow or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
