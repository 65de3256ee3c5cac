"""Projections of word vectors to a plane, and the pixels of their pictures."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from extras import extra
from tokkit.errors import OptionError, ShapeError, VocabError
from tokkit.view import project, vectors_png
from tokkit.view.figures import new_figure
from tokkit.view.vectors_plot import labels

DOT = np.array([0x2F, 0x6F, 0xB5]) / 255


def random_vectors(n: int, d: int = 8, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d)) * np.arange(1, d + 1)


@pytest.mark.parametrize(("n", "d"), [(50, 8), (5, 40), (3, 2), (2, 1)])
def test_pca_is_the_projection_on_the_two_first_eigenvectors(n: int, d: int) -> None:
    vectors = random_vectors(n, d) + 100
    values, axes = np.linalg.eigh(np.cov(vectors.T).reshape(d, d))
    axes = axes[:, ::-1][:, :2]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    expected = np.zeros((n, 2))
    expected[:, : axes.shape[1]] = (vectors - vectors.mean(axis=0)) @ axes
    np.testing.assert_allclose(project(vectors), expected, atol=1e-8)
    assert np.var(project(vectors)[:, 0]) == pytest.approx(values[-1] * (n - 1) / n)


def test_pca_has_one_result_for_numbers_of_any_size() -> None:
    vectors = random_vectors(20)
    for scale in (1e-150, 1e150):
        np.testing.assert_allclose(project(vectors * scale) / scale, project(vectors), rtol=1e-8, atol=1e-8)
    assert project(np.ones((7, 3))).tolist() == [[0.0, 0.0]] * 7
    assert project([[1.0, 2.0]]).tolist() == [[0.0, 0.0]]


def test_tsne_keeps_clusters_together_and_one_seed_has_one_result() -> None:
    extra("sklearn")
    rng = np.random.default_rng(0)
    centres = np.eye(3, 10) * 10
    vectors = np.repeat(centres, 12, axis=0) + rng.standard_normal((36, 10))
    # Of any length: who is near is a matter of the cosine.
    vectors *= rng.uniform(0.1, 10, (36, 1))
    points = project(vectors, "tsne", seed=3)
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(apart, np.inf)
    groups = np.arange(36) // 12
    assert (groups[apart.argmin(axis=1)] == groups).all()
    np.testing.assert_array_equal(project(vectors, "tsne", seed=3), points)
    assert project(vectors[:4], "tsne").shape == (4, 2)
    with pytest.raises(OptionError, match="3 vectors are given; t-SNE needs at least 4: choose pca"):
        project(vectors[:3], "tsne")


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    with pytest.raises(OptionError, match=r"t-SNE needs scikit-learn: pip install 'pytokkit\[plot\]'"):
        project(random_vectors(9), "tsne")


@pytest.mark.parametrize("given", [np.ones(3), np.ones((0, 3)), np.ones((3, 0)), np.full((2, 2), np.inf)])
def test_what_cannot_be_projected_is_a_shape_error(given: np.ndarray) -> None:
    with pytest.raises(ShapeError, match=r"\(n, d\)|NaN or infinity"):
        project(given)


def test_every_word_is_a_dot_at_its_place(tmp_path: Path) -> None:
    extra("matplotlib")
    from matplotlib.image import imread

    # Corners and middle of a rectangle: three to the right of the middle, as 16 of 20 words are to be left out.
    vectors = np.array([[-4, -2], [4, -2], [4, 2], [-4, 2], [1.0, 0]])
    keys = [f"word{i}" for i in range(5)]
    path = vectors_png([*keys, "other"], np.vstack([vectors, [90, 90]]), tmp_path / "a.png", words=keys, title="$a$")
    pixels = imread(path)[..., :3]
    dots = np.argwhere(np.abs(pixels - DOT).max(axis=-1) < 1 / 255)
    centres: list[np.ndarray] = []
    for dot in dots:
        if all(np.abs(dot - centre).max() > 12 for centre in centres):
            centres.append(dots[np.abs(dots - dot).max(axis=1) <= 12].mean(axis=0))
    found = np.array(centres)
    assert len(found) == 5
    expected = project(vectors)
    # Down is the opposite of up, and one scale is that of both directions.
    wide, high = np.ptp(found[:, 1]), np.ptp(found[:, 0])
    assert wide / high == pytest.approx(np.ptp(expected[:, 0]) / np.ptp(expected[:, 1]), rel=0.01)
    across = np.sort((found[:, 1] - found[:, 1].min()) / wide)
    shares = np.sort((expected[:, 0] - expected[:, 0].min()) / np.ptp(expected[:, 0]))
    np.testing.assert_allclose(across, shares, atol=0.01)


def test_labels_are_within_the_picture_and_none_is_upon_another() -> None:
    extra("matplotlib")
    rng = np.random.default_rng(0)
    room = np.array([800.0, 600.0])
    places = np.vstack([rng.uniform(0, 1, (150, 2)) * room, np.full((30, 2), 300.0)])
    words = [f"word{i}" * (1 + i % 3) for i in range(180)]
    found = list(labels(new_figure(8, 6, layout=None), words, places, room))
    assert found[0][0] == 0, "the first word has the first choice"
    assert 100 < len(found) < 180, "some of thirty words at one place have no room"
    boxes = np.array([box for _, box, _ in found])
    assert (boxes[:, :2] >= 0).all()
    assert (boxes[:, 2:] <= room).all()
    for k, (left, low, right, top) in enumerate(boxes):
        upon = (boxes[:, 0] < right) & (left < boxes[:, 2]) & (boxes[:, 1] < top) & (low < boxes[:, 3])
        assert upon.sum() == upon[k] == 1
    for i, (left, low, right, top), gap in found:
        x, y = places[i]
        assert max(left - x, x - right, low - y, y - top) <= gap + 1e-6


def test_hostile_words_are_drawn_as_text(tmp_path: Path) -> None:
    extra("matplotlib")
    words = ["$x$", "\\frac{", "\u202eevil", "a\ud800", "</b>", "", "\x00\n"]
    path = vectors_png(words, random_vectors(7), tmp_path / "a.png", title="$\\foo$")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_characters_that_the_font_lacks_are_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    extra("matplotlib")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vectors_png(["東京", "京都", "a"], random_vectors(3), tmp_path / "a.png")
        vectors_png(["b", "a"], random_vectors(2), tmp_path / "b.png")
    assert [record.message.split(":")[0] for record in caplog.records] == ["3 characters are drawn as boxes"]


def test_pictures_refuse_what_pages_refuse(tmp_path: Path) -> None:
    extra("matplotlib")
    with pytest.raises(VocabError, match="'x': not among the 2 keys"):
        vectors_png(["a", "b"], random_vectors(2), tmp_path / "a.png", words=["x"])
    with pytest.raises(ShapeError, match="with 1 keys"):
        vectors_png(["a"], random_vectors(2), tmp_path / "a.png")
    assert not list(tmp_path.iterdir())
