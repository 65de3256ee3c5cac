"""`tokkit model generate`, `next` and `score` of an encoder–decoder; commands for causal models reject it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import generators
from tokkit import pipeline
from tokkit.cli import main

PROMPT = "translate English to German: the cat"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generators.seq2seq_folder(tmp_path_factory.mktemp("model"))


def run(*args: Any, code: int = 0) -> str:
    result = CliRunner().invoke(main, ["model", *map(str, args)])
    assert result.exit_code == code, result.output
    return result.output


def test_a_prompt_is_answered_and_answers_are_scored(folder: Path) -> None:
    model = pipeline.load(folder)
    made = json.loads(run("generate", folder, PROMPT, "--max-new-tokens", 6, "--json"))
    assert made["ids"] == model.generate_ids(model.ids(PROMPT), max_new_tokens=6)
    assert run("generate", folder, PROMPT, "--max-new-tokens", 6) == made["text"] + "\n"
    scored = json.loads(run("score", folder, PROMPT, " dog", "--json"))
    assert scored[0]["logprob"] == pytest.approx(model.score(PROMPT, [" dog"])[0])
    found = json.loads(run("next", folder, PROMPT, "-k", 1, "--json"))
    assert found[0]["id"] == model.next_tokens(PROMPT, 1)[0].id


def test_commands_of_causal_models_say_what_they_need(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat")
    for args in (("perplexity", folder, tmp_path / "a.txt"), ("chat", folder)):
        assert "holds an encoder–decoder; this command needs a causal language model" in run(*args, code=1)
