"""Times KeyedVectors: neighbours beside numpy, loading beside gensim; rows and matrices are compared first.

The rival of a search is what a user writes: a product of the normalized matrix and the query by numpy's BLAS, then
`argpartition` and a sort of the k best. Ours keeps no normalized matrix. Loading is that of files in the page cache;
each is read once before. Vectors of a .bin stay in the file until they are needed: "with matrix" copies them too.
Rounds alternate, and a ratio is the median over the rounds.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from tokkit.embeddings import KeyedVectors

FORMATS = {
    "word2vec .bin": ("v.bin", {"binary": True}, {"binary": True}),
    "word2vec text": ("v.txt", {}, {}),
    "GloVe text": ("v.glove.txt", {"write_header": False}, {"no_header": True}),
}  # fmt: skip


def draw(n: int, d: int) -> KeyedVectors:
    """Return vectors of normal numbers, as lengths and words have them: of different lengths."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((n, d), dtype=np.float32)
    vectors *= rng.uniform(0.5, 3, (n, 1)).astype(np.float32)
    return KeyedVectors.of([f"word{i * 7919 % n}" for i in range(n)], vectors)


def seconds(call: Callable[[], object]) -> float:
    """Return the seconds of one call."""
    start = harness.now()
    call()
    return harness.now() - start


def searching(words: KeyedVectors, k: int, queries: int, rounds: int) -> tuple[dict[str, object], bool]:
    """Time `most_similar` of a key; return the row of the table, and whether the keys found are numpy's."""
    start = time.perf_counter()
    words.fill_norms()
    norms = time.perf_counter() - start
    normed = words.get_normed_vectors()
    rows = np.random.default_rng(1).integers(0, len(words), queries)

    def by_numpy(row: int) -> list[str]:
        scores = normed @ normed[row]
        best = np.argpartition(scores, len(scores) - k - 1)[len(scores) - k - 1 :]
        order = best[np.argsort(-scores[best], kind="stable")]
        return [words.index_to_key[i] for i in order if i != row]

    def by_us(row: int) -> list[str]:
        return [key for key, _ in words.most_similar(words.index_to_key[row], topn=k)]

    same = all(by_us(int(row)) == by_numpy(int(row)) for row in rows)
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(seconds(lambda: [by_us(int(row)) for row in rows]) / queries)
        theirs.append(seconds(lambda: [by_numpy(int(row)) for row in rows]) / queries)
    return {
        "search": f"{len(words):,} × {words.vector_size}, topn={k}",
        "tokkit ms": f"{sorted(ours)[rounds // 2] * 1e3:.1f}",
        "numpy ms": f"{sorted(theirs)[rounds // 2] * 1e3:.1f}",
        "ours ÷ numpy's": f"{1 / harness.ratio(ours, theirs):.2f}",
        "first search, ms more": f"{norms * 1e3:.0f}",
        "same keys": "yes" if same else "NO",
    }, same


def loading(words: KeyedVectors, name: str, folder: Path, rounds: int) -> tuple[dict[str, object], bool]:
    """Time the loading of one format; return the row of the table, and whether the matrices are equal."""
    file, written, how = FORMATS[name]
    path = folder / file
    save = seconds(lambda: words.save_word2vec_format(path, **written))  # type: ignore[arg-type]
    path.read_bytes()
    gensim = _gensim()
    same = True
    ours: list[float] = []
    theirs: list[float] = []
    whole: list[float] = []
    for _ in range(rounds):
        for kind, times in ((KeyedVectors, ours), (gensim, theirs)):
            if kind is not None:
                start = harness.now()
                found = kind.load_word2vec_format(str(path), **how)
                times.append(harness.now() - start)
                if times is ours:
                    assert len(found.vectors) == len(words)
                    whole.append(harness.now() - start)
                same &= found.index_to_key == words.index_to_key and bool((found.vectors == words.vectors).all())
                del found
    row: dict[str, object] = {
        "load": name,
        "MB": os.path.getsize(path) // 1_000_000,
        "tokkit s": f"{sorted(ours)[rounds // 2]:.2f}",
        "with matrix s": f"{sorted(whole)[rounds // 2]:.2f}",
        "gensim s": f"{sorted(theirs)[rounds // 2]:.1f}" if theirs else "(not installed)",
        "times gensim's": f"{harness.ratio(ours, theirs):.0f}" if theirs else "",
        "written in s": f"{save:.1f}",
        "equal": "yes" if same else "NO",
    }
    path.unlink()
    return row, same


def _gensim() -> Any:
    try:
        from gensim.models import KeyedVectors as Theirs
    except ImportError:
        return None
    return Theirs


def mapped(words: KeyedVectors, folder: Path) -> str:
    """Return the time of loading what `save` wrote."""
    path = folder / "v.safetensors"
    saved = seconds(lambda: words.save(path))
    once = min(seconds(lambda: KeyedVectors.load(path)) for _ in range(3))
    return f"our own format: written in {saved:.1f} s, loaded (mapped) in {once * 1e3:.0f} ms"


def main() -> int:
    """Run the program."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--dimension", type=int, default=300)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--queries", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=9, help="of searches")
    parser.add_argument("--load-rounds", type=int, default=1, help="of loading; gensim takes a minute for each of text")
    parser.add_argument("--formats", default=",".join(FORMATS), help="which are loaded, separated by commas")
    options = parser.parse_args()
    harness.show_conditions("1 each", rounds=f"{options.rounds} of searches, {options.load_rounds} of loading")
    fine = True
    with harness.pinned(1), tempfile.TemporaryDirectory() as folder:
        words = draw(options.rows, options.dimension)
        row, same = searching(words, options.k, options.queries, options.rounds)
        fine &= same
        harness.show("", [row])
        rows = []
        for name in harness.names(options.formats):
            row, same = loading(words, name, Path(folder), options.load_rounds)
            rows.append(row)
            fine &= same
        harness.show("", rows)
        print(mapped(words, Path(folder)))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
