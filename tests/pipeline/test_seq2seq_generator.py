"""Text of an encoder–decoder: whole, streamed, in batches, scored and forced; and errors."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import generators
from reference.decoder import hidden
from reference.decoder import logits as naive
from reference.feed_forward import Bfloat16, Bfloat16Rows
from tokkit import pipeline
from tokkit._core.nn.linear import rounds_bfloat16
from tokkit.errors import FormatError, OptionError
from tokkit.files.safetensors import write_safetensors
from tokkit.files.sharded import read_model
from tokkit.nn.arrays import initial
from tokkit.nn.generation import log_probabilities
from tokkit.pipeline import seq2seq_families

PROMPTS = ["the cat sat", "naïve 🦜 dog on the far log", "東京"]


@pytest.fixture(scope="module", params=["t5", "bart"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    kind = generators.T5 if request.param == "t5" else generators.BART
    return pipeline.load(generators.seq2seq_folder(tmp_path_factory.mktemp("model"), kind))


def by_the_formulas(model: Any, prompt: str, target: list[int], weights_of: Callable[[Any], Any] = dict) -> np.ndarray:
    """The logits (T, vocab_size) after the start and each id of a target."""
    config = json.loads((model.folder / "config.json").read_text())
    spec = seq2seq_families.read(config)
    halves = (0, spec.encoder), (1, spec.decoder)
    weights = [initial(half.config.shapes(), seed=seed, std=0.3) for seed, half in halves]
    weights[0]["word.weight"] = weights[1]["word.weight"]  # one table for both
    moved = [
        weights_of({n: w[half.config.position_offset :] if n == "position.weight" else w for n, w in own.items()})
        for own, (_, half) in zip(weights, halves, strict=True)
    ]
    memory = hidden(spec.encoder.config, moved[0], model.ids(prompt))
    return naive(spec.decoder.config, moved[1], [config.get("decoder_start_token_id", 0), *target], memory)


def test_logits_are_those_of_the_formulas(model: Any) -> None:
    target, ids = np.array([5, 6, 7]), model.ids(PROMPTS[0])
    expected = by_the_formulas(model, PROMPTS[0], [5, 6, 7])
    np.testing.assert_allclose(model.logits(PROMPTS[0], target=target), expected, atol=1e-4)
    np.testing.assert_allclose(model.logits(ids, target=target, last=True), expected[-1], atol=1e-4)


def test_side_by_side_streamed_or_alone_the_text_is_the_same(model: Any) -> None:
    options = {"max_new_tokens": 12, "temperature": 1.0, "seed": 4}
    together = model.generate_all(PROMPTS, n=2, **options)
    for prompt, texts in zip(PROMPTS, together, strict=True):
        assert [made.ids for made in model.generate_all([prompt], n=2, **options)[0]] == [made.ids for made in texts]
        assert "".join(model.stream(prompt, **options)) == texts[0].text == model.generate(prompt, **options)
        assert model.generate_ids(model.ids(prompt), **options) == texts[0].ids
    again = pickle.loads(pickle.dumps(model))
    assert again.generate(PROMPTS, **options) == [texts[0].text for texts in together]
    assert "Seq2SeqGenerator" in repr(model)


def test_each_greedy_token_is_the_most_probable_one_that_is_not_forced(model: Any) -> None:
    made = model.generate_all([PROMPTS[1]], max_new_tokens=9, logprobs=True)[0][0]
    logits = model.logits(PROMPTS[1], target=made.ids)
    best = logits[:-1].argmax(-1).tolist()
    forced = {0: model.forced.first, 8: model.forced.last}
    assert made.ids == [best[i] if forced.get(i) is None else forced[i] for i in range(len(made.ids))]
    found = log_probabilities(logits[:-1])[np.arange(len(made.ids)), made.ids]
    free = [i for i in range(len(made.ids)) if forced.get(i) is None]
    np.testing.assert_allclose(np.array(made.logprobs)[free], found[free], atol=1e-4)


def test_a_target_is_scored_by_its_tokens(model: Any) -> None:
    ids = model.ids(" sat on")
    found = log_probabilities(model.logits("the cat", target=" sat on")[:-1])
    expected = found[np.arange(len(ids)), ids].sum()
    np.testing.assert_allclose(model.score("the cat", [" sat on", " log"])[0], expected, atol=1e-4)
    assert model.next_tokens("the cat", k=3)[0].probability == pytest.approx(np.exp(found[0]).max(), abs=1e-3)
    with pytest.raises(OptionError, match="perplexity is defined for causal models only"):
        model.token_logprobs(ids)
    with pytest.raises(OptionError, match="the target '' has no tokens"):
        model.score("the cat", [""])


def test_a_prompt_that_is_too_long_is_refused_or_cut_at_its_end(tmp_path: Path) -> None:
    model = pipeline.load(generators.seq2seq_folder(tmp_path, generators.BART), max_length=10)
    ids = np.arange(30)
    with pytest.raises(OptionError, match="the prompt has 30 tokens, and the encoder has positions for 10"):
        model.generate_ids(ids)
    cut = model.generate_ids([*range(9), 29], max_new_tokens=5)
    assert model.generate_ids(ids, max_new_tokens=5, truncate=True) == cut
    assert len(model.generate_ids(ids[:10], max_new_tokens=50)) <= 9
    for prompt, message in ((np.zeros((2, 2), int), r"shape \(2, 2\)"), ([], "no tokens")):
        with pytest.raises((OptionError, TypeError), match=message):
            model.generate_ids(np.array(prompt, dtype=int))
    with pytest.raises(OptionError, match="the target has 12 tokens"):
        model.logits(ids[:3], target=ids[:11])


def test_options_that_need_a_causal_model_are_refused(model: Any) -> None:
    for options in ({"held_caches": object()}, {"context_shift": 4}, {"draft": model}):
        with pytest.raises(OptionError, match=f"{next(iter(options))} is only for causal models"):
            model.generate("the cat", **options)


def test_beams_and_small_caches_answer_too(model: Any) -> None:
    made = model.generate_all([PROMPTS[1]], num_beams=3, n=3, max_new_tokens=6)[0]
    assert [each.score for each in made] == sorted((each.score for each in made), reverse=True)
    small = pipeline.load(model.folder, cache="int8")
    assert len(small.generate_ids(model.ids(PROMPTS[0]), max_new_tokens=6)) <= 6


def test_int8_gives_nearly_the_same(model: Any) -> None:
    exact = model.logits(PROMPTS[1], target=[5, 6, 7, 8])
    made = pipeline.load(model.folder, precision="int8").logits(PROMPTS[1], target=[5, 6, 7, 8])
    assert np.linalg.norm(made - exact) / np.linalg.norm(exact) < 0.25


def test_bf16_gives_the_logits_of_rounded_numbers(model: Any) -> None:
    expected = by_the_formulas(model, PROMPTS[1], [5, 6, 7, 8], Bfloat16Rows if rounds_bfloat16() else Bfloat16)
    made = pipeline.load(model.folder, precision="bf16").logits(PROMPTS[1], target=[5, 6, 7, 8])
    assert np.linalg.norm(made - expected) / np.linalg.norm(expected) < 1e-3


def test_a_head_of_its_own_is_read_where_the_file_has_one(tmp_path: Path) -> None:
    tied = pipeline.load(generators.seq2seq_folder(tmp_path))
    held = {name: np.array(tensor.float32()) for name, tensor in read_model(tmp_path).items()}
    held["encoder.embed_tokens.weight"] = held["shared.weight"]  # as old files have it
    held["lm_head.weight"] = 2 * held["shared.weight"]
    write_safetensors(tmp_path / "model.safetensors", held, overwrite=True)
    untied = pipeline.load(tmp_path)
    np.testing.assert_allclose(untied.logits("the cat"), 2 * tied.logits("the cat"), atol=1e-4)


def _missing(tensors: dict[str, np.ndarray]) -> None:
    del tensors["decoder.block.1.layer.1.EncDecAttention.k.weight"]


def _extra(tensors: dict[str, np.ndarray]) -> None:
    tensors["encoder.block.2.layer.0.layer_norm.weight"] = np.ones(32, np.float32)


def _misshaped(tensors: dict[str, np.ndarray]) -> None:
    tensors["shared.weight"] = tensors["shared.weight"][:-1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_missing, r"EncDecAttention\.k\.weight' is missing; config\.json requires it with shape \(32, 32\)"),
        (_extra, r"'encoder\.block\.2\.layer\.0\.layer_norm\.weight' of shape \(32,\) does not belong to this decoder"),
        (_misshaped, r"'shared\.weight' has shape \(319, 32\); config\.json requires \(320, 32\)"),
    ],
)
def test_tensors_that_do_not_fit_are_named(change: Any, message: str, tmp_path: Path) -> None:
    folder = generators.seq2seq_folder(tmp_path)
    held: dict[str, Any] = {name: np.array(tensor.float32()) for name, tensor in read_model(folder).items()}
    change(held)
    write_safetensors(folder / "model.safetensors", held, overwrite=True)
    with pytest.raises(FormatError, match=message):
        pipeline.load(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"feed_forward_proj": "gated-relu"},
            "feed_forward_proj: 'gated-relu' is not supported; it must be one of relu, gelu",
        ),
        ({"num_layers": 0}, "num_layers is 0"),
        ({"num_layers": 5000}, "num_layers: 5000 is too large"),
        ({"d_kv": "8"}, "d_kv"),
        ({"layer_norm_epsilon": 2}, "layer_norm_epsilon is 2"),
        ({"pad_token_id": None}, "decoder_start_token_id: missing"),
        ({"decoder_start_token_id": 320}, "decoder_start_token_id: 320; it must be an id below 320"),
        ({"relative_attention_num_buckets": 1}, "buckets"),
        ({"vocab_size": 300}, "shape|ids"),
    ],
    ids=str,
)
def test_a_configuration_that_cannot_work_is_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    folder = generators.seq2seq_folder(tmp_path)
    (folder / "config.json").write_text(json.dumps({**generators.T5, **change}))
    with pytest.raises(FormatError, match=message):
        pipeline.load(folder)
