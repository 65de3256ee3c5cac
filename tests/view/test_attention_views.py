"""Weights and tokens in, the page that a browser makes of them, and pictures, out."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tokkit import nn
from tokkit.errors import OptionError, ShapeError
from tokkit.view import attention_html, attention_png, positions_png

TOKENS = ["Hello", " wörld", "</script><b>", "\n", "東京"]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "headless_shell")


def weights(layers: int = 2, heads: int = 3, n: int = 5) -> np.ndarray:
    return nn.softmax(np.random.default_rng(1).standard_normal((layers, heads, n, n)) * 2)


def test_a_page_holds_all_it_needs_and_loads_nothing() -> None:
    page = attention_html(weights(), TOKENS, title="<Weights> & tokens")
    assert "http" not in page
    assert not re.search(r"\b(?:src|href|@import|url\(|fetch|XMLHttpRequest|import\()", page)
    assert page.count("<script") == page.count("</script>") == 2, "a token ends no script"
    assert "&lt;Weights&gt; &amp; tokens" in page
    page.encode("ascii")


def test_a_browser_shows_the_weight_under_the_pointer(tmp_path: Path) -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("no Chromium here to open the page with")
    made = weights()
    # What a user does, by events: choose layer 2 and head 3, then point at row 4, column 3.
    acts = """<script>
    for (const [select, value] of [[layer, "1"], [head, "2"]]) {
      select.value = value; select.dispatchEvent(new Event("change"));
    }
    const box = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new MouseEvent("mousemove",
      {clientX: box.left + left + 2.5 * cell, clientY: box.top + top_ + 3.5 * cell}));
    document.title = [layer.length, head.length, pen.getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data[3]];
    </script></body>"""
    page = tmp_path / "page.html"
    page.write_text(attention_html(made, TOKENS).replace("</body>", acts), encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--dump-dom"]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode or "<html" not in done.stdout:
        pytest.skip(f"{browser} does not run here: {done.stderr.strip()[-200:]}")
    readout = html.unescape(re.search(r'<output id="readout">(.*?)</output>', done.stdout, re.DOTALL)[1])
    assert readout == f"↵ (4) → </script><b> (3): {made[1, 2, 3, 2]:.4f}, layer 2, head 3"
    assert "<title>2,3,255</title>" in done.stdout


def test_one_head_or_two_sequences_may_be_shown() -> None:
    assert '"shape": [1, 1, 2, 3]' in attention_html(np.full((2, 3), 1 / 3), ["a", "b"], key_tokens=["x", "y", "z"])
    assert '"shape": [1, 2, 1, 1]' in attention_html(np.ones((2, 1, 1)), ["a"])


@pytest.mark.parametrize(
    ("given", "tokens", "says"),
    [
        (np.ones((2, 2)), ["a"], "1 tokens looking at 1"),
        (np.ones(4), ["a"], "layers, heads, T, S"),
        (np.ones((0, 1, 1, 1)), ["a"], "nothing to draw"),
        (np.full((1, 1), np.nan), ["a"], "finite"),
        (np.full((1, 1), -1.0), ["a"], "not scores"),
    ],
)
def test_weights_that_do_not_fit_are_named(given: np.ndarray, tokens: list[str], says: str) -> None:
    with pytest.raises(ShapeError, match=says):
        attention_html(given, tokens)


def test_pictures_are_png_files(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib (extra plot) is not installed")
    first = attention_png(weights(), [*TOKENS[:4], "a$b$"], tmp_path / "heads.png", title="two layers")
    second = attention_png(weights(1, 1, 60)[0, 0], [str(i) for i in range(60)], tmp_path / "long.png")
    third = positions_png(nn.sinusoidal(50, 64), tmp_path / "positions.png")
    for path in (first, second, third):
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["heads.png", "long.png", "positions.png"]
    with pytest.raises(ShapeError, match="positions, dimensions"):
        positions_png(np.ones(3), tmp_path / "bad.png")


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(OptionError, match=r"tokkit\[plot\]"):
        positions_png(np.ones((2, 2)), tmp_path / "a.png")
