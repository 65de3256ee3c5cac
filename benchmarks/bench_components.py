"""Times pretokenizers and the search for added tokens beside tokenizers, in ns a byte; results are compared first.

python -m benchmarks.bench_components --corpus english-prose,zh --mb 1
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks import corpora, harness
from tokkit._core.align import AlignedText
from tokkit._core.split import AddedMatcher
from tokkit.pretokenizers import patterns
from tokkit.pretokenizers.bert import Bert
from tokkit.pretokenizers.byte_level import ByteLevel
from tokkit.pretokenizers.digits import Digits
from tokkit.pretokenizers.metaspace import Metaspace
from tokkit.pretokenizers.punctuation import Punctuation
from tokkit.pretokenizers.split import Split
from tokkit.pretokenizers.unicode_scripts import UnicodeScripts
from tokkit.pretokenizers.whitespace import Whitespace
from tokkit.pretokenizers.whitespace_split import WhitespaceSplit

PARTS = ("pretokenize", "added")
RIVAL_BYTES = 400_000
"""How much of a corpus tokenizers cuts: a rate, which needs no more."""


def pairs() -> dict[str, tuple[Any, Any]]:
    """Return name → (ours, tokenizers')."""
    import tokenizers

    theirs = tokenizers.pre_tokenizers
    llama3 = theirs.Split(tokenizers.Regex(patterns.LLAMA3), "isolated")
    letters = theirs.Split(tokenizers.Regex(r"\s+|\p{L}+"), "removed", True)
    return {
        "ByteLevel": (ByteLevel(add_prefix_space=False), theirs.ByteLevel(add_prefix_space=False)),
        "ByteLevel, prefix": (ByteLevel(), theirs.ByteLevel()),
        "Bert": (Bert(), theirs.BertPreTokenizer()),
        "Metaspace": (Metaspace(), theirs.Metaspace()),
        "Whitespace": (Whitespace(), theirs.Whitespace()),
        "WhitespaceSplit": (WhitespaceSplit(), theirs.WhitespaceSplit()),
        "Split, llama3": (Split({"Regex": patterns.LLAMA3}, "Isolated"), llama3),
        "Split, own pattern": (Split({"Regex": r"\s+|\p{L}+"}, "Removed", True), letters),
        "Split, a space": (Split(" ", "MergedWithNext"), theirs.Split(" ", "merged_with_next")),
        "Punctuation": (Punctuation(), theirs.Punctuation()),
        "Digits": (Digits(), theirs.Digits()),
        "UnicodeScripts": (UnicodeScripts(), theirs.UnicodeScripts()),
    }


def rate(make: Callable[[str], Any], run: Callable[[Any], object], documents: list[str], rounds: int) -> list[float]:
    """Return seconds a byte, one entry a round; what `make` makes of a document is not timed."""
    size = sum(len(document.encode()) for document in documents)
    seconds = []
    for _ in range(rounds):
        made = [make(document) for document in documents]
        seconds.append(harness.timed(run, made)[0] / size)
    return seconds


def pretokenize(corpus: corpora.Corpus, *, size: int, rounds: int) -> bool:
    """Print the table of one corpus; return whether all pieces are those of tokenizers."""
    import tokenizers

    documents = corpus.documents(size)
    few = documents[: max(1, RIVAL_BYTES // size)]
    rows, wrong = [], 0
    for name, (ours, theirs) in pairs().items():
        differing = sum(pieces(ours, document) != theirs_of(theirs, document) for document in few)
        wrong += differing
        mine = rate(AlignedText, ours.pretokenize, documents, rounds)
        other = rate(tokenizers.PreTokenizedString, theirs.pre_tokenize, few, rounds)
        rows.append(
            {
                "": name,
                "ns/byte": f"{median(mine) * 1e9:.2f}",
                "±": harness.spread(mine),
                "tokenizers ns/byte": f"{median(other) * 1e9:.1f}",
                "tokkit ×": f"{harness.ratio(mine, other):.1f}",
                "differing documents": differing,
            }
        )
    harness.show(f"pretokenizers, {corpus.name}: {corpus.megabytes:.1f} MB", rows)
    return not wrong


def pieces(component: Any, document: str) -> list[str]:
    """Return what a pretokenizer of ours makes of a document."""
    text = AlignedText(document)
    component.pretokenize(text)
    return text.pieces


def theirs_of(component: Any, document: str) -> list[str]:
    """Return what tokenizers' makes of it."""
    return [piece for piece, _ in component.pre_tokenize_str(document)]


def token_sets(text: str) -> dict[str, list[str]]:
    """Return name → tokens that hardly any text has."""
    words = sorted(set(re.findall("[a-z]{5,12}", text)))[::2]
    return {
        "1 <|endoftext|>": ["<|endoftext|>"],
        "8 of five beginnings": [
            "<s>",
            "</s>",
            "[INST]",
            "[/INST]",
            "｜begin｜",
            "{{tool}}",
            "\\think",
            "<|im_start|>",
        ],
        "5,000 <extra_id_…>": [f"<extra_id_{k}>" for k in range(5000)],
        f"{len(words[:5000]):,} words with a q in them": [f"{word[:-1]}q{word[-1]}" for word in words[:5000]],
    }


def added(corpus: corpora.Corpus, *, rounds: int) -> None:
    """Print what it costs to look for tokens that the text of one corpus does not have, or hardly ever."""
    text = "".join(corpus.documents(1 << 20))
    utf8 = text.encode()
    rows = []
    for name, tokens in token_sets(text).items():
        start = time.perf_counter()
        matcher = AddedMatcher((token.encode(), k, False, False, False) for k, token in enumerate(tokens))
        built = time.perf_counter() - start
        timings = [harness.timed(matcher.find, [utf8]) for _ in range(rounds)]
        seconds = [taken / len(utf8) for taken, _ in timings]
        rows.append(
            {
                "": name,
                "ns/byte": f"{median(seconds) * 1e9:.3f}",
                "GB/s": f"{1e-9 / median(seconds):.1f}",
                "±": harness.spread(seconds),
                "found": len(timings[0][1][0]),
                "made in ms": f"{built * 1e3:.1f}",
            }
        )
    harness.show(f"added tokens, {corpus.name}: {corpus.megabytes:.1f} MB", rows)


def main() -> int:
    """Run the parts that the command line names; return the exit status."""
    parser = harness.Parser(__doc__)
    add = parser.add_argument
    add("--parts", type=harness.names, default=",".join(PARTS), help="what to measure")
    add("--corpus", type=harness.names, default=",".join(corpora.defaults("english-prose", "zh")), help="names, files")
    add("--mb", type=float, default=2.0, help="megabytes of each corpus")
    add("--doc", type=float, default=2.0, help="kB of a document: whole lines, at least this much")
    add("--rounds", type=int, default=5, help="rounds, of which the median is shown")
    args = parser.parse_args()
    if unknown := {*args.parts} - {*PARTS}:
        parser.error(f"unknown parts {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    try:
        texts = [corpora.read(name, args.mb) for name in args.corpus]
    except FileNotFoundError as error:
        parser.error(str(error))
    fine = True
    with harness.pinned(1):
        harness.show_conditions("1", documents=f"{args.doc:g} kB, {args.rounds} rounds, medians")
        for corpus in texts:
            if "pretokenize" in args.parts:
                fine &= pretokenize(corpus, size=int(args.doc * 1000), rounds=args.rounds)
            if "added" in args.parts:
                added(corpus, rounds=args.rounds)
    if not fine:
        print("\npieces are not those of tokenizers: see above", file=sys.stderr)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
