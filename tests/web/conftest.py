"""Fixtures of the playground's tests in a browser: two tokenizers, and a page with its server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tokkit
from page_checks import driven
from play_browser import HOSTILE_NAME, PRICES, Page

TEXT = "low lower lowest newer wider slowest new low\n"


@pytest.fixture(scope="module")
def toks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tokkit.Tokenizer, tokkit.Tokenizer]:
    folder = tmp_path_factory.mktemp("play")
    a = tokkit.train(iter([TEXT] * 4), vocab_size=270).with_special_tokens({"<|end|>": 290})
    b = tokkit.train(iter([TEXT] * 4), model="wordpiece", vocab_size=60)
    a.save(folder / "a.json")
    b.save(folder / "b.json")
    a.save(folder / HOSTILE_NAME)
    tokkit.train(iter([TEXT] * 4), model="unigram", vocab_size=30).save(folder / "u.json")
    (folder / "no.json").write_text("{")
    (folder / "prices.toml").write_text(PRICES)
    return folder, a, b


@pytest.fixture(scope="module")
def page(toks: tuple[Path, tokkit.Tokenizer, tokkit.Tokenizer]) -> Iterator[Page]:
    driver = driven()
    made = Page(toks[0], driver)
    made.start()
    try:
        yield made
    finally:
        driver.quit()
        made.stop()


@pytest.fixture
def fresh(page: Page) -> Iterator[Page]:
    page.open()
    page.use("a.json")
    yield page
    assert page.errors() == []
