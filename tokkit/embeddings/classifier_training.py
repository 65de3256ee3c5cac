"""Trains the matrices of a text classifier, epoch by epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tokkit._core.embed.fasttext import ClassifierTraining, FastTextObjective
from tokkit.embeddings.fasttext_file import FastTextArgs, FastTextData, StrPath
from tokkit.embeddings.fasttext_rows import FastTextRows
from tokkit.embeddings.fasttext_tree import tree_paths
from tokkit.embeddings.labelled_lines import LabelledLines, word_ngram_buckets
from tokkit.embeddings.product_quantizer import QuantizedMatrix
from tokkit.embeddings.vocabulary import Vocabulary
from tokkit.errors import OptionError
from tokkit.threads import thread_count

OnProgress = Callable[[int, int, float], None]
"""Called with (words trained so far, total words, mean loss since the last call)."""
NEGATIVE_EXPONENT = 0.5
"""The exponent of counts for negative samples of labels, as in fastText."""
_WORDS_AT_ONCE = 1 << 17
"""Words between two checks for Ctrl-C: a few tenths of a second."""
_ROWS_AT_ONCE = 1 << 13


def uniform_rows(n: int, dim: int, seed: int) -> NDArray[np.float32]:
    """Return n rows of uniform random numbers from -1/dim to 1/dim."""
    random, made = np.random.default_rng(seed), np.empty((n, dim), dtype=np.float32)
    for start in range(0, n, _ROWS_AT_ONCE):
        part = made[start : start + _ROWS_AT_ONCE]
        random.random(dtype=np.float32, out=part)
        part -= np.float32(0.5)
        part *= np.float32(2 / dim)
    return made


def used_rows(
    rows: NDArray[np.uint32], n_words: int, args: FastTextArgs, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return initial rows of the words and of the n-grams among `rows`, and the row of each bucket.

    All other n-grams share a row of zeros, which adds no noise to vectors of unknown words and takes no memory.
    """
    buckets = np.unique(rows[rows >= n_words]) - np.uint32(n_words)
    row_of_bucket = np.full(args.bucket, len(buckets), dtype=np.int32)
    row_of_bucket[buckets] = np.arange(len(buckets), dtype=np.int32)
    matrix = uniform_rows(n_words + len(buckets) + 1, args.dim, seed)
    matrix[-1] = 0
    return matrix, row_of_bucket


def train(
    input: StrPath,
    args: FastTextArgs,
    *,
    label: str,
    lr: float,
    min_count_label: int = 0,
    thread: int | None = None,
    seed: int = 0,
    start: FastTextData | None = None,
    pretrained: tuple[list[str], NDArray[np.float32]] | None = None,
    on_progress: OnProgress | None = None,
) -> FastTextData:
    """Train on the lines of a file, from random rows, or from the model `start`, whose words and labels are kept.

    `pretrained` are words and vectors for the initial rows.
    """
    if not label or label.split() != [label]:
        raise OptionError(f"label is {label!r}; it must be a prefix without white space")
    threads = thread_count(thread)
    prefix = label.encode("utf-8", "surrogatepass")
    lines = LabelledLines.of(
        input,
        label=prefix,
        min_count=args.min_count,
        min_count_label=min_count_label,
        known=None if start is None else (start.words, start.n_words),
    )
    if start is None:
        hashed = args.max_n > 0 or args.word_ngrams > 1
        args = replace(args, bucket=args.bucket if hashed else 0)
        words = [*lines.words[: lines.n_words], *lines.dropped]
        used = FastTextRows(args, lines.words, lines.n_words, prefix=prefix).of_words(words, own=True)[1]
        if args.word_ngrams > 1:
            buckets = word_ngram_buckets(lines, args.word_ngrams, args.bucket)
            used = np.concatenate([used, np.uint32(lines.n_words) + buckets])
        matrix, row_of_bucket = used_rows(used, lines.n_words, args, seed)
        data = FastTextData(
            args,
            lines.words,
            lines.counts,
            lines.n_words,
            len(lines.ids),
            matrix,
            np.zeros((len(lines.words) - lines.n_words, args.dim), dtype=np.float32),
            row_of_bucket=row_of_bucket,
        )
    else:
        data = start.whole()  # new words may have n-grams without a row
    if pretrained is not None:
        _put(data, *pretrained)
    rows = FastTextRows(
        args,
        data.words,
        data.n_words,
        prefix=prefix,
        pruned=data.pruned,
        row_of_bucket=data.row_of_bucket,
        dropped=lines.dropped,
    )
    objective = objective_of(data, data.counts[data.n_words :], NEGATIVE_EXPONENT)
    total = args.epoch * len(lines.ids)
    training = ClassifierTraining(
        objective, rows.lines, lines.ids, lines.ends, total=total, rate_each=args.lr_update_rate, lr=lr
    )
    for epoch in range(args.epoch):
        begun, first = epoch * len(lines.ids), 0
        while first < len(lines.ends):
            from_ = int(lines.ends[first - 1]) if first else 0
            stop = max(int(np.searchsorted(lines.ends, from_ + _WORDS_AT_ONCE)), first + 1)
            loss, n = training.run(first, stop - first, begun=begun, seed=seed * args.epoch + epoch, threads=threads)
            first = stop
            if on_progress is not None:
                on_progress(begun + int(lines.ends[stop - 1]), total, loss / n if n else 0.0)
    return data


def objective_of(
    data: FastTextData, counts: NDArray[np.int64], exponent: float, then: FastTextObjective | None = None
) -> FastTextObjective:
    """Return the output layer of a model for its loss; words are trained on `then` after each step."""
    args = data.args
    negatives = Vocabulary(("",) * len(counts), counts).negatives(exponent) if args.loss == "ns" else None
    paths = tree_paths(counts) if args.loss == "hs" else None
    if isinstance(data.input, QuantizedMatrix) or isinstance(data.output, QuantizedMatrix):
        raise OptionError("a quantized model cannot be trained")
    return FastTextObjective(
        data.input, data.output, args.loss, negative=args.neg, negatives=negatives, paths=paths, next=then
    )


def _put(data: FastTextData, words: list[str], vectors: NDArray[np.float32]) -> None:
    """Copy the vectors of words of the dictionary into their rows."""
    if vectors.shape[1] != data.args.dim:
        raise OptionError(f"pretrainedVectors have {vectors.shape[1]} columns; it must be dim, {data.args.dim}")
    numbers = {word: i for i, word in enumerate(data.words[: data.n_words])}
    for word, vector in zip(words, vectors, strict=True):
        if (at := numbers.get(word.encode("utf-8", "surrogatepass"))) is not None:
            data.input[at] = vector  # type: ignore[index]
