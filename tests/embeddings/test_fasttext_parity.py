"""Models of the original fastText give the same vectors and predictions here, and it reads what is written here."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from extras import extra
from tokkit.embeddings.fasttext import FastText
from tokkit.embeddings.fasttext_supervised import TextClassifier, train_supervised

original = extra("fasttext")

SPACES = " \t\u3000"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lines of three invented languages, some with two labels."""
    draw = random.Random(5)
    alphabets = {"a": "abcdeé", "b": "efghiß", "c": "日本語文字"}
    lexicon = {
        name: ["".join(draw.choices(letters, k=draw.randint(1, 6))) for _ in range(60)]
        for name, letters in alphabets.items()
    }
    lines = []
    for _ in range(1500):
        name = draw.choice(list(alphabets))
        words = draw.choices(lexicon[name], k=draw.randint(1, 9))
        labels = f"__label__{name} " + ("__label__long " if len(words) > 6 else "")
        lines.append(labels + "".join(word + draw.choice(SPACES) for word in words))
    path = tmp_path_factory.mktemp("parity") / "lines.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def texts(corpus: Path) -> list[str]:
    """Lines without their labels, and some that are strange."""
    lines = [
        " ".join(word for word in line.split(" ") if "__label__" not in word) for line in corpus.open(encoding="utf-8")
    ]
    return [line.rstrip("\n") for line in lines[:200]] + [
        "",
        "zzz unknown",
        "日本 x\x00abc",
        "</s> after",
        "__label__new abc",
    ]


def assert_same_predictions(theirs: Any, ours: TextClassifier, lines: list[str], atol: float) -> None:
    assert theirs.labels == ours.labels
    assert theirs.words == ours.words
    for line in lines:
        np.testing.assert_allclose(ours.get_sentence_vector(line), theirs.get_sentence_vector(line), atol=1e-5)
        labels, found = ours.predict(line, k=-1)
        expected = {label: p for p, label in theirs.f.predict(line + "\n", -1, 0.0, "strict")}
        assert set(labels) >= set(expected)  # it leaves out labels of the tree with probabilities below 1e-5
        np.testing.assert_allclose(found, [expected.get(label, 0.0) for label in labels], atol=atol)
        assert ours.get_word_vector(line[:5].strip() or "x").shape == (ours.dim,)


