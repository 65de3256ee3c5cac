"""Classifies texts by the mean of the vectors of their words and n-grams, as fastText's supervised mode does."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from tokkit.checks import ordered
from tokkit.corpus import paths
from tokkit.corpus.utf8 import without_mark
from tokkit.embeddings import fasttext_file
from tokkit.embeddings.classifier_training import OnProgress, train
from tokkit.embeddings.fasttext_file import LOSSES, MAX_NGRAM, FastTextArgs, FastTextData, StrPath
from tokkit.embeddings.fasttext_pruning import pruned_and_quantized
from tokkit.embeddings.fasttext_rows import FastTextRows, character_ngrams, mean, means
from tokkit.embeddings.fasttext_tree import tree_paths
from tokkit.embeddings.label_scores import label_probabilities
from tokkit.embeddings.product_quantizer import QuantizedMatrix
from tokkit.errors import CorpusError, FormatError, OptionError

if TYPE_CHECKING:
    from tokkit.embeddings.keyed_vectors import KeyedVectors

_TEXTS_AT_ONCE = 1024
_SCORES_AT_ONCE = 1 << 22

Prediction = tuple[tuple[str, ...], NDArray[np.float32]]


class TextClassifier:
    r"""A trained text classifier; `train_supervised` trains one, and `load` reads fastText's .bin and .ftz files.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "lines.txt")
    >>> _ = path.write_text("__label__en the cat and the dog\n__label__de die Katze und der Hund\n" * 50)
    >>> classifier = train_supervised(path, dim=8, minn=2, maxn=3, bucket=1000, thread=1, lr=0.5)
    >>> classifier.predict("the dogs")[0]
    ('__label__en',)
    """

    def __init__(self, data: FastTextData, *, label: str = "__label__") -> None:
        self.label = label
        self._take(data)

    def _take(self, data: FastTextData) -> None:
        self.data, self._rows = data, FastTextRows.of(data, self.label.encode("utf-8", "surrogatepass"))
        for name in ("_output", "words"):
            self.__dict__.pop(name, None)

    @classmethod
    def load(cls, path: StrPath, *, label: str = "__label__") -> TextClassifier:
        """Read a .bin or .ftz file of a classifier; FormatError for another or a damaged file."""
        data = fasttext_file.read(path)
        if data.args.model != "supervised":
            raise FormatError(f"{path}: the model is {data.args.model}; it must be a classifier")
        return cls(data, label=label)

    def save_model(self, path: StrPath) -> None:
        """Write a file that fastText reads: .bin, or .ftz after `quantize`."""
        fasttext_file.write(self.data, path)

    @cached_property
    def labels(self) -> list[str]:
        """The labels in descending order of counts, with their prefix."""
        return [label.decode("utf-8", "replace") for label in self.data.words[self.data.n_words :]]

    @cached_property
    def words(self) -> list[str]:
        """The words in descending order of counts."""
        return [word.decode("utf-8", "replace") for word in self.data.words[: self.data.n_words]]

    @property
    def dim(self) -> int:
        """The number of dimensions of a vector."""
        return self.data.args.dim

    @property
    def is_quantized(self) -> bool:
        """Whether the rows of words are codes of a product quantizer."""
        return isinstance(self.data.input, QuantizedMatrix)

    def __repr__(self) -> str:
        data = self.data
        size = f"dim={data.args.dim}{', quantized' if self.is_quantized else ''}"
        return f"{type(self).__name__}<labels={data.n_labels}, words={data.n_words}, {size}>"

    def get_words(self, include_freq: bool = False) -> Any:
        """Return the words, and with `include_freq` their counts."""
        return (self.words, self.data.counts[: self.data.n_words]) if include_freq else self.words

    def get_labels(self, include_freq: bool = False) -> Any:
        """Return the labels, and with `include_freq` their counts."""
        return (self.labels, self.data.counts[self.data.n_words :]) if include_freq else self.labels

    def get_dimension(self) -> int:
        """Return the number of dimensions of a vector."""
        return self.dim

    def get_word_vector(self, word: str) -> NDArray[np.float32]:
        """Return the mean of the rows of a word and its n-grams; zeros for a word without rows."""
        rows = self._rows.of_word(word.encode("utf-8", "surrogatepass"))
        return mean(self.data.input, rows)

    def get_subwords(self, word: str) -> tuple[list[str], NDArray[np.uint32]]:
        """Return the word, if it is in the dictionary, and its n-grams, with their rows in a file."""
        args = self.data.args
        own = [word] if word in self.words else []
        rows = self._rows.numbers_of_word(word.encode("utf-8", "surrogatepass"))
        return [*own, *character_ngrams(word, args.min_n, args.max_n)], rows

    def get_sentence_vector(self, text: str) -> NDArray[np.float32]:
        """Return the mean of the rows of a text, the input of the classifier."""
        return mean(self.data.input, self._rows.of_texts([_line(text)])[1])

    def text_vectors(self, texts: Sequence[str], *, threads: int = 1) -> NDArray[np.float32]:
        """Return the mean of the rows of each text, (n, dim)."""
        ends, rows = self._rows.of_texts([_line(text) for text in ordered(texts)])
        return means(self.data.input, ends, rows, threads=threads)

    def probabilities(self, texts: Sequence[str], *, threads: int = 1) -> NDArray[np.float32]:
        """Return the probability of each label for each text, (n, labels), in the order of `labels`.

        They sum to 1 with the losses softmax and hs; with ova and ns each label has an independent probability.
        """
        return label_probabilities(
            self.text_vectors(texts, threads=threads), self._output, self.data.args.loss, self._paths
        )

    @cached_property
    def _output(self) -> NDArray[np.float32]:
        output = self.data.output
        return output.take(slice(None)) if isinstance(output, QuantizedMatrix) else output

    @cached_property
    def _paths(self) -> Any:
        return tree_paths(self.data.counts[self.data.n_words :]) if self.data.args.loss == "hs" else None

    @overload
    def predict(self, text: str, k: int = ..., threshold: float = ...) -> Prediction: ...
    @overload
    def predict(
        self, text: list[str], k: int = ..., threshold: float = ...
    ) -> tuple[list[tuple[str, ...]], list[NDArray[np.float32]]]: ...
    def predict(self, text: str | list[str], k: int = 1, threshold: float = 0.0) -> Any:
        """Return the k most probable labels (k=-1: all) at or above `threshold`, and their probabilities.

        A list of texts gives a list for each. A text is one line. fastText itself adds 1e-5 to each probability, and
        rounds the scores of ova and ns to multiples of 1/32 before the sigmoid; here they are exact.
        """
        if isinstance(text, str):
            return next(self._predictions([_line(text)], k, threshold))
        both = list(self._predictions([_line(one) for one in ordered(text, "text")], k, threshold))
        return [labels for labels, _ in both], [found for _, found in both]

    def _predictions(self, texts: Sequence[bytes], k: int, threshold: float) -> Iterator[Prediction]:
        for best, found in self._best(texts, k, threshold):
            yield tuple(self.labels[i] for i in best), found

    def _best(
        self, texts: Sequence[bytes], k: int, threshold: float
    ) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """Yield the indices of the best labels of each text, and their probabilities."""
        n = len(self.labels)
        if isinstance(k, bool) or not isinstance(k, int) or (k < 1 and k != -1):
            raise OptionError(f"k is {k!r}; it must be an int of at least 1, or -1 for all labels")
        k = n if k == -1 else min(k, n)
        each = max(1, min(_TEXTS_AT_ONCE, _SCORES_AT_ONCE // n))
        for start in range(0, len(texts), each):
            ends, rows = self._rows.of_texts(texts[start : start + each])
            hidden = means(self.data.input, ends, rows)
            scores = label_probabilities(hidden, self._output, self.data.args.loss, self._paths)
            best = np.argsort(-scores, axis=1, kind="stable")[:, :k] if k > 1 else scores.argmax(1)[:, None]
            known = np.diff(ends, prepend=0) > 0
            for one, order, has_rows in zip(scores, best, known, strict=True):
                found = one[order]
                n_found = int((found >= threshold).sum()) if has_rows else 0
                yield order[:n_found].tolist(), found[:n_found]

    def test(self, path: StrPath, k: int = 1, threshold: float = 0.0) -> tuple[int, float, float]:
        """Return the number of lines of a file with known labels and words, and their precision and recall at k."""
        n, correct, predicted, wanted = self._counts(path, k, threshold)
        return n, _ratio(correct.sum(), predicted.sum()), _ratio(correct.sum(), wanted.sum())

    def test_label(self, path: StrPath, k: int = 1, threshold: float = 0.0) -> dict[str, dict[str, float]]:
        """Return precision, recall and f1score of each label over the lines of a file; NaN if undefined."""
        _, correct, predicted, wanted = self._counts(path, k, threshold)
        return {
            label: {
                "precision": _ratio(correct[i], predicted[i]),
                "recall": _ratio(correct[i], wanted[i]),
                "f1score": _ratio(2 * correct[i], predicted[i] + wanted[i]),
            }
            for i, label in enumerate(self.labels)
        }

    def _counts(self, path: StrPath, k: int, threshold: float) -> tuple[int, Any, Any, Any]:
        """Return the number of tested lines, and for each label how often it was correct, predicted and expected."""
        numbers = {label: i for i, label in enumerate(self.data.words[self.data.n_words :])}
        correct, predicted, wanted = (np.zeros(len(numbers), dtype=np.int64) for _ in range(3))
        n = 0
        for lines in _batches(path):
            found = [{numbers[word] for word in line.split() if word in numbers} for line in lines]
            ends, _ = self._rows.of_texts(lines)
            known = [i for i, size in enumerate(np.diff(ends, prepend=0)) if size and found[i]]
            for i, (best, _) in zip(known, self._best([lines[i] for i in known], k, threshold), strict=True):
                n += 1
                right = [label for label in best if label in found[i]]
                for counts, those in ((correct, right), (predicted, best), (wanted, list(found[i]))):
                    np.add.at(counts, np.array(those, dtype=np.int64), 1)
        if not n:
            raise CorpusError(f"{paths.input_name(str(path))}: no line has both words and a label of the classifier")
        return n, correct, predicted, wanted

    def train_further(
        self,
        input: StrPath,
        *,
        epoch: int = 5,
        lr: float = 0.1,
        thread: int | None = None,
        seed: int = 0,
        on_progress: OnProgress | None = None,
    ) -> None:
        """Train on more lines with the same words, labels and options; OptionError for a quantized model."""
        args = replace(self.data.args, epoch=epoch)
        data = train(
            input, args, label=self.label, lr=lr, thread=thread, seed=seed, start=self.data, on_progress=on_progress
        )
        self._take(data)

    def quantize(
        self,
        input: StrPath | None = None,
        *,
        qout: bool = False,
        cutoff: int = 0,
        retrain: bool = False,
        epoch: int = 5,
        lr: float = 0.1,
        thread: int | None = None,
        dsub: int = 2,
        qnorm: bool = False,
        seed: int = 0,
    ) -> None:
        """Compress the model: rows are stored as one byte for each `dsub` columns, and the file becomes a .ftz.

        `cutoff` keeps only this number of rows, the longest; `retrain` trains them again on `input`; `qnorm` quantizes
        the lengths of rows separately, and `qout` quantizes the rows of labels too.
        """
        if self.is_quantized:
            raise OptionError("the classifier is already quantized")

        def again(data: FastTextData) -> FastTextData:
            if input is None:
                raise OptionError("retrain needs the lines to train on; give input")
            args = replace(data.args, epoch=epoch)
            return train(input, args, label=self.label, lr=lr, thread=thread, seed=seed, start=data)

        small = pruned_and_quantized(
            self.data, qout=qout, cutoff=cutoff, group=dsub, norms=qnorm, seed=seed, retrain=again if retrain else None
        )
        self._take(small)


def _ratio(part: Any, whole: Any) -> float:
    return float(part) / float(whole) if whole else float("nan")


def _line(text: str) -> bytes:
    if not isinstance(text, str):
        raise CorpusError(f"a text is {type(text).__name__}; it must be str")
    if "\n" in text:
        raise CorpusError(
            f"the text {text[:40]!r} contains a line end; a text must be one line (replace line ends by spaces)"
        )
    return text.encode("utf-8", "surrogatepass")


def _batches(path: StrPath) -> Iterator[list[bytes]]:
    with open(path, "rb") as file:
        rest = without_mark(file.readline(), paths.input_name(str(path)))
        lines = itertools.chain([rest] if rest else [], file)
        while batch := [line.removesuffix(b"\n") for line in itertools.islice(lines, _TEXTS_AT_ONCE)]:
            yield batch


def train_supervised(
    input: StrPath,
    *,
    lr: float = 0.1,
    dim: int = 100,
    ws: int = 5,
    epoch: int = 5,
    minCount: int = 1,
    minCountLabel: int = 0,
    minn: int = 0,
    maxn: int = 0,
    neg: int = 5,
    wordNgrams: int = 1,
    loss: str = "softmax",
    bucket: int = 2_000_000,
    thread: int | None = None,
    lrUpdateRate: int = 100,
    t: float = 1e-4,
    label: str = "__label__",
    seed: int = 0,
    pretrainedVectors: StrPath | KeyedVectors | None = None,
    on_progress: OnProgress | None = None,
) -> TextClassifier:
    """Train a classifier on the lines of a file; words that begin with `label` are labels.

    The options are those of fastText. With thread=1 a seed gives a bit-identical classifier; more threads (None: one
    per CPU) update the same rows without locks. `ws` and `t` are only stored in files. `pretrainedVectors` are word
    vectors, or their .vec file, for words that occur in `input`.
    """
    for name, value, least, most in (
        ("dim", dim, 1, None),
        ("epoch", epoch, 1, None),
        ("minCount", minCount, 0, None),
        ("minCountLabel", minCountLabel, 0, None),
        ("minn", minn, 0, MAX_NGRAM),
        ("maxn", maxn, 0, MAX_NGRAM),
        ("neg", neg, 1, None),
        ("wordNgrams", wordNgrams, 1, MAX_NGRAM),
        ("bucket", bucket, 1, (1 << 31) - 1),
        ("lrUpdateRate", lrUpdateRate, 1, None),
        ("seed", seed, 0, None),
    ):
        at_most = f", and at most {most:,}" if most else ""
        if isinstance(value, bool) or not isinstance(value, int) or value < least or (most and value > most):
            raise OptionError(f"{name} is {value!r}; it must be an int of at least {least}{at_most}")
    if loss not in LOSSES.values():
        raise OptionError(f"loss is {loss!r}; it must be one of {', '.join(sorted(LOSSES.values()))}")
    if not 0 < lr < float("inf"):
        raise OptionError(f"lr is {lr!r}; it must be a number above 0")
    args = FastTextArgs(
        dim, ws, epoch, minCount, neg, wordNgrams, loss, "supervised", bucket, minn, maxn, lrUpdateRate, t
    )
    vectors = _pretrained(pretrainedVectors)
    data = train(
        input,
        args,
        label=label,
        lr=lr,
        min_count_label=minCountLabel,
        thread=thread,
        seed=seed,
        pretrained=vectors,
        on_progress=on_progress,
    )
    return TextClassifier(data, label=label)


def _pretrained(given: StrPath | KeyedVectors | None) -> tuple[list[str], NDArray[np.float32]] | None:
    """Return words and vectors."""
    if given is None:
        return None
    from tokkit.embeddings.keyed_vectors import KeyedVectors

    vectors = given if isinstance(given, KeyedVectors) else KeyedVectors.load_word2vec_format(given, binary=False)
    return vectors.index_to_key, vectors.vectors
