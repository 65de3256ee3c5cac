"""Times splitting by published patterns with each engine; pretokens are compared first.

Parts: split (splitting alone: the scanners for each instruction set, compiled patterns, the `regex` package) and
encode (a pattern of a user's own in cl100k_base, against tiktoken with the same pattern). Exit status 1 if pieces or
ids differ anywhere, or if tokkit is less than `--floor` times as fast as tiktoken with a pattern that covers the text.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import corpora, encode_throughput, harness, rivals
from tokkit._core import text
from tokkit._core.encode.stage_timer import clock_hertz, scan_seconds
from tokkit.cli.stage_timing import LIMIT
from tokkit.pretokenizers import patterns, regex_split
from tokkit.unicode_regex.compile import compile_pattern

PARTS = ("split", "encode")
CORPORA = ("english-prose", "english-technical", "code", "de", "zh", "ja", "ko", corpora.BUNDLED)
OWN = {
    "words": r"\p{L}+|\p{N}{1,3}|[^\s\p{L}\p{N}]+|\s+",
    "words alone": r"[\p{L}\p{N}]+",
    "camel case": r" ?\p{Lu}?\p{Ll}+| ?\p{Lu}+(?!\p{Ll})| ?\p{L}+|\p{N}{1,3}|[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
}
DROPPING = {"words alone"}
"""These leave out half of the text, which tiktoken is quick at: no floor for them."""
REGEX_BYTES = 500_000
"""How much of a corpus the `regex` package gets: it takes a hundred times as long."""

Cut = Callable[[bytes], NDArray[np.int64]]


def engines(pattern: str) -> dict[str, Cut]:
    """Return name → what gives the ends of the pieces of a document; unmatched text is pieces of its own."""
    found: dict[str, Cut] = {}
    if family := patterns.SCANNERS.get(pattern):
        found = {f"scanner, {isa}": partial(text.scan, family=family, isa=isa) for isa in text.isas()}
    compiled = compile_pattern(pattern, keep_unmatched=True)
    found["compiled"] = lambda document: compiled.scan(document)[0]
    found["regex"] = lambda document: regex_split.split(pattern, document.decode(), keep_unmatched=True)[1]
    return found


def cores(pattern: str) -> dict[str, Callable[[list[bytes]], tuple[float, int]]]:
    """Return name → what gives (seconds, pieces) of splitting documents in the core, for the engines that are there."""
    found: dict[str, Callable[[list[bytes]], tuple[float, int]]] = {}
    if family := patterns.SCANNERS.get(pattern):
        found = {f"scanner, {isa}": partial(scan_seconds, family, isa=isa) for isa in text.isas()}
    found["compiled"] = partial(scan_seconds, compile_pattern(pattern, keep_unmatched=True))
    return found


def split(name: str, pattern: str, corpus: corpora.Corpus, *, size: int, rounds: int) -> bool:
    """Print the table of one pattern and corpus; return whether all engines cut alike."""
    documents = [document.encode() for document in corpus.documents(size)]
    few = documents[: max(1, REGEX_BYTES // size)]
    cuts = engines(pattern)
    expected = [cuts["compiled"](document) for document in documents]
    alone = cores(pattern)
    seconds: dict[str, list[float]] = {engine: [] for engine in cuts}
    core: dict[str, list[float]] = {engine: [] for engine in cuts}
    wrong = {
        engine: harness.differing([cut(document) for document in (few if engine == "regex" else documents)], right)
        for engine, cut in cuts.items()
        for right in [expected[: len(few)] if engine == "regex" else expected]
    }
    for _ in range(rounds):
        for engine, cut in cuts.items():
            texts = few if engine == "regex" else documents
            start = time.perf_counter()
            for document in texts:
                cut(document)
            seconds[engine].append((time.perf_counter() - start) / sum(map(len, texts)))
            if engine in alone:
                core[engine].append(alone[engine](documents)[0] / sum(map(len, documents)))
    hertz = clock_hertz()
    rows = [
        {
            "": engine,
            "MB/s": f"{1e-6 / median(taken):.1f}",
            "ns/byte": f"{median(taken) * 1e9:.2f}",
            "core cycles/byte": f"{median(core[engine]) * hertz:.2f}" if core[engine] else "-",
            "compiled ×": f"{harness.ratio(seconds['compiled'], taken):.2f}",
            "±": harness.spread(taken),
            "differing documents": wrong[engine],
        }
        for engine, taken in seconds.items()
    ]
    pieces = sum(map(len, expected))
    harness.show(
        f"{name}, {corpus.name}: {corpus.megabytes:.1f} MB, {corpus.megabytes * 1e6 / pieces:.1f} bytes a piece, "
        f"at {hertz / 1e9:.2f} GHz (measured)",
        rows,
    )
    print(
        f"# core: no array of the ends is made; a trial, AVX-512 on English: {LIMIT['scan']} cycles/byte",
        flush=True,
    )
    # `regex` knows letters of a newer Unicode: documents that hold one may differ, which is no fault of ours.
    return not any(count for engine, count in wrong.items() if engine != "regex")


def encode(name: str, pattern: str, corpus: corpora.Corpus, args: Any) -> bool:
    """Print the table of one pattern in an encoding; return whether ids are right and tokkit is fast enough."""
    path = corpora.vocabulary(args.vocab)
    makers = {engine: partial(rivals.ALL[engine], path, pattern) for engine in ("tokkit", "tiktoken")}
    size = int(args.doc * 1000)
    wrong = encode_throughput.check(makers, corpus, size)
    timings = encode_throughput.measure(makers, corpus, size=size, rounds=args.rounds, passes=args.passes)
    harness.show(
        f"{name} in {path.stem}, {corpus.name}: {corpus.megabytes:.1f} MB, right ids: tiktoken",
        encode_throughput.rows(timings, wrong, corpus.megabytes),
    )
    times = harness.ratio(timings["tokkit"].warm, timings["tiktoken"].warm)
    return not wrong["tokkit"] and (name in DROPPING or times >= args.floor)


def options() -> harness.Parser:
    """Return the command line of this program."""
    parser = harness.Parser(__doc__)
    add = parser.add_argument
    add("--parts", type=harness.names, default=",".join(PARTS), help="what to measure")
    add("--pattern", type=harness.names, default="gpt2,cl100k,o200k,qwen3.5,words", help="names, for the part split")
    add("--corpus", type=harness.names, default=",".join(corpora.defaults(*CORPORA)), help="names, or text files")
    add("--vocab", default="cl100k_base", help="the encoding, or .tiktoken file, of the part encode")
    add("--mb", type=float, default=4.0, help="megabytes of each corpus")
    add("--doc", type=float, default=100, help="kB of a document: whole lines, at least this much")
    add("--rounds", type=int, default=5, help="rounds, in which the contenders take turns")
    add("--passes", type=int, default=3, help="later (warm) passes a round of the part encode")
    add("--floor", type=float, default=6.0, help="how many times as fast as tiktoken warm encoding must be")
    return parser


def main() -> int:
    """Run the parts that the command line names; return the exit status."""
    parser = options()
    args = parser.parse_args()
    parser.known("parts", args.parts, PARTS)
    parser.known("patterns", args.pattern, [*patterns.NAMES, *OWN])
    try:
        texts = [corpora.read(name, args.mb) for name in args.corpus]
    except FileNotFoundError as error:
        parser.error(str(error))
    fine = True
    with harness.pinned(1):
        sizes = ", ".join(f"{corpus.name} {corpus.megabytes:.1f} MB" for corpus in texts)
        harness.show_conditions("1", corpora=sizes, documents=f"{args.doc:g} kB, {args.rounds} rounds, medians")
        for corpus in texts:
            if "split" in args.parts:
                for name in args.pattern:
                    pattern = {**OWN, **patterns.NAMES}[name]
                    fine &= split(name, pattern, corpus, size=int(args.doc * 1000), rounds=args.rounds)
            if "encode" in args.parts:
                for name, pattern in OWN.items():
                    fine &= encode(name, pattern, corpus, args)
    if not fine:
        print("\npieces or ids differ, or tokkit is too slow: see above", file=sys.stderr)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
