"""The loops of word2vec on every instruction set, compared with naive twins; and the twins' gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference import word2vec as twin
from reference import word2vec_batched
from tokkit._core.embed.word2vec import Word2VecTraining
from tokkit._core.text import isas
from tokkit.embeddings.huffman import huffman_paths
from tokkit.embeddings.vocabulary import Vocabulary

WORDS = 30


def corpus(seed: int = 0, words: int = WORDS) -> tuple[list[list[int]], Vocabulary]:
    rng = np.random.default_rng(seed)
    lengths = [1, 2, 14, 7, 1, 5]
    sentences = [(rng.random(n) ** 2 * words).astype(int).tolist() for n in lengths]
    counts = np.bincount(np.concatenate(sentences), minlength=words) + 1
    return sentences, Vocabulary(tuple(map(str, range(words))), counts.astype(np.int64))


def packed(sentences: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    ids = np.concatenate(sentences).astype(np.uint32)
    return ids, np.cumsum([len(sentence) for sentence in sentences]).astype(np.int64)


def cumulated(vocabulary: Vocabulary) -> np.ndarray:
    weights = np.cumsum(vocabulary.counts**0.75)
    return np.round(weights / weights[-1] * (1 << 31)).astype(np.int64)


def drawn(n: int, d: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32) / 4


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("sg", [True, False])
@pytest.mark.parametrize(
    ("d", "negative", "hs", "options"),
    [
        (1, 5, False, {}),
        (100, 5, False, {"shrink": False, "window": 2}),
        (16, 0, True, {}),
        (37, 9, True, {"mean": False}),
        (20, 40, False, {"window": 50}),
    ],
)
def test_training_is_that_of_the_twin(
    isa: str, sg: bool, d: int, negative: int, hs: bool, options: dict[str, Any]
) -> None:
    sentences, vocabulary = corpus()
    ids, ends = packed(sentences)
    vectors, rng = drawn(WORDS, d, 1), np.random.default_rng(5)
    out = drawn(WORDS, d, 2) if negative else None
    nodes = drawn(WORDS - 1, d, 3) if hs else None
    keep = (rng.random(WORDS) * 2 * (1 << 32)).clip(0, (1 << 32) - 1).astype(np.uint32)
    paths = huffman_paths(vocabulary.counts)
    listed = [
        (paths.nodes[a:b].tolist(), (1 - 2.0 * paths.turns[a:b]).tolist())
        for a, b in zip([0, *paths.ends[:-1]], paths.ends, strict=True)
    ]
    expected = {"vectors": vectors.astype(float)}
    if out is not None:
        expected["out"] = out.astype(float)
    if nodes is not None:
        expected["nodes"] = nodes.astype(float)
    training = Word2VecTraining(
        ids, ends, vectors, out=out, negatives=vocabulary.negatives() if negative else None, negative=negative,
        nodes=nodes, paths=paths if hs else None, keep=keep, skip_gram=sg, losses=True, seed=9, isa=isa, **options,
    )  # fmt: skip
    for epoch in (0, 1):
        cut = 4  # where an epoch is cut into parts does not matter
        rates = {"epoch": epoch, "alpha": 0.05, "alpha_fall": 0.0004}
        loss = training.run(0, cut, **rates)[1] + training.run(cut, len(sentences), **rates)[1]
        total = twin.train(
            sentences, expected["vectors"], out=expected.get("out"), cumulated=cumulated(vocabulary),
            negative=negative, nodes=expected.get("nodes"), paths=listed, keep=keep, sg=sg, alpha=0.05, fall=0.0004,
            seed=9, epoch=epoch, **options,
        )  # fmt: skip
        assert loss == pytest.approx(total, rel=1e-5)
    for name, found in (("vectors", vectors), ("out", out), ("nodes", nodes)):
        if found is not None:
            np.testing.assert_allclose(found, expected[name], atol=2e-5)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize(("d", "negative", "window"), [(1, 5, 5), (100, 5, 3), (37, 20, 40)])
def test_batched_training_is_that_of_its_twin(isa: str, d: int, negative: int, window: int) -> None:
    sentences, vocabulary = corpus(3)
    sentences = [sentence for sentence in sentences if len(sentence) > 1]
    ids, ends = packed(sentences)
    vectors, out = drawn(WORDS, d, 1), drawn(WORDS, d, 2)
    expected, targets = vectors.astype(float), out.astype(float)
    training = Word2VecTraining(
        ids, ends, vectors, out=out, negatives=vocabulary.negatives(), negative=negative, window=window,
        skip_gram=True, batched=True, losses=True, isa=isa,
    )  # fmt: skip
    words, loss = training.run(0, len(sentences), epoch=0, alpha=0.05)
    total = word2vec_batched.train(
        sentences, expected, targets, cumulated(vocabulary), negative=negative, window=window, alpha=0.05
    )
    assert words == len(ids)
    assert loss == pytest.approx(total, rel=1e-5)
    np.testing.assert_allclose(vectors, expected, atol=3e-5)
    np.testing.assert_allclose(out, targets, atol=3e-5)


@pytest.mark.parametrize("signs", [[1, -1, -1, -1], [1, 1, -1], [-1]])
def test_gradients_of_both_objectives_are_finite_differences(signs: list[int]) -> None:
    rng = np.random.default_rng(len(signs))
    x, rows, of = rng.standard_normal(7), rng.standard_normal((len(signs), 7)), np.array(signs)
    by_x, by_rows = twin.gradients(x, rows, of)
    step = 1e-6
    for i in range(7):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        assert (twin.loss_of(up, rows, of) - twin.loss_of(down, rows, of)) / (2 * step) == pytest.approx(
            by_x[i], abs=1e-8
        )
        for t in range(len(signs)):
            up, down = rows.copy(), rows.copy()
            up[t, i] += step
            down[t, i] -= step
            found = (twin.loss_of(x, up, of) - twin.loss_of(x, down, of)) / (2 * step)
            assert found == pytest.approx(by_rows[t, i], abs=1e-8)


@pytest.mark.parametrize("words", [2, 3, 100])
def test_hierarchical_softmax_sums_to_one_over_shortest_paths(words: int) -> None:
    rng = np.random.default_rng(words)
    counts = (1000 / (1 + np.arange(words)) ** 1.2).astype(np.int64) + 1
    paths = huffman_paths(counts)
    x, nodes = rng.standard_normal(9), rng.standard_normal((words - 1, 9))
    chances, starts = [], [0, *paths.ends[:-1].tolist()]
    for start, end in zip(starts, paths.ends.tolist(), strict=True):
        signs = np.where(paths.turns[start:end], -1, 1)
        chances.append(np.exp(-twin.loss_of(x, nodes[paths.nodes[start:end]], signs)))
        assert paths.nodes[start] == words - 2  # from the root
    assert sum(chances) == pytest.approx(1)
    assert (
        len({(tuple(paths.nodes[a:b]), tuple(paths.turns[a:b])) for a, b in zip(starts, paths.ends, strict=True)})
        == words
    )
    lengths = np.diff(paths.ends, prepend=0)
    heap = sorted(counts.tolist())
    cost = 0
    while len(heap) > 1:
        cost += (both := heap.pop(0) + heap.pop(0))
        heap = sorted([*heap, both])
    assert (lengths * counts).sum() == cost


# Without the mark `threads`: the thread sanitizer would report the races that training without locks consists of.
@pytest.mark.parametrize("options", [{"skip_gram": True}, {"skip_gram": True, "batched": True}, {}])
def test_several_threads_train_all_sentences(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    sentences = [rng.integers(0, 500, 50).tolist() for _ in range(2000)]
    ids, ends = packed(sentences)
    vocabulary = Vocabulary(tuple(map(str, range(500))), np.bincount(ids, minlength=500).astype(np.int64))
    found = []
    for threads in (1, 1, 3):
        vectors, out = drawn(500, 20, 1), np.zeros((500, 20), np.float32)
        training = Word2VecTraining(
            ids, ends, vectors, out=out, negatives=vocabulary.negatives(), negative=5, losses=True, **options
        )
        words, loss = training.run(0, len(sentences), epoch=0, alpha=0.025, threads=threads)
        found.append((words, loss, vectors))
    assert found[0][0] == found[2][0] == len(ids)
    assert found[0][1] == found[1][1] == pytest.approx(found[2][1], rel=0.02)
    assert np.array_equal(found[0][2], found[1][2])


def test_arrays_that_do_not_fit_are_refused() -> None:
    ids, ends, vectors = np.zeros(3, np.uint32), np.array([3]), np.zeros((2, 4), np.float32)
    good: dict[str, Any] = {"out": np.zeros((2, 4), np.float32), "negative": 5}
    good["negatives"] = Vocabulary(("a", "b"), np.array([2, 1])).negatives()
    Word2VecTraining(ids, ends, vectors, **good)
    for bad in (
        {"ids": np.array([0, 2, 0], np.uint32)},
        {"ends": np.array([4])},
        {"ends": np.array([2, 2])},
        {"out": np.zeros((1, 4), np.float32)},
        {"out": None},
        {"negatives": None},
        {"window": 0},
        {"batched": True},
        {"keep": np.zeros(1, np.uint32)},
        {"nodes": np.zeros((1, 4), np.float32)},
        {"nodes": np.zeros((0, 4), np.float32), "paths": huffman_paths(np.array([1, 2]))},
    ):
        given = {"ids": ids, "ends": ends, "vectors": vectors, **good} | bad
        with pytest.raises(ValueError, match=r"\w"):
            Word2VecTraining(given.pop("ids"), given.pop("ends"), given.pop("vectors"), **given)
