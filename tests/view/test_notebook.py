"""What a notebook shows of comparisons, neighbours and attention: the values, and hostile texts escaped."""

from __future__ import annotations

import html
import re
from pathlib import Path

import numpy as np
import pytest

import browser
import tokkit
from tokkit.embeddings import KeyedVectors
from tokkit.embeddings.neighbours import Nearest
from tokkit.errors import OptionError
from tokkit.pipeline.attention import Attention
from tokkit.view import compare

HOSTILE = "</script><img src=x onerror=alert(1)>\u202e\x1b[31m'\"&"


@pytest.fixture(scope="module")
def tok() -> tokkit.Tokenizer:
    return tokkit.train({"low": 9, "lower": 5, "newest": 3}, vocab_size=262)


def cells(page: str) -> list[str]:
    return [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", page)]


def test_a_comparison_has_the_counts_of_each_text_and_tokenizer(tok: tokkit.Tokenizer) -> None:
    other = tokkit.train({"low": 9, "lower": 5, "newest": 3}, model="char", vocab_size=20)
    made = compare({"bpe": tok, HOSTILE: other}, {"en": "low lower", HOSTILE: "newest", "none": ""})
    assert [row.tokens for row in made.rows] == [
        len(one.encode(text)) for text in ("low lower", "newest", "") for one in (tok, other)
    ]
    first, second, *_, last = made.rows
    assert (first.tokens_per_word, first.compression) == (first.tokens / 2, 1.0)
    assert (second.bytes_per_token, second.compression) == (9 / second.tokens, first.tokens / second.tokens)
    assert last.tokens_per_word != last.tokens_per_word
    page = made._repr_html_()
    assert cells(page)[:4] == ["en", "bpe", str(first.tokens), f"{first.tokens_per_word:.3f}"]
    assert "-" in cells(page)
    inert(page)
    assert str(made).splitlines()[1].split() == ["en", "bpe", str(first.tokens), *cells(page)[3:6]]
    with pytest.raises(OptionError, match="0 tokenizers and 1 texts"):
        compare({}, "low")


def test_neighbours_are_a_list_that_a_notebook_shows_as_a_table() -> None:
    words = KeyedVectors.of(["cat", HOSTILE, "car"], np.array([[1, 0], [1, 0.1], [0, 1]], dtype=np.float32))
    for found in (words.most_similar("cat"), words.most_similar_cosmul("cat"), words.similar_by_word("cat")):
        assert isinstance(found, Nearest)
        assert found == list(found) == [*found]
        assert [key for key, _ in found] == [HOSTILE, "car"]
        page = found._repr_html_()
        assert cells(page)[1::2] == [f"{value:.4f}" for _, value in found]
        inert(page)
    assert words.most_similar("cat", topn=0) == []


def test_attention_is_a_pair_that_a_notebook_shows_as_its_page(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 2, 3))
    made = Attention(["low", HOSTILE, "er"], weights)
    tokens, same = made
    assert (tokens, same is weights) == (made.tokens, True)
    frame = made._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts"')
    page = html.unescape(re.search('srcdoc="(.*)"', frame, re.DOTALL)[1])
    acts = (
        "point(0, 1); document.title = [layers, heads, document.querySelectorAll('img').length, readout.textContent];"
    )
    told = browser.title_of(browser.opened(page, acts, tmp_path))
    assert told.startswith("2,2,0,low (1)")
    assert f"{weights[0, 0, 0, 1]:.4f}" in told
    large = Attention(["x"] * 500, np.full((6, 2, 500, 500), 1 / 500))
    assert "the first 2 of 6 layers" in large._repr_html_()
    assert "layer 1 of 1, the first 4 of 5 heads" in Attention(["x"] * 500, np.ones((1, 5, 500, 500)))._repr_html_()


def inert(page: str) -> None:
    """No text of a page is markup or a control."""
    assert "<img" not in page
    assert "<script" not in page
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in page
