"""Classifiers of texts: training, prediction, evaluation, and errors."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest

from reference import fasttext as twin
from tokkit.embeddings.fasttext_rows import FastTextRows, character_ngrams
from tokkit.embeddings.fasttext_supervised import TextClassifier, train_supervised
from tokkit.embeddings.fasttext_tree import tree_paths
from tokkit.embeddings.labelled_lines import LabelledLines, word_ngram_buckets
from tokkit.errors import CorpusError, FormatError, OptionError

TOPICS = {"animals": "cat dog horse cow sheep goat", "ships": "sail mast deck anchor harbour keel"}
OPTIONS = {"dim": 12, "thread": 1, "epoch": 20, "lr": 0.5}


def write_lines(path: Path, n: int = 300) -> Path:
    draw = random.Random(3)
    lines = []
    for _ in range(n):
        topic = draw.choice(list(TOPICS))
        words = [*draw.choices(TOPICS[topic].split(), k=4), *draw.choices(["the", "a", "of", "and"], k=3)]
        lines.append(f"__label__{topic} {' '.join(words)}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lines(tmp_path_factory.mktemp("fasttext") / "lines.txt")


@pytest.mark.parametrize("loss", ["softmax", "hs", "ns", "ova"])
@pytest.mark.parametrize("more", [{}, {"wordNgrams": 2, "bucket": 500}, {"minn": 2, "maxn": 4, "bucket": 500}])
def test_every_loss_learns_two_topics(corpus: Path, loss: str, more: dict[str, int]) -> None:
    classifier = train_supervised(corpus, loss=loss, **OPTIONS, **more)
    assert classifier.test(corpus) == (300, 1.0, 1.0)
    assert classifier.predict("a dog and a goat")[0] == ("__label__animals",)
    both = classifier.predict(["the mast", "the horse"], k=2)
    assert [labels[0] for labels in both[0]] == ["__label__ships", "__label__animals"]
    assert classifier.test_label(corpus)["__label__ships"] == {"precision": 1.0, "recall": 1.0, "f1score": 1.0}


def test_one_thread_and_one_seed_give_the_same_bits(corpus: Path) -> None:
    made = [train_supervised(corpus, **OPTIONS, loss="ns", seed=seed).data for seed in (1, 1, 2)]
    assert np.array_equal(made[0].input, made[1].input)
    assert np.array_equal(made[0].output, made[1].output)
    assert not np.array_equal(made[0].input, made[2].input)


def test_threads_learn_too(corpus: Path) -> None:
    assert train_supervised(corpus, **OPTIONS | {"thread": 3}).test(corpus)[1] > 0.98


def test_probabilities_of_softmax_and_of_the_tree_sum_to_one(tmp_path: Path) -> None:
    path = tmp_path / "many"
    path.write_text("".join(f"__label__{i} word{i % 7} and\n" * (i + 1) for i in range(23)), encoding="utf-8")
    for loss in ("softmax", "hs"):
        classifier = train_supervised(path, loss=loss, dim=8, lr=1.0, thread=1)
        sums = classifier.probabilities(["word3 and", "word1", "unknown", ""]).sum(1)
        np.testing.assert_allclose(sums, 1, atol=1e-5)
        labels, found = classifier.predict("word3 and", k=-1)
        assert len(labels) == 23
        assert (np.diff(found) <= 0).all()


def test_paths_of_the_tree_are_a_prefix_code_of_least_cost() -> None:
    counts = [13, 9, 9, 4, 2, 1, 1, 1]
    paths = tree_paths(counts)
    lengths = np.diff(paths.ends, prepend=0)
    assert sum(2.0**-length for length in lengths) == 1
    assert (lengths * counts).sum() == least_cost(counts)
    codes = [tuple(paths.turns[start:end][::-1]) for start, end in zip(paths.ends - lengths, paths.ends, strict=True)]
    assert len(set(codes)) == len(counts)
    assert {int(paths.nodes[end - 1]) for end in paths.ends} == {len(counts) - 2}  # every path ends at the root


def least_cost(counts: list[int]) -> int:
    left, cost = sorted(counts), 0
    while len(left) > 1:
        cost += left[0] + left[1]
        left = sorted([left[0] + left[1], *left[2:]])
    return cost


def test_a_text_is_the_mean_of_its_words_ngrams_and_word_ngrams(corpus: Path) -> None:
    classifier = train_supervised(corpus, dim=5, thread=1, minn=2, maxn=3, wordNgrams=3, bucket=300, epoch=1)
    words, n = classifier.words, len(classifier.words)
    rows = []
    for word in ["the", "cat", "qxq"]:
        rows += [words.index(word)] if word in words else []
        rows += [n + bucket for bucket in twin.ngram_buckets(word, 2, 3, 300)]
    rows.append(words.index("</s>"))
    rows += [n + bucket for bucket in twin.word_ngram_buckets([b"the", b"cat", b"qxq", b"</s>"], 3, 300)]
    expected = np.asarray(classifier.data.whole().input)[rows].mean(0)
    np.testing.assert_allclose(classifier.get_sentence_vector("the  cat\tqxq __label__new"), expected, atol=1e-6)
    names, found = classifier.get_subwords("cat")
    assert names == ["cat", *character_ngrams("cat", 2, 3)]
    assert found.tolist() == [words.index("cat"), *(n + bucket for bucket in twin.ngram_buckets("cat", 2, 3, 300))]
    np.testing.assert_allclose(
        classifier.get_word_vector("cat"), np.asarray(classifier.data.whole().input)[found].mean(0), atol=1e-6
    )


def test_lines_are_read_as_words_labels_and_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes("__label__b x y\r\n\n__label__a __label__b y\u3000z y x\x00w \x0b__label__rare".encode())
    lines = LabelledLines.of(path, label=b"__label__", min_count=2, min_count_label=2)
    assert lines.words == [b"x", b"y", b"</s>", b"__label__b"]
    assert lines.dropped == ["y\u3000z".encode(), b"w"]
    nothing = 2**32 - 1
    assert lines.ids.tolist() == [3, 0, 1, 2, 2, nothing, 3, 4, 1, 0, 5, nothing]
    assert lines.ends.tolist() == [4, 5, 12]
    assert lines.counts.tolist() == [2, 2, 2, 2]


def test_ngrams_of_the_words_of_each_line_have_rows(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text("__label__b x y z\n\n__label__a y __label__rare x w\n", encoding="utf-8")
    lines = LabelledLines.of(path, label=b"__label__", min_count=2, min_count_label=1)
    expected: set[int] = set()
    for line in ("x y z </s>", "</s>", "y x w </s>"):
        expected |= set(twin.word_ngram_buckets(line.encode().split(), 3, 1000))
    assert word_ngram_buckets(lines, 3, 1000).tolist() == sorted(expected)
    classifier = train_supervised(path, dim=2, thread=1, wordNgrams=3, bucket=1000)
    assert len(classifier.data.input) == len(classifier.words) + len(expected) + 1
    assert not classifier.data.input[-1].any()


def test_known_labels_alone_count_in_a_test(corpus: Path, tmp_path: Path) -> None:
    classifier = train_supervised(corpus, **OPTIONS)
    path = tmp_path / "test"
    path.write_text("__label__animals __label__ships the cat\n__label__new cat\ncat\n__label__ships dog\n", "utf-8")
    assert classifier.test(path) == (2, 0.5, 1 / 3)
    assert classifier.test(path, k=2) == (2, 3 / 4, 1.0)
    n, precision, recall = classifier.test(path, threshold=1.1)
    assert (n, recall) == (2, 0.0)
    assert math.isnan(precision)


def test_a_model_that_is_written_is_read_again(corpus: Path, tmp_path: Path) -> None:
    classifier = train_supervised(corpus, **OPTIONS, minn=2, maxn=3, bucket=400)
    classifier.save_model(tmp_path / "m.bin")
    again = TextClassifier.load(tmp_path / "m.bin")
    assert again.labels == classifier.labels
    texts = ["the cat", "harbours and sails", ""]
    assert np.array_equal(again.probabilities(texts), classifier.probabilities(texts))
    again.save_model(tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == (tmp_path / "m.bin").read_bytes()


@pytest.mark.parametrize("options", [{"dsub": 8}, {"qnorm": True, "qout": True, "dsub": 8}, {"cutoff": 60, "dsub": 5}])
def test_a_quantized_model_is_small_and_predicts_alike(corpus: Path, tmp_path: Path, options: dict[str, int]) -> None:
    classifier = train_supervised(corpus, **OPTIONS | {"dim": 16}, minn=2, maxn=3, bucket=1500, wordNgrams=2)
    classifier.save_model(tmp_path / "m.bin")
    classifier.quantize(**options)
    assert classifier.is_quantized
    classifier.save_model(tmp_path / "m.ftz")
    assert (tmp_path / "m.ftz").stat().st_size < (tmp_path / "m.bin").stat().st_size / 2
    again = TextClassifier.load(tmp_path / "m.ftz")
    assert again.test(corpus)[1] > 0.95
    assert np.array_equal(again.probabilities(["the cat sat"]), classifier.probabilities(["the cat sat"]))


def test_a_pruned_model_can_be_trained_again(corpus: Path) -> None:
    classifier = train_supervised(corpus, **OPTIONS, minn=2, maxn=3, bucket=400)
    classifier.quantize(corpus, cutoff=30, retrain=True, epoch=3, thread=1, dsub=1)
    assert classifier.data.input.shape == (30, 12)
    assert classifier.test(corpus)[1] > 0.98
    with pytest.raises(OptionError, match="already quantized"):
        classifier.quantize()


def test_a_classifier_is_trained_further_with_words_it_never_saw(corpus: Path, tmp_path: Path) -> None:
    classifier = train_supervised(corpus, **OPTIONS, minn=2, maxn=3, bucket=400)
    path = tmp_path / "more"
    path.write_text("__label__ships frigate frigates\n__label__new cat\n" * 30, encoding="utf-8")
    before = classifier.probabilities(["frigate"])[0]
    classifier.train_further(path, thread=1, epoch=10, lr=0.3)
    assert len(classifier.labels) == 2
    ships = classifier.labels.index("__label__ships")
    assert classifier.probabilities(["frigate"])[0, ships] > max(0.9, before[ships])
    assert classifier.get_word_vector("frigates").any()


def test_pretrained_vectors_are_where_training_begins(corpus: Path, tmp_path: Path) -> None:
    path = tmp_path / "some.vec"
    path.write_text("2 3\ncat 1 2 3\nabsent 4 5 6\n", encoding="utf-8")
    classifier = train_supervised(corpus, dim=3, thread=1, epoch=1, lr=1e-7, pretrainedVectors=path)
    np.testing.assert_allclose(classifier.get_word_vector("cat"), [1, 2, 3], atol=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": 0}, "dim is 0; it must be an int of at least 1"),
        ({"lr": -1.0}, "lr is -1.0"),
        ({"loss": "hinge"}, "loss is 'hinge'; it must be one of hs, ns, ova, softmax"),
        ({"maxn": 400}, "at most 255"),
        ({"label": "a b"}, "label is 'a b'"),
        ({"thread": 0}, "threads is 0"),
        ({"pretrainedVectors": "two.vec", "dim": 3}, "pretrainedVectors have 2 columns"),
    ],
)
def test_wrong_options_are_refused(corpus: Path, tmp_path: Path, options: dict[str, object], message: str) -> None:
    if "pretrainedVectors" in options:
        (tmp_path / "two.vec").write_text("1 2\ncat 1 2\n", encoding="utf-8")
        options = options | {"pretrainedVectors": tmp_path / "two.vec"}
    with pytest.raises(OptionError, match=message):
        train_supervised(corpus, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no words"),
        ("no labels here\n", "no word begins with '__label__'"),
        ("__label__a\n" * 3 + "x y\n", "minCount"),
    ],
)
def test_unfit_training_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "lines"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError, match=message):
        train_supervised(path, minCount=9, thread=1)


def test_wrong_texts_are_refused(corpus: Path, tmp_path: Path) -> None:
    classifier = train_supervised(corpus, dim=2, epoch=1, thread=1)
    with pytest.raises(CorpusError, match="line end"):
        classifier.predict("two\nlines")
    with pytest.raises(OptionError, match="k is 0"):
        classifier.predict("x", k=0)
    (tmp_path / "t").write_text("cat\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="no line has both"):
        classifier.test(tmp_path / "t")


def test_labels_without_words_are_not_predicted(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text("__label__a x\n__label__b y", encoding="utf-8")
    classifier = train_supervised(path, minCount=1, dim=2, thread=1)
    assert FastTextRows.of(classifier.data, b"__label__").of_texts([b"zz"])[0].tolist() == [1]  # the end of the line
    classifier = train_supervised(write_lines(path, 1).rename(path), dim=2, thread=1)
    assert len(classifier.labels) == 1
    assert classifier.predict("cat")[1].tolist() == [1.0]


def test_an_empty_file_is_not_a_classifier(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")
    with pytest.raises(FormatError, match="empty"):
        TextClassifier.load(tmp_path / "x")
