"""The editor of the playground in Chromium: edits anywhere in short and long texts, undo, and scrolling."""

from __future__ import annotations

from typing import Any

import pytest

from extras import extra
from play_browser import Page

extra("starlette")
extra("uvicorn")
extra("selenium")
pytestmark = pytest.mark.parity

from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

EDITS = """
const done = arguments[2];
let text_ = arguments[0].replace(/\\r\\n?/g, "\\n"), seed = arguments[1], kept = [];
const isSame = (a, b) => a.length === b.length && a.every((byte, i) => byte === b[i]);
const random = n => (seed = (seed * 48271) % 0x7fffffff) % n;
const cut = at => at > 0 && at < text_.length && /[\\udc00-\\udfff]/.test(text_[at]) ? at - 1 : at;
text.value = text_, text.focus();
(async () => {
  for (let k = 0; k < 40; k++) {
    let [a, b] = [random(text_.length + 1), random(60) - 30];
    if (random(4)) b = a; else b = Math.max(0, Math.min(text_.length, a + b));
    [a, b] = [Math.min(a, b), Math.max(a, b)].map(cut);
    const put = ["x", "\u00e9\ud83d\ude42", "two\\nlines\\n", "", " low"][random(5)];
    text.setSelectionRange(a, b);
    if (put) document.execCommand("insertText", false, put);
    else if (a < b) document.execCommand("delete");
    text_ = text_.slice(0, a) + put + text_.slice(b);
    kept.push(text_);
    if (text.value !== text_) return done("text after change " + k);
    if (k % 5 === 0) {
      text.area.scrollTop = random(9) < 5 ? 0 : text.area.scrollHeight;
      await new Promise(requestAnimationFrame);
    }
    if (text.area.value !== text_.slice(text.from, text.to)) return done("sight after change " + k);
    if (!isSame(utf8Encoder.encode(text_), text.bytes)) return done("bytes after change " + k);
    if (k % 7 === 0) settled = null, await send();
  }
  const last = text.value, n = text.done.length;
  for (let k = 0; k < n; k++) text.undo(text.done, text.undone);
  if (text.value !== arguments[0].replace(/\\r\\n?/g, "\\n")) return done("undone");
  for (let k = 0; k < n; k++) text.undo(text.undone, text.done);
  settled = null, await send();
  done(text.value === last && isSame(utf8Encoder.encode(last), panes.source.bytes) ? "" : "redone");
})();
"""


@pytest.mark.parametrize("length", [300, 200_000])
@pytest.mark.parametrize(
    "unit", ["low lower\nlowest \U0001f642 newer \u6771\u4eac\r\n\n", "wider \U0001f642\u00e9 low "]
)
def test_what_is_changed_anywhere_in_a_text_is_what_the_server_has(
    fresh: Page, toks: Any, unit: str, length: int
) -> None:
    given = (unit * (length // len(unit) + 1))[:length]
    fresh.driver.set_script_timeout(60)
    assert fresh.driver.execute_async_script(EDITS, given, 7) == ""
    fresh.until("return settled !== null")
    made = fresh.run("return [text.value, panes.source.sets[0].n]")
    assert made[1] == len(toks[1].encode(made[0]))


def test_of_a_long_text_the_editor_has_the_part_in_sight_and_the_bar_the_whole(fresh: Page) -> None:
    lines = "".join(f"line {i} low lower\n" for i in range(20_000))
    fresh.write(lines)
    assert fresh.run("return text.area.value.length") < 50_000
    area = fresh.find("text")
    fresh.run("text.focus(), text.setSelectionRange(9, 9)")
    ActionChains(fresh.driver).key_down(Keys.CONTROL).send_keys(Keys.END).key_up(Keys.CONTROL).perform()
    area.send_keys("the end")
    fresh.until(
        "return text.value.endsWith('lower\\nthe end') && document.querySelector('.room').textContent.endsWith('end')"
    )
    for _ in range(3):
        fresh.run("text.area.scrollTop = 0")
        fresh.until("return text.area.scrollTop > 0")
    assert fresh.run("return text.value.slice(text.from - 1, text.from)") == "\n"
    assert fresh.run("return text.from") < len(lines) - 20_000
    area.send_keys("!")  # where the cursor was, though that is out of sight
    fresh.until("return text.value.endsWith('the end!')")
    fresh.run("text.bar.scrollTop = text.bar.scrollHeight / 2")
    fresh.until("return Math.abs(text.middle() / text.value.length - .5) < .02")
    seen = fresh.run("return Math.round(text.middle())")
    fresh.until("return panes.source && settled")
    fresh.keep("long")
    assert abs(seen / len(lines) - 0.5) < 0.02
    ActionChains(fresh.driver).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).send_keys("y").perform()
    fresh.until("return text.value === 'y'")
    ActionChains(fresh.driver).key_down(Keys.CONTROL).send_keys("z").key_up(Keys.CONTROL).perform()
    fresh.until("return text.value.length > 100000")
    assert fresh.run("return text.value") == lines + "the end!"


@pytest.mark.parametrize("first", ["area", "bar"])
def test_the_bar_goes_where_it_is_pulled_though_the_part_is_scrolled_in_the_same_frame(fresh: Page, first: str) -> None:
    fresh.write("".join(f"line {i} low lower\n" for i in range(20_000)))
    moves = ["text.area.scrollTop += 300", "text.bar.scrollTop = text.bar.scrollHeight / 2"]
    fresh.run(", ".join(moves if first == "area" else moves[::-1]))
    fresh.until("return Math.abs(text.middle() / text.value.length - .5) < .02")
    fresh.run("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")
    assert fresh.run("return Math.abs(text.middle() / text.value.length - .5)") < 0.02
    assert fresh.run("return Math.abs(text.bar.scrollTop / text.bar.scrollHeight - .5)") < 0.02
