"""Hidden states, attention and the logit lens of a causal language model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import generators
from tokkit import pipeline
from tokkit.cli.model_generate import generate, next_
from tokkit.cli.model_views import attention
from tokkit.errors import OptionError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generators.folder(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def model(folder: Path) -> Any:
    return pipeline.load(folder)


def run(command: Any, *args: object) -> str:
    done = CliRunner().invoke(command, [str(arg) for arg in args], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_head_of_the_last_state_gives_the_logits(model: Any) -> None:
    states = model.hidden_states("the cat sat on")
    assert states.shape[0] == model.n_layers + 1
    np.testing.assert_allclose(model.decoder.head_of(states[-1]), model.logits("the cat sat on"), atol=1e-5)
    np.testing.assert_array_equal(states[0], model.decoder.words[model.ids("the cat sat on")])


def test_attention_is_of_earlier_tokens_in_the_window(tmp_path: Path) -> None:
    windowed: Any = pipeline.load(generators.folder(tmp_path, model_type="mistral", sliding_window=3))
    tokens, weights = windowed.attention("the cat sat on the mat")
    n = len(tokens)
    assert weights.shape == (2, 4, n, n)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
    seen = np.tril(np.ones((n, n), dtype=bool)) & ~np.tril(np.ones((n, n), dtype=bool), -3)
    assert (weights[:, :, ~seen] == 0).all()
    assert (weights[:, :, seen] > 0).all()
    np.testing.assert_array_equal(windowed.attention("the cat sat on the mat", layers=[1])[1], weights[1:])


def test_the_lens_ends_with_the_next_tokens(model: Any) -> None:
    lens = model.lens("the cat", 4)
    assert len(lens) == model.n_layers + 1
    assert [token.id for token in lens[-1]] == [token.id for token in model.next_tokens("the cat", 4)]
    assert lens[0][0].token == " cat"  # of tied tables, what was read is the nearest


@pytest.mark.parametrize("layers", [[], [2], [-1]])
def test_a_layer_that_there_is_not_is_refused(model: Any, layers: list[int]) -> None:
    with pytest.raises(OptionError, match="this model has layers 0 to 1"):
        model.attention("the cat", layers=layers)


def test_commands_look_into_layers(folder: Path, model: Any, tmp_path: Path) -> None:
    made = json.loads(run(next_, folder, "the cat", "--lens", "--json", "-k", 2))
    assert [[token["id"] for token in tokens] for tokens in made] == [
        [token.id for token in tokens] for tokens in model.lens("the cat", 2)
    ]
    lines = run(next_, folder, "the cat", "--lens").splitlines()
    assert [line.split()[0] for line in lines] == ["layer", "0", "1", "2"]
    out = tmp_path / "attention.html"
    assert "2 layers, 4 heads, 3 tokens" in run(attention, folder, "the cat sat", "-o", out)


def test_commands_search_and_foresee(folder: Path, model: Any) -> None:
    text = "the cat sat on the mat; the cat sat"
    plain = run(generate, folder, text, "-n", 12)
    assert run(generate, folder, text, "-n", 12, "--draft", folder) == plain
    assert run(generate, folder, text, "-n", 12, "--prompt-lookup", 4) == plain
    beams = model.generate(text, num_beams=3, max_new_tokens=12, length_penalty=0.5, no_repeat_ngram_size=2)
    options = ["-n", 12, "--num-beams", 3, "--length-penalty", 0.5, "--no-repeat-ngram-size", 2]
    assert run(generate, folder, text, *options) == beams + "\n"
    made = json.loads(run(generate, folder, text, *options, "--json"))
    assert (made["text"], made["score"] < 0) == (beams, True)
