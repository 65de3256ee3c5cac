"""Times exact vector search beside numpy; rows are compared first.

The rival is what a user writes: a matrix-vector product by numpy's BLAS, then `argpartition` and a sort of the k
best. Rounds alternate between the two, and the ratio is the median over the rounds. With usearch installed its graph
is built over fewer vectors and timed too, with how many of the true k it finds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from tokkit.search.exact import largest_norm, top_k

Floats = NDArray[np.float32]
PAUSE_S = 0.2
"""Before each call: the threads of numpy's BLAS stay awake for a while, on the CPU that the next one wants."""


def draw(n: int, d: int, seed: int) -> Floats:
    """Return n vectors of length 1."""
    made = np.random.default_rng(seed).standard_normal((n, d), dtype=np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


def by_numpy(vectors: Floats, query: Floats, k: int) -> NDArray[np.int64]:
    """Return the best k rows."""
    scores = vectors @ query
    best = np.argpartition(scores, len(scores) - k)[len(scores) - k :]
    return best[np.argsort(-scores[best], kind="stable")]


def turn(call: Callable[[], object]) -> float:
    """Return the seconds of one call."""
    time.sleep(PAUSE_S)
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def exact(n: int, d: int, k: int, queries: int, rounds: int, threads: int) -> tuple[dict[str, object], bool]:
    """Time one size; return its row and whether the rows found are the same."""
    vectors, asked = draw(n, d, 0), draw(queries, d, 1)
    norm = largest_norm(vectors)
    ours, theirs = [], []
    same = True
    for _ in range(rounds):
        found = top_k(vectors, asked, k, norm=norm, threads=threads).rows
        same &= all(set(found[i]) == set(by_numpy(vectors, query, k)) for i, query in enumerate(asked))
        ours.append(turn(lambda: top_k(vectors, asked, k, norm=norm, threads=threads)))
        theirs.append(turn(lambda: [by_numpy(vectors, query, k) for query in asked]))
    row: dict[str, object] = {
        "search": f"{n:,} × {d}, k={k}, {queries} at once, {threads} thread{'s' * (threads > 1)}",
        "tokkit ms": f"{min(ours) * 1e3:.1f}",
        "numpy ms": f"{min(theirs) * 1e3:.1f}",
        "ours ÷ numpy's": f"{1 / harness.ratio(ours, theirs):.2f}",
        "GB/s": f"{vectors.nbytes * 1e-9 / min(ours):.1f}",
        "same rows": "yes" if same else "NO",
    }
    return row, same


def graph(n: int, d: int, k: int, rounds: int) -> str:
    """Time usearch's graph over clustered vectors, as texts have them."""
    try:
        from usearch.index import Index
    except ImportError:
        return "usearch is not installed: no graph"
    centres = draw(max(1, n // 100), d, 2)
    vectors = centres[np.random.default_rng(3).integers(0, len(centres), n)] + draw(n, d, 4) * np.float32(0.7)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    asked = vectors[:50] + draw(50, d, 5) * np.float32(0.3)
    made = Index(ndim=d, metric="ip", dtype="f32")
    built = turn(lambda: made.add(np.arange(n, dtype=np.uint64), vectors, threads=1))
    true = top_k(vectors, asked, k, threads=1).rows
    near = [np.asarray(made.search(query, 4 * k).keys) for query in asked]
    hits = np.mean([len(set(true[i]) & {int(key) for key in near[i]}) / k for i in range(len(asked))])
    once = min(turn(lambda: [made.search(query, 4 * k, threads=1) for query in asked]) for _ in range(rounds)) / 50
    whole = min(turn(lambda: top_k(vectors, asked[:1], k, norm=2.0, threads=1)) for _ in range(rounds))
    return (
        f"graph of {n:,} × {d}: built in {built:.0f} s; a query {once * 1e3:.2f} ms (exact {whole * 1e3:.1f} ms), "
        f"finding {hits:.1%} of the true {k}"
    )


def main() -> int:
    """Run the program."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--queries", default="1,16", help="how many at once, separated by commas")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--graph-rows", type=int, default=0, help="vectors of usearch's graph; 0 for none")
    options = parser.parse_args()
    harness.show_conditions(f"{options.threads} each", rounds=options.rounds)
    rows, fine = [], True
    with harness.pinned(options.threads):
        for queries in map(int, harness.names(options.queries)):
            row, same = exact(options.rows, options.dimension, options.k, queries, options.rounds, options.threads)
            rows.append(row)
            fine &= same
        harness.show("", rows)
        if options.graph_rows:
            print(graph(options.graph_rows, options.dimension, options.k, options.rounds))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
