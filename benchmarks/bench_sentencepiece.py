"""Times encoding with SentencePiece models, beside sentencepiece and gigatoken; ids are compared first.

Each contender encodes one document a call, tokkit and gigatoken to arrays, sentencepiece to lists: a fresh tokenizer's
first pass is cold, the median of later passes warm. Two texts without words that come again follow: there the whole
text in one unit is the measure. Exit status 1 if ids differ from sentencepiece's, or where a floor is missed.
"""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tokkit
from benchmarks import corpora, harness

MODELS = {
    "t5": "t5/spiece.model",
    "ja": "sentencepiece-test/test_ja_model.model",
    "mistral": "mistral-v1/tokenizer.model",
}


@dataclass(frozen=True)
class Floor:
    """How many times a rival's rate ours must be."""

    model: str
    corpus: str
    size: int
    warm: float
    cold: float
    giga_warm: float = 0
    giga_cold: float = 0


FLOORS = [
    Floor("t5", "english-prose", 2_000, 8, 5),
    Floor("t5", "english-prose", 100_000, 8, 5),
    Floor("t5", "de", 2_000, 6, 3),
    Floor("t5", "fr", 2_000, 6, 3),
    Floor("ja", "ja", 2_000, 3.5, 3),
    Floor("ja", "zh", 2_000, 3.5, 3),
    Floor("mistral", "english-prose", 2_000, 40, 25, 1.3, 1.5),
    Floor("mistral", "de", 2_000, 10, 8, 1.0, 1.3),
    Floor("mistral", "zh", 2_000, 10, 8, 1.0, 1.3),
    Floor("mistral", "ja", 2_000, 7, 6, 1.0, 1.3),
    Floor("mistral", "ko", 2_000, 7, 6, 1.0, 1.3),
]
"""What issue 6 asks for."""

Encode = Callable[[str], Any]


def contenders(path: Path, bpe: bool) -> dict[str, Callable[[], Encode]]:
    """Return name → what makes a fresh tokenizer's fastest call. gigatoken reads models of BPE only."""
    import sentencepiece

    made: dict[str, Callable[[], Encode]] = {
        "tokkit": lambda: tokkit.load(path).encode_to_numpy,
        "sentencepiece": lambda: sentencepiece.SentencePieceProcessor(model_file=str(path)).encode,
    }
    if bpe:
        try:
            import gigatoken
        except ImportError:
            print("# gigatoken is not installed", file=sys.stderr)
        else:
            made["gigatoken"] = lambda: gigatoken.Tokenizer.from_sentencepiece(str(path)).encode
    return made


def passes(encode: Encode, documents: Sequence[str], n: int) -> list[float]:
    """Return the seconds of n passes."""
    return [harness.timed(encode, documents)[0] for _ in range(n)]


def check(path: Path, corpus: corpora.Corpus, sizes: Sequence[int]) -> int:
    """Return how many documents of these sizes have other ids than sentencepiece's."""
    import sentencepiece

    ours = tokkit.load(path).encode_to_numpy
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(path)).encode
    documents = [document for size in sizes for document in corpus.documents(size)]
    return harness.differing([ours(d) for d in documents], [theirs(d) for d in documents])


def measure(floor: Floor, corpus: corpora.Corpus, rounds: int) -> dict[str, object]:
    """Return the row of one floor."""
    path = corpora.SHARED / "vocabs" / MODELS[floor.model]
    made = contenders(path, floor.model == "mistral")
    cold: dict[str, list[float]] = {name: [] for name in made}
    warm: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(rounds):
        for name, make in made.items():
            documents = corpus.documents(floor.size)
            encode = make()
            cold[name] += passes(encode, documents, 1)
            warm[name].append(statistics.median(passes(encode, documents, 1 if name == "sentencepiece" else 3)))
    row: dict[str, object] = {"model": floor.model, "corpus": floor.corpus, "size": floor.size}
    for kind, seconds in (("cold", cold), ("warm", warm)):
        row |= {f"{name[:6]} {kind}": f"{corpus.megabytes / statistics.median(s):.1f}" for name, s in seconds.items()}
        row[f"× {kind}"] = f"{harness.ratio(seconds['tokkit'], seconds['sentencepiece']):.1f}"
        row[f"floor {kind}"] = getattr(floor, kind)
        if "gigatoken" in seconds:
            row[f"× giga {kind}"] = f"{harness.ratio(seconds['tokkit'], seconds['gigatoken']):.2f}"
            row[f"giga floor {kind}"] = getattr(floor, f"giga_{kind}")
    return row


