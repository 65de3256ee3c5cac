"""Standalone pages: one file, no request, and no text that runs as code."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

import tokkit.view
from browser import opened, text_of, title_of
from tokkit.escaping import visible
from tokkit.view.standalone import in_base64, standalone

PAGES = Path(tokkit.view.__file__).parent / "pages"
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"></title><!--',
    "<!-- <script>",
    "]]>",
    "\u202eexe.txt\u2066",
    "\0\x1b[31m\x9f\u2028",
    "a\ud800b",
    "&lt;b&gt;",
    "__proto__",
]
BODY = '<output id="readout"></output>'


class Elements(HTMLParser):
    """The elements of a page with their attributes, in their order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[object] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, attrs))

    def handle_comment(self, data: str) -> None:
        self.found.append(data)


def test_hostile_texts_add_no_element_and_come_back_as_they_were() -> None:
    plain = Elements(standalone("a", BODY, (), {"texts": ["a"]})).found
    for text in HOSTILE:
        page = standalone(text, BODY, (), {"texts": HOSTILE, text: text})
        page.encode("ascii")
        assert Elements(page).found == plain
        data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page)[1])
        assert data == {"texts": HOSTILE, text: text}


def test_the_policy_allows_the_script_and_the_style_of_the_page_and_nothing_else() -> None:
    page = standalone("a", BODY, ("attention.css", "attention.js"), {})
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', page)[1].split("; ")
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    hashes = [base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in (script, style)]
    assert policy[:3] == ["default-src 'none'", f"script-src 'sha256-{hashes[0]}'", f"style-src 'sha256-{hashes[1]}'"]


def test_files_of_pages_are_ascii_and_cannot_end_their_element() -> None:
    files = sorted(PAGES.iterdir())
    assert {"drawing.js", "attention.js", "page.css"} <= {path.name for path in files}
    for path in files:
        text = path.read_bytes().decode("ascii")
        assert "</" not in text, path.name
        assert "<!--" not in text, path.name


def test_in_a_browser_no_text_acts_and_no_request_is_made(tmp_path: Path) -> None:
    # What a fault in a script would do: texts as markup. The policy still lets no handler run and nothing load.
    # (Chromium ends when a lone surrogate is in the document that it prints.)
    acts = """
    const blocked = [];
    document.addEventListener("securitypolicyviolation", event => blocked.push(event.violatedDirective));
    const isWhole = text => !/[\\ud800-\\udfff]/u.test(text);
    const data = pageData(), room = document.createElement("div");
    document.body.append(room);
    room.innerHTML = "<button onclick='document.title = 1'></button>" + data.texts.filter(isWhole).join("");
    room.querySelector("button").click();
    const read = numbers(data.steps);
    const seen = { shown: data.texts.map(shown), clipped: data.texts.map(text => clipped(text)), steps: [0, 4, 8].map(
      k => read.getInt32(k, true)) };
    element("readout").textContent = JSON.stringify(seen);
    room.remove();
    """
    data = {"texts": [*HOSTILE, "a\n b\t", "\U0001f642" * 20], "steps": in_base64(np.array([1, -2, 1 << 20]), "<i4")}
    dom = opened(standalone("\u202ea<b>", BODY, (), data), acts, tmp_path)
    assert title_of(dom) == "\\u202ea<b>", "not what the handler would set"
    seen = json.loads(text_of(dom, "readout"))
    marks = str.maketrans({"\n": "↵", "\t": "⇥", " ": "␣"})
    assert seen["shown"] == [visible(text.translate(marks)) for text in data["texts"]]
    assert seen["clipped"][-1] == "\U0001f642" * 15 + "…"
    assert seen["steps"] == [1, -2, 1 << 20]
