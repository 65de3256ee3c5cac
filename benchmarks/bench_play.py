"""Times the playground in headless Chromium: from a key to its tokens on the screen, and the script of painting them.

A text of a megabyte is in the page; a character is inserted at its start, its middle and its end, and the time runs
until the frame with the tokens of the new text is painted. The script of painting is timed without the browser's own
layout, for tokens that are new and for those that stay as they were. Needs selenium, chromium and chromedriver.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
from typing import Any

from benchmarks import harness

KEYS = """
const [at, n] = arguments, done = arguments[2], times = [];
text.focus(), text.setSelectionRange(at, at);
function key() {
  if (times.length === n) return done(times);
  settled = null;
  const began = performance.now();
  document.execCommand("insertText", false, "x");
  const wait = () => {
    if (settled === null) return requestAnimationFrame(wait);
    const channel = new MessageChannel();
    channel.port1.onmessage = () => { times.push(performance.now() - began), setTimeout(key, 60); };
    channel.port2.postMessage(0);
  };
  requestAnimationFrame(wait);
}
key();
"""
HEADS = "return Array.from(heads.querySelectorAll('strong, .number'), each => each.textContent).join(', ')"
PAINT = """
const times = [], [rounds, isNew] = arguments, set = panes.source.sets[0], bytes = panes.source.bytes;
const last = Math.min(set.length, 4000), to = set.ends[last - 1];
let cell = document.createElement("div");
paintTokens(cell, bytes, set, set.starts[0], to, { marks: true });
for (let k = 0; k < rounds; k++) {
  if (isNew) cell = document.createElement("div");
  const began = performance.now();
  paintTokens(cell, bytes, set, set.starts[0], to, { marks: true });
  times.push(performance.now() - began);
}
return [cell.childElementCount, times];
"""


def told(what: str, times: list[float]) -> None:
    """Print the median and the spread."""
    low, middle, high = min(times), statistics.median(times), max(times)
    print(f"{what:<40} {middle:7.1f} ms  ({low:.1f} to {high:.1f})")


def driver() -> Any:
    """Return a headless Chromium."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1300,900"):
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver") or ""))


def script_seconds(browser: Any) -> float:
    """Return the processor time that scripts of the page have taken, which others on the machine do not lengthen."""
    found = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float({each["name"]: each["value"] for each in found}["TaskDuration"])


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokenizer", help="a tokenizer's file or name")
    parser.add_argument("text", help="a file, of which the first megabyte is taken")
    parser.add_argument("--beside", action="append", default=[], help="a tokenizer beside the first; may be repeated")
    parser.add_argument("--keys", type=int, default=25)
    chosen = parser.parse_args()
    harness.show_conditions("the server one, Chromium its own", text=chosen.text, tokenizer=chosen.tokenizer)
    with open(chosen.text, encoding="utf-8") as file:
        text = file.read()[:1_000_000]
    texts = {"lines": text, "one line": text.replace("\n", " ")}
    command = [sys.executable, "-m", "tokkit", "play", chosen.tokenizer, *chosen.beside, "--no-open"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    browser = driver()
    browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    try:
        browser.get(server.stdout.readline().split()[0])
        browser.set_script_timeout(120)
        print(f"page: {len(browser.page_source.encode()) / 1000:.0f} kB")
        wait = "const done = arguments[1]; text.value = arguments[0], settled = null, send();"
        wait += "const timer = setInterval(() => { if (settled !== null) clearInterval(timer), done(); }, 20);"
        for what, given in texts.items():
            browser.execute_async_script(wait, given)
            heads = browser.execute_script(HEADS)
            print(f"{what}: {heads}")
            if "bytes per token" not in heads:
                raise SystemExit("the tokenizer does not load: nothing is measured")
            for place, at in (("start", 0), ("middle", len(given) // 2), ("end", len(given) - 1)):
                told(f"key to paint at the {place}", browser.execute_async_script(KEYS, at, chosen.keys))
        browser.execute_async_script(wait, text)
        browser.execute_script("element('panes').style.flex = '0 0 4500px', panes.measure()")
        browser.execute_async_script("setTimeout(arguments[0], 1500)")
        for what in ("new", "unchanged"):
            before = script_seconds(browser)
            n, times = browser.execute_script(PAINT, chosen.keys * 4, what == "new")
            mean = (script_seconds(browser) - before) / (len(times) + 1)
            told(f"script that paints {n} {what} tokens", times)
            print(f"{'  its processor time, mean':<40} {mean * 1000:7.1f} ms")
    finally:
        browser.quit()
        server.terminate()


if __name__ == "__main__":
    main()
