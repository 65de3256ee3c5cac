"""Times decoding with decoder chains and published vocabularies, beside tokenizers; texts are compared first.

Three ways: "table" (ids, the chain made a table of bytes), "chain" (tokens, the decoders as they are), and the same two
calls of tokenizers. Exit status 1 if texts differ, or if a table is slower than tokenizers is with ids.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable

from benchmarks import corpora, harness
from tokkit.decoders import table
from tokkit.decoders.base import Decoder
from tokkit.decoders.byte_fallback import ByteFallback
from tokkit.decoders.byte_level import ByteLevel
from tokkit.decoders.fuse import Fuse
from tokkit.decoders.metaspace import Metaspace
from tokkit.decoders.replace import Replace
from tokkit.decoders.sequence import Sequence
from tokkit.decoders.strip import Strip
from tokkit.decoders.wordpiece import WordPiece

DECODERS: dict[str, Decoder] = {
    "mistral-v1": Sequence([Replace({"String": "▁"}, " "), ByteFallback(), Fuse(), Strip(" ", 1, 0)]),
    "t5": Metaspace(),
    "bert-base-uncased": WordPiece(),
    "gpt2": ByteLevel(),
}


def measure(name: str, decoder: Decoder, text: str, sizes: list[int], rounds: int) -> list[dict[str, object]]:
    """Return the rows of one vocabulary; ValueError if texts differ."""
    import tokenizers

    rival = tokenizers.Tokenizer.from_file(str(corpora.SHARED / "vocabs" / name / "tokenizer.json"))
    all_ids = rival.encode(text, add_special_tokens=False).ids
    tokens = [rival.id_to_token(id_) for id_ in range(rival.get_vocab_size())]
    build_s = harness.timed(lambda _: table.build(decoder, tokens), [None])[0]
    made = table.build(decoder, tokens)
    if made is None:
        raise ValueError(f"{name}: the chain has no table")
    rows = []
    for size in sizes:
        ids = all_ids[:size]
        words = [tokens[id_] for id_ in ids]
        calls: dict[str, Callable[[None], str]] = {
            "table": lambda _, ids=ids: made.decode(ids),
            "chain": lambda _, words=words: decoder.decode(words),
            "tokenizers, ids": lambda _, ids=ids: rival.decode(ids, skip_special_tokens=False),
            "tokenizers, tokens": lambda _, words=words: rival.decoder.decode(words),
        }
        if len({call(None) for call in calls.values()}) > 1:
            raise ValueError(f"{name}: the texts of {len(ids)} ids differ")
        seconds: dict[str, list[float]] = {key: [] for key in calls}
        for _ in range(rounds):
            for key, call in calls.items():
                seconds[key].append(harness.per_call(call, None, runs=3))
        micro = {f"{key} µs": f"{statistics.median(values) * 1e6:.2f}" for key, values in seconds.items()}
        times = harness.ratio(seconds["table"], seconds["tokenizers, ids"])
        slower = harness.ratio(seconds["chain"], seconds["tokenizers, tokens"])
        row = {"vocabulary": name, "ids": len(ids), "build ms": f"{build_s * 1e3:.0f}", **micro}
        rows.append({**row, "table ×": f"{times:.1f}", "chain ×": f"{slower:.2f}"})
    return rows


def options() -> harness.Parser:
    """Return the command line of this program."""
    parser = harness.Parser(__doc__)
    add = parser.add_argument
    add("--vocab", type=harness.names, default=",".join(DECODERS), help="which of the vocabularies")
    add("--corpus", default="english-prose", help="a name, or a text file")
    add("--ids", type=harness.names, default="10,1000,10000", help="how many ids a call decodes")
    add("--rounds", type=int, default=5, help="rounds, in which the contenders take turns")
    return parser


def main() -> int:
    """Measure what the command line names; return the exit status."""
    parser = options()
    args = parser.parse_args()
    if unknown := {*args.vocab} - {*DECODERS}:
        parser.error(f"unknown vocabularies {', '.join(sorted(unknown))}; there are {', '.join(DECODERS)}")
    try:
        text = corpora.read(args.corpus, 0.1).documents(100_000)[0]
    except FileNotFoundError as error:
        parser.error(str(error))
    with harness.pinned(1):
        harness.show_conditions("1", corpus=args.corpus, figures=f"medians of {args.rounds} rounds, one call each")
        rows = []
        for name in args.vocab:
            try:
                rows += measure(name, DECODERS[name], text, [int(n) for n in args.ids], args.rounds)
            except ValueError as error:
                print(error, file=sys.stderr)
                return 1
        harness.show("", rows)
    slow = [row["vocabulary"] for row in rows if float(str(row["table ×"])) < 1]
    if slow:
        print(f"a table is slower than tokenizers: {', '.join(map(str, slow))}", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
