"""Word Mover's Distance of documents, compared with all permutations, and its properties."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from extras import extra
from tokkit.embeddings import KeyedVectors

extra("scipy.optimize")
VECTORS = np.random.default_rng(3).standard_normal((12, 4)).astype(np.float32)
WORDS = KeyedVectors.of([f"w{i}" for i in range(12)], VECTORS)


@pytest.mark.parametrize("norm", [True, False])
def test_of_different_words_it_is_the_cheapest_of_all_permutations(norm: bool) -> None:
    a, b = [f"w{i}" for i in range(5)], [f"w{i}" for i in range(3, 8)]
    first, second = (np.array([WORDS.get_vector(word, norm=norm) for word in words], dtype=float) for words in (a, b))
    expected = min(
        np.linalg.norm(first - second[list(order)], axis=1).mean() for order in itertools.permutations(range(5))
    )
    assert WORDS.wmdistance(a, b, norm=norm) == pytest.approx(expected, rel=1e-6)


def test_words_have_the_share_of_their_occurrences() -> None:
    far = [np.linalg.norm(WORDS.get_vector("w0", norm=True) - WORDS.get_vector(f"w{i}", norm=True)) for i in (1, 2)]
    found = WORDS.wmdistance(["w0"], ["w1", "w1", "w1", "w2", "unknown"])
    assert found == pytest.approx(0.75 * far[0] + 0.25 * far[1], rel=1e-6)


def test_it_is_a_distance() -> None:
    draw = np.random.default_rng(0)
    a, b, c = ([f"w{i}" for i in draw.integers(0, 12, n)] for n in (3, 8, 20))
    assert WORDS.wmdistance(a, a) == pytest.approx(0, abs=1e-9)
    assert WORDS.wmdistance(a, b) == pytest.approx(WORDS.wmdistance(b, a))
    assert WORDS.wmdistance(a, c) <= WORDS.wmdistance(a, b) + WORDS.wmdistance(b, c) + 1e-9
    assert WORDS.wmdistance(["w1"], ["w1", "w1"]) == 0
    assert WORDS.wmdistance([], a) == float("inf")
