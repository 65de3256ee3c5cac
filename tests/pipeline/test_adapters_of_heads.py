"""Adapters of encoders with heads (classifiers, masked LM) are trained, loaded and merged; and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import model_folders
from pipeline.test_finetuning import LABELLED, base
from pipeline.test_masked_training import train as train_masked
from tokkit import pipeline
from tokkit.errors import OptionError
from tokkit.files.safetensors import read_safetensors
from tokkit.nn.grad import LoraOptions
from tokkit.pipeline import FineTuneOptions, LMOptions, TrainingProgress
from tokkit.pipeline.adapters import CLASSIFIER, CONFIG, WEIGHTS

__all__ = ["base"]  # the fixture
LORA = LoraOptions(rank=2, targets=("q", "v", "up"))
TEXTS = [text for text, _ in LABELLED]
SENTENCES = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
]


def learn(folder: Path, model: Path, **more: Any) -> pipeline.TrainedModel:
    options = FineTuneOptions(batch=8, epochs=10, lr=2e-2, warmup=2, seed=1)
    return pipeline.train_classifier(LABELLED, folder, **{"model": model, "lora": LORA, "options": options} | more)


def same(model: Any, other: Any) -> None:
    for one, two in zip(model.classify(TEXTS), other.classify(TEXTS), strict=True):
        assert one[0]["label"] == two[0]["label"]
        assert one[0]["score"] == pytest.approx(two[0]["score"], abs=1e-5)


@pytest.mark.parametrize("kind", ["whole", "plain names", "of sentences"])
def test_adapters_of_classifiers_are_learnt_loaded_and_merged(tmp_path: Path, base: Path, kind: str) -> None:
    model = base
    if kind != "whole":  # an encoder without a head, whose names do not begin with "bert."
        tensors = {
            name.removeprefix("bert."): np.array(tensor.data)
            for name, tensor in read_safetensors(base / "model.safetensors").items()
            if name.startswith("bert.")
        }
        more = {"modules": SENTENCES, "1_Pooling__config": {"word_embedding_dimension": 16}}
        model = model_folders.write(tmp_path / "model", tensors=tensors, **(more if kind == "of sentences" else {}))
    made = learn(tmp_path / "adapter", model)
    assert made.parameters < 1500
    assert {path.name for path in (tmp_path / "adapter").iterdir()} == {CONFIG, WEIGHTS, CLASSIFIER}
    loaded = pipeline.load(tmp_path / "adapter")
    assert isinstance(loaded, pipeline.CrossEncoder)
    assert loaded.labels == ("even", "odd")
    found = [one[0]["label"] for one in loaded.classify(TEXTS)]
    assert np.mean([a == b for a, (_, b) in zip(found, LABELLED, strict=True)]) > 0.9
    same(loaded, pipeline.load(model, adapter=tmp_path / "adapter"))
    pipeline.merge_adapter(model, tmp_path / "adapter", tmp_path / "merged")
    same(loaded, pipeline.load(tmp_path / "merged"))
    names = set(read_safetensors(tmp_path / "merged" / "model.safetensors"))
    assert {"classifier.weight", "bert.pooler.dense.weight", "bert.embeddings.word_embeddings.weight"} <= names
    assert not (tmp_path / "merged" / "modules.json").exists()
    # Where nothing names the labels, as in what PEFT writes, they have numbers.
    (tmp_path / "adapter" / CLASSIFIER).unlink()
    assert pipeline.load(tmp_path / "adapter").labels == ("LABEL_0", "LABEL_1")


def test_classifiers_with_adapters_are_resumed_to_the_bit(tmp_path: Path, base: Path) -> None:
    options = FineTuneOptions(batch=8, steps=6, lr=1e-2, dropout=0.1, attention_dropout=0.2, seed=1)
    learn(tmp_path / "whole", base, options=options, threads=1)

    def end(now: TrainingProgress) -> None:
        if now.step == 5:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        learn(tmp_path / "parts", base, options=options, save_every=3, progress=end, threads=2)
    with pytest.raises(OptionError, match=r'made with options \{"lora": \{"rank": 2.*"rank": 3'):
        learn(tmp_path / "parts", base, options=options, lora=LoraOptions(rank=3), resume=True)
    learn(tmp_path / "parts", base, options=options, resume=True, threads=2)
    assert (tmp_path / "whole" / WEIGHTS).read_bytes() == (tmp_path / "parts" / WEIGHTS).read_bytes()


def test_adapters_of_masked_models_are_learnt_loaded_and_merged(tmp_path: Path) -> None:
    train_masked(tmp_path / "base", options=LMOptions(context=16, batch=16, steps=10, lr=2e-3))
    options = LMOptions(context=16, batch=16, steps=10, lr=2e-2, weight_decay=0.0, warmup=5, seed=1)
    lora = LoraOptions(rank=8, targets=("q", "k", "v", "o", "up", "down"))
    made = train_masked(tmp_path / "adapter", model=tmp_path / "base", lora=lora, options=options)
    assert made.parameters == 2 * (4 * 2 * 32 + 2 * (32 + 128)) * 8
    assert {path.name for path in (tmp_path / "adapter").iterdir()} == {CONFIG, WEIGHTS}
    pipeline.merge_adapter(tmp_path / "base", tmp_path / "adapter", tmp_path / "merged")
    text = "the old cat [MASK] on the mat ."
    found = [pipeline.load(tmp_path / name).fill_mask(text)[0] for name in ("adapter", "merged", "base")]
    assert [one.token for one in found[0]] == [one.token for one in found[1]]
    assert found[0][0].probability == pytest.approx(found[1][0].probability, abs=1e-5)
    assert found[0][0].probability != pytest.approx(found[2][0].probability, abs=1e-5)
    assert json.loads((tmp_path / "adapter" / CONFIG).read_text())["task_type"] is None


def test_what_does_not_fit_is_said(tmp_path: Path, base: Path) -> None:
    with pytest.raises(OptionError, match="lora and freeze are given"):
        learn(tmp_path / "m", base, options=FineTuneOptions(freeze=True))
    with pytest.raises(OptionError, match="lora needs a trained model; give its folder as model"):
        train_masked(tmp_path / "m", lora=LORA)
    headless = model_folders.write(tmp_path / "headless")
    with pytest.raises(OptionError, match="headless has no head for masked tokens, and lora does not train one"):
        train_masked(tmp_path / "m", model=headless, lora=LORA)


@pytest.mark.parametrize(
    ("dropout", "stated", "wanted"), [(0.0, None, 0.0), (0.1, None, 0.25), (0.1, 0.0, 0.0), (0.0, 0.4, 0.4)]
)
def test_weights_of_attention_drop_out_as_the_configuration_says(
    dropout: float, stated: float | None, wanted: float
) -> None:
    options = LMOptions(dropout=dropout, attention_dropout=stated)
    for key in ("attention_probs_dropout_prob", "attn_pdrop", "attention_dropout"):
        assert options.attention_dropout_of({key: 0.25}) == wanted
    assert options.attention_dropout_of({}) == (stated or 0.0)
