"""Times training of byte-level BPE or WordPiece, one process for each trainer; results are compared.

wall is of the whole process, from before its start to the end of training; "train" leaves the start of Python out.
Exit status 1 if what tokkit gives depends on the number of threads, or is not what tokenizers gives: the same merges
and ids of BPE; of WordPiece, whose runs differ there from one another, pieces no further from one than they are apart.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import corpora, harness
from benchmarks.train_job import TRAINERS

Runs = dict[tuple[str, int], list[dict[str, Any]]]
"""(trainer, threads) → one entry a round."""


def options() -> harness.Parser:
    """Return the command line of this program."""
    parser = harness.Parser(__doc__)
    add = parser.add_argument
    add("--model", choices=list(TRAINERS), default="bbpe", help="what is trained")
    add("--corpus", default=corpora.defaults("english-prose")[0], help="a name, or a text file")
    add("--mb", type=float, default=12.0, help="megabytes of it")
    add("--vocab-size", type=int, default=32000, help="size of the vocabulary, bytes included")
    add("--contenders", type=harness.names, help="who runs; all, if not given")
    add("--threads", type=lambda text: [int(n) for n in harness.names(text)], default="1,2", help="numbers of threads")
    add("--rounds", type=int, default=3, help="runs of each; figures are medians")
    add("--timeout", type=float, default=900.0, help="seconds until a run is given up")
    return parser


def measure(args: Any, path: Path) -> tuple[Runs, list[str]]:
    """Run everyone in turn, round after round; return the runs, and a line for each that could not."""
    runs: Runs = {}
    failed: dict[tuple[str, int], str] = {}
    for _ in range(args.rounds):
        for threads in args.threads:
            for name in args.contenders:
                key = (name, threads)
                if key in failed:
                    continue
                job = {
                    "model": args.model,
                    "trainer": name,
                    "path": str(path),
                    "size": args.vocab_size,
                    "threads": threads,
                }
                found = harness.child("benchmarks.train_job", job, threads=threads, timeout=args.timeout)
                if "error" in found:
                    failed[key] = f"# {name} with {threads} threads: {found['error']}"
                else:
                    found["wall"] = found["ended"] - found["started"]
                    runs.setdefault(key, []).append(found)
    return {key: found for key, found in runs.items() if key not in failed}, [*failed.values()]


def apart(run: Mapping[str, Any], other: Mapping[str, Any]) -> int:
    """Return how many pieces are in one of two vocabularies alone."""
    return len(set(run["pieces"]).symmetric_difference(other["pieces"]))


def verdict(run: Mapping[str, Any], right: Mapping[str, Any] | None) -> str:
    """Say how a run's vocabulary compares with the reference's."""
    if right is None:
        return "no reference"
    if run["pieces"]:
        return f"{apart(run, right)} pieces differ"
    if run["merges"] != right["merges"]:
        return "differs"
    return "equal" if run["vocab"] == right["vocab"] else "merges equal, other ids"


def rows(runs: Runs) -> list[dict[str, object]]:
    """Return a row for each trainer and number of threads; "tokkit ×" compares the wall times at equal threads."""
    reference = next((found[0] for (name, _), found in runs.items() if name == "tokenizers"), None)
    table = []
    for (name, threads), found in runs.items():
        walls = [run["wall"] for run in found]
        ours = [run["wall"] for run in runs.get(("tokkit", threads), [])]
        table.append(
            {
                "": name,
                "threads": threads,
                "wall s": f"{median(walls):.2f}",
                "± wall": harness.spread(walls),
                "train s": f"{median(run['train'] for run in found):.2f}",
                "cpu s": f"{median(run['cpu'] for run in found):.2f}",
                "peak MiB": f"{median(run['peak'] for run in found):.0f}",
                "tokkit × wall": f"{harness.ratio(ours, walls):.2f}" if ours else "-",
                "tokens": found[0]["tokens"],
                "vocabulary": verdict(found[0], reference),
            }
        )
    return table


def right(runs: Runs) -> bool:
    """Return whether tokkit ran, gave one result in all its runs, and gave tokenizers' where that one ran."""
    ours, theirs = (
        [run for (name, _), found in runs.items() if name == wanted for run in found]
        for wanted in ("tokkit", "tokenizers")
    )
    if len({(run["vocab"], run["merges"]) for run in ours}) != 1:
        return False
    if not ours[0]["pieces"]:
        return all((run["vocab"], run["merges"]) == (ours[0]["vocab"], ours[0]["merges"]) for run in theirs)
    if len(theirs) < 2:
        return True  # one run does not tell how far they are apart
    most = max(apart(a, b) for a in theirs for b in theirs)
    return min(apart(ours[0], run) for run in theirs) <= most


def main() -> int:
    """Measure as the command line says; return the exit status."""
    parser = options()
    args = parser.parse_args()
    args.contenders = args.contenders or list(TRAINERS[args.model])
    parser.known("contenders", args.contenders, TRAINERS[args.model])
    try:
        corpus = corpora.read(args.corpus, args.mb)
    except FileNotFoundError as error:
        parser.error(str(error))
    source = f"{corpus.name} {corpus.megabytes:.1f} MB, one file"
    about = {"corpus": source, "vocabulary": args.vocab_size, "model": args.model}
    harness.show_conditions(f"{args.threads}, each process on as many CPUs", **about)
    with tempfile.TemporaryDirectory(prefix="tokkit-bench-") as folder:
        path = Path(folder) / "corpus.txt"
        path.write_bytes(corpus.data)
        runs, failed = measure(args, path)
    print("\n".join(failed))
    harness.show(f"{args.model}, {source}, {args.vocab_size} tokens", rows(runs))
    fine = right(runs)
    if "tokkit" in args.contenders and not fine:
        print("\ntokkit could not run, or its vocabulary is not the right one: see above", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
