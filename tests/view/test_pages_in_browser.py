"""All pages in Chromium, through Selenium: names, contrast, a phone's width, keys, hostile texts, no error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extras import extra
from page_checks import console, driven, faults, unreached
from pages import NAMES, pages

extra("selenium")
pytestmark = pytest.mark.parity

from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

WRONG = """<!doctype html><html><meta charset=utf-8><meta name=viewport content="width=device-width"><title>1</title>
<style>p { color: #999 } button { border: 1px solid #ddd; outline: none !important } div { width: 500px }</style>
<p onclick=x>pale</p><p>\u202eturned</p><button></button><i id=a></i><i id=a></i><div>wide</div>
<canvas tabindex=0></canvas>
<svg aria-label=lines><circle fill="#eee" r=9 /></svg><span tabindex=0 role=img aria-label=x disabled hidden>no</span>
<script>console.error("said")</script></html>"""
SAID = (
    "<button></button>", "<canvas", "#a is there twice", "no language", "text 2.85", "edge", "shape", "onclick",
    "a control: ", "the title: 1", "the page is 5", "no ring of the focus: <button", "said",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Path]]:
    driver = driven()
    folder = tmp_path_factory.mktemp("pages")
    try:
        made = pages(folder)
        assert tuple(made) == NAMES
        for name, page in made.items():
            (folder / f"{name}.html").write_text(page, encoding="utf-8")
        yield driver, folder
    finally:
        driver.quit()


@pytest.mark.parametrize("name", NAMES)
def test_a_page_can_be_read_and_used_by_everybody_and_no_text_acts(browser: tuple[Any, Path], name: str) -> None:
    driver, folder = browser
    driver.get((folder / f"{name}.html").as_uri())
    assert faults(driver, name) == []
    assert unreached(driver) == []
    moved = driver.execute_script("""
      const node = document.querySelector("#panes, #map"), said = document.getElementById("readout");
      if (!node || !node.checkVisibility() || !document.querySelector("#map, .cell > span")) return null;
      node.focus();
      return said.textContent;""")
    if moved is not None:
        ActionChains(driver, duration=0).send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT).perform()
        assert driver.execute_script("return document.getElementById('readout').textContent") != moved
    assert console(driver) == []


def test_the_checks_find_what_is_wrong(browser: tuple[Any, Path]) -> None:
    driver, folder = browser
    (folder / "wrong.html").write_text(WRONG, encoding="utf-8")
    driver.get((folder / "wrong.html").as_uri())
    found = "\n".join(faults(driver, "wrong") + unreached(driver))
    for said in SAID:
        assert said in found
