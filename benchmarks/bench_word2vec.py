"""Times word2vec beside gensim, one epoch a round, and compares what both learn.

Both train on words that were read before: gensim on lists of words, as is fastest there, tokkit on ids. Rounds
alternate, and ratios are medians over the rounds. Words are those of the vocabulary that sampling keeps. Quality is,
after five epochs: the mean loss of pairs with the same negative samples, how many of the ten nearest neighbours of the
1,000 commonest words agree (beside that of two seeds of gensim), and analogies of a synthetic corpus.
"""

from __future__ import annotations

import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import numpy as np
from gensim.models import Word2Vec as Gensim
from gensim.models.word2vec import LineSentence
from numpy.typing import NDArray

from benchmarks import harness
from tokkit.embeddings import TrainingIds, Word2Vec

KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "skip-gram": ({"sg": 1}, {}),
    "skip-gram, batched": ({"sg": 1}, {"batched": True}),
    "CBOW": ({}, {}),
    "skip-gram, hierarchical": ({"sg": 1, "hs": 1, "negative": 0}, {}),
    "CBOW, hierarchical": ({"hs": 1, "negative": 0}, {}),
}
"""Name → options of both, and of tokkit alone."""
COMMONEST, NEAREST, PAIRS = 1000, 10, 20_000


def speed(kind: str, ids: TrainingIds, sentences: list[list[str]], rounds: int, size: int) -> dict[str, object]:
    """Time one epoch of each in turns."""
    both, own = KINDS[kind]
    theirs = Gensim(workers=1, vector_size=size, **both)
    theirs.build_vocab(sentences)
    ours = Word2Vec(workers=1, vector_size=size, **both, **own)
    ours.build_vocab(ids)
    seconds: tuple[list[float], list[float]] = ([], [])
    words: list[list[float]] = [[], []]
    for _ in range(rounds):
        for model, kept, spent, corpus in (
            (ours, words[0], seconds[0], ids),
            (theirs, words[1], seconds[1], sentences),
        ):
            start = harness.now()
            n = model.train(corpus, total_examples=len(sentences), epochs=1)[0]
            spent.append((harness.now() - start) / n)
            kept.append(n / 1e3 / (harness.now() - start))
    return {
        "training": f"{kind}, d {size}",
        "tokkit k words/s": f"{statistics.median(words[0]):,.0f}",
        "gensim k words/s": f"{statistics.median(words[1]):,.0f}",
        "ratio": f"{harness.ratio(*seconds):.2f}",
    }


def epoch_of(kind: str, ids: TrainingIds, size: int, workers: int) -> Callable[[], float]:
    """Return a function that trains tokkit for one epoch, and returns its seconds for each word by the wall clock."""
    both, own = KINDS[kind]
    model = Word2Vec(workers=workers, vector_size=size, **both, **own)
    model.build_vocab(ids)

    def epoch() -> float:
        start = time.perf_counter()
        n = model.train(ids, epochs=1)[0]
        return (time.perf_counter() - start) / n

    return epoch


def epochs_beside(kind: str, ids: TrainingIds, size: int, turns: Barrier, seconds: Queue[float]) -> None:
    """Train epochs in this process, each at the same time as another process."""
    epoch = epoch_of(kind, ids, size, 1)
    while True:
        turns.wait()
        seconds.put(epoch())


def threads(kind: str, ids: TrainingIds, rounds: int, size: int) -> dict[str, object]:
    """Time tokkit with one thread and with two, and as two processes, which share nothing: what the cores allow."""
    one, two = epoch_of(kind, ids, size, 1), epoch_of(kind, ids, size, 2)
    context = multiprocessing.get_context("fork")
    turns, each = context.Barrier(3), context.Queue()
    processes = [
        context.Process(target=epochs_beside, args=(kind, ids, size, turns, each), daemon=True) for _ in range(2)
    ]
    for process in processes:
        process.start()
    seconds: tuple[list[float], list[float], list[float]] = ([], [], [])
    for _ in range(rounds):
        for epoch, spent in zip((one, two), seconds, strict=False):
            spent.append(epoch())
        turns.wait()
        seconds[2].append((each.get() + each.get()) / 4)
    for process in processes:
        process.kill()
    return {
        "training": kind,
        "1 thread k words/s": f"{1e-3 / statistics.median(seconds[0]):,.0f}",
        "2 threads": f"{1e-3 / statistics.median(seconds[1]):,.0f}",
        "ratio": f"{harness.ratio(seconds[1], seconds[0]):.2f}",
        "2 processes": f"{harness.ratio(seconds[2], seconds[0]):.2f}",
    }


def loss_of(model: Any, ids: TrainingIds, skip_gram: bool) -> float:
    """Return the mean loss of words and their whole windows with fixed negative samples."""
    rng = np.random.default_rng(0)
    vectors, outer = model.wv.vectors.astype(float), model.syn1neg.astype(float)
    row = np.array([model.wv.key_to_index[word] for word in ids.vocabulary.words])
    words = row[np.asarray(ids.ids)]
    at = rng.integers(5, len(words) - 5, PAIRS)
    offsets = np.array([-5, -4, -3, -2, -1, 1, 2, 3, 4, 5])
    weights = ids.vocabulary.counts**0.75
    negatives = row[rng.choice(len(row), (PAIRS, 5), p=weights / weights.sum())]
    if skip_gram:
        x = vectors[words[at + rng.choice(offsets, PAIRS)]]
    else:
        x = vectors[words[at[:, None] + offsets]].mean(axis=1)
    yes = np.logaddexp(0, -(x * outer[words[at]]).sum(axis=1))
    no = np.logaddexp(0, np.einsum("pd,pnd->pn", x, outer[negatives])).sum(axis=1)
    return float((yes + no).mean())


