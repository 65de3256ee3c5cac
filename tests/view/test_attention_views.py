"""The page of attention weights, as a browser reads it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from browser import opened, text_of, title_of
from conftest import LONG
from tokkit import nn
from tokkit.errors import ShapeError
from tokkit.view import attention_html, attention_page

TOKENS = ["Hello", " wörld", "</script><b>", "\n", "東京"]


def weights(layers: int = 2, heads: int = 3, n: int = 5) -> np.ndarray:
    return nn.softmax(np.random.default_rng(1).standard_normal((layers, heads, n, n)) * 2)


def test_a_page_holds_all_it_needs_and_loads_nothing() -> None:
    page = attention_html(weights(), TOKENS, title="<Weights> & tokens")
    assert "://" not in page
    assert not re.search(r"\b(?:src|href)\s*=|@import|url\(|\bfetch|XMLHttpRequest|import\(", page)
    assert page.count("<script") == page.count("</script>") == 2, "a token ends no script"
    assert "&lt;Weights&gt; &amp; tokens" in page
    page.encode("ascii")


def numbers_of(dom: str) -> list[float]:
    """The numbers that the acts left in the page's title."""
    return [float(part) for part in title_of(dom).split(",")]


def readout_of(dom: str) -> str:
    return text_of(dom, "readout")


def test_a_browser_shows_the_weight_under_the_pointer(tmp_path: Path) -> None:
    made = weights()
    # What a user does, by events: choose layer 2 and head 3, then point at row 4, column 3.
    acts = """
    for (const [select, value] of [[layer, "1"], [head, "2"]]) {
      select.value = value; select.dispatchEvent(new Event("change"));
    }
    const box = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new MouseEvent("mousemove",
      {clientX: box.left + left + 2.5 * cell, clientY: box.top + top_ + 3.5 * cell}));
    const ring = mark.getBoundingClientRect();
    const across = ring.left - box.left - left, down = ring.top - box.top - top_;
    document.title = [layer.length, head.length, across / cell, down / cell];
    """
    dom = opened(attention_html(made, TOKENS), acts, tmp_path)
    assert readout_of(dom) == f"↵ (4) → </script><b> (3): {made[1, 2, 3, 2]:.4f}, layer 2, head 3"
    assert numbers_of(dom) == [2, 3 + 1, 2, 3], "the mean of all heads is one more choice"


def test_the_mean_of_a_layers_heads_can_be_chosen_in_both_views(tmp_path: Path) -> None:
    made = weights()
    acts = """
    layer.value = "1", head.value = "mean", head.dispatchEvent(new Event("change"));
    point(3, 2);
    const said = readout.textContent;
    views.value = "lines", views.dispatchEvent(new Event("change"));
    look(3);
    document.title = said + "|" + readout.textContent;
    """
    mean = made[1].mean(axis=0)[3]
    said, lines = title_of(opened(attention_html(made, TOKENS), acts, tmp_path)).split("|")
    shown, where = said.rsplit(": ", 1)[1].split(", ", 1)
    assert abs(float(shown) - mean[2]) < 2e-4
    assert where == "layer 2, mean of its heads"
    assert f" {mean.max():.3f}" in lines


def test_a_browser_draws_the_layer_and_head_that_are_chosen(tmp_path: Path) -> None:
    made = weights()
    acts = """
    const light = [];
    for (layer.value = 0; layer.value !== ""; layer.value = Number(layer.value) + 1) {
      for (head.value = 0; head.value !== ""; head.value = Number(head.value) + 1) {
        head.dispatchEvent(new Event("change"));
        for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++)
          light.push(pen.getImageData(left + (j + .5) * cell, top_ + (i + .5) * cell, 1, 1).data[0]);
      }
    }
    document.title = light;
    """
    flags = "--force-device-scale-factor=1", "--window-size=800,900"
    seen = np.array(numbers_of(opened(attention_html(made, TOKENS), acts, tmp_path, *flags))).reshape(made.shape)
    paper, ink = 245, 12
    if seen.max() < 200:  # Where the desktop is a dark one.
        paper, ink = 24, 125
    np.testing.assert_allclose(seen, paper + (ink - paper) * np.sqrt(made / made.max()), atol=1.01)


