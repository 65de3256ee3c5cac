"""Projects vectors to points in a plane: PCA with numpy, t-SNE with scikit-learn (extra `plot`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit import nn
from tokkit.errors import OptionError, ShapeError, VocabError

MAX_WORDS = 20_000
"""Maximum number of words in a drawing: Chromium without a GPU paints 15,000 in 0.1 s."""
MIN_TSNE = 4
PERPLEXITY = 30.0
WORDS_OF_A_THREAD = 1000
Method = Literal["pca", "tsne"]
METHODS: tuple[Method, ...] = ("pca", "tsne")


@dataclass(frozen=True)
class Drawn:
    """The words of a drawing, their rows among all vectors, and their points (n, 2)."""

    words: list[str]
    rows: NDArray[np.int64]
    points: NDArray[np.float64]
    about: str


def project(vectors: ArrayLike, method: Method = "pca", *, seed: int = 0) -> NDArray[np.float64]:
    """Project vectors (n, d) to points (n, 2), such that neighbours tend to stay neighbours.

    "pca" keeps the two directions with the largest variance (Pearson 1901): the first is the horizontal axis, and signs
    are chosen so that each direction's largest component is positive. "tsne" keeps neighbourhoods by cosine, while
    distances between clusters have no meaning (van der Maaten and Hinton 2008); it needs scikit-learn: pip install
    'pytokkit[plot]'. `seed` applies to "tsne". ShapeError if vectors are not (n, d) or not finite, OptionError for an
    unknown method, or for fewer than 4 vectors with "tsne".

    >>> project([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])[:, 0].round(6).tolist()
    [-5.0, 0.0, 5.0]
    """
    made = np.asarray(vectors, dtype=np.float64)
    if made.ndim != 2 or not made.size:
        raise ShapeError(f"vectors have shape {made.shape}; they must be (n, d), with at least one of each")
    if not np.isfinite(made).all():
        raise ShapeError("vectors have NaN or infinity; they must be finite to be drawn")
    if method == "pca":
        return _pca(made)
    if method == "tsne":
        return _tsne(made, seed)
    raise OptionError(f"method is {method!r}; it must be 'pca' or 'tsne'")


def check(method: str) -> None:
    """Raise OptionError if a method's package is missing, before any work."""
    if method == "tsne":
        try:
            import sklearn.manifold  # noqa: F401
        except ImportError:
            raise OptionError("t-SNE needs scikit-learn: pip install 'pytokkit[plot]'") from None


def _pca(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = vectors - vectors.mean(axis=0)
    # Scaled, so that no square overflows.
    largest = float(np.abs(centred).max()) or 1.0
    sides, values, axes = np.linalg.svd(centred / largest, full_matrices=False)
    points = np.zeros((len(vectors), 2))
    n = min(2, len(values))
    signs = np.sign(axes[np.arange(n), np.abs(axes[:n]).argmax(axis=1)])
    points[:, :n] = sides[:, :n] * (values[:n] * signs * largest)
    return points


def _tsne(vectors: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    check("tsne")
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits  # a dependency of scikit-learn

    n = len(vectors)
    if n < MIN_TSNE:
        raise OptionError(f"{n} vectors are given; t-SNE needs at least {MIN_TSNE}: choose pca")
    start = _pca(vectors)
    start *= 1e-4 / (start[:, 0].std() or 1.0)
    made = TSNE(perplexity=min(PERPLEXITY, (n - 1) / 3), metric="cosine", init=start, random_state=seed)
    # Threads synchronize a thousand times, which takes longer than the work for few vectors.
    with threadpool_limits(min(nn.current_threads(), 1 + n // WORDS_OF_A_THREAD)):
        return np.asarray(made.fit_transform(vectors), dtype=np.float64)


def drawn(
    keys: Sequence[str], vectors: NDArray[np.generic], words: Sequence[str] | None, method: Method, seed: int
) -> Drawn:
    """Return the words to draw, without repeats, and their points; ShapeError, VocabError or OptionError.

    `words` are some of the keys; None means all. If a key occurs twice, its first vector counts.
    """
    if vectors.ndim != 2 or len(keys) != len(vectors):
        raise ShapeError(f"vectors have shape {vectors.shape}, with {len(keys)} keys; they must be (keys, dimensions)")
    for i, key in enumerate(keys):
        if not isinstance(key, str):
            raise TypeError(f"keys[{i}] is {type(key).__name__}, not str; give the words' texts")
    if words is None:
        chosen, rows = list(keys), np.arange(len(keys))
    else:
        places = {key: i for i, key in reversed(list(enumerate(keys)))}
        chosen = list(dict.fromkeys(words))
        if unknown := [word for word in chosen if word not in places]:
            more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
            raise VocabError(f"{', '.join(map(repr, unknown[:5]))}{more}: not among the {len(keys):,} keys")
        rows = np.array([places[word] for word in chosen], dtype=np.int64)
    if not 1 <= len(chosen) <= MAX_WORDS:
        raise OptionError(f"there are {len(chosen):,} words to draw; give 1 to {MAX_WORDS:,} as words")
    points = project(vectors[rows], method, seed=seed)
    return Drawn(chosen, rows, points, _about(len(keys), vectors[rows], points, method))


def _about(n_keys: int, vectors: NDArray[np.generic], points: NDArray[np.float64], method: Method) -> str:
    """Return a sentence that describes a drawing."""
    n, d = vectors.shape
    some = f"{n:,} words" if n == n_keys else f"{n:,} of {n_keys:,} words"
    if method == "tsne":
        return f"t-SNE of {some}, {d} dimensions: neighbours are meaningful, distances between clusters are not."
    total = float(vectors.astype(np.float64).var(axis=0).sum())
    across, down = (100 * float(part) / (total or 1.0) for part in points.var(axis=0))
    return f"PCA of {some}, {d} dimensions: {across:.0f} % of the variance across, {down:.0f} % up."
