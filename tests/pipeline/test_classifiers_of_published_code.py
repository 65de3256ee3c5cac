"""Classifiers on encoders whose code is published with them have the names of the weights in that code."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.test_finetuning import LABELLED, weights_of
from pipeline.test_layered_loading import TWINS, published, twin_of, written
from tokkit import nn, pipeline
from tokkit.errors import OptionError
from tokkit.pipeline import FineTuneOptions, TrainingProgress

OPTIONS = FineTuneOptions(batch=8, steps=3, lr=1e-2, freeze=True)
CASES = {
    "Nomic": ("bert.", "nomic-ai/nomic-bert-2048--modeling.NomicBert", {"bert.pooler.dense", "classifier"}),
    "GTE": ("new.", "Alibaba-NLP/new-impl--modeling.New", {"new.pooler.dense", "classifier"}),
    "ModernBERT": ("model.", "", {"head.dense", "head.norm", "classifier"}),
    "an embedding Qwen": ("model.", "", {"score"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_frozen_encoder_keeps_its_weights_and_gets_a_head(name: str, tmp_path: Path) -> None:
    prefix, code, head = CASES[name]
    config: dict[str, Any] = TWINS[name][0] | ({"auto_map": {"AutoModel": f"{code}Model"}} if code else {})
    base = written(tmp_path / "base", config, published(name, twin_of(name)[1]))
    pipeline.train_classifier(LABELLED, tmp_path / "m", model=base, options=OPTIONS)
    before, after = weights_of(base), weights_of(tmp_path / "m")
    first = next(p for p in (prefix, "") if any(n.startswith(p) for n in before))
    kept = {prefix + n.removeprefix(first): array for n, array in before.items()}
    assert {n.rpartition(".")[0] for n in after.keys() - kept.keys()} == head
    assert all(np.array_equal(after[n], array) for n, array in kept.items())
    stated = json.loads((tmp_path / "m" / "config.json").read_text())
    if code:
        assert stated["auto_map"]["AutoModelForSequenceClassification"] == f"{code}ForSequenceClassification"
    model = pipeline.load(tmp_path / "m")
    assert isinstance(model, pipeline.CrossEncoder)
    assert model.labels == ("even", "odd")
    # Its logits are those of the formula, on the states of the encoder that was not trained.
    text = "the river sat on a mat"
    encoder = pipeline.load(base)
    states = encoder.hidden_states(text).states[-1]
    x = states[-1] if name == "an embedding Qwen" else states[0]
    if name in ("Nomic", "GTE"):
        x = np.tanh(x @ after[f"{prefix}pooler.dense.weight"].T + after[f"{prefix}pooler.dense.bias"])
    elif name == "ModernBERT":
        x = nn.gelu(x @ after["head.dense.weight"].T)
        x = (x - x.mean()) / np.sqrt(x.var() + 1e-4) * after["head.norm.weight"]
    out = "score" if name == "an embedding Qwen" else "classifier"
    expected = x @ after[f"{out}.weight"].T + after.get(f"{out}.bias", 0)
    found = model.classify(text, top_k=None, function_to_apply="none")
    assert {one["label"]: one["score"] for one in found} == pytest.approx(
        dict(zip(("even", "odd"), expected, strict=True)), abs=1e-4
    )


def test_the_error_lists_what_can_be_trained(tmp_path: Path) -> None:
    base = written(tmp_path / "base", {"model_type": "t5"}, {})
    for freeze in (False, True):
        options = FineTuneOptions(batch=8, steps=1, freeze=freeze)
        with pytest.raises(OptionError, match=r"a model of type 't5' cannot be fine-tuned; .*: bert, .*modernbert"):
            pipeline.train_classifier(LABELLED, tmp_path / "m", model=base, options=options)


@pytest.mark.parametrize("name", CASES)
def test_a_training_that_is_resumed_ends_in_the_same_bits_and_bf16_has_its_losses(name: str, tmp_path: Path) -> None:
    base = written(tmp_path / "base", TWINS[name][0], published(name, twin_of(name)[1]))
    options = FineTuneOptions(batch=8, accumulate=2, steps=9, lr=1e-3, dropout=0.1, attention_dropout=0.2, seed=3)
    losses: dict[str, list[float]] = {"fp32": [], "bf16": []}
    for precision, told in losses.items():
        pipeline.train_classifier(
            LABELLED, tmp_path / precision, model=base, options=dataclasses.replace(options, precision=precision),
            progress=lambda now, to=told: to.append(now.loss), threads=1,
        )  # fmt: skip
    np.testing.assert_allclose(losses["bf16"], losses["fp32"], rtol=0.05)

    def end(now: TrainingProgress) -> None:
        if now.step == 6:
            raise RuntimeError

    run: dict[str, Any] = {"model": base, "options": options, "threads": 2}
    with pytest.raises(RuntimeError):
        pipeline.train_classifier(LABELLED, tmp_path / "parts", save_every=4, progress=end, **run)
    pipeline.train_classifier(LABELLED, tmp_path / "parts", resume=True, **run)
    one, other, start = (weights_of(tmp_path / folder) for folder in ("fp32", "parts", "base"))
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[n], other[n]) for n in one)
    assert not any(np.array_equal(one[n], start[n]) for n in one.keys() & start.keys())
