"""Trains word vectors with word2vec: skip-gram and CBOW, negative sampling and hierarchical softmax."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from tokkit._core.embed.word2vec import Word2VecTraining
from tokkit.embeddings import word2vec_file
from tokkit.embeddings.counted_sentences import CountedSentences, StrPath
from tokkit.embeddings.huffman import Paths, huffman_paths
from tokkit.embeddings.keyed_vectors import KeyedVectors
from tokkit.embeddings.training_ids import TrainingIds
from tokkit.embeddings.vocabulary import Vocabulary, least_count
from tokkit.embeddings.word2vec_options import Word2VecOptions
from tokkit.embeddings.word2vec_training import Schedule, TrainingProgress, run_epoch
from tokkit.errors import CorpusError, OptionError
from tokkit.threads import thread_count

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

Sentences = Iterable[Any] | TrainingIds
Files = StrPath | Sequence[StrPath]
ROWS = 1 << 12
"""Rows processed at once, to avoid a second matrix."""
Report = Callable[[TrainingProgress], Any]


class Word2Vec:
    """A word2vec model: vectors of words (`wv`), and the state for further training.

    Names and defaults are those of gensim 4. `sentences` are lists of words, or texts, which are split at white space
    or by a `tokenizer`; `corpus_file` is a file or several files with one sentence per line; `TrainingIds` are ids read
    before. With `workers=1` a seed gives a bit-identical result; several workers (None: all CPUs) update the same
    vectors without locks, and results vary. `batched=True` trains the whole window of a word in one step, with the same
    negative samples for all its words: another order of updates, twice as fast.

    >>> texts = ["the king rules the land", "the queen rules the land", "a cat sleeps", "a dog sleeps"] * 20
    >>> model = Word2Vec(texts, vector_size=16, window=2, min_count=1, workers=1)
    >>> model.wv["king"].shape, len(model.wv)
    ((16,), 9)
    """

    def __init__(
        self,
        sentences: Sentences | None = None,
        *,
        corpus_file: Files | None = None,
        vector_size: int = 100,
        window: int = 5,
        sg: int = 0,
        hs: int = 0,
        negative: int = 5,
        ns_exponent: float = 0.75,
        cbow_mean: int = 1,
        sample: float = 1e-3,
        min_count: int = 5,
        max_final_vocab: int | None = None,
        alpha: float = 0.025,
        min_alpha: float = 0.0001,
        epochs: int = 5,
        seed: int = 1,
        sorted_vocab: int = 1,
        shrink_windows: bool = True,
        batched: bool = False,
        tokenizer: Tokenizer | None = None,
        workers: int | None = None,
        compute_loss: bool = False,
        callbacks: Iterable[Any] = (),
        progress: Report | None = None,
        cache: StrPath | None = None,
    ) -> None:
        """Create a model, and train it if sentences are given; `cache` stores their ids (see `TrainingIds.of`)."""
        given = locals()
        self.options = Word2VecOptions(**{name: given[name] for name in Word2VecOptions.__dataclass_fields__})
        self.tokenizer = tokenizer
        self.workers = thread_count(workers, name="workers")
        self.vocabulary: Vocabulary | None = None
        self.wv = KeyedVectors(self.options.vector_size)
        self.syn1neg: NDArray[np.float32] | None = None
        """Vectors of words as targets of negative sampling."""
        self.syn1: NDArray[np.float32] | None = None
        """Vectors of the inner nodes of hierarchical softmax."""
        self.paths: Paths | None = None
        self.corpus_count = 0
        self.corpus_total_words = 0
        self.epochs_trained = 0
        self.schedule: Schedule | None = None
        if sentences is None and corpus_file is None:
            return
        with contextlib.ExitStack() as stack:
            if isinstance(sentences, TrainingIds):
                ids = sentences
            else:
                ids = TrainingIds.of(
                    sentences,
                    corpus_file=corpus_file,
                    tokenizer=tokenizer,
                    min_count=min_count,
                    max_final_vocab=max_final_vocab,
                    sorted_vocab=bool(sorted_vocab),
                    cache=cache,
                )
                stack.enter_context(ids)
            self.build_vocab(ids)
            self.train(ids, compute_loss=compute_loss, callbacks=callbacks, progress=progress)

    def __getattr__(self, name: str) -> Any:
        """Return an option by gensim's name, such as `window`."""
        if name != "options" and name in Word2VecOptions.__dataclass_fields__:
            return getattr(self.options, name)
        raise AttributeError(f"a Word2Vec has no attribute {name!r}")

    def build_vocab(
        self,
        corpus_iterable: Sentences | None = None,
        corpus_file: Files | None = None,
        *,
        update: bool = False,
        progress_per: int | None = None,
    ) -> None:
        """Choose the words and initialize their vectors; with `update`, add words and counts and keep trained vectors.

        `progress_per` exists for compatibility with gensim, and does nothing.
        """
        if isinstance(corpus_iterable, TrainingIds) and not update:
            self.corpus_count, self.corpus_total_words = corpus_iterable.n_sentences, corpus_iterable.n_words
            self._begin(corpus_iterable.vocabulary)
            return
        if isinstance(corpus_iterable, TrainingIds):
            raise OptionError(
                "TrainingIds contain no new words; give build_vocab(update=True) sentences or corpus_file"
            )
        with CountedSentences.of(corpus_iterable, corpus_file=corpus_file, tokenizer=self.tokenizer) as counted:
            self.corpus_count, self.corpus_total_words = len(counted.ends), counted.n_words
            self._choose(counted.words, counted.counts, update)

    def build_vocab_from_freq(
        self, word_freq: Mapping[str, int], *, corpus_count: int | None = None, update: bool = False
    ) -> None:
        """Do the same as `build_vocab` from known counts."""
        self.corpus_count, self.corpus_total_words = corpus_count or 0, sum(word_freq.values())
        self._choose(list(word_freq), np.fromiter(word_freq.values(), dtype=np.int64, count=len(word_freq)), update)

    def _choose(self, words: list[str], counts: NDArray[np.int64], update: bool) -> None:
        options = self.options
        if not update:
            choice = {name: getattr(options, name) for name in ("min_count", "max_final_vocab")}
            self._begin(Vocabulary.of(words, counts, sorted_vocab=bool(options.sorted_vocab), **choice))
        elif self.vocabulary is None:
            raise OptionError("there is no vocabulary to update; call build_vocab without update first")
        else:
            bound = least_count(counts, options.min_count, options.max_final_vocab)
            self._grow(self.vocabulary.updated(words, counts, min_count=bound))

    def _begin(self, vocabulary: Vocabulary) -> None:
        """Initialize all vectors: uniform in ±1 / vector_size, and 0 for the output vectors."""
        _check_size(vocabulary)
        n, d = len(vocabulary), self.options.vector_size
        self.epochs_trained, self.schedule = 0, None
        self.take(
            vocabulary,
            _initial(n, d, self.options.seed),
            np.zeros((n, d), np.float32) if self.options.negative else None,
            np.zeros((n - 1, d), np.float32) if self.options.hs else None,
        )

    def _grow(self, vocabulary: Vocabulary) -> None:
        n, old, d = len(vocabulary), len(self.wv), self.options.vector_size
        vectors = np.concatenate([self.wv.vectors, _initial(n, d, self.options.seed)[old:]])
        more = np.zeros((n - old, d), np.float32)
        self.take(
            vocabulary,
            vectors,
            None if self.syn1neg is None else np.concatenate([self.syn1neg, more]),
            None if self.syn1 is None else np.concatenate([self.syn1, more]),
        )

    def take(
        self,
        vocabulary: Vocabulary,
        vectors: NDArray[np.float32],
        outer: NDArray[np.float32] | None,
        nodes: NDArray[np.float32] | None,
    ) -> None:
        """Set the words and the vectors of words, of targets, and of inner nodes, which are trained in place."""
        self.vocabulary = vocabulary
        self.wv = KeyedVectors.of(list(vocabulary.words), vectors, vocabulary.counts)
        self.syn1neg, self.syn1 = outer, nodes
        self.paths = None if nodes is None else huffman_paths(vocabulary.counts)

    def train(
        self,
        corpus_iterable: Sentences | None = None,
        corpus_file: Files | None = None,
        *,
        total_examples: int | None = None,
        total_words: int | None = None,
        epochs: int | None = None,
        start_alpha: float | None = None,
        end_alpha: float | None = None,
        compute_loss: bool = False,
        callbacks: Iterable[Any] = (),
        progress: Report | None = None,
        resume: bool = False,
    ) -> tuple[int, int]:
        """Train for some epochs; return the numbers of words trained on and of words read.

        The learning rate falls from `start_alpha` to `end_alpha`. `callbacks` are gensim's: on_epoch_end(model) and
        so on; `progress` is called ten times a second. `resume=True` with the same sentences continues a training
        interrupted by Ctrl-C, also after `save` and `load`. The total numbers exist for compatibility with gensim, and
        are not needed.
        """
        if self.vocabulary is None:
            raise OptionError("there is no vocabulary yet; call build_vocab before train")
        if isinstance(corpus_iterable, TrainingIds):
            return self._train(
                corpus_iterable, epochs, start_alpha, end_alpha, compute_loss, tuple(callbacks), progress, resume
            )
        with TrainingIds.of(
            corpus_iterable, corpus_file=corpus_file, tokenizer=self.tokenizer, vocabulary=self.vocabulary
        ) as ids:
            return self._train(ids, epochs, start_alpha, end_alpha, compute_loss, tuple(callbacks), progress, resume)

    def _train(
        self,
        ids: TrainingIds,
        epochs: int | None,
        start_alpha: float | None,
        end_alpha: float | None,
        compute_loss: bool,
        callbacks: tuple[Any, ...],
        progress: Report | None,
        resume: bool,
    ) -> tuple[int, int]:
        options = self.options
        if ids.vocabulary.words != cast(Vocabulary, self.vocabulary).words:
            raise OptionError("the ids belong to another vocabulary; create them with vocabulary=model.vocabulary")
        if not resume:
            chosen = Word2VecOptions(
                **options.as_dict()
                | {
                    "epochs": options.epochs if epochs is None else epochs,
                    "alpha": options.alpha if start_alpha is None else start_alpha,
                    "min_alpha": options.min_alpha if end_alpha is None else end_alpha,
                }
            )
            self.schedule = Schedule(chosen.epochs, chosen.alpha, chosen.min_alpha, self.epochs_trained, compute_loss)
        elif self.schedule is None:
            raise OptionError("resume is True, but no training was interrupted")
        schedule = self.schedule
        schedule.compute_loss |= compute_loss
        training = self._training(ids, schedule)
        _call(callbacks, "on_train_begin", self)
        before = schedule.trained_words
        try:
            while schedule.epoch < schedule.epochs:
                if not schedule.sentence:
                    schedule.epoch_words, schedule.epoch_loss = 0, 0.0
                    _call(callbacks, "on_epoch_begin", self)
                run_epoch(training, ids, schedule, self.workers, progress)
                schedule.epoch, schedule.sentence = schedule.epoch + 1, 0
                self.epochs_trained += 1
                self.wv.norms = None
                _call(callbacks, "on_epoch_end", self)
        finally:
            self.wv.norms = None
        if not all(np.isfinite(self.wv.vectors[i : i + ROWS]).all() for i in range(0, len(self.wv), ROWS)):
            warnings.warn(
                f"vectors are not finite; use an alpha lower than {schedule.start_alpha}",
                RuntimeWarning,
                stacklevel=3,
            )
        _call(callbacks, "on_train_end", self)
        return schedule.trained_words - before, ids.n_words * schedule.epochs

    def _training(self, ids: TrainingIds, schedule: Schedule) -> Word2VecTraining:
        options, vocabulary = self.options, cast(Vocabulary, self.vocabulary)
        keep = None
        if options.sample:
            keep = (vocabulary.keep_probabilities(options.sample) * ((1 << 32) - 1)).astype(np.uint32)
        return Word2VecTraining(
            ids.ids,
            ids.ends,
            self.wv.vectors,
            out=self.syn1neg,
            negatives=vocabulary.negatives(options.ns_exponent) if options.negative else None,
            negative=options.negative,
            nodes=self.syn1,
            paths=self.paths,
            keep=keep,
            window=options.window,
            shrink=bool(options.shrink_windows),
            skip_gram=bool(options.sg),
            mean=bool(options.cbow_mean),
            batched=options.batched,
            losses=schedule.compute_loss,
            seed=options.seed,
        )

    @property
    def running_training_loss(self) -> float:
        """The sum of losses over all epochs of the last training with `compute_loss=True`."""
        return self.schedule.loss if self.schedule is not None else 0.0

    def get_latest_training_loss(self) -> float:
        """Return `running_training_loss`."""
        return self.running_training_loss

    def predict_output_word(self, context_words_list: Iterable[str], topn: int = 10) -> list[tuple[str, float]] | None:
        """Return the most probable words in a context with their probabilities; None if no context word is known."""
        if self.syn1neg is None:
            raise OptionError("predict_output_word needs a model trained with negative sampling (negative=5)")
        rows = [self.wv.get_index(word) for word in context_words_list if word in self.wv]
        if not rows:
            return None
        hidden = self.wv.vectors[rows].sum(axis=0)
        if self.options.cbow_mean:
            hidden /= len(rows)
        scores = (self.syn1neg @ hidden).astype(np.float64)
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        return [(self.wv.index_to_key[i], float(chances[i])) for i in np.argsort(-chances, kind="stable")[:topn]]

    def save(self, path: StrPath) -> None:
        """Write the whole model, and the state of an interrupted training, to a safetensors file."""
        word2vec_file.save(self, path)

    @classmethod
    def load(cls, path: StrPath, *, tokenizer: Tokenizer | None = None, workers: int | None = None) -> Word2Vec:
        """Read a file written by `save`; FormatError for another file. gensim's pickles are not supported."""
        return word2vec_file.load(cls(tokenizer=tokenizer, workers=workers), path)

    def __repr__(self) -> str:
        options = self.options
        return f"{type(self).__name__}<vocab={len(self.wv)}, vector_size={options.vector_size}, alpha={options.alpha}>"


def _check_size(vocabulary: Vocabulary) -> None:
    if len(vocabulary) < 2:
        raise CorpusError(
            f"the vocabulary has one word, {vocabulary.words[0]!r}; training needs at least two (lower min_count, or "
            "give more text)"
        )


def _initial(n: int, d: int, seed: int) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).random((n, d), dtype=np.float32)
    vectors -= np.float32(0.5)
    vectors *= np.float32(2 / d)
    return vectors


def _call(callbacks: tuple[Any, ...], name: str, model: Word2Vec) -> None:
    for callback in callbacks:
        if (function := getattr(callback, name, None)) is not None:
            function(model)
