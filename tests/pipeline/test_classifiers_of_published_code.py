"""Classifiers on encoders whose code is published with them have the names of the weights in that code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.test_finetuning import LABELLED, weights_of
from pipeline.test_layered_loading import TWINS, published, twin_of, written
from tokkit import nn, pipeline
from tokkit.errors import OptionError
from tokkit.pipeline import FineTuneOptions

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
