"""The page of similarities: errors, the order of its rows, and what a browser shows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import browser
from tokkit.errors import ShapeError
from tokkit.view import similarity_html
from tokkit.view.similarity_page import seriated

LABELS = ["a cat", "</script><b onclick=x>", "a \u202ekitten", "a\ncar"]


def cosines(seed: int = 0, n: int = 4) -> np.ndarray:
    made = np.random.default_rng(seed).standard_normal((n, 3))
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made @ made.T


def test_rows_that_are_alike_come_beside_one_another() -> None:
    groups = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2])
    close = np.where(groups[:, None] == groups, 0.95, -0.5) + 0.05 * np.eye(9)
    found = groups[seriated(close)]
    assert (np.diff(found) != 0).sum() == 2
    assert sorted(seriated(close).tolist()) == list(range(9))
    assert seriated(np.ones((2, 2))).tolist() == [0, 1]


ACTS = """
const told = { pairs: Array.from(element("pairs").children, item => item.textContent) };
point(0, 2), told.given = readout.textContent;
element("order").value = "alike", element("order").dispatchEvent(new Event("change"));
told.values = [];
for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) point(i, j), told.values.push(readout.textContent);
told.markup = document.querySelectorAll("#pairs b").length;
document.title = JSON.stringify(told);
"""


def test_a_browser_shows_values_in_both_orders_and_the_pairs_that_are_most_alike(tmp_path: Path) -> None:
    made = cosines()
    told = json.loads(browser.title_of(browser.opened(similarity_html(made, LABELS), ACTS, tmp_path)))
    assert told["given"] == f"a cat (1) → a \\u202ekitten (3): {made[0, 2]:.4f}"
    best = max(made[i, j] for i in range(4) for j in range(i + 1, 4))
    assert len(told["pairs"]) == 6
    assert told["pairs"][0].endswith(f"{best:.3f}")
    assert told["markup"] == 0
    order = seriated(made)
    values = [float(text.rsplit(": ", 1)[1]) for text in told["values"]]
    assert np.allclose(np.reshape(values, (4, 4)), made[np.ix_(order, order)], atol=1e-4)


def test_what_does_not_fit_is_refused() -> None:
    for matrix, said in (
        (np.eye(3), "it must be \\(4, 4\\)"), (np.full((4, 4), 2.0), "from -1 to 1"), (np.full((4, 4), np.nan), "fin"),
        (np.triu(np.ones((4, 4))), "not symmetric"),
    ):  # fmt: skip
        with pytest.raises(ShapeError, match=said):
            similarity_html(matrix, LABELS)
    with pytest.raises(ShapeError, match="a page holds 2,000"):
        similarity_html(np.eye(2001), ["x"] * 2001)
    with pytest.raises(TypeError, match="labels\\[1\\] is int"):
        similarity_html(np.eye(2), ["a", 1])
