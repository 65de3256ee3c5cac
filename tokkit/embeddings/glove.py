"""GloVe: vectors whose products approach the logarithms of co-occurrence counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit._core.embed import train_glove
from tokkit.embeddings.association import check_counts
from tokkit.embeddings.cooccurrence import count_cooccurrence
from tokkit.embeddings.keyed_vectors import KeyedVectors
from tokkit.embeddings.shuffled_records import RECORD, shuffled_records
from tokkit.embeddings.sparse import SparseMatrix
from tokkit.embeddings.training_ids import TrainingIds
from tokkit.errors import CorpusError, OptionError, ShapeError
from tokkit.nn.checks import as_float, as_int
from tokkit.threads import thread_count

if TYPE_CHECKING:
    from tokkit.embeddings.counted_sentences import StrPath
    from tokkit.tokenizer import Tokenizer

LANES, LINE = 16, 64
"""Floats that a state is filled up to, and bytes that it begins at (csrc/embed/glove.h)."""
BLOCK_RECORDS = 1 << 18
"""Records between two reports of progress; a tenth of a second or less."""


class GloVe:
    """Trains GloVe (Pennington, Socher and Manning 2014): `train` on counts, or at once from sentences.

    The loss of a pair is f(x) (w · w̃ + b + b̃ − log x)², x its count and f(x) = min(1, (x / x_max)^alpha). Pairs are
    shuffled once. Steps are those of AdaGrad as the authors' program takes them: `learning_rate` for vectors, 1 for
    biases, sums of squares from 1, gradients cut to ±100. A word's vector is w + w̃.

    Sentences are lists of words, or texts, or TrainingIds; `corpus_file` and `tokenizer` are TrainingIds' own. Threads
    write to the same vectors without locks: one thread and one seed give the same vectors to the bit on one machine,
    several threads do not. Pairs that take more than `max_memory` bytes are shuffled on disk. `losses` has half the
    mean loss of each epoch, which `on_epoch(epoch, loss)` gets too.

    >>> model = GloVe(["the king and the queen", "the queen and the king"] * 3, min_count=1, vector_size=8, threads=1)
    >>> len(model.wv), model.losses[-1] < model.losses[0]
    (4, True)
    """

    def __init__(
        self,
        sentences: TrainingIds | Iterable[Any] | None = None,
        *,
        corpus_file: StrPath | Sequence[StrPath] | None = None,
        tokenizer: Tokenizer | None = None,
        vector_size: int = 100,
        window: int = 10,
        min_count: int = 5,
        x_max: float = 100.0,
        alpha: float = 0.75,
        epochs: int = 25,
        learning_rate: float = 0.05,
        seed: int = 1,
        threads: int | None = None,
        max_memory: int = 1 << 30,
        progress: Callable[[str, int, int], None] | None = None,
        on_epoch: Callable[[int, float], None] | None = None,
    ) -> None:
        self.vector_size = as_int("vector_size", vector_size, minimum=1)
        self.window = as_int("window", window, minimum=1)
        self.x_max = as_float("x_max", x_max, greater_than=0)
        self.alpha = as_float("alpha", alpha, greater_than=0)
        self.epochs = as_int("epochs", epochs, minimum=1)
        self.learning_rate = as_float("learning_rate", learning_rate, greater_than=0)
        self.seed = as_int("seed", seed, minimum=0)
        self.max_memory = as_int("max_memory", max_memory, minimum=1)
        self.threads = thread_count(threads)
        self.losses: list[float] = []
        self._progress, self._on_epoch = progress, on_epoch
        self._words: tuple[str, ...] = ()
        self._counts: NDArray[np.int64] | None = None
        self._states: NDArray[np.float32] = np.empty((2, 0, 2, 0), np.float32)
        if sentences is not None or corpus_file is not None:
            with ExitStack() as stack:
                if not isinstance(sentences, TrainingIds):
                    sentences = stack.enter_context(
                        TrainingIds.of(sentences, corpus_file=corpus_file, tokenizer=tokenizer, min_count=min_count)
                    )
                self._counts = sentences.vocabulary.counts
                counts = count_cooccurrence(sentences, window=window, max_memory=max_memory, progress=progress)
            self.train(counts)

    @property
    def wv(self) -> KeyedVectors:
        """The vectors w + w̃ of the words; OptionError before training."""
        if not self._words:
            raise OptionError("this GloVe has no vectors yet; call train")
        vectors = self._states[0, :, 0, : self.vector_size] + self._states[1, :, 0, : self.vector_size]
        return KeyedVectors.of(self._words, vectors, self._counts)

    def weight(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return f(x) = min(1, (x / x_max)^alpha) of counts.

        >>> GloVe().weight([1, 50, 100, 200]).round(4).tolist()
        [0.0316, 0.5946, 1.0, 1.0]
        """
        return np.asarray(np.minimum(1.0, (np.asarray(counts, dtype=np.float64) / self.x_max) ** self.alpha))

    def train(self, counts: SparseMatrix, *, epochs: int | None = None) -> list[float]:
        """Train on counts whose rows and columns are named by the same words; return the loss of each epoch.

        Training goes on from the vectors of a training before, of the same words. OptionError for counts that are not
        finite or negative, or if training diverges; CorpusError for fewer than two words.
        """
        epochs = self.epochs if epochs is None else as_int("epochs", epochs, minimum=1)
        self._begin(counts)
        random = np.random.default_rng([self.seed, len(self.losses)])
        made = []
        with shuffled_records(self._records(counts), counts.nnz, self.max_memory, random) as records:
            for epoch in range(epochs):
                loss = self._epoch(records, epoch, epochs)
                if not np.isfinite(loss):
                    raise OptionError(
                        f"the loss of epoch {len(self.losses) + 1} is {loss}; learning_rate {self.learning_rate} is "
                        "too large for these counts"
                    )
                self.losses.append(loss)
                made.append(loss)
                if self._on_epoch is not None:
                    self._on_epoch(len(self.losses), loss)
        return made

    def _begin(self, counts: SparseMatrix) -> None:
        """Check the counts, and draw vectors if there are none."""
        words = counts.row_names
        if words is None or words != counts.column_names:
            raise ShapeError("counts must have the same words as row_names and column_names (count_cooccurrence)")
        if len(words) < 2:
            raise CorpusError(f"the vocabulary has {len(words)} word; GloVe needs two at least")
        check_counts(counts)
        if self._words and self._words != words:
            raise OptionError("the words are not those of the training before; make another GloVe for them")
        if not self._words:
            self._words = words
            self._states = _initial(len(words), self.vector_size, self.seed)

    def _records(self, counts: SparseMatrix) -> Iterator[NDArray[Any]]:
        """Yield the pairs with counts above 0, with log x and f(x)."""
        for rows in counts.row_blocks():
            part = slice(int(counts.indptr[rows.start]), int(counts.indptr[rows.stop]))
            lengths = np.diff(counts.indptr[rows.start : rows.stop + 1])
            values = counts.data[part].astype(np.float64)
            made = np.empty(len(values), RECORD)
            made["word"] = np.repeat(np.arange(rows.start, rows.stop, dtype=np.uint32), lengths)
            made["context"] = counts.indices[part]
            with np.errstate(divide="ignore"):
                made["log_count"] = np.log(values)
            made["weight"] = self.weight(values)
            yield made[values > 0]

    def _epoch(self, records: NDArray[Any], epoch: int, epochs: int) -> float:
        """Train on all records once; return half the mean loss."""
        rates = np.zeros((2, self._states.shape[3]), np.float32)
        rates[:, : self.vector_size] = self.learning_rate
        rates[0, self.vector_size] = rates[1, self.vector_size + 1] = 1
        words, contexts = self._states
        block = BLOCK_RECORDS * self.threads
        total = 0.0
        for start in range(0, len(records), block):
            part = records[start : start + block]
            total += train_glove(part.view(np.uint8), words, contexts, rates, threads=self.threads)
            if self._progress is not None:
                self._progress("train", epoch * len(records) + start + len(part), epochs * len(records))
        return total / len(records)


def _initial(n_words: int, vector_size: int, seed: int) -> NDArray[np.float32]:
    """Return states (2, n_words, 2, step) of words and contexts: vectors and biases in ±1/2d, squares of 1."""
    step = -(-(vector_size + 2) // LANES) * LANES
    size = 4 * n_words * step
    memory = np.empty(size + LINE // 4, np.float32)
    first = -memory.ctypes.data % LINE // 4
    states = memory[first : first + size].reshape(2, n_words, 2, step)
    states[:, :, 0], states[:, :, 1] = 0, 1
    random = np.random.default_rng(seed)
    drawn = random.random((2, n_words, vector_size + 1), dtype=np.float32)
    drawn -= 0.5
    drawn /= vector_size
    states[:, :, 0, :vector_size] = drawn[:, :, :vector_size]
    states[0, :, 0, vector_size], states[0, :, 0, vector_size + 1] = drawn[0, :, vector_size], 1
    states[1, :, 0, vector_size], states[1, :, 0, vector_size + 1] = 1, drawn[1, :, vector_size]
    return states
