"""Adapters in PEFT's folder format are trained, loaded, merged and resumed bit for bit; and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adapters
import generators
import model_folders
import tokkit
from pipeline.test_finetuning import PAIRS
from pipeline.test_lm_training import SHAPES, TEXTS
from pipeline.test_lm_training import train as train_lm
from tokkit import pipeline
from tokkit.errors import FormatError, OptionError
from tokkit.nn.grad import LoraOptions
from tokkit.pipeline import FineTuneOptions, LMOptions, TrainingProgress
from tokkit.pipeline.adapters import CONFIG, WEIGHTS, read_adapter

OPTIONS = LMOptions(context=16, batch=8, steps=20, lr=3e-2, warmup=3, seed=1)


@pytest.mark.parametrize("shape", SHAPES)
def test_adapters_of_a_decoder_are_learnt_loaded_and_merged(tmp_path: Path, shape: str) -> None:
    tokenizer = tokkit.train(iter(TEXTS), vocab_size=280, special_tokens=["<|endoftext|>"])
    train_lm(tmp_path / "base", tokenizer, shape, options=LMOptions(context=16, batch=8, steps=5))
    lora = LoraOptions(rank=4, targets=("q", "v", "o", "up"))
    made = train_lm(tmp_path / "adapter", None, model=tmp_path / "base", lora=lora, options=OPTIONS)
    assert made.parameters < 6000
    assert {path.name for path in (tmp_path / "adapter").iterdir()} == {CONFIG, WEIGHTS}
    pipeline.merge_adapter(tmp_path / "base", tmp_path / "adapter", tmp_path / "merged")
    text = "the old cat sat"
    models = [pipeline.load(tmp_path / "base", adapter=tmp_path / "adapter")]
    models += [pipeline.load(tmp_path / name) for name in ("adapter", "merged")]
    logits = [model.logits(text) for model in models]
    assert np.array_equal(logits[0], logits[1])
    np.testing.assert_allclose(logits[0], logits[2], atol=1e-6)
    assert np.abs(logits[0] - pipeline.load(tmp_path / "base").logits(text)).max() > 0.1


def test_adapters_of_an_encoder_are_learnt_and_resumed_to_the_bit(tmp_path: Path) -> None:
    base = model_folders.write(tmp_path / "base")
    lora = LoraOptions(rank=2, targets=("q", "k", "o", "down"))

    def run(name: str, **more: Any) -> None:
        options = FineTuneOptions(batch=4, steps=6, lr=1e-2, seed=1)
        pipeline.train_pairs(PAIRS, tmp_path / name, **{"model": base, "lora": lora, "options": options} | more)

    run("whole")

    def end(now: TrainingProgress) -> None:
        if now.step == 5:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        run("parts", save_every=3, progress=end)
    with pytest.raises(OptionError, match=r'made with options .*"rank": 2.*"rank": 3'):
        run("parts", lora=LoraOptions(rank=3), resume=True)
    run("parts", resume=True)
    assert (tmp_path / "whole" / WEIGHTS).read_bytes() == (tmp_path / "parts" / WEIGHTS).read_bytes()
    vectors = pipeline.load(tmp_path / "whole").encode(["the cat"])
    assert np.abs(vectors - pipeline.load(base).encode(["the cat"])).max() > 1e-3
    pipeline.merge_adapter(base, tmp_path / "whole", tmp_path / "merged")
    np.testing.assert_allclose(pipeline.load(tmp_path / "merged").encode(["the cat"]), vectors, atol=1e-6)


def test_what_does_not_fit_is_said(tmp_path: Path) -> None:
    base = generators.folder(tmp_path / "generator")
    with pytest.raises(
        FormatError, match=r"q_proj has shape \(8, 9\); the tensor 'model.layers.0.self_attn.q_proj.weight' has"
    ):
        pipeline.load(base, adapter=adapters.write(tmp_path / "a", rank=2, modules={
            "model.layers.0.self_attn.q_proj": (8, 9)}))  # fmt: skip
    with pytest.raises(FormatError, match=r"no tensor 'model.layers.9.mlp.weight'; the adapter is for another model"):
        pipeline.load(base, adapter=adapters.write(tmp_path / "b", rank=2, modules={"model.layers.9.mlp": (8, 8)}))
    for name, config, message in (
        ("c", {"peft_type": "IA3"}, "peft_type is 'IA3'; it must be LORA"),
        ("d", {"use_dora": True}, "use_dora: True is not supported"),
        ("e", {"r": 3}, r"A must be \(3, in\) and B \(out, 3\)"),
    ):
        with pytest.raises(FormatError, match=message):
            read_adapter(adapters.write(tmp_path / name, rank=2, **config))
    whole = read_adapter(adapters.write(tmp_path / "f", rank=2, use_rslora=True))
    assert whole.scale == pytest.approx(4 / 2**0.5)
    with pytest.raises(OptionError, match="lora needs a trained model"):
        train_lm(tmp_path / "m", None, lora=LoraOptions(), vocab_size=280)
    with pytest.raises(OptionError, match="the model has none of the targets gate"):
        pipeline.train_pairs(
            PAIRS, tmp_path / "m", model=model_folders.write(tmp_path / "x"), lora=LoraOptions(targets=("gate",)),
            options=FineTuneOptions(batch=4),
        )  # fmt: skip
    unnamed = adapters.write(tmp_path / "g", rank=2, base_model_name_or_path=None)
    assert json.loads((unnamed / CONFIG).read_text())["r"] == 2
    with pytest.raises(FormatError, match="does not name its model"):
        pipeline.load(unnamed)