def neighbours(model: Any, ids: TrainingIds) -> list[set[int]]:
    """Return the nearest of the commonest words, as ids."""
    vectors = model.wv.vectors[[model.wv.key_to_index[word] for word in ids.vocabulary.words]].astype(np.float32)
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors[:COMMONEST] @ vectors.T
    np.fill_diagonal(cosines, -2)
    return [set(row) for row in np.argpartition(-cosines, NEAREST)[:, :NEAREST].tolist()]


def overlap(a: list[set[int]], b: list[set[int]]) -> float:
    """Return the share of neighbours that two models have in common."""
    return float(np.mean([len(x & y) / NEAREST for x, y in zip(a, b, strict=True)]))


def places(seed: int, sentences: int = 30_000, groups: int = 40) -> list[list[str]]:
    """Return sentences about countries and capitals: words of a place, and words of what is said about which."""
    rng = np.random.default_rng(seed)
    made = []
    for place, role in zip(rng.integers(0, groups, sentences), rng.integers(0, 2, sentences), strict=True):
        around = [f"place{place}_{i}" for i in rng.integers(0, 6, 3)] + [
            f"role{role}_{i}" for i in rng.integers(0, 20, 3)
        ]
        rng.shuffle(around)
        made.append([*around[:3], f"{('country', 'capital')[role]}{place}", *around[3:]])
    return made


def analogies(model: Any, groups: int = 40, asked: int = 500) -> float:
    """Return the share of right answers to: country a is to capital a as country b to what."""
    rng, right = np.random.default_rng(1), 0
    for a, b in rng.integers(0, groups, (asked, 2)).tolist():
        if a == b:
            b = (b + 1) % groups
        positive, negative = [f"capital{a}", f"country{b}"], [f"country{a}"]
        right += model.wv.most_similar(positive=positive, negative=negative, topn=1)[0][0] == f"capital{b}"
    return right / asked


def quality(ids: TrainingIds, sentences: list[list[str]], size: int, epochs: int) -> list[dict[str, object]]:
    """Train models of both and compare what they learned."""
    rows: list[dict[str, object]] = []
    for sg in (1, 0):
        name = "skip-gram" if sg else "CBOW"
        makers: dict[str, Callable[[], Any]] = {
            "gensim": lambda sg=sg: Gensim(sentences, sg=sg, workers=1, vector_size=size, epochs=epochs),
            "gensim, seed 2": lambda sg=sg: Gensim(
                sentences, sg=sg, workers=1, vector_size=size, epochs=epochs, seed=2
            ),
            "tokkit": lambda sg=sg: Word2Vec(ids, sg=sg, workers=1, vector_size=size, epochs=epochs),
            "tokkit, seed 2": lambda sg=sg: Word2Vec(ids, sg=sg, workers=1, vector_size=size, epochs=epochs, seed=2),
        }
        if sg:
            makers["tokkit, batched"] = lambda: Word2Vec(
                ids, sg=1, batched=True, workers=1, vector_size=size, epochs=epochs
            )
        first: NDArray[Any] | list[set[int]] | None = None
        for maker, make in makers.items():
            model = make()
            near = neighbours(model, ids)
            first = near if first is None else first
            options: dict[str, Any] = {"sg": sg, "vector_size": 50, "workers": 1, "epochs": 5}
            options |= {"seed": 2} if "seed" in maker else {}
            kind: Any = Gensim if "gensim" in maker else Word2Vec
            options |= {"batched": True} if "batched" in maker else {}
            rows.append({
                "model": f"{name}, {maker}",
                "loss": f"{loss_of(model, ids, bool(sg)):.4f}",
                "neighbours as gensim's": f"{overlap(first, near):.3f}",
                "analogies": f"{analogies(kind(places(0), **options)):.3f}",
            })  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def memory(ids: TrainingIds, size: int) -> str:
    """Return what training adds to the process beside both matrices."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    model = Word2Vec(ids, sg=1, workers=1, vector_size=size, epochs=1)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    both = 2 * model.wv.vectors.nbytes
    return f"memory: training grew by {grown / 1e6:.1f} MB, {grown / both:.2f} of both matrices ({both / 1e6:.1f} MB)"


def main() -> int:
    """Run the program."""
    parser = harness.Parser(__doc__)
    parser.add_argument("corpus", type=Path, help="a text file; its lines are sentences")
    parser.add_argument("--size", type=int, default=100, help="dimensions")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=5, help="of the models whose quality is compared")
    parser.add_argument("--kinds", default=";".join(KINDS), help="separated by semicolons")
    parser.add_argument("--parts", default="memory,speed,threads,quality")
    options = parser.parse_args()
    parts = harness.names(options.parts)
    harness.show_conditions("as said", rounds=options.rounds, corpus=options.corpus.name)
    kinds = options.kinds.split(";")
    with TrainingIds.of(corpus_file=options.corpus) as ids:
        if "memory" in parts:
            print(memory(ids, 8 * options.size))
        sentences = list(LineSentence(str(options.corpus)))
        print(f"{ids!r}, of {ids.n_words:,} words of text")
        if "speed" in parts:
            with harness.pinned(1):
                for kind in kinds:
                    harness.show("One thread", [speed(kind, ids, sentences, options.rounds, options.size)])
        if "threads" in parts:
            with harness.pinned(2):
                for kind in kinds:
                    harness.show("Two threads", [threads(kind, ids, options.rounds, options.size)])
        if "quality" in parts:
            harness.show("Quality", quality(ids, sentences, options.size, options.epochs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
