"""Compresses classifiers: keeps the longest rows, and quantizes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tokkit.embeddings.fasttext_file import END_OF_LINE, FastTextData
from tokkit.embeddings.product_quantizer import QuantizedMatrix
from tokkit.errors import OptionError


def pruned_and_quantized(
    data: FastTextData,
    *,
    qout: bool,
    cutoff: int,
    group: int,
    norms: bool,
    seed: int,
    retrain: Callable[[FastTextData], FastTextData] | None,
) -> FastTextData:
    """Return the model with quantized rows, pruned to the `cutoff` longest ones (0: all)."""
    if isinstance(cutoff, bool) or not isinstance(cutoff, int) or cutoff < 0:
        raise OptionError(f"cutoff is {cutoff!r}; it must be an int of at least 1, or 0 to keep all rows")
    if isinstance(group, bool) or not isinstance(group, int) or group < 1:
        raise OptionError(f"dsub is {group!r}; it must be an int of at least 1")
    data = data.whole()
    if 0 < cutoff < data.input.shape[0]:
        data = pruned(data, cutoff)
        if retrain is not None:
            data = retrain(data)
    quantized = QuantizedMatrix.of(_floats(data.input), group, norms=norms, seed=seed)
    output = QuantizedMatrix.of(_floats(data.output), 2, norms=norms, seed=seed) if qout else data.output
    return replace(data, input=quantized, output=output)


def pruned(data: FastTextData, cutoff: int) -> FastTextData:
    """Return the model with the `cutoff` longest rows of words and n-grams; the end-of-line row is kept."""
    matrix = _floats(data.input)
    lengths = np.linalg.norm(matrix, axis=1)
    if END_OF_LINE in data.words[: data.n_words]:
        lengths[data.words.index(END_OF_LINE)] = np.inf
    rows = np.sort(np.argsort(-lengths, kind="stable")[:cutoff])
    words, buckets = rows[rows < data.n_words], rows[rows >= data.n_words] - data.n_words
    labels = np.arange(data.n_words, len(data.words))
    kept = np.concatenate([words, labels])
    return replace(
        data,
        words=[data.words[i] for i in kept.tolist()],
        counts=data.counts[kept],
        n_words=len(words),
        input=np.ascontiguousarray(matrix[rows]),
        pruned=np.stack([buckets, np.arange(len(buckets))], axis=1).astype(np.int32),
    )


def _floats(matrix: object) -> np.ndarray:
    if not isinstance(matrix, np.ndarray):
        raise OptionError("the model is already quantized")
    return matrix
