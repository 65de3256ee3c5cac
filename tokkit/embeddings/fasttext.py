"""Trains vectors of words as means of the rows of their n-grams: fastText's skip-gram and CBOW."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokkit._core.embed.fasttext import FastTextTraining
from tokkit.embeddings import fasttext_checkpoint, fasttext_file
from tokkit.embeddings.classifier_training import objective_of, uniform_rows, used_rows
from tokkit.embeddings.counted_sentences import StrPath
from tokkit.embeddings.fasttext_file import MAX_NGRAM, FastTextArgs, FastTextData
from tokkit.embeddings.fasttext_rows import Ends, Rows
from tokkit.embeddings.fasttext_vectors import CharacterNgrams, FastTextKeyedVectors, Subwords, TokenSubwords
from tokkit.embeddings.training_ids import TrainingIds
from tokkit.embeddings.vocabulary import Vocabulary
from tokkit.embeddings.word2vec_options import Word2VecOptions
from tokkit.embeddings.word2vec_training import Schedule, TrainingProgress, run_epoch
from tokkit.errors import CorpusError, FormatError, OptionError
from tokkit.threads import thread_count

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

Sentences = Iterable[Any] | TrainingIds
Files = StrPath | Sequence[StrPath]


@dataclass(frozen=True)
class FastTextOptions(Word2VecOptions):
    """The options of a model; names and defaults are those of gensim 4."""

    min_n: int = 3
    max_n: int = 6
    bucket: int = 2_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least, most in (("min_n", 1, MAX_NGRAM), ("max_n", 0, MAX_NGRAM), ("bucket", 1, (1 << 31) - 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise OptionError(f"{name} is {value!r}; it must be an int from {least} to {most:,}")


class FastText:
    """A fastText model: vectors of words and n-grams (`wv`), and the state for further training.

    Names and defaults are those of gensim. The vector of a word is the mean of the row of the word and the rows of its
    character n-grams, from `min_n` to `max_n` characters, with "<" before the word and ">" after it; n-grams are hashed
    to `bucket` rows. With a `tokenizer` the tokens of a word replace n-grams. Sentences (lists of words, texts, or a
    file), `workers` and `seed` are as in Word2Vec.

    >>> texts = ["the king rules the land", "the queen rules the land", "a cat sleeps", "a dog sleeps"] * 20
    >>> model = FastText(texts, vector_size=16, window=2, min_count=1, bucket=1000, workers=1)
    >>> "kings" in model.wv.key_to_index, model.wv["kings"].shape
    (False, (16,))
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
        shrink_windows: bool = True,
        min_n: int = 3,
        max_n: int = 6,
        bucket: int = 2_000_000,
        tokenizer: Tokenizer | None = None,
        workers: int | None = None,
        callbacks: Iterable[Any] = (),
        progress: Callable[[TrainingProgress], Any] | None = None,
        cache: StrPath | None = None,
    ) -> None:
        """Create a model, and train it if sentences are given; `cache` stores their ids (see `TrainingIds.of`)."""
        given = locals()
        names = [name for name in FastTextOptions.__dataclass_fields__ if name in given]
        self.options = FastTextOptions(**{name: given[name] for name in names})
        self.tokenizer, self.workers = tokenizer, thread_count(workers, name="workers")
        self.data: FastTextData | None = None
        self.wv: FastTextKeyedVectors | None = None
        self.epochs_trained = 0
        self.schedule: Schedule | None = None
        self.nodes: NDArray[np.float32] | None = None
        """(words, d): of inner nodes, if hs=1 is combined with negative sampling; a .bin file cannot store them."""
        if sentences is None and corpus_file is None:
            return
        with contextlib.ExitStack() as stack:
            if isinstance(sentences, TrainingIds):
                ids = sentences
            else:
                ids = TrainingIds.of(
                    sentences,
                    corpus_file=corpus_file,
                    min_count=min_count,
                    max_final_vocab=max_final_vocab,
                    cache=cache,
                )
                stack.enter_context(ids)
            self.build_vocab(ids)
            self.train(ids, callbacks=callbacks, progress=progress)

    def build_vocab(self, corpus_iterable: Sentences | None = None, corpus_file: Files | None = None) -> None:
        """Choose the words, and initialize the rows: uniform in ±1 / vector_size, and 0 for targets."""
        options = self.options
        if not isinstance(corpus_iterable, TrainingIds):
            with TrainingIds.of(
                corpus_iterable,
                corpus_file=corpus_file,
                min_count=options.min_count,
                max_final_vocab=options.max_final_vocab,
            ) as ids:
                return self.build_vocab(ids)
        vocabulary = corpus_iterable.vocabulary
        if len(vocabulary) < 2:
            raise CorpusError(
                f"the vocabulary has one word, {vocabulary.words[0]!r}; training needs at least two words"
            )
        order = np.argsort(-vocabulary.counts, kind="stable")
        if not np.array_equal(order, np.arange(len(order))):
            raise OptionError("the words must be in descending order of counts, as in fastText's files")
        if self.tokenizer is not None:
            bucket = self.tokenizer.n_ids
        else:
            bucket = options.bucket if options.max_n >= options.min_n else 0
        args = FastTextArgs(
            options.vector_size,
            options.window,
            options.epochs,
            options.min_count,
            options.negative,
            1,
            "ns" if options.negative else "hs",
            "skipgram" if options.sg else "cbow",
            bucket,
            options.min_n,
            options.max_n if bucket else 0,
            100,
            options.sample,
        )
        words = [word.encode() for word in vocabulary.words]
        row_of_bucket = None
        if self.tokenizer is None:
            found = CharacterNgrams(args, words).rows(vocabulary.words, own=True)[1]
            rows, row_of_bucket = used_rows(found, len(words), args, options.seed)
        else:
            rows = uniform_rows(len(words) + bucket, args.dim, options.seed)
        output = np.zeros((len(words), args.dim), dtype=np.float32)
        counts = vocabulary.counts
        self.take(
            FastTextData(args, words, counts, len(words), vocabulary.total, rows, output, row_of_bucket=row_of_bucket)
        )
        self.nodes = np.zeros_like(output) if options.hs and options.negative else None
        self.epochs_trained, self.schedule = 0, None

    def take(self, data: FastTextData) -> None:
        """Set the words and rows, which are trained in place."""
        words, counts = data.words[: data.n_words], data.counts[: data.n_words]
        subwords: Subwords = CharacterNgrams(data.args, words, data.row_of_bucket)
        if self.tokenizer is not None:
            subwords = TokenSubwords(self.tokenizer, len(words))
        self.data = data
        self.wv = FastTextKeyedVectors.of_rows(
            [word.decode("utf-8", "surrogateescape") for word in words],
            counts,
            data.input,
            subwords,
            threads=self.workers,
        )

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
        callbacks: Iterable[Any] = (),
        progress: Callable[[TrainingProgress], Any] | None = None,
        resume: bool = False,
    ) -> None:
        """Train for some epochs, while the learning rate falls from `start_alpha` to `end_alpha`.

        `callbacks` are gensim's: on_epoch_end(model) and so on. The total numbers exist for compatibility with gensim,
        and are not needed. `resume=True` with the same sentences continues a training interrupted by Ctrl-C, also after
        `save_checkpoint` and `load_checkpoint`; with one thread the vectors are the same as without the interruption.
        """
        if self.data is None or self.wv is None:
            raise OptionError("there is no vocabulary yet; call build_vocab before train")
        vocabulary = self._vocabulary(self.data)
        if not vocabulary.total:
            raise OptionError("all words of the model have a count of 0; it cannot be trained further")
        if not isinstance(corpus_iterable, TrainingIds):
            with TrainingIds.of(corpus_iterable, corpus_file=corpus_file, vocabulary=vocabulary) as ids:
                return self.train(
                    ids,
                    epochs=epochs,
                    start_alpha=start_alpha,
                    end_alpha=end_alpha,
                    callbacks=callbacks,
                    progress=progress,
                    resume=resume,
                )
        ids = corpus_iterable
        if ids.vocabulary.words != vocabulary.words:
            raise OptionError("the ids belong to another vocabulary")
        if not resume:
            options = self.options
            chosen = replace(
                options,
                epochs=options.epochs if epochs is None else epochs,
                alpha=options.alpha if start_alpha is None else start_alpha,
                min_alpha=options.min_alpha if end_alpha is None else end_alpha,
            )
            self.schedule = Schedule(chosen.epochs, chosen.alpha, chosen.min_alpha, self.epochs_trained, True)
        elif self.schedule is None:
            raise OptionError("resume is True, but no training was interrupted")
        schedule, training = self.schedule, self._training(ids, self.data, vocabulary)
        listeners = tuple(callbacks)
        _call(listeners, "on_train_begin", self)
        try:
            while schedule.epoch < schedule.epochs:
                if not schedule.sentence:
                    schedule.epoch_words, schedule.epoch_loss = 0, 0.0
                    _call(listeners, "on_epoch_begin", self)
                run_epoch(training, ids, schedule, self.workers, progress)
                schedule.epoch, schedule.sentence = schedule.epoch + 1, 0
                self.epochs_trained += 1
                if listeners:
                    self.wv.adjust_vectors(threads=self.workers)
                _call(listeners, "on_epoch_end", self)
        finally:
            self.wv.adjust_vectors(threads=self.workers)
        _call(listeners, "on_train_end", self)

    @property
    def mean_loss(self) -> float:
        """The mean of -log of the probabilities over the last epoch, per pair (CBOW: word); NaN before training."""
        schedule = self.schedule
        return schedule.epoch_loss / schedule.epoch_words if schedule and schedule.epoch_words else float("nan")

    @staticmethod
    def _vocabulary(data: FastTextData) -> Vocabulary:
        words = tuple(word.decode("utf-8", "surrogateescape") for word in data.words[: data.n_words])
        return Vocabulary(words, data.counts[: data.n_words])

    def fits(self, ids: TrainingIds) -> bool:
        """Return whether ids belong to the words and counts of the model."""
        if self.data is None:
            return False
        mine = self._vocabulary(self.data)
        return ids.vocabulary.words == mine.words and np.array_equal(ids.vocabulary.counts, mine.counts)

    def _training(self, ids: TrainingIds, data: FastTextData, vocabulary: Vocabulary) -> FastTextTraining:
        options = self.options
        keep = None
        if options.sample:
            keep = (vocabulary.keep_probabilities(options.sample) * ((1 << 32) - 1)).astype(np.uint32)
        ends, rows = self.wv.subwords.rows(list(vocabulary.words), own=True)  # type: ignore[union-attr]
        objective = objective_of(data, vocabulary.counts, options.ns_exponent)
        if self.nodes is not None:
            tree = replace(data, args=replace(data.args, loss="hs"), output=self.nodes)
            objective = objective_of(tree, vocabulary.counts, options.ns_exponent, then=objective)
        return FastTextTraining(
            objective,
            ends,
            rows,
            _gains(ends, rows),
            ids.ids,
            ids.ends,
            keep,
            window=options.window,
            cbow=not options.sg,
            shrink=bool(options.shrink_windows),
            mean=bool(options.cbow_mean),
            seed=options.seed,
        )

    def save(self, path: StrPath) -> None:
        """Write the whole model to a .bin file, which fastText and gensim's load_facebook_model read too."""
        if self.data is None:
            raise OptionError("there is no vocabulary yet; call build_vocab before save")
        if self.tokenizer is not None:
            raise OptionError("a .bin file stores character n-grams, not tokens; save `wv` (KeyedVectors) instead")
        if self.nodes is not None:
            raise OptionError(
                "a .bin file stores one objective, but this model has hs and negative samples; save `wv`, or use "
                "save_checkpoint"
            )
        fasttext_file.write(self.data, path)

    def save_checkpoint(self, path: StrPath) -> None:
        """Write the model and the state of an interrupted training to a safetensors file (not a .bin)."""
        fasttext_checkpoint.save(self, path)

    @classmethod
    def load_checkpoint(
        cls, path: StrPath, *, tokenizer: Tokenizer | None = None, workers: int | None = None
    ) -> FastText:
        """Read what `save_checkpoint` wrote; FormatError for another file."""
        return fasttext_checkpoint.load(cls(tokenizer=tokenizer, workers=workers), path)

    @classmethod
    def load(cls, path: StrPath, *, workers: int | None = None) -> FastText:
        """Read a .bin file of skip-gram or CBOW, for further training; FormatError for another file."""
        data = fasttext_file.read(path)
        args = data.args
        if args.model == "supervised":
            raise FormatError(f"{path}: this is a classifier; load it with TextClassifier.load")
        hashed = args.bucket > 0 and args.max_n > 0
        model = cls(
            vector_size=args.dim,
            window=max(args.ws, 1),
            sg=int(args.model == "skipgram"),
            hs=int(args.loss == "hs"),
            negative=0 if args.loss == "hs" else max(args.neg, 1),
            sample=args.t,
            min_count=max(args.min_count, 0),
            epochs=max(args.epoch, 1),
            min_n=max(args.min_n, 1),
            max_n=args.max_n if hashed else 0,
            bucket=max(args.bucket, 1),
            workers=workers,
        )
        model.take(data)
        return model

    def __repr__(self) -> str:
        n = 0 if self.wv is None else len(self.wv)
        return f"{type(self).__name__}<vocab={n}, vector_size={self.options.vector_size}, alpha={self.options.alpha}>"


def load_facebook_model(path: StrPath) -> FastText:
    """Return `FastText.load(path)`, under gensim's name."""
    return FastText.load(path)


def load_facebook_vectors(path: StrPath) -> FastTextKeyedVectors:
    """Return only the vectors of a .bin file, under gensim's name."""
    wv = FastText.load(path).wv
    if wv is None:
        raise FormatError(f"{path}: the file has no words")
    return wv


def _gains(ends: Ends, rows: Rows) -> NDArray[np.float32]:
    """Return the change of each word's mean if each of its rows increases by 1 for each occurrence in it."""
    sizes = np.diff(ends, prepend=0)
    words = np.repeat(np.arange(len(ends)), sizes)
    pairs, counts = np.unique(words * (int(rows.max()) + 1) + rows, return_counts=True)
    squares = np.bincount(pairs // (int(rows.max()) + 1), weights=counts.astype(np.float64) ** 2, minlength=len(ends))
    return np.asarray(squares / np.maximum(sizes, 1), dtype=np.float32)


def _call(callbacks: tuple[Any, ...], name: str, model: FastText) -> None:
    for callback in callbacks:
        if (function := getattr(callback, name, None)) is not None:
            function(model)
