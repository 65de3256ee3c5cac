"""Times encoding beside rivals, all in one run; ids are compared first.

Parts: throughput (MB/s, first pass and later ones), latency (one short call; decoding), batch (1 and 2 threads),
threads (two of ours beside one, and beside two processes), file (a text file to a file of ids, beside the same in
memory), long (a megabyte of one character against normal text), stages (cycles a byte of tokkit's own, per tier and
instruction set). Exit status 1 if tokkit's ids are wrong anywhere.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from benchmarks import (
    corpora,
    encode_batch,
    encode_file,
    encode_latency,
    encode_long,
    encode_stages,
    encode_threads,
    encode_throughput,
    harness,
    rivals,
)
from benchmarks.encode_throughput import Makers

PARTS = ("throughput", "latency", "batch", "threads", "file", "long", "stages")
CORPORA = ("english-technical", "code", "de", "fr", "zh", "ja", "ko")


def options() -> harness.Parser:
    """Return the command line of this program."""
    parser = harness.Parser(__doc__)
    add = parser.add_argument
    add("--parts", type=harness.names, default=",".join(PARTS), help="what to measure")
    add("--vocab", type=harness.names, default="r50k_base,cl100k_base,o200k_base", help="encodings, or .tiktoken files")
    add("--corpus", type=harness.names, default=",".join(corpora.defaults(*CORPORA)), help="names, or text files")
    add("--contenders", type=harness.names, default=",".join(rivals.USUAL), help=f"who runs: {', '.join(rivals.ALL)}")
    add("--mb", type=float, default=4.0, help="megabytes of each corpus")
    add("--doc", type=float, default=100, help="kB of a document: whole lines, at least this much")
    add("--rounds", type=int, default=3, help="rounds, each with a fresh tokenizer and fresh text for everyone")
    add("--passes", type=int, default=3, help="later (warm) passes a round; slow contenders do fewer")
    add(
        "--threads",
        type=lambda text: [int(n) for n in harness.names(text)],
        default="1,2",
        help="threads of the batches",
    )
    add("--long-mb", type=float, default=1.0, help="megabytes of the long pieces")
    add("--long-timeout", type=float, default=60.0, help="seconds until a contender's long piece is given up")
    return parser


def main() -> int:
    """Run the parts that the command line names; return the exit status."""
    parser = options()
    args = parser.parse_args()
    parser.known("parts", args.parts, PARTS)
    parser.known("contenders", args.contenders, rivals.ALL)
    try:
        texts = [corpora.read(name, args.mb) for name in args.corpus]
        paths = [corpora.vocabulary(name) for name in args.vocab]
    except FileNotFoundError as error:
        parser.error(str(error))
    with harness.pinned(1):
        found = [rivals.contenders(args.contenders, path) for path in paths]
        sizes = ", ".join(f"{text.name} {text.megabytes:.1f} MB" for text in texts)
        pin = f"pinned to CPU {harness.ALLOWED[0]}" if harness.ALLOWED else "not pinned on this system"
        threads = f"1, {pin}; batches: {', '.join(map(str, args.threads))}"
        harness.show_conditions(threads, corpora=sizes, documents=f"{args.doc:g} kB, {args.rounds} rounds")
        print("# cold: first pass of a fresh tokenizer over text objects of its own; warm: median of later passes")
        fine = True
        for path, (makers, absent) in zip(paths, found, strict=True):
            harness.section(path.stem, absent)
            if "tokkit" in args.contenders and "tokkit" not in makers:
                fine = False
            if makers:
                fine &= measure(args, path, makers, texts)
    if not fine:
        print("\ntokkit could not run, or its ids are wrong: see above", file=sys.stderr)
    return 0 if fine else 1


def measure(args: Any, path: Path, makers: Makers, texts: list[corpora.Corpus]) -> bool:
    """Print the tables of one vocabulary; return whether all of tokkit's ids are right."""
    size, rounds = int(args.doc * 1000), args.rounds
    fine = True
    if "throughput" in args.parts:
        for text in texts:
            fine &= encode_throughput.run(makers, text, size=size, rounds=rounds, passes=args.passes)
    if "latency" in args.parts:
        fine &= encode_latency.run(makers, texts[0], size=size, rounds=rounds)
    # The other parts start processes, which read the first corpus for themselves.
    job = {"path": str(path), "corpus": args.corpus[0], "rounds": rounds}
    if "batch" in args.parts:
        job_of_batch = {**job, "contenders": [*makers], "mb": args.mb, "size": size, "passes": args.passes}
        fine &= encode_batch.run(job_of_batch, threads=args.threads)
    if "threads" in args.parts and "tokkit" in makers:
        for text in texts:
            job_of_threads = {"path": str(path), "corpus": text.name, "mb": args.mb, "size": size}
            fine &= encode_threads.run({**job_of_threads, "runs": rounds * args.passes})
    if "file" in args.parts and "tokkit" in makers:
        fine &= encode_file.run({**job, "mb": args.mb, "passes": args.passes}, threads=args.threads)
    if "long" in args.parts:
        fine &= encode_long.run({**job, "mb": args.long_mb}, [*makers], timeout=args.long_timeout)
    if "stages" in args.parts and "tokkit" in makers:
        for text in texts:
            fine &= encode_stages.run(path, text, size=size, runs=rounds * args.passes)
    return fine


if __name__ == "__main__":
    sys.exit(main())
