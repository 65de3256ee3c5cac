"""`tokkit train --watch` writes a page about the training next to the tokenizer."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import tokkit

if TYPE_CHECKING:
    from conftest import Run

TEXT = "lowest slow"


def test_the_command_writes_the_page_beside_the_tokenizer(run: Run) -> None:
    Path("corpus.txt").write_text("low lower lowest newer\nwider new low slow\n" * 5, encoding="utf-8")
    train = ("train", "corpus.txt", "-o", "tok.json", "--vocab-size", 270)
    out = run(*train, "--watch", "page.html", "--watch-text", TEXT)
    assert "page.html: open it in a browser" in out.stderr
    page = Path("page.html").read_text(encoding="ascii")
    data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page)[1])
    assert data["n_tokens"] == len(tokkit.load("tok.json"))
    assert bytes.fromhex("".join(symbol for word in data["words"] for symbol in word["symbols"])) == TEXT.encode()
    assert run(*train, "--watch", "page.html").exit_code == 1, "it exists"
    assert run(*train, "--watch", "p.html", "--vocab-size", 280, "--force").exit_code == 2
    assert "not for char" in run("train", "corpus.txt", "-o", "c.json", "--model", "char", "--watch", "p.html").stderr
