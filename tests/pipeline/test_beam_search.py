"""Beam search, compared with a naive search without caches: results, stopping, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import generators
from tokkit import pipeline
from tokkit.errors import OptionError
from tokkit.nn.generation import log_probabilities
from tokkit.nn.greatest import greatest, top

ENDS = frozenset(range(2, 320, 7))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made = pipeline.load(generators.folder(tmp_path_factory.mktemp("model")))
    made.eos_ids = ENDS
    return made


def naive(model: Any, prompt: list[int], beams: int, n_new: int) -> list[tuple[float, list[int]]]:
    """All beams, read from their beginning each time, until `n_new` tokens have come; scores are means."""
    running: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[tuple[float, list[int]]] = []
    for step in range(1, n_new + 1):
        found = []
        for score, ids in running:
            new = log_probabilities(model.logits(prompt + ids, last=True))
            found += [(score + float(p), [*ids, i]) for i, p in enumerate(new)]
        found.sort(key=lambda each: -each[0])
        ended = [each for each in found[:beams] if each[1][-1] in ENDS or step == n_new]
        finished = sorted(finished + [(s / step, ids) for s, ids in ended], key=lambda each: -each[0])[:beams]
        running = [each for each in found if each[1][-1] not in ENDS][:beams]
        if len(finished) == beams and running[0][0] / step <= finished[-1][0]:
            break
    return finished


@pytest.mark.parametrize("beams", [2, 3, 8])
def test_beams_are_those_of_a_naive_search(model: Any, beams: int) -> None:
    prompts = [[5, 6, 7], [100], list(range(20, 40))]
    made = model.generate_all(prompts, n=beams, num_beams=beams, max_new_tokens=7, logprobs=True)
    lengths = set()
    for prompt, texts in zip(prompts, made, strict=True):
        expected = naive(model, prompt, beams, 7)
        assert [text.ids for text in texts] == [ids for _, ids in expected]
        assert [text.score for text in texts] == pytest.approx([score for score, _ in expected], abs=1e-4)
        for text in texts:
            assert text.reason == ("eos" if text.ids[-1] in ENDS else "length")
            assert sum(text.logprobs) / len(text.ids) == pytest.approx(text.score, abs=1e-4)
            lengths.add(len(text.ids))
    assert beams < 8 or len(lengths) > 1


def test_a_beam_ends_before_a_stop_string(model: Any) -> None:
    model.eos_ids = frozenset()
    whole = model.generate_all(["the cat"], num_beams=3, max_new_tokens=12)[0][0]
    stop = whole.text[3:6]
    for texts in model.generate_all(["the cat"], n=3, num_beams=3, max_new_tokens=12, stop=stop):
        for text in texts:
            assert stop not in text.text
            assert text.reason in ("stop", "length")
    model.eos_ids = ENDS


def test_a_callback_sees_the_ids_of_its_beam(model: Any) -> None:
    def only(ids: list[int], logits: np.ndarray) -> np.ndarray:
        allowed = [40, 50] if len(ids) < 2 else [ids[0]]
        return np.where(np.isin(np.arange(len(logits)), allowed), logits, -np.inf).astype(np.float32)

    made = model.generate_all(["the cat"], n=4, num_beams=4, max_new_tokens=3, callback=only)[0]
    assert {tuple(text.ids) for text in made} == {(a, b, a) for a in (40, 50) for b in (40, 50)}


@pytest.mark.parametrize("n", [1, 5, 200, 5000])
def test_the_greatest_are_found(n: int) -> None:
    rng = np.random.default_rng(n)
    values = rng.integers(0, 50, n).astype(np.float32)
    values[rng.random(n) < 0.3] = -np.inf
    expected = [i for i in np.argsort(-values, kind="stable").tolist() if values[i] > -np.inf]
    for k in (1, 3, 30):
        assert greatest(values, k).tolist() == expected[:k]
        assert top(values, k).tolist() == sorted(i for i in expected if values[i] >= values[expected[:k][-1]])


@pytest.mark.parametrize(
    ("options", "message"),
    [({"num_beams": 0}, "num_beams is 0"), ({"num_beams": 2, "n": 3}, "n is 3; it must be at most num_beams, 2"),
     ({"num_beams": 2, "temperature": 1.0}, "num_beams and temperature are given"),
     ({"num_beams": 2, "top_logprobs": 1}, "num_beams and top_logprobs are given"),
     ({"num_beams": 2, "prompt_lookup": 1}, "num_beams and prompt_lookup are given"),
     ({"early_stopping": "always"}, "True, False or 'never'"), ({"length_penalty": "x"}, "length_penalty"),
     ({"num_beams": 2, "banned": range(320)}, "no token can be chosen")],
    ids=str,
)  # fmt: skip
def test_what_beams_cannot_do_is_refused(model: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        model.generate_all(["the"], **options)
    with pytest.raises(OptionError, match="cannot be streamed"):
        list(model.stream("the", num_beams=2))
