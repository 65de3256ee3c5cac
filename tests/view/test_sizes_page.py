"""The page of models and vocabulary sizes: what a browser draws, and the command that writes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import browser
from tokkit.cli import main
from tokkit.errors import OptionError
from tokkit.view import sizes_html

HOSTILE = "</script><b onclick=x>\u202e"
ROWS = [
    {"model": model, "vocab_size": size, "tokens": 9000 // size + k, "bytes_per_token": None if k else size / 300,
     "files": {"en": {"tokens_per_word": 1.5 + k}, HOSTILE: {"tokens_per_word": 2.5}}, "lengths": {"1": 3, "2": size},
     "longest_tokens": [HOSTILE]}
    for k, model in enumerate(("bbpe", HOSTILE)) for size in (300, 900)
]  # fmt: skip
ACTS = """
document.querySelectorAll("circle")[1].focus();
const told = { said: readout.textContent, charts: document.querySelectorAll("svg").length };
told.points = document.querySelectorAll("circle").length, told.markup = document.querySelectorAll("main b").length;
told.rows = Array.from(document.querySelectorAll("table:last-of-type tr"), row => row.textContent);
document.title = JSON.stringify(told);
"""


def test_a_browser_draws_a_line_for_each_model_and_measure(tmp_path: Path) -> None:
    told = json.loads(browser.title_of(browser.opened(sizes_html(ROWS), ACTS, tmp_path)))
    assert told["said"] == "bbpe, vocabulary of 900: 10 \u2013 tokens of the text"
    assert (told["charts"], told["points"], told["markup"]) == (2, 6, 0)
    assert "en1.502.50" in told["rows"]
    assert any(row.startswith("bbpe9001") for row in told["rows"])


def test_the_command_writes_the_page_and_rows_are_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("low lower lowest\nnewer wider\n" * 5)
    arguments = ["compare", "a.txt", "--train", "bbpe", "--vocab-sizes", "258,260", "--html", "made.html"]
    made = CliRunner().invoke(main, [*arguments, "--", "a.txt"])
    assert made.exit_code == 0, made.output
    assert "Characters in a token" in Path("made.html").read_text()
    assert CliRunner().invoke(main, [*arguments, "--", "a.txt"]).exit_code, "a file that is there stays"
    assert CliRunner().invoke(main, ["compare", "a.json", "--html", "x.html"]).exit_code == 2
    with pytest.raises(OptionError, match="there are no rows"):
        sizes_html([])
