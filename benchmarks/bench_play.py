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
PAINT = """
const times = { anew: [], unchanged: [] }, set = panes.source.sets[0], bytes = panes.source.bytes, n = set.length;
const last = Math.min(n, 4000), to = set.ends[last - 1];
for (let k = 0; k < arguments[0]; k++) {
  const cell = document.createElement("div");
  for (const what of ["anew", "unchanged"]) {
    const began = performance.now();
    paintTokens(cell, bytes, set, set.starts[0], to, { marks: true });
    times[what].push(performance.now() - began);
  }
  times.tokens = cell.childElementCount;
}
return times;
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


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokenizer", help="a tokenizer's file or name")
    parser.add_argument("text", help="a file, of which the first megabyte is taken")
    parser.add_argument("--keys", type=int, default=25)
    chosen = parser.parse_args()
    harness.show_conditions("the server one, Chromium its own", text=chosen.text, tokenizer=chosen.tokenizer)
    with open(chosen.text, encoding="utf-8") as file:
        text = file.read()[:1_000_000]
    command = [sys.executable, "-m", "tokkit", "play", chosen.tokenizer, "--no-open"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    browser = driver()
    try:
        browser.get(server.stdout.readline().split()[0])
        browser.set_script_timeout(120)
        wait = "const done = arguments[1]; text.value = arguments[0], settled = null, send();"
        wait += "const timer = setInterval(() => { if (settled !== null) clearInterval(timer), done(); }, 20);"
        browser.execute_async_script(wait, text)
        print(browser.execute_script("return heads.innerText.replace(/\\n/g, ', ')"))
        for place, at in (("start", 0), ("middle", len(text) // 2), ("end", len(text) - 1)):
            told(f"key to paint at the {place}", browser.execute_async_script(KEYS, at, chosen.keys))
        browser.execute_script("element('panes').style.height = '4500px', panes.measure()")
        browser.execute_async_script("setTimeout(arguments[0], 1500)")
        times = browser.execute_script(PAINT, chosen.keys)
        for what in ("anew", "unchanged"):
            told(f"script that paints {times['tokens']} tokens {what}", times[what])
    finally:
        browser.quit()
        server.terminate()


if __name__ == "__main__":
    main()