@pytest.mark.parametrize(
    ("loss", "atol"),
    # The original adds 1e-5 to probabilities, once at each node of a path; and it rounds the scores of ns and ova.
    [("softmax", 2e-5), ("hs", 1e-4), ("ns", 9e-3), ("ova", 9e-3)],
)
@pytest.mark.parametrize("more", [{}, {"wordNgrams": 3, "bucket": 900, "minn": 2, "maxn": 4}])
def test_classifiers_of_the_original_predict_the_same(
    corpus: Path, tmp_path: Path, loss: str, atol: float, more: dict[str, int]
) -> None:
    theirs = original.train_supervised(str(corpus), loss=loss, dim=10, thread=1, verbose=0, lr=0.2, **more)
    theirs.save_model(str(tmp_path / "m.bin"))
    ours = TextClassifier.load(tmp_path / "m.bin")
    assert_same_predictions(theirs, ours, texts(corpus), atol)
    for word in ("abc", "é", "日本"):
        np.testing.assert_allclose(ours.get_word_vector(word), theirs.get_word_vector(word), atol=1e-6)
        assert ours.get_subwords(word)[1].tolist() == theirs.get_subwords(word)[1].tolist()
        assert ours.get_subwords(word)[0] == theirs.get_subwords(word)[0]
    for k in (1, 2):
        np.testing.assert_allclose(ours.test(corpus, k=k), theirs.test(str(corpus), k=k))
    ours.save_model(tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == (tmp_path / "m.bin").read_bytes()


@pytest.mark.parametrize("options", [{}, {"qnorm": True}, {"cutoff": 300, "retrain": True}])
def test_quantized_classifiers_of_the_original_predict_the_same(
    corpus: Path, tmp_path: Path, options: dict[str, Any]
) -> None:
    theirs = original.train_supervised(
        str(corpus), dim=11, thread=1, verbose=0, wordNgrams=2, bucket=900, minn=2, maxn=3
    )
    theirs.quantize(str(corpus), thread=1, **options)
    theirs.save_model(str(tmp_path / "m.ftz"))
    ours = TextClassifier.load(tmp_path / "m.ftz")
    assert_same_predictions(theirs, ours, texts(corpus), 2e-5)
    ours.save_model(tmp_path / "again.ftz")
    again = original.load_model(str(tmp_path / "again.ftz"))
    assert again.test(str(corpus)) == theirs.test(str(corpus))


@pytest.mark.parametrize("loss", ["softmax", "hs", "ns", "ova"])
@pytest.mark.parametrize("quantize", [None, {"dsub": 3, "qnorm": True}, {"cutoff": 200}])
def test_the_original_reads_classifiers_of_ours(
    corpus: Path, tmp_path: Path, loss: str, quantize: dict[str, Any] | None
) -> None:
    ours = train_supervised(corpus, loss=loss, dim=10, thread=1, minn=2, maxn=3, bucket=700, wordNgrams=2)
    if quantize is not None:
        ours.quantize(**quantize)
    ours.save_model(tmp_path / "m")
    assert_same_predictions(original.load_model(str(tmp_path / "m")), ours, texts(corpus), 9e-3)


@pytest.mark.parametrize("options", [{}, {"minn": 2, "maxn": 3, "bucket": 2000}, {"wordNgrams": 2, "bucket": 2000}])
def test_ours_learns_as_well_as_the_original(corpus: Path, options: dict[str, int]) -> None:
    ours = train_supervised(corpus, dim=10, thread=1, lr=0.3, **options).test(corpus)
    theirs = original.train_supervised(str(corpus), dim=10, thread=1, lr=0.3, verbose=0, **options).test(str(corpus))
    assert ours[0] == theirs[0]
    assert ours[1] > theirs[1] - 0.01


def assert_same_vectors(theirs: Any, ours: FastText) -> None:
    assert theirs.words == ours.wv.index_to_key
    for word in [*theirs.words[:50], "unknown", "日本x", "é"]:
        np.testing.assert_allclose(ours.wv[word], theirs.get_word_vector(word), atol=1e-5)
        names = [name for name in theirs.get_subwords(word)[0] if name != word]
        assert word == "</s>" or [name for name in ours.wv.subword_vectors(word)[0] if name != word] == names


@pytest.mark.parametrize("kind", ["skipgram", "cbow"])
@pytest.mark.parametrize("loss", ["ns", "hs"])
def test_vectors_of_the_original_are_the_same_here(corpus: Path, tmp_path: Path, kind: str, loss: str) -> None:
    theirs = original.train_unsupervised(
        str(corpus), kind, dim=10, loss=loss, bucket=3000, minn=2, maxn=4, thread=1, verbose=0, minCount=2, epoch=1
    )
    theirs.save_model(str(tmp_path / "m.bin"))
    ours = FastText.load(tmp_path / "m.bin")
    assert_same_vectors(theirs, ours)
    ours.save(tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == (tmp_path / "m.bin").read_bytes()


@pytest.mark.parametrize("options", [{"sg": 1}, {"hs": 1, "negative": 0}, {"min_n": 1, "max_n": 3}])
def test_the_original_reads_vectors_of_ours(corpus: Path, tmp_path: Path, options: dict[str, int]) -> None:
    ours = FastText(corpus_file=corpus, vector_size=10, bucket=3000, workers=1, epochs=1, **options)
    ours.save(tmp_path / "m.bin")
    assert_same_vectors(original.load_model(str(tmp_path / "m.bin")), ours)