def missed(row: dict[str, object]) -> list[str]:
    """Return which floors a row misses."""
    return [
        f"{row['model']} {row['corpus']} {row['size']}: {row[ratio]} {kind}, the floor is {row[floor]}"
        for kind in ("cold", "warm")
        for ratio, floor in ((f"× {kind}", f"floor {kind}"), (f"× giga {kind}", f"giga floor {kind}"))
        if ratio in row and float(str(row[ratio])) < float(str(row[floor]))
    ]


def strangers(n: int) -> dict[str, str]:
    """Return texts in which each unit is another."""
    rng = random.Random(1)
    words = ("".join(rng.choice("etaoinshrdlu") for _ in range(rng.randrange(4, 12))) for _ in range(n // 8))
    characters = "".join(map(chr, [*range(0x4E00, 0x9FFF), *range(0xAC00, 0xD7A3), *range(0x20000, 0x2A000)]))
    return {"random words": " ".join(words), "every character": characters * (n // (3 * len(characters)) or 1)}


def measure_strangers(model: str, rounds: int) -> list[dict[str, object]]:
    """Return how fast such texts are, first pass, as a part of the whole-string engine's rate."""
    definition = tokkit.load(corpora.SHARED / "vocabs" / MODELS[model]).definition
    from tokkit.engine.sentencepiece import encoder_of

    rows: list[dict[str, object]] = []
    for name, text in strangers(4_000_000).items():
        ours, whole = [], []
        utf8 = text.encode()
        for _ in range(rounds):
            encoder = encoder_of(definition.model)  # type: ignore[arg-type]
            ours += passes(encoder.encode_array, [utf8.decode()], 1)
            whole += passes(encoder.encode_whole, [utf8.decode()], 1)
        rate, whole_rate = (len(utf8) / 1e6 / statistics.median(s) for s in (ours, whole))
        part = harness.ratio(ours, whole)
        rows.append(
            {"model": model, "text": name, "MB/s": f"{rate:.1f}", "whole": f"{whole_rate:.1f}", "part": f"{part:.2f}"}
        )
    return rows


def options() -> harness.Parser:
    """Return the command line of this program."""
    parser = harness.Parser(__doc__)
    add = parser.add_argument
    add("--models", type=harness.names, default=",".join(MODELS), help="which of the models")
    add("--corpora", type=harness.names, default="english-prose,de,fr,ja,zh,ko", help="which of the corpora")
    add("--mb", type=float, default=12, help="most megabytes of a corpus")
    add("--check-mb", type=float, default=3, help="megabytes whose ids are compared, in documents of three sizes")
    add("--rounds", type=int, default=5, help="rounds, in which the contenders take turns")
    return parser


def main() -> int:
    """Measure what the command line names; return the exit status."""
    parser = options()
    args = parser.parse_args()
    parser.known("models", args.models, MODELS)
    parser.known("corpora", args.corpora, corpora.names())
    wrong, failed, rows = 0, [], []
    with harness.pinned(1):
        harness.show_conditions("1", mb=args.mb, rounds=args.rounds)
        for floor in FLOORS:
            if floor.model not in args.models or floor.corpus not in args.corpora:
                continue
            path = corpora.SHARED / "vocabs" / MODELS[floor.model]
            wrong += check(path, corpora.read(floor.corpus, args.check_mb), (2_000, 100_000, 1_000_000))
            row = measure(floor, corpora.read(floor.corpus, args.mb), args.rounds)
            failed += missed(row)
            rows.append(row)
        for bpe in (False, True):
            harness.show("BPE" if bpe else "Unigram", [row for row in rows if (row["model"] == "mistral") is bpe])
        strange = [row for model in args.models for row in measure_strangers(model, args.rounds)]
        harness.show("text without words that come again", strange)
        failed += [f"{row['model']} {row['text']}: {row['part']}" for row in strange if float(str(row["part"])) < 0.5]
    print(f"documents whose ids differ from sentencepiece's: {wrong}")
    for line in failed:
        print(f"missed: {line}", file=sys.stderr)
    return 1 if wrong or failed else 0


if __name__ == "__main__":
    sys.exit(main())
