"""GloVe: vectors whose dot products approximate the logarithms of co-occurrence counts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit._core.embed.cooccurrence import train_glove
from tokkit.checks import as_float, as_int
from tokkit.embeddings.association import check_counts
from tokkit.embeddings.cooccurrence import count_cooccurrence
from tokkit.embeddings.glove_state import GloVeState
from tokkit.embeddings.keyed_vectors import KeyedVectors
from tokkit.embeddings.shuffled_records import RECORD, shuffled_records
from tokkit.embeddings.sparse import SparseMatrix
from tokkit.embeddings.training_ids import TrainingIds
from tokkit.errors import CorpusError, FormatError, OptionError, ShapeError
from tokkit.threads import thread_count

if TYPE_CHECKING:
    from tokkit.embeddings.counted_sentences import StrPath
    from tokkit.tokenizer import Tokenizer

OPTIONS = ("vector_size", "window", "x_max", "alpha", "epochs", "learning_rate", "seed")
"""The options stored in a model file."""
BLOCK_RECORDS = 1 << 18
"""Records between two progress reports; a tenth of a second or less."""


class GloVe:
    """Trains GloVe (Pennington, Socher and Manning 2014): from sentences, or with `train` from counts.

    The loss of a pair is f(x) (w · w̃ + b + b̃ − log x)², where x is its count and f(x) = min(1, (x / x_max)^alpha).
    Pairs are shuffled once. The optimizer is AdaGrad as in the authors' program: `learning_rate` for vectors, 1 for
    biases, sums of squares start at 1, gradients are clipped to ±100. The vector of a word is w + w̃.

    Sentences are lists of words, or texts, or TrainingIds; `corpus_file` and `tokenizer` are as in TrainingIds. Threads
    update the same vectors without locks: with one thread a seed gives bit-identical vectors on one machine, with
    several it does not. Pairs of more than `max_memory` bytes are shuffled on disk. `on_epoch(epoch, loss)` gets half
    the mean loss of each epoch.

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
        self.progress, self.on_epoch = progress, on_epoch
        self._state: GloVeState | None = None
        if sentences is not None or corpus_file is not None:
            with ExitStack() as stack:
                if not isinstance(sentences, TrainingIds):
                    sentences = stack.enter_context(
                        TrainingIds.of(sentences, corpus_file=corpus_file, tokenizer=tokenizer, min_count=min_count)
                    )
                self.train(sentences)

    @property
    def wv(self) -> KeyedVectors:
        """The vectors w + w̃ of the words; OptionError before training."""
        state = self._trained()
        return KeyedVectors.of(state.words, state.vectors(), state.counts)

    @property
    def losses(self) -> list[float]:
        """Half the mean loss of each finished epoch."""
        return [] if self._state is None else self._state.losses

    @property
    def started(self) -> bool:
        """Whether the model has been trained, so that `wv` and `save` work."""
        return self._state is not None

    def weight(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return f(x) = min(1, (x / x_max)^alpha) of counts.

        >>> GloVe().weight([1, 50, 100, 200]).round(4).tolist()
        [0.0316, 0.5946, 1.0, 1.0]
        """
        return np.asarray(np.minimum(1.0, (np.asarray(counts, dtype=np.float64) / self.x_max) ** self.alpha))

    def train(self, corpus: TrainingIds | SparseMatrix, *, epochs: int | None = None) -> list[float]:
        """Train on ids, or on counts with the same words as rows and columns; return the loss of each epoch.

        Training continues from the vectors of a previous training on the same words, also after an interrupt.
        OptionError for negative or non-finite counts, or if training diverges; CorpusError for fewer than two words.
        """
        epochs = self.epochs if epochs is None else as_int("epochs", epochs, minimum=1)
        if isinstance(corpus, TrainingIds):
            counts = count_cooccurrence(corpus, window=self.window, max_memory=self.max_memory, progress=self.progress)
            state = self._begin(counts, np.array(corpus.vocabulary.counts))
        elif isinstance(corpus, SparseMatrix):
            counts, state = corpus, self._begin(corpus)
        else:
            raise TypeError(
                f"corpus is a {type(corpus).__name__}; it must be TrainingIds or counts; for sentences use "
                "GloVe(sentences)"
            )
        random = np.random.default_rng(self.seed)  # the same order each time, to continue an interrupted epoch
        begun = len(state.losses)
        with shuffled_records(self._records(counts), counts.nnz, self.max_memory, random) as records:
            while len(state.losses) < begun + epochs:
                self._finish_epoch(state, records, begun, epochs)
                loss = float(state.tally[1]) / len(records)
                if not np.isfinite(loss):
                    raise OptionError(
                        f"the loss of epoch {len(state.losses) + 1} is {loss}; learning_rate {self.learning_rate} is "
                        "too large for these counts"
                    )
                state.losses.append(loss)
                if self.on_epoch is not None:
                    self.on_epoch(len(state.losses), loss)
        return state.losses[begun:]

    def save(self, path: StrPath) -> None:
        """Write the model with the state for further training as .safetensors; `wv.save` writes only vectors."""
        self._trained().save(path, {name: getattr(self, name) for name in OPTIONS})

    @classmethod
    def load(cls, path: StrPath, **running: Any) -> GloVe:
        """Return a model written by `save`; `threads`, `max_memory`, `progress` and `on_epoch` can be set again.

        FormatError for another file.
        """
        state, options = GloVeState.load(path)
        try:
            model = cls(**{name: options[name] for name in OPTIONS}, **running)
        except KeyError as error:
            raise FormatError(f"{os.fspath(path)} has no option {error}") from None
        model._state = state
        return model

    def _trained(self) -> GloVeState:
        if self._state is None:
            raise OptionError("this GloVe has no vectors yet; call train")
        return self._state

    def _begin(self, counts: SparseMatrix, numbers: NDArray[np.int64] | None = None) -> GloVeState:
        """Check the counts, and draw vectors if there are none."""
        words = counts.row_names
        if words is None or words != counts.column_names:
            raise ShapeError("counts must have the same words as row_names and column_names (count_cooccurrence)")
        if len(words) < 2:
            raise CorpusError(f"the vocabulary has {len(words)} word; GloVe needs at least two")
        check_counts(counts)
        if self._state is None:
            self._state = GloVeState.drawn(words, numbers, self.vector_size, self.seed)
        elif self._state.words != words:
            raise OptionError("the words differ from those of the previous training; create a new GloVe for them")
        return self._state

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

    def _finish_epoch(self, state: GloVeState, records: NDArray[Any], begun: int, epochs: int) -> None:
        """Train on the records not yet counted in the tally: all of them, except after an interrupt."""
        n, past = len(records), len(state.losses) * len(records)
        rates = state.rates(self.learning_rate)
        words, contexts = state.arrays
        block = BLOCK_RECORDS * self.threads
        if state.tally[2] != n or not past < state.tally[0] <= past + n:
            state.tally[:] = past, 0, n
        while (start := int(state.tally[0]) - past) < n:
            part = records[start : start + block].view(np.uint8)
            train_glove(part, words, contexts, rates, state.tally, threads=self.threads)
            if self.progress is not None:
                self.progress("train", int(state.tally[0]) - begun * n, epochs * n)
