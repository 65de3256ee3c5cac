"""Pre-training of encoders by masked language modelling: filled masks, checkpoints, and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import model_folders
import tokkit
from pipeline.test_finetuning import weights_of
from tokkit import pipeline
from tokkit.errors import CorpusError, OptionError
from tokkit.pipeline import LMOptions, TrainingProgress

TEXTS = [
    f"the {a} {b} sat on the {c} . " for a in ("red", "old", "big") for b in ("cat", "dog") for c in ("mat", "log")
]
TINY = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
SMALL = LMOptions(context=16, batch=16, steps=2)


def train(folder: Path, **more: Any) -> pipeline.TrainedModel:
    more = {"options": SMALL, "config": TINY, "vocab_size": 60} | more
    return pipeline.train_masked_lm(iter(TEXTS * 10), folder, **more)


def test_an_encoder_learns_to_fill_masks_and_goes_on(tmp_path: Path) -> None:
    told: list[TrainingProgress] = []
    options = LMOptions(context=16, batch=32, steps=350, lr=2e-3, weight_decay=0.0, warmup=20, seed=1)
    made = train(tmp_path / "m", config=TINY | {"hidden_size": 64}, options=options, progress=told.append)
    assert made.eval_loss < 1.5 < 3 < told[0].loss
    model = pipeline.load(tmp_path / "m")
    assert isinstance(model, pipeline.SentenceEncoder)
    assert model.fill_mask("the old cat [MASK] on the mat .")[0][0].token == "sat"
    more = train(tmp_path / "n", model=tmp_path / "m", options=LMOptions(context=16, batch=16, steps=1, lr=1e-6))
    assert more.loss < 1.5
    assert weights_of(tmp_path / "m").keys() == weights_of(tmp_path / "n").keys()
    pairs = [(text, text[4:]) for text in TEXTS]
    tuned = pipeline.FineTuneOptions(batch=4, steps=1)
    pipeline.train_pairs(pairs, tmp_path / "v", model=tmp_path / "m", options=tuned)


def test_a_training_that_is_resumed_ends_in_the_same_bits(tmp_path: Path) -> None:
    options = LMOptions(context=16, batch=8, accumulate=2, steps=9, lr=1e-2, dropout=0.1, average=0.9, seed=3)
    whole = train(tmp_path / "whole", options=options, threads=1)

    def end(now: TrainingProgress) -> None:
        if now.step == 6:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        train(tmp_path / "parts", options=options, save_every=4, progress=end, threads=2)
    again = train(tmp_path / "parts", options=options, resume=True, threads=2)
    assert (again.eval_loss, again.loss, again.tokens) == (whole.eval_loss, whole.loss, whole.tokens)
    one, other = weights_of(tmp_path / "whole"), weights_of(tmp_path / "parts")
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_masks_are_learnt_in_bf16_as_in_float32(tmp_path: Path) -> None:
    losses: dict[str, list[float]] = {"fp32": [], "bf16": []}
    for precision, told in losses.items():
        options = LMOptions(context=16, batch=16, steps=30, lr=2e-3, warmup=3, seed=1, precision=precision)
        train(tmp_path / precision, options=options, progress=lambda now, told=told: told.append(now.loss))
    assert losses["bf16"] != losses["fp32"]
    assert np.abs(np.subtract(losses["bf16"], losses["fp32"])).max() < 0.05


def test_what_cannot_be_learnt_is_said(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="none of the mask tokens"):
        train(tmp_path / "m", tokenizer=tokkit.train(iter(TEXTS), vocab_size=280))
    with pytest.raises(OptionError, match="config is 'bert-7b'; it must be one of bert-1m"):
        train(tmp_path / "m", config="bert-7b")
    with pytest.raises(OptionError, match="model_type 'roberta'; a new encoder must be of type bert"):
        train(tmp_path / "m", config=TINY | {"model_type": "roberta"})
    with pytest.raises(OptionError, match="positions for 12 tokens"):
        train(tmp_path / "m", config=TINY | {"max_position_embeddings": 12})
    with pytest.raises(OptionError, match="context is 3; it must be more, because 2 of the tokens are special"):
        train(tmp_path / "m", options=LMOptions(context=3))
    with pytest.raises(CorpusError, match=r"has \d+ tokens"):
        train(tmp_path / "m", options=LMOptions(context=2000))
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "config.json").write_text('{"model_type": "llama"}')
    tokenizer = tokkit.load(model_folders.write(tmp_path / "t"))
    with pytest.raises(OptionError, match="'llama' cannot be trained on masked tokens"):
        train(tmp_path / "m", model=tmp_path / "x", tokenizer=tokenizer)
    assert not (tmp_path / "m").exists()
