"""The predictions of a model along a text: numbers equal to the model's logits, and the page in a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import browser
import generators
from tokkit import pipeline, view
from tokkit.cli import main
from tokkit.errors import OptionError
from tokkit.pipeline.perplexity import text_score
from tokkit.pipeline.predictions import predictions

TEXT = "the cat </script> sat\u202e on the 東京 mat; the dog sat on the log. the cat"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return pipeline.load(generators.folder(tmp_path_factory.mktemp("models") / "small", max_position_embeddings=80))


def test_numbers_are_those_of_the_logits(model: Any) -> None:
    made = predictions(model, TEXT, k=4)
    ids, logits = model.ids(TEXT), model.logits(TEXT).astype(np.float64)
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    assert made.ids.tolist() == ids.tolist()
    for i in range(len(ids)):
        row = logs[i]
        known = [id_ for id_ in range(len(row)) if id_ in model._known]
        best = sorted(known, key=lambda id_: (-row[id_], id_))[:4]
        assert made.best_ids[i].tolist() == best
        assert np.allclose(made.best_logprobs[i], row[best], atol=1e-5)
        assert np.isclose(made.entropies[i], -(np.exp(row) * row).sum(), atol=1e-5)
        if i + 1 < len(ids):
            assert np.isclose(made.logprobs[i], row[ids[i + 1]], atol=1e-5)
            assert made.ranks[i] == 1 + (row > row[ids[i + 1]]).sum()
    assert [(id_.id, round(id_.probability, 5)) for id_ in model.next_tokens(TEXT, 4)] == [
        (id_, round(float(np.exp(log)), 5)) for id_, log in zip(made.best_ids[-1], made.best_logprobs[-1], strict=True)
    ]


@pytest.mark.parametrize(("window", "stride"), [(None, None), (8, 3), (8, 4), (2, 1), (17, 16)])
def test_windows_are_those_of_perplexity(model: Any, window: int | None, stride: int | None) -> None:
    made = predictions(model, TEXT, k=2, window=window, stride=stride)
    score = text_score(model, TEXT, window=window, stride=stride)
    assert made.logprobs.tolist() == score.logprobs.tolist()
    assert len(made.best_ids) == len(made.entropies) == len(score.ids) == len(made.ranks) + 1


def test_spans_cover_the_text_and_one_token_is_enough(model: Any) -> None:
    made = predictions(model, TEXT)
    assert (made.starts[0], made.ends[-1]) == (0, len(TEXT.encode()))
    assert (made.starts[1:] >= made.starts[:-1]).all()
    assert (made.starts[1:] == made.ends[:-1]).all()
    one = predictions(model, "the")
    assert (len(one.ids), len(one.logprobs), one.best_ids.shape) == (1, 0, (1, 5))
    with pytest.raises(OptionError, match="has no tokens"):
        predictions(model, "")


ACTS = """
const told = {};
told.best = Array.from(document.querySelectorAll("#best tr"), row => row.textContent);
told.about = element("about").textContent, told.spans = panes.room.querySelectorAll(".cell > span").length;
panes.point(tokenAt(panes.room.querySelectorAll(".cell > span")[2]));
told.where = element("where").textContent, told.readout = readout.textContent;
told.own = document.querySelector("#best .own").textContent;
const tonesOf = () => Array.from(panes.room.querySelectorAll(".cell > span"), s => s.className.match(/h\\d/)[0]).join();
told.tones = {};
for (const by of ["surprise", "rank", "doubt"]) {
  element("by").value = by, panes.fill(0, [set]), told.tones[by] = tonesOf();
}
told.scripts = document.querySelectorAll("#panes script").length;
document.title = JSON.stringify(told);
"""


def test_the_page_shows_what_was_expected_at_a_token_and_after_the_text(model: Any, tmp_path: Path) -> None:
    page = view.predictions_html(model, TEXT, k=3, title="</title><script>alert(1)</script>")
    assert "://" not in page
    assert page.count("<script") == 2
    told = json.loads(browser.title_of(browser.opened(page, ACTS, tmp_path)))
    made = predictions(model, TEXT, k=3)
    assert len(told["best"]) == 3
    assert told["spans"] == len(made.ids)
    assert f"perplexity {text_score(model, TEXT).perplexity:.3f}" in told["about"]
    assert told["where"] == "Expected at token 3"
    assert f"rank {made.ranks[1]}" in told["readout"]
    assert told["own"]
    assert told["scripts"] == 0
    surprise = np.clip(np.rint(-made.logprobs / np.log(2) / 16 * 8), 0, 8).astype(int)
    assert told["tones"]["surprise"] == ",".join(["h0", *(f"h{k}" for k in surprise)])
    assert len(set(told["tones"].values())) == 3


def test_commands_write_the_page(model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("the cat sat")
    folder = str(model.folder)
    run = CliRunner().invoke
    for arguments in (["next", folder, "the cat"], ["perplexity", folder, "a.txt"]):
        made = run(main, ["model", *arguments, "--html", "made.html", "--force"])
        assert made.exit_code == 0, made.output
        assert "After the text" in Path("made.html").read_text()
    assert run(main, ["model", "next", folder, "the", "--html", "made.html"]).exit_code, "a file that is there stays"
    assert run(main, ["model", "perplexity", folder, "a.txt", "a.txt", "--html", "new.html"]).exit_code == 2
    with pytest.raises(OptionError, match="a page holds 100,000"):
        view.predictions_html(model, "the cat " * 60_000)
