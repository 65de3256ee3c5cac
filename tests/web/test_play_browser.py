"""The playground in Chromium, through Selenium: typing, pointing, dropping a file, comparing, a phone, the keyboard."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tokkit
from extras import extra
from page_checks import PHONE, faults, unreached
from pages import HOSTILE
from play_browser import HOSTILE_NAME, TOKENIZERS, Page
from tokkit.engine.sampling import Merges
from tokkit.view import why

extra("starlette")
extra("uvicorn")
extra("selenium")
pytestmark = pytest.mark.parity

from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402


def describe(page: Page, number: int) -> str:
    return str(page.run("return describe(panes.source.bytes, panes.source.sets[0], arguments[0])", number))


@pytest.fixture
def shown(toks: tuple[Path, tokkit.Tokenizer, tokkit.Tokenizer]) -> Callable[[str], list[str]]:
    tok = toks[1]

    def pieces(text: str) -> list[str]:
        return [text[a:b].replace(" ", "\u00b7").replace("\n", "\u21b5\n") for a, b in tok(text).offsets]

    return pieces


def test_tokens_come_as_one_types_and_pointing_at_one_says_what_it_is(
    fresh: Page, toks: Any, shown: Callable[[str], list[str]]
) -> None:
    fresh.write("")
    fresh.find("text").send_keys("low lower")
    fresh.until("return document.querySelectorAll('.cell > span').length === 0 ? false : settled")
    WebDriverWait(fresh.driver, 10).until(lambda _: fresh.spans() == shown("low lower"))
    spans = fresh.driver.find_elements(By.CSS_SELECTOR, ".cell > span")
    ActionChains(fresh.driver).move_to_element(spans[1]).perform()
    id_ = toks[1].encode("low lower")[1]
    assert f"id {id_}" in fresh.find("readout").text
    for step in next(Merges(toks[1]).words("low"))[1]:
        said = f"{step.left.decode()} + {step.right.decode()} (rank {step.rank})"
        assert said in describe(fresh, 0)
    assert f"{len(spans)} tokens" in fresh.find("heads").text
    fresh.keep("typing")


def test_a_click_says_why_and_undoing_merges_ends_at_the_symbols(fresh: Page) -> None:
    fresh.write("lowest")
    fresh.driver.find_element(By.CSS_SELECTOR, ".cell > span").click()
    fresh.until("return document.querySelector('#reasons .steps')")
    back = fresh.driver.find_element(By.CSS_SELECTOR, "#reasons .steps button")
    said = fresh.driver.find_element(By.CSS_SELECTOR, "#reasons output")
    assert "rank" in said.text
    for _ in range(9):
        back.click()
    assert said.text.endswith("l | o | w | e | s | t")
    fresh.keep("why")


def test_tokenizers_are_side_by_side_with_differences_marked_and_one_that_does_not_load_says_so(fresh: Page) -> None:
    fresh.use("a.json", "b.json", "no.json")
    fresh.write("low  lowest\nnewer low\n")
    assert len(fresh.driver.find_elements(By.CSS_SELECTOR, ".row")) == 2
    assert [span.strip("#") for span in fresh.spans(1)]
    marked = fresh.driver.find_elements(By.CSS_SELECTOR, ".cell > .differs")
    assert marked
    assert "no.json" in fresh.driver.find_element(By.CSS_SELECTOR, ".failed").text
    ActionChains(fresh.driver).move_to_element(fresh.driver.find_element(By.CSS_SELECTOR, ".cell > span")).perform()
    assert fresh.run("return Array.from(document.querySelectorAll('.met'), span => span.textContent)") == ["low"]
    fresh.keep("side-by-side")
    fresh.driver.find_element(By.CSS_SELECTOR, '[aria-label="Remove no.json"]').click()
    fresh.until("return !document.querySelector('.failed')")


def test_special_tokens_white_space_and_a_context_can_be_turned_on_and_off(fresh: Page) -> None:
    fresh.write("low <|end|>")
    assert not fresh.driver.find_elements(By.CSS_SELECTOR, ".cell > .special")
    fresh.find("special").click()
    fresh.until("return document.querySelector('.cell > .special')")
    fresh.find("marks").click()
    fresh.until("return !document.querySelector('.room').textContent.includes('\u00b7')")
    fresh.find("context").send_keys("1")
    fresh.until("return document.querySelector('.cell > .beyond')")
    assert "too many" in fresh.find("heads").text


def test_ids_are_shown_copied_and_decoded(fresh: Page, toks: Any) -> None:
    allowed = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    fresh.driver.execute_cdp_cmd("Browser.grantPermissions", allowed)
    fresh.write("low lower")
    ids = toks[1].encode("low lower")
    Select(fresh.find("show")).select_by_visible_text("ids")
    fresh.until(f"return document.querySelector('.room').textContent.startsWith('{ids[0]} ')")
    assert fresh.spans() == [f"{id_} " for id_ in ids]
    fresh.driver.find_element(By.CSS_SELECTOR, '[aria-label="Copy the ids of a.json"]').click()
    fresh.until("return element('status').textContent.includes('copied')")
    copied = fresh.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    assert copied == str(ids)
    fresh.keep("ids")
    fresh.find("as-ids").click()
    fresh.until(f"return element('given').value === '{ids}' && panes.source.view === 'ids'")
    assert fresh.find("status").text == ""
    Select(fresh.find("show")).select_by_visible_text("text")
    fresh.find("given").clear()
    fresh.find("given").send_keys("|".join(str(toks[1].vocab[letter]) for letter in (b"l", b"o", b"w")) + " 290")
    fresh.until("return element('status').textContent.includes('otherwise')")
    assert fresh.spans() == ["l", "o", "w", "<|end|>"]
    fresh.run("keep()")
    fresh.open(fresh.run("return location.hash"))
    assert fresh.spans() == ["l", "o", "w", "<|end|>"]
    fresh.find("given").send_keys(" 99999")
    fresh.until("return element('status').textContent.includes('no token has the id 99999')")
    fresh.errors()  # the answer with 400


def test_a_tokenizer_of_a_path_has_the_price_of_its_name_or_one_that_is_chosen(fresh: Page) -> None:
    fresh.use("a.json", "b.json")
    fresh.write("low lower newest")
    price = '[aria-label="Price of {}"]'
    n = [one["n"] for one in fresh.run("return panes.source.sets.map(set => ({ n: set.n }))")]
    heads = fresh.find("heads")
    assert f"{n[0] / 1000:.3g} USD" in heads.text, "the table has a model of the file's name"
    assert f"{n[0] - 3} tokens too many" in heads.text
    assert "the first 9 bytes fit" in heads.text or "bytes fit" in heads.text
    assert fresh.driver.find_element(By.CSS_SELECTOR, price.format("b.json")).get_attribute("value") == ""
    Select(fresh.driver.find_element(By.CSS_SELECTOR, price.format("b.json"))).select_by_value("other")
    fresh.until(f"return heads.textContent.includes('{n[1] / 500:.3g} USD')")
    fresh.run("keep()")
    fresh.open(fresh.run("return location.hash"))
    assert fresh.run("return priced") == {"b.json": "other"}
    assert f"{n[1] / 500:.3g} USD" in fresh.find("heads").text
    fresh.keep("prices")


def test_the_temperature_moves_the_chances_of_a_lattice_and_what_is_drawn(fresh: Page) -> None:
    fresh.use("u.json")
    fresh.write("lowest")
    fresh.driver.find_element(By.CSS_SELECTOR, ".cell > span").click()
    fresh.until("return document.querySelector('#reasons .lattice')")
    chances = (
        "return Array.from(document.querySelectorAll('.paths td:nth-child(3)'), cell => parseFloat(cell.textContent))"
    )
    fresh.keep("lattice")
    for degree in (0, -1, 1):
        fresh.run(
            "const t = element('temperature'); t.value = arguments[0], t.dispatchEvent(new Event('input'))", degree
        )
        theirs = fresh.run("""
          const { pieces, n } = reasons.made.words[0], sums = new Sums(pieces, n, temperature()), all = {};
          for (let k = 0; k < 4000; k++) { const way = sums.draw().join(); all[way] = (all[way] || 0) + 1; }
          return { all, chances: pieces.map((_, k) => sums.chance(k)), best: reasons.made.words[0].best };""")
        ways = why(
            tokkit.load(fresh.folder / "u.json"), fresh.run("return reasons.made.word"), temperature=10.0**degree
        )["words"][0]
        shown = fresh.run(chances)
        for mine, path in zip(shown, ways["best"], strict=True):
            assert abs(mine / 100 - path["chance"]) < 0.006
            drawn = theirs["all"].get(",".join(map(str, path["pieces"])), 0) / 4000
            assert abs(drawn - path["chance"]) < 0.05
        assert all(0 <= chance <= 1 + 1e-9 for chance in theirs["chances"])
    before = fresh.run(chances)
    fresh.find("draw").click()
    assert fresh.run(chances) == before


def test_a_link_keeps_the_text_and_the_settings(fresh: Page, shown: Callable[[str], list[str]]) -> None:
    fresh.use("b.json", "a.json")
    fresh.write("na\u00efve </script> low")
    fresh.run("element('theme').value = 'dark', dress(), keep()")
    link = fresh.run("return location.hash")
    fresh.open(link)
    assert fresh.run("return [text.value, names, document.documentElement.dataset.theme]") == [
        "na\u00efve </script> low", ["b.json", "a.json"], "dark"
    ]  # fmt: skip
    for wrong in ("#!!", "#e30", "#W10", "#" + "A" * 99):
        fresh.open(wrong)
        assert fresh.run("return names") == list(TOKENIZERS)


def test_a_file_is_dropped_and_of_a_large_one_the_first_megabyte_is_offered(fresh: Page, tmp_path: Path) -> None:
    fresh.run("""
      const data = new DataTransfer();
      data.items.add(new File(["dropped low"], "small.txt"));
      settled = null;
      dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));""")
    fresh.until("return settled !== null && text.value === 'dropped low'")
    large = tmp_path / "large.txt"
    large.write_bytes(b"low lower\n" * 120_000)
    os.truncate(large, 1 << 30)
    fresh.find("file").send_keys(str(large))
    assert fresh.find("how-large").text == "large.txt has 1,073,741,824 bytes; the page takes 2,000,000."
    fresh.find("cancel").click()
    assert fresh.run("return text.value") == "dropped low"
    assert fresh.run("return element('file').value") == "", "the same file may be chosen again"
    fresh.find("file").send_keys(str(large))
    fresh.run("settled = null")
    fresh.find("first").click()
    fresh.until("return settled !== null && text.value.length === 1 << 20")
    assert fresh.find("status").text == "The first MB of large.txt"
    assert 0 < len(fresh.spans()) < 10_000, "only what is in sight is in the page"
    fresh.run("panes.frame.scrollTop = panes.frame.scrollHeight")
    fresh.until("""panes.frame.scrollTop = panes.frame.scrollHeight;
      return document.querySelector(".room").textContent.endsWith("low\u00b7lo")""")


def test_a_phone_shows_all_without_scrolling_sideways(fresh: Page) -> None:
    fresh.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    try:
        fresh.open()
        fresh.write("low lower " * 30)
        assert fresh.run("return [innerWidth, document.documentElement.scrollWidth]") == [375, 375]
        fresh.keep("phone")
        fresh.run("element('as-chat').click()")
        assert fresh.run("return document.documentElement.scrollWidth") == 375
        fresh.until("return !element('status').textContent.includes('\u2026')")
    finally:
        fresh.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    fresh.errors()  # no tokenizer here has a chat template: an answer with 400


def test_the_keyboard_alone_reaches_tokens_and_why(fresh: Page) -> None:
    fresh.write("low lower\nlow\n")
    fresh.run("text.focus()")
    keys = ActionChains(fresh.driver)
    for _ in range(9):
        keys.send_keys(Keys.TAB).perform()
        if fresh.run("return document.activeElement.id") == "panes":
            break
    assert fresh.run("return document.activeElement.id") == "panes"
    ActionChains(fresh.driver).send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT).perform()
    assert fresh.find("readout").text.startswith("token 2")
    ActionChains(fresh.driver).send_keys(Keys.ENTER).perform()
    fresh.until("return document.querySelector('#reasons h2')")
    fresh.find("word").send_keys(Keys.ESCAPE)
    assert not fresh.find("why").is_displayed()
    assert fresh.run("return document.activeElement.id") == "panes"


def test_a_chat_is_rendered_and_its_special_tokens_are_marked(fresh: Page) -> None:
    fresh.find("as-chat").click()
    fresh.until("return element('status').textContent.includes('template')")
    fresh.errors()  # the answer with 400: a.json has no template
    fresh.run("element('whose').value = 'written', element('whose').dispatchEvent(new Event('change'))")
    template = fresh.find("template")
    template.clear()
    template.send_keys("{% for m in messages %}{{ m.content }}<|end|>{% endfor %}")
    fresh.until("return document.querySelectorAll('.cell > .special').length === 2")
    fresh.keep("chat")
    fresh.errors()  # templates that were half written


@pytest.mark.parametrize("name", ["a.json", "u.json", "b.json"])
def test_a_hostile_text_and_why_it_is_cut_so_can_be_read_by_everybody(fresh: Page, name: str) -> None:
    fresh.use(name, HOSTILE_NAME, "no.json")
    fresh.run("element('context').value = ''")
    fresh.write(f"low lower <|end|> {HOSTILE}\n" * 2)
    fresh.run("reasons.names(names, names[0]), reasons.ask(arguments[0])", f"lowest{HOSTILE}"[:99])
    fresh.until("return element('reasons').querySelector('h2')")
    assert not fresh.driver.find_elements(By.CSS_SELECTOR, "main b:not(.stage > b)"), "markup of a name or a text"
    assert faults(fresh.driver, f"play-why-{name.split('.')[0]}") == []


@pytest.mark.parametrize("dress", ["light", "dark", ""])
def test_everything_has_a_name_and_enough_contrast(fresh: Page, dress: str) -> None:
    fresh.use("a.json", "b.json")
    fresh.run("element('theme').value = arguments[0], dress()", dress)
    fresh.run("element('special').click()")
    fresh.write("low lower lowest newer <|end|> wider\n" * 3)
    fresh.until("return document.querySelector('.cell > .beyond')")
    assert faults(fresh.driver, f"play-{dress or 'system'}") == []
    if dress:
        return
    assert unreached(fresh.driver) == []
    fresh.run("element('as-chat').click()")
    fresh.until("return element('status').textContent.includes('template')")
    fresh.errors()  # the answer with 400: a.json has no template
    assert faults(fresh.driver, "play-as-chat") == []
    assert unreached(fresh.driver) == []


def test_a_server_that_is_stopped_is_said_and_asked_again(page: Page) -> None:
    page.open()
    page.use("a.json")
    page.stop()
    page.find("text").send_keys("x")
    page.until("return !element('banner').hidden && element('banner').textContent.includes('does not answer')")
    page.keep("stopped")
    page.run("settled = null, text.value = 'low again'")
    page.start()
    page.until("return element('banner').hidden && settled !== null")
    time.sleep(0.1)
    assert "again" in page.run("return document.querySelector('.room').textContent").replace("\u00b7", "")
    page.errors()


def test_a_port_that_is_taken_and_a_tokenizer_that_is_not_there_end_the_command(page: Page, toks: Any) -> None:
    for arguments, said in (
        (["a.json", "--port", str(page.port)], f"port {page.port} of 127.0.0.1: Address already in use"),
        (["typo.json"], "typo.json"),
        (["--token", "a b"], "'a b': write letters, digits, - and _"),
    ):
        command = [sys.executable, "-m", "tokkit", "play", *arguments, "--no-open"]
        done = subprocess.run(command, cwd=toks[0], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode in (1, 2)
        assert said in done.stderr
