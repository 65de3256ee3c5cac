"""fastText's kernels for every loss and instruction set, compared with a naive twin and with finite differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from reference import fasttext as twin
from tokkit._core.embed import fasttext as fasttext_core
from tokkit._core.embed import labelled as labelled_core
from tokkit._core.text import isas
from tokkit.embeddings.fasttext_tree import tree_paths
from tokkit.embeddings.vocabulary import Vocabulary

pytestmark = pytest.mark.threads

LOSSES = ["ns", "hs", "softmax", "ova"]
COUNTS = np.array([9, 7, 4, 2, 1, 1, 1], dtype=np.int64)
RATE = 0.3


def draw(*shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def packed(*lists: list[int]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    return np.cumsum([len(rows) for rows in lists]), np.concatenate(lists).astype(np.uint32)


def objective(
    input_: NDArray[np.float32], output: NDArray[np.float32], loss: str, negative: int = 3, then: object = None
) -> object:
    return fasttext_core.FastTextObjective(
        input_,
        output,
        loss,
        negative=negative,
        negatives=Vocabulary((), COUNTS).negatives(0.5) if loss == "ns" else None,
        paths=tuple(tree_paths(COUNTS)) if loss == "hs" else None,
        next=then,
    )


def lines(n_words: int, n_labels: int) -> labelled_core.LineRows:
    """Words that are rows, and labels."""
    none = np.empty(0, np.uint32)
    return labelled_core.LineRows(
        labelled_core.LabelledWords(), n_words, n_labels, b"__label__", ends=np.empty(0, np.int64), rows=none,
        hashes=none, word_ngrams=1, ngrams=labelled_core.NgramRows(min_n=0, max_n=0, bucket=0, first=n_words),
    )  # fmt: skip


def draws_of(seed: int, n: int = 2000) -> list[int]:
    made = np.empty(n, np.uint32)
    Vocabulary((), COUNTS).negatives(0.5).draw(made, seed)
    return made.tolist()


def path(target: int) -> twin.Targets:
    paths = tree_paths(COUNTS)
    start = paths.ends[target - 1] if target else 0
    part = slice(start, paths.ends[target])
    return list(zip(paths.nodes[part].tolist(), paths.turns[part].tolist(), strict=True))


def targets_of(loss: str, target: int, draws: list[int], negative: int = 3) -> twin.Targets:
    if loss == "ns":
        return twin.with_negatives(target, draws, negative)
    return path(target) if loss == "hs" else [(row, int(row == target)) for row in range(len(COUNTS))]


def train_line(loss: str, dim: int, rate: float, isa: str) -> tuple[NDArray[np.float32], ...]:
    """Train one line of words 3, 5, 3 and 1 with label 2 once; return the matrices before and after."""
    input_, output = draw(6, dim), draw(len(COUNTS), dim) / np.float32(dim**0.5)
    before = input_.copy(), output.copy()
    ids = np.array([3, 5, 6 + 2, 3, 1], dtype=np.uint32)
    training = fasttext_core.ClassifierTraining(
        objective(input_, output, loss), lines(6, 7), ids, np.array([5]), total=5, rate_each=1, lr=rate
    )
    total, n = training.run(0, 1, begun=0, seed=7, isa=isa)
    assert n == 1
    return *before, input_, output, total


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("dim", [1, 3, 16, 33, 100])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_line_is_trained_as_by_the_twin(loss: str, dim: int, isa: str) -> None:
    input_, output, new_input, new_output, total = train_line(loss, dim, RATE, isa)
    hidden, wanted = input_[[3, 5, 3, 1]].astype(np.float64).mean(0), output.astype(np.float64)
    targets = targets_of(loss, 2, draws_of(7)[1:])  # the first draw chooses the label
    if loss == "softmax":
        expected = twin.softmax_loss(hidden, wanted, 2)
        gain = twin.softmax_steps(hidden, wanted, 2, RATE)
    else:
        once = len({row for row, _ in targets}) == len(targets)
        expected = twin.logistic_loss(hidden, wanted, targets) if once else None
        gain = twin.logistic_steps(hidden, wanted, targets, RATE)
    np.testing.assert_allclose(new_output, wanted, atol=2e-5)
    of_rows = input_.astype(np.float64)
    np.add.at(of_rows, [3, 5, 3, 1], gain / 4)
    np.testing.assert_allclose(new_input, of_rows, atol=2e-5)
    if expected is not None:
        assert total == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_steps_follow_the_gradient_of_the_loss(loss: str) -> None:
    rate, small, dim = 1e-2, 1e-5, 5
    input_, output, new_input, new_output, _ = train_line(loss, dim, rate, isas()[-1])
    targets = targets_of(loss, 2, draws_of(7)[1:])
    repeated = [row for row, _ in targets]
    assert len(set(repeated)) == len(repeated)  # steps on one row after the other are no gradient

    def total(rows: NDArray[np.float64], outputs: NDArray[np.float64]) -> float:
        hidden = rows[[3, 5, 3, 1]].mean(0)
        if loss == "softmax":
            return twin.softmax_loss(hidden, outputs, 2)
        return twin.logistic_loss(hidden, outputs, targets)

    both = [input_.astype(np.float64), output.astype(np.float64)]
    for matrix, new in zip(both, (new_input, new_output), strict=True):
        slope = np.empty_like(matrix)
        for at in np.ndindex(*matrix.shape):
            old, sides = matrix[at], []
            for side in (small, -small):
                matrix[at] = old + side
                sides.append(total(*both))
            matrix[at] = old
            slope[at] = (sides[0] - sides[1]) / (2 * small)
        np.testing.assert_allclose((matrix - new) / rate, slope, atol=2e-4)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("mean", [True, False])
@pytest.mark.parametrize("cbow", [True, False])
def test_two_objectives_are_trained_in_turns_as_by_the_twin(cbow: bool, mean: bool, isa: str) -> None:
    input_, output = draw(9, 20), draw(len(COUNTS), 20) / np.float32(20**0.5)
    nodes = draw(len(COUNTS), 20)[::-1] / np.float32(5)
    rows_of, wanted = input_.astype(np.float64), {"hs": nodes.astype(np.float64), "ns": output.astype(np.float64)}
    nodes, draws = np.ascontiguousarray(nodes), draws_of(7)
    train_sentence(objective(input_, nodes, "hs", then=objective(input_, output, "ns")), isa, cbow=cbow, mean=mean)
    for rows, target in windows(cbow):
        for loss, outer in wanted.items():
            hidden = rows_of[rows].mean(0) if mean or not cbow else rows_of[rows].sum(0)
            gain = twin.logistic_steps(hidden, outer, targets_of(loss, target, draws), RATE)
            np.add.at(rows_of, rows, gain if mean or not cbow else gain / len(rows))
    np.testing.assert_allclose(output, wanted["ns"], atol=1e-4)
    np.testing.assert_allclose(nodes, wanted["hs"], atol=1e-4)
    np.testing.assert_allclose(input_, rows_of, atol=1e-4)


def train_words(
    loss: str, isa: str, *, cbow: bool, dim: int = 20, mean: bool = True, threads: int = 1
) -> tuple[NDArray[np.float32], ...]:
    """Train the sentence 0 1 2 1 of words with overlapping rows, one of them twice."""
    input_, output = draw(9, dim), draw(len(COUNTS), dim) / np.float32(dim**0.5)
    before = input_.copy(), output.copy()
    train_sentence(objective(input_, output, loss), isa, cbow=cbow, mean=mean, threads=threads)
    return *before, input_, output


def train_sentence(what: object, isa: str, *, cbow: bool, mean: bool, threads: int = 1) -> None:
    ends, rows = packed([0, 7, 8], [1, 7, 7], [2, 8], [3], [4], [5], [6])
    gain = np.array([1, 5 / 3, 1, 1, 1, 1, 1], dtype=np.float32)
    training = fasttext_core.FastTextTraining(
        what, ends, rows, gain, np.array([0, 1, 2, 1], np.uint32), np.array([4]), None,
        window=2, cbow=cbow, shrink=False, mean=mean, seed=0,
    )  # fmt: skip
    training.run(0, 1, epoch=7, alpha=RATE, isa=isa, threads=threads)


WORDS = {0: [0, 7, 8], 1: [1, 7, 7], 2: [2, 8]}
SENTENCE = [0, 1, 2, 1]


def windows(cbow: bool) -> list[tuple[list[int], int]]:
    """(rows of the hidden vector, target) of each step."""
    made = []
    for i, word in enumerate(SENTENCE):
        around = [SENTENCE[j] for j in range(max(0, i - 2), min(4, i + 3)) if j != i]
        if cbow:
            made.append(([row for other in around for row in WORDS[other]], word))
        else:
            made += [(WORDS[word], other) for other in around]
    return made


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("mean", [True, False])
@pytest.mark.parametrize("cbow", [True, False])
@pytest.mark.parametrize("loss", ["ns", "hs"])
def test_a_sentence_is_trained_as_by_the_twin_pair_by_pair(loss: str, cbow: bool, mean: bool, isa: str) -> None:
    input_, output, new_input, new_output = train_words(loss, isa, cbow=cbow, mean=mean)
    rows_of, wanted, draws = input_.astype(np.float64), output.astype(np.float64), draws_of(7)
    for rows, target in windows(cbow):
        hidden = rows_of[rows].mean(0) if mean or not cbow else rows_of[rows].sum(0)
        gain = twin.logistic_steps(hidden, wanted, targets_of(loss, target, draws), RATE)
        np.add.at(rows_of, rows, gain if mean or not cbow else gain / len(rows))
    np.testing.assert_allclose(new_output, wanted, atol=5e-5)
    np.testing.assert_allclose(new_input, rows_of, atol=5e-5)


@pytest.mark.parametrize("isa", isas())
def test_means_of_rows_are_the_same_in_several_threads(isa: str) -> None:
    matrix, sizes = draw(50, 37), np.random.default_rng(0).integers(0, 12, 700)
    ends = np.cumsum(sizes)
    rows = np.random.default_rng(1).integers(0, 50, ends[-1]).astype(np.uint32)
    made, threaded = np.full((700, 37), 9, np.float32), np.empty((700, 37), np.float32)
    fasttext_core.row_means(matrix, rows, ends, made, isa=isa)
    fasttext_core.row_means(matrix, rows, ends, threaded, isa=isa, threads=3)
    assert np.array_equal(made, threaded)
    groups = np.split(rows, ends[:-1])
    expected = [matrix[group].mean(0) if len(group) else np.zeros(37) for group in groups]
    np.testing.assert_allclose(made, expected, atol=1e-5)


@pytest.mark.parametrize("word", ["apple", "a", "Straße", "日本", "e\u0301", "x<y>", ""])
@pytest.mark.parametrize(("min_n", "max_n"), [(3, 6), (1, 2), (0, 3), (2, 2), (4, 3), (0, 0)])
def test_ngrams_have_the_rows_of_their_hashes(word: str, min_n: int, max_n: int) -> None:
    rows = labelled_core.NgramRows(min_n=min_n, max_n=max_n, bucket=1000, first=10)
    ends, found = rows.of_words([word.encode(), None], n_own=1)
    expected = [0, *(10 + bucket for bucket in twin.ngram_buckets(word, max(min_n, 1), max_n, 1000))]
    assert np.frombuffer(found, np.uint32).tolist() == expected
    assert np.frombuffer(ends, np.int64).tolist() == [len(expected)] * 2


def of_arguments(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_arrays_that_do_not_fit_are_refused() -> None:
    good = objective(draw(4, 3), draw(7, 3), "softmax")
    ids, ends = np.array([1, 4], np.uint32), np.array([2])
    of_arguments(lambda: objective(draw(4, 3), draw(7, 2), "softmax"), "input has shape")
    of_arguments(lambda: objective(draw(4, 3), draw(8, 3), "ns"), "negatives are None")
    of_arguments(lambda: objective(draw(4, 3), draw(8, 3), "hs"), "paths have")
    of_arguments(
        lambda: fasttext_core.ClassifierTraining(good, lines(4, 7), ids, ends + 1, total=2, rate_each=1, lr=0.1),
        "the last end be",
    )
    training = fasttext_core.ClassifierTraining(good, lines(4, 7), ids, ends, total=2, rate_each=1, lr=0.1)
    of_arguments(lambda: training.run(1, 1, begun=0, seed=0), "out of range")
    of_arguments(lambda: fasttext_core.row_means(draw(4, 3), ids, ends, draw(2, 3)), "2 ends and|1 ends and")
    many = np.array([4], np.uint32)
    of_arguments(lambda: fasttext_core.row_means(draw(4, 3), many, np.array([1]), draw(1, 3)), "row 4 is out of range")
