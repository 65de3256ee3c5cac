"""Times every public call of tokenizers, transformers' tokenizers, sentencepiece, tiktoken and gensim beside ours.

python -m benchmarks.bench_calls --only 'tokenizers .*encode_batch' --families bert,gpt2

A row is one call, made on both sides with the same inputs. Results are compared first: a row whose results differ
says so and has no ratio (samplers: by their distributions). Seconds are processor time of one thread, medians of the
rounds, in each of which both have their turn; × is the median over the rounds of theirs ÷ ours. The floor of a row is
1.2 if nothing else is said; of a call that takes the original less than a microsecond, 0.1 µs more than that. Rows
whose time is a function of the user, the disk or jinja2 have none. Exit status 1 if results differ or floors are
not kept.
"""

from __future__ import annotations

import os
import re
import statistics
import sys
import warnings
from collections.abc import Sequence

from benchmarks import corpora, harness
from benchmarks.calls import libraries
from benchmarks.calls.measure import Found, measure
from benchmarks.calls.rows import read_texts


def options() -> harness.Parser:
    """Return the parser of the command line."""
    parser = harness.Parser(__doc__)
    add = parser.add_argument
    add("--only", default="", metavar="PATTERN", help="regular expression that library, vocabulary and call match")
    add("--rounds", type=int, default=5, help="rounds, in each of which both have their turn")
    add("--families", type=harness.names, default=list(libraries.FAMILIES), help="vocabularies from the shared data")
    add("--corpus", default=corpora.defaults("english-prose")[0], help="what sentences and documents are taken from")
    add("--sentences", type=int, default=1000, help="sentences of a batch")
    add("--documents", type=int, default=200, help="documents of 2 kB of a batch")
    parser.set_defaults(clock="cpu")
    return parser


def main() -> int:
    """Measure the rows that the command line names; return the exit status."""
    parser = options()
    args = parser.parse_args()
    parser.known("families", args.families, libraries.FAMILIES)
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    warnings.simplefilter("ignore")  # both sides warn of the same calls, one line each
    found: list[Found] = []
    with harness.pinned(1):
        texts = read_texts(args.corpus, args.sentences, args.documents)
        harness.show_conditions(
            "1",
            rivals=", ".join(map(harness.version, libraries.PACKAGES)),
            texts=f"{len(texts.sentences)} sentences and {len(texts.documents)} documents of 2 kB of {texts.name}",
            seconds=f"processor time of a call, medians of {args.rounds} rounds in turns; × = theirs / ours in a round",
        )
        for group in libraries.groups(texts, args.families):
            wanted = [row for row in group.rows if re.search(args.only, group.name(row))]
            if wanted and group.absent:
                print(f"# {group.library} {group.vocabulary}: skipped, {group.absent}", file=sys.stderr)
            elif wanted:
                rows = [measure(group, row, args.rounds) for row in wanted]
                harness.show(
                    f"{group.library} {group.vocabulary}".strip(),
                    [{"call": one.row.name, **cells(one)} for one in rows],
                )
                found += rows
    return summary(found)


def cells(found: Found) -> dict[str, object]:
    """Return a line of a table."""
    told = found.why_not.split(":")[0].split("[")[0] or found.row.apart or ("" if found.is_met else "BELOW")
    return {
        "tokkit": "-" if found.why_not else duration(found.ours),
        "original": "-" if found.why_not else duration(found.theirs),
        "×": "-" if found.why_not else f"{found.times:.3g}",
        "floor": "-"
        if found.row.apart
        else "+0.1 µs"
        if found.is_short and not found.why_not
        else f"{found.row.floor:g}",
        "": told,
    }


def duration(seconds: float) -> str:
    """Return seconds with three digits and a unit.

    >>> duration(0.00123)
    '1.23 ms'
    """
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * 1e9:.0f} ns"


def summary(found: Sequence[Found]) -> int:
    """Show what all rows come to: median, least, and the rows that do not do; return the exit status."""
    harness.section("All rows")
    timed = [one for one in found if not one.why_not]
    counted = [one for one in timed if not one.row.apart and not one.is_short]
    slow = sorted((one for one in timed if one.is_slow), key=lambda one: one.times)
    below = sorted((one for one in timed if not one.is_met and not one.is_slow), key=lambda one: one.times)
    failed = [one for one in found if one.why_not]
    parts = (
        ("Rows below 1.2", slow),
        ("Rows below their own floor", below),
        ("Rows without a ratio: results differ, or a call fails", failed),
        ("Rows without a floor", [one for one in timed if one.row.apart]),
    )
    for title, rows in parts:
        if rows:
            lines = [{"row": one.group.name(one.row), **cells(one)} for one in rows]
            reasons = [f"{one.group.name(one.row)}: {one.why_not}" for one in rows if one.why_not]
            harness.show(f"{title}: {len(rows)}", lines, reasons)
    if counted:
        names = dict.fromkeys(one.group.library for one in counted)
        by_library = [totals(name, [one for one in counted if one.group.library == name]) for name in names]
        harness.show("By library: rows with a floor in ×", [*by_library, totals("all", counted)])
    return int(bool(slow or below or failed))


def totals(name: str, found: Sequence[Found]) -> dict[str, object]:
    """Return the line of a library: how many rows, the median and the least of them."""
    least = min(found, key=lambda one: one.times)
    return {
        "library": name,
        "rows": len(found),
        "below": sum(not one.is_met for one in found),
        "median ×": f"{statistics.median(one.times for one in found):.3g}",
        "least ×": f"{least.times:.2g}",
        "least": least.group.name(least.row),
    }


if __name__ == "__main__":
    sys.exit(main())
