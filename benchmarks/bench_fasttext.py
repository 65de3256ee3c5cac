"""Times fastText's vectors and classifiers beside gensim and the original program, with equal options and one thread.

Each round trains every contender once, vocabulary and file included, and the ratio is the median over the rounds. For
the floors build the original from its sources with -march=native; the published wheel is slower. Classifiers tell the
languages of the corpora apart: those named "held out" are the share of lines, which training did not see, that they
tell right.
"""

from __future__ import annotations

import gc
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.corpora import SHARED
from tokkit.embeddings.fasttext import FastText
from tokkit.embeddings.fasttext_supervised import train_supervised

LANGUAGES = {
    "en": "english-technical", "de": "de", "fr": "fr", "zh": "zh", "ja": "ja", "ko": "ko", "th": "th", "el": "el",
    "te": "te", "my": "my",
}  # fmt: skip
CLASSIFIERS: dict[str, dict[str, Any]] = {
    "words": {},
    "words and pairs": {"wordNgrams": 2},
    "n-grams of 2 to 4": {"minn": 2, "maxn": 4},
    "n-grams, hs": {"minn": 2, "maxn": 4, "loss": "hs"},
}


def vectors(corpus: Path, sg: int, bucket: int) -> dict[str, Callable[[], object]]:
    """Return what trains vectors, by contender."""
    from gensim.models import FastText as Gensim

    options = {"vector_size": 100, "window": 5, "negative": 5, "min_count": 5, "epochs": 1, "bucket": bucket, "sg": sg}
    made: dict[str, Callable[[], object]] = {
        "tokkit": lambda: FastText(corpus_file=corpus, workers=1, **options),
        "gensim": lambda: Gensim(corpus_file=str(corpus), workers=1, **options),
    }
    try:
        import fasttext
    except ImportError:
        return made
    kind = "skipgram" if sg else "cbow"
    made["original"] = lambda: fasttext.train_unsupervised(
        str(corpus), kind, lr=0.025, dim=100, ws=5, neg=5, minCount=5, epoch=1, bucket=bucket, minn=3, maxn=6, t=1e-3,
        thread=1, verbose=0,
    )  # fmt: skip
    return made


def classifiers(corpus: Path, options: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Return what trains classifiers, by contender."""
    made: dict[str, Callable[[], Any]] = {"tokkit": lambda: train_supervised(corpus, thread=1, **options)}
    try:
        import fasttext
    except ImportError:
        return made
    made["original"] = lambda: fasttext.train_supervised(str(corpus), thread=1, verbose=0, **options)
    return made


def compared(
    what: str, contenders: dict[str, Callable[[], Any]], words: int, rounds: int, held_out: Path | None = None
) -> dict[str, object]:
    """Train every contender in each round; return the row of the table."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    right: dict[str, float] = {}
    for _ in range(rounds):
        for name, train in contenders.items():
            gc.collect()
            start = harness.now()
            try:
                made = train()
            except RuntimeError as error:  # builds of the original diverge on some machines
                print(f"{what}: {name}: {error}", flush=True)
                continue
            seconds[name].append(harness.now() - start)
            if held_out is not None and name not in right:
                right[name] = made.test(str(held_out))[1]
            del made
    row: dict[str, object] = {"training": what}
    for name, took in seconds.items():
        if len(took) < rounds:
            row |= {f"{name}, words/s": "failed", f"{name}, held out": "", f"× {name}": ""}
            continue
        row[f"{name}, words/s"] = f"{words / sorted(took)[len(took) // 2]:,.0f}"
        if name in right:
            row[f"{name}, held out"] = f"{right[name]:.2%}"
        if name != "tokkit":
            row[f"× {name}"] = f"{harness.ratio(seconds['tokkit'], took):.2f}"
    return row


def languages(folder: Path, n: int) -> tuple[Path, Path]:
    """Write lines of up to 60 characters of each language; return the file to train on and the one held out."""
    draw, lines = random.Random(1), []
    for label, name in LANGUAGES.items():
        text = (SHARED / "corpora" / f"{name}.txt").read_text(encoding="utf-8")
        found = [" ".join(line.split()) for line in text.split("\n") if len(line) > 20]
        draw.shuffle(found)
        lines += [f"__label__{label} {line[:60]}\n" for line in found[:n]]
    draw.shuffle(lines)
    train, held_out = folder / "train.txt", folder / "held-out.txt"
    train.write_text("".join(lines[len(lines) // 5 :]), encoding="utf-8")
    held_out.write_text("".join(lines[: len(lines) // 5]), encoding="utf-8")
    return train, held_out


def main() -> int:
    """Run the program."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--megabytes", type=float, default=6, help="of English prose, for vectors; 0: none")
    parser.add_argument("--lines", type=int, default=4000, help="of each language, for classifiers")
    parser.add_argument("--bucket", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    harness.show_conditions("1 each", rounds=options.rounds)
    with harness.pinned(1), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = (SHARED / "corpora" / "english-prose.txt").read_text(encoding="utf-8")[: int(options.megabytes * 1e6)]
        corpus = folder / "prose.txt"
        corpus.write_text(text, encoding="utf-8")
        words = len(text.split())
        rows = [
            compared(kind, vectors(corpus, sg, options.bucket), words, options.rounds)
            for kind, sg in (("skip-gram", 1), ("CBOW", 0))
            if words
        ]
        if rows:
            harness.show("vectors", rows)
        train, held_out = languages(folder, options.lines)
        words = 5 * len(train.read_text(encoding="utf-8").split())
        rows = [
            compared(what, classifiers(train, more | {"bucket": options.bucket}), words, options.rounds, held_out)
            for what, more in CLASSIFIERS.items()
        ]
        harness.show("classifiers", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
