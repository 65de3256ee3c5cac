"""word2vec in several threads, with private copies of frequent rows, trains vectors as good as with one thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tokkit._core.embed import Word2VecTraining
from tokkit._core.text import isas
from tokkit.embeddings.huffman import huffman_paths
from tokkit.embeddings.vocabulary import Vocabulary

WORDS, TOPICS, SENTENCE = 4800, 8, 10
KINDS: list[dict[str, Any]] = [
    {"skip_gram": True},
    {"skip_gram": True, "batched": True},
    {"skip_gram": False},
    {"skip_gram": True, "hs": True},
    {"skip_gram": False, "hs": True},
]


def corpus(n: int, words: int, seed: int) -> tuple[np.ndarray, np.ndarray, Vocabulary]:
    """Sentences of ten words, whose numbers modulo 8 are equal: the topic of the sentence. Counts fall as 1 / rank."""
    rng = np.random.default_rng(seed)
    counts = (1e6 / (1 + np.arange(words))).astype(np.int64) + 1
    drawn = np.searchsorted(np.cumsum(counts / counts.sum()), rng.random((n // SENTENCE, SENTENCE)))
    topics = rng.integers(0, TOPICS, len(drawn))[:, None]
    ids = drawn.clip(0, words - TOPICS) // TOPICS * TOPICS + topics
    ends = np.arange(1, len(ids) + 1) * SENTENCE
    return ids.astype(np.uint32).ravel(), ends, Vocabulary(tuple(map(str, range(words))), counts)


def trained(
    isa: str | None, threads: int, epochs: int, copy_from: int, data: tuple[Any, Any, Vocabulary], hs: bool = False,
    **options: Any,
) -> tuple[float, np.ndarray]:  # fmt: skip
    """Return the loss of a last epoch that changes nothing, and the matrix beside the vectors."""
    ids, ends, vocabulary = data
    n, d, rng = len(vocabulary), 12, np.random.default_rng(1)
    vectors = ((rng.random((n, d)) - 0.5) / d).astype(np.float32)
    matrix = np.zeros((n - hs, d), np.float32)
    objective: dict[str, Any] = {"nodes": matrix, "paths": huffman_paths(vocabulary.counts)}
    if not hs:
        objective = {"out": matrix, "negatives": vocabulary.negatives(), "negative": 5}
    training = Word2VecTraining(
        ids, ends, vectors, **objective, **options, losses=True, isa=isa, copy_from=copy_from
    )  # fmt: skip
    for epoch in range(epochs):
        assert training.run(0, len(ends), epoch=epoch, alpha=0.025, threads=threads)[0] == len(ids)
    return training.run(0, len(ends), epoch=epochs, alpha=0)[1], matrix


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("options", KINDS)
def test_several_threads_learn_about_what_one_does(isa: str, options: dict[str, Any]) -> None:
    data = corpus(50_000, WORDS, 0)
    one, two, four = (trained(isa, threads, 2, 0, data, **options)[0] for threads in (1, 2, 4))
    # Steps from 0 that do not see one another are many here: after 4 million words losses were equal to 0.5 %.
    assert [two, four] == pytest.approx([one, one], rel=0.5)


@pytest.mark.parametrize("options", KINDS)
def test_one_thread_copies_nothing(options: dict[str, Any]) -> None:
    data = corpus(10_000, WORDS, 1)
    loss, matrix = trained(None, 1, 1, 0, data, **options)
    same_loss, same = trained(None, 1, 1, 500_000, data, **options)
    assert loss == same_loss
    assert np.array_equal(matrix, same)


@pytest.mark.parametrize("options", KINDS)
def test_what_threads_have_changed_is_in_the_matrix_at_the_end(options: dict[str, Any]) -> None:
    data = corpus(40_000, WORDS, 3)
    one, several = (trained(None, threads, 1, 0, data, **options)[1] for threads in (1, 3))
    assert np.abs(one).max() > 0.1
    cosine = (one * several).sum() / np.linalg.norm(one) / np.linalg.norm(several)
    assert cosine > 0.8
    assert np.linalg.norm(several) == pytest.approx(np.linalg.norm(one), rel=0.4)
