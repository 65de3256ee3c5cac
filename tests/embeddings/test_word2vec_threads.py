"""word2vec in several threads, with private copies of frequent rows, trains vectors as good as with one thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference.word2vec_samples import negative_samples
from tokkit._core.embed.sentences import Negatives
from tokkit._core.embed.word2vec import Word2VecTraining
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
    alpha: float = 0.025, **options: Any,
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
        assert training.run(0, len(ends), epoch=epoch, alpha=alpha, threads=threads)[0] == len(ids)
    return training.run(0, len(ends), epoch=epochs, alpha=0)[1], matrix


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("options", KINDS)
def test_several_threads_learn_about_what_one_does(isa: str, options: dict[str, Any]) -> None:
    data = corpus(150_000, WORDS, 0)
    one, two, four = (trained(isa, threads, 2, 0, data, **options)[0] for threads in (1, 2, 4))
    # Steps from 0 that do not see one another are many here: after 4 million words losses were equal to 0.5 %.
    assert [two, four] == pytest.approx([one, one], rel=0.4)


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
    # At so small a rate steps do not depend on one another, nor on how long a thread waits for a CPU.
    one, several = (trained(None, threads, 1, 0, data, alpha=1e-6, **options)[1] for threads in (1, 3))
    assert np.abs(one).max() > 1e-5
    cosine = (one * several).sum() / np.linalg.norm(one) / np.linalg.norm(several)
    assert cosine > 0.95  # threads draw other negative samples of the same groups
    assert np.linalg.norm(several) == pytest.approx(np.linalg.norm(one), rel=0.1)


def cumulated(vocabulary: Vocabulary) -> np.ndarray:
    weights = np.cumsum(vocabulary.counts.astype(float) ** 0.75)
    return np.round(weights / weights[-1] * 2**31).astype(np.uint32)


def samples(data: tuple[Any, Any, Vocabulary], threads: int, falling: bool = True) -> np.ndarray:
    """How often each word was a negative sample, less how often it was a target, as training has it.

    Vectors are equal, and the rate is small: each step changes the row of a target by half of it.
    """
    ids, ends, vocabulary = data
    n, d, rate = len(vocabulary), 16, 1e-7
    vectors, out = np.ones((n, d), np.float32), np.zeros((n, d), np.float32)
    negatives = vocabulary.negatives()
    if not falling:
        swapped = np.diff(cumulated(vocabulary).astype(np.int64), prepend=0)
        swapped[[2, 3]] = swapped[[3, 2]]
        negatives = Negatives(np.cumsum(swapped).astype(np.uint32), np.zeros(1 << 12, np.uint32))
    assert negatives.falling == falling
    training = Word2VecTraining(
        ids, ends, vectors, out=out, negatives=negatives, negative=5, window=3, skip_gram=True, copy_from=0
    )
    training.run(0, len(ends), epoch=0, alpha=rate, threads=threads)
    found: np.ndarray = out.mean(axis=1) / (-rate / 2)
    return found


COPIED, GROUP = 1024, 64


def test_threads_draw_the_negative_samples_of_the_twin_but_for_their_place_in_a_group() -> None:
    ids, _, vocabulary = data = corpus(30_000, WORDS, 5)
    sentences = ids.reshape(-1, SENTENCE).tolist()
    expected = negative_samples(
        sentences, cumulated(vocabulary), WORDS, negative=5, window=3, seed=1, epoch=0
    )  # fmt: skip
    np.testing.assert_allclose(samples(data, 1), expected, rtol=0.01, atol=0.01)
    for threads in (2, 3):
        found = samples(data, threads)
        # Threads that add to a row at the same time may lose a step, and a sample that is the target itself is none.
        assert np.abs(found - expected)[:COPIED].sum() < 0.01 * np.abs(expected)[:COPIED].sum()
        assert np.abs(found - expected)[COPIED:].max() > 5
        groups = (found - expected)[COPIED:].reshape(-1, GROUP).sum(axis=1)
        size = np.abs(expected[COPIED:]).reshape(-1, GROUP).sum(axis=1)
        assert np.abs(groups).sum() < 0.01 * size.sum()


def test_words_whose_counts_rise_are_drawn_as_they_are_by_several_threads() -> None:
    data = corpus(20_000, WORDS, 6)
    one, two = (samples(data, threads, falling=False) for threads in (1, 2))
    assert np.abs(two - one).sum() < 0.01 * np.abs(one).sum()