def test_a_browser_draws_thousands_of_tokens_and_follows_the_pointer(tmp_path: Path) -> None:
    n = 4000 if LONG else 1500  # where every square was drawn anew, a move over so many takes seconds, too
    made = np.zeros((n, n))
    made[n - 3, n - 2] = 0.5
    # To the last corner by scrolling; 40 moves there; the square that has a weight, by the pointer; its colour beside
    # that of the square left of it; what a key shows.
    acts = """
    frame.scrollTop = frame.scrollLeft = 1e6;
    frame.dispatchEvent(new Event("scroll"));
    const box = canvas.getBoundingClientRect(), scale = canvas.width / wide;
    const x = j => left + (j + .5) * cell - frame.scrollLeft, y = i => top_ + (i + .5) * cell - frame.scrollTop;
    const red = j => pen.getImageData(x(j) * scale, y(rows - 3) * scale, 1, 1).data[0];
    const began = performance.now();
    for (let k = 42; k >= 2; k--) {
      const place = {clientX: box.left + x(columns - k), clientY: box.top + y(rows - 3)};
      canvas.dispatchEvent(new MouseEvent("mousemove", place));
      readout.getBoundingClientRect();
    }
    const took = performance.now() - began, before = readout.textContent;
    canvas.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowUp"}));
    document.title = [took, canvas.width, canvas.height, Math.abs(red(columns - 2) - red(columns - 3)), at[0]];
    readout.textContent = before;
    """
    page = attention_html(made, [f"t{i}" for i in range(n)])
    dom = opened(page, acts, tmp_path, "--force-device-scale-factor=3", "--window-size=5400,1800")
    took, width, height, differ, row = numbers_of(dom)
    assert readout_of(dom) == f"t{n - 3} ({n - 2}) → t{n - 2} ({n - 1}): 0.5000, layer 1, head 1"
    assert took < 4000, "40 moves, of which one took half a minute where every square was drawn anew"
    assert 0 < max(width, height) <= 4096
    assert differ > 50
    assert row == n - 4


def test_a_title_and_tokens_are_taken_for_no_placeholder() -> None:
    title = "$DATA $TITLE ${DATA} $$ ü"
    tokens = ["$TITLE", "${DATA}", "$$", "$DATA", "\\1"]
    page = attention_html(weights(), tokens, title=title)
    assert page.count("<title>$DATA $TITLE ${DATA} $$ &#252;</title>") == 1
    assert page.count("<h1>$DATA $TITLE ${DATA} $$ &#252;</h1>") == 1
    data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page)[1])
    assert data["rows"] == data["columns"] == tokens
    page.encode("ascii")


def test_a_page_has_a_limit_and_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = ["a"] * 4097
    with pytest.raises(ShapeError, match="the maximum of a page is 16777216: choose heads"):
        attention_html(np.broadcast_to(0.5, (4097, 4097)), tokens)
    monkeypatch.setattr(attention_page, "MAX_CELLS", 12)
    assert attention_html(np.ones((3, 2, 2)), tokens[:2])
    with pytest.raises(ShapeError, match="13 numbers; the maximum of a page is 12"):
        attention_html(np.ones((13, 1, 1)), tokens[:1])


def test_one_head_or_two_sequences_may_be_shown() -> None:
    assert '"shape": [1, 1, 2, 3]' in attention_html(np.full((2, 3), 1 / 3), ["a", "b"], key_tokens=["x", "y", "z"])
    assert '"shape": [1, 2, 1, 1]' in attention_html(np.ones((2, 1, 1)), ["a"])


@pytest.mark.parametrize(
    ("given", "tokens", "says"),
    [
        (np.ones((2, 2)), ["a"], "1 query tokens and 1 key tokens"),
        (np.ones(4), ["a"], "layers, heads, T, S"),
        (np.ones((0, 1, 1, 1)), ["a"], "nothing to draw"),
        (np.full((1, 1), np.nan), ["a"], "finite"),
        (np.full((1, 1), -1.0), ["a"], "not scores"),
    ],
)
def test_weights_that_do_not_fit_are_named(given: np.ndarray, tokens: list[str], says: str) -> None:
    with pytest.raises(ShapeError, match=says):
        attention_html(given, tokens)


def test_a_browser_shows_all_heads_and_lines_from_a_token(tmp_path: Path) -> None:
    made = weights()
    acts = """
    const view = name => { views.value = name; views.dispatchEvent(new Event("change")); };
    view("grid");
    const buttons = Array.from(grid.children), names = buttons.map(button => button.textContent);
    buttons[4].click();
    const chosen = [views.value, layer.value, head.value, frame.hidden, grid.hidden];
    view("lines");
    element("left").children[1].dispatchEvent(new PointerEvent("pointerenter"));
    document.title = JSON.stringify([names, chosen, threadPen.canvas.height > 0, element("right").childElementCount]);
    """
    dom = opened(attention_html(made, TOKENS), acts, tmp_path)
    names, chosen, is_drawn, n = json.loads(title_of(dom))
    assert names == [f"layer {i}, head {j}" for i in (1, 2) for j in (1, 2, 3)]
    assert chosen == ["map", "1", "1", False, True]
    assert (is_drawn, n) == (True, len(TOKENS))
    first = int(made[1, 1, 1].argmax())
    shown = TOKENS[first].replace("\n", "\u21b5").replace(" ", "\u2423")
    assert readout_of(dom).startswith(f"\u2423w\u00f6rld looks at {shown} {made[1, 1, 1, first]:.3f}")
