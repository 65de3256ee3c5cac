"""The pixels of pictures of attention weights and of position vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conftest import LONG
from extras import extra
from tokkit import nn
from tokkit.errors import OptionError, ShapeError
from tokkit.view import attention_html, attention_png, positions_png

drawn = pytest.mark.usefixtures("matplotlib")
TOKENS = ["Hello", " wörld", "</script><b>", "\n", "a$b$"]


@pytest.fixture
def matplotlib() -> None:
    extra("matplotlib")


def weights(layers: int = 2, heads: int = 3, n: int = 5) -> np.ndarray:
    return nn.softmax(np.random.default_rng(1).standard_normal((layers, heads, n, n)) * 2)


def middles(path: Path, colours: str, values: list[float]) -> np.ndarray:
    """Where in a picture the colours of `values` (0 to 1) are: (rows down, columns across), the median of each."""
    import matplotlib
    from matplotlib.image import imread

    pixels = imread(path)[..., :3]
    found = []
    for value in values:
        wanted = np.array(matplotlib.colormaps[colours](value)[:3])
        places = np.argwhere(np.abs(pixels - wanted).max(axis=-1) < 1 / 255)
        assert len(places) > 400, f"{value} is not in the picture"
        found.append(np.median(places, axis=0))
    return np.array(found)


@drawn
def test_pictures_are_png_files(tmp_path: Path) -> None:
    first = attention_png(weights(), TOKENS, tmp_path / "heads.png", title="two layers")
    second = attention_png(weights(1, 1, 60)[0, 0], [str(i) for i in range(60)], tmp_path / "long.png")
    third = positions_png(nn.sinusoidal(50, 64), tmp_path / "positions.png")
    for path in (first, second, third):
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["heads.png", "long.png", "positions.png"]
    with pytest.raises(ShapeError, match="positions, dimensions"):
        positions_png(np.ones(3), tmp_path / "bad.png")


@drawn
def test_every_head_has_its_own_map_in_the_row_of_its_layer(tmp_path: Path) -> None:
    values = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5]
    # The scale ends with the greatest weight, 0.3, and not with 1.
    made = 0.3 * np.array(values).reshape(2, 3, 1, 1) * np.ones((4, 4))
    down, across = middles(attention_png(made, TOKENS[:4], tmp_path / "a.png"), "Blues", values).T.reshape(2, 2, 3)
    np.testing.assert_allclose(down, down[:, :1] * np.ones(3), atol=4)
    np.testing.assert_allclose(across, across[:1] * np.ones((2, 1)), atol=4)
    assert down[1, 0] - down[0, 0] > 100
    assert (np.diff(across) > 100).all()


@drawn
def test_rows_of_a_map_look_and_columns_are_looked_at(tmp_path: Path) -> None:
    values = [1.0, 0.8, 0.6, 0.4, 0.3, 0.2]
    path = attention_png(np.reshape(values, (2, 3)), ["a", "b"], tmp_path / "a.png", key_tokens=["x", "y", "z"])
    down, across = middles(path, "Blues", values).T.reshape(2, 2, 3)
    assert (np.diff(down, axis=0) > 20).all()
    assert (np.diff(across, axis=1) > 20).all()
    assert np.ptp(down, axis=1).max() < 4


@drawn
def test_positions_go_down_and_dimensions_across(tmp_path: Path) -> None:
    # On a scale from -3 to 3: the colours 1, 0, 0.75 and 0.4.
    path = positions_png([[3.0, -3.0], [1.5, -0.6]], tmp_path / "positions.png")
    (a, b), (c, d) = middles(path, "RdBu_r", [1.0, 0.0, 0.75, 0.4]).reshape(2, 2, 2)
    for left, right in ((a, b), (c, d)):
        assert abs(left[0] - right[0]) < 4
        assert right[1] - left[1] > 200
    for upper, lower in ((a, c), (b, d)):
        assert lower[0] - upper[0] > 150
        assert abs(lower[1] - upper[1]) < 4


@drawn
@pytest.mark.parametrize("title", [r"$\foo$", "$", "price: $5 or $6", *["$x$", r"\$x$"] * LONG])
def test_dollars_in_titles_and_tokens_are_no_formulas(tmp_path: Path, title: str) -> None:
    from matplotlib.image import imread

    def pixels(text: str) -> np.ndarray:
        attention_png(np.eye(2), [text[:12], "x" * 13 + text], tmp_path / "a.png", title=text)
        positions_png(np.eye(2), tmp_path / "b.png", title=text)
        return np.concatenate([imread(tmp_path / name).ravel() for name in ("a.png", "b.png")])

    assert not np.array_equal(pixels(title), pixels(title.replace("$", ""))), "the dollars are to be seen"


@pytest.mark.parametrize(
    ("tokens", "keys", "says"),
    [
        ([1, 2], None, r"tokens\[0\] is int, not str"),
        (["a", b"b"], None, r"tokens\[1\] is bytes, not str"),
        (b"ab", None, r"tokens\[0\] is int, not str"),
        (["a", "b"], ["a", None], r"key_tokens\[1\] is NoneType, not str"),
    ],
)
def test_tokens_that_are_no_text_are_refused_by_page_and_picture_alike(
    tmp_path: Path, tokens: list[str], keys: list[str] | None, says: str
) -> None:
    with pytest.raises(TypeError, match=says):
        attention_html(np.eye(2), tokens, key_tokens=keys)
    with pytest.raises(TypeError, match=says):
        attention_png(np.eye(2), tokens, tmp_path / "a.png", key_tokens=keys)
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(OptionError, match=r"tokkit\[plot\]"):
        positions_png(np.ones((2, 2)), tmp_path / "a.png")
