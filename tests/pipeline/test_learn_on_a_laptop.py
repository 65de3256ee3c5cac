"""Checks what docs/tutorials/learn-on-a-laptop.md says about whole trainings; takes minutes (TOKKIT_LONG)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import minilm
import tokkit
from conftest import LONG
from tokkit import pipeline
from tokkit.corpus import bundled
from tokkit.nn.grad import LoraOptions
from tokkit.pipeline import FineTuneOptions, LMOptions

pytestmark = [pytest.mark.parity, pytest.mark.skipif(not LONG, reason="trains for minutes: TOKKIT_LONG=1")]
PAIRS = Path(__file__).parents[2] / "data" / "pairs" / "stock-codes.jsonl"


def test_a_language_model_is_below_the_entropy_of_its_tokens(tmp_path: Path) -> None:
    text = "\n".join((bundled.folder() / f"{n}.txt").read_text(encoding="utf-8") for n in ("english", "german", "code"))
    tokenizer = tokkit.train(iter([text]), vocab_size=500, special_tokens=["<|endoftext|>"])
    ids = np.array(tokenizer.encode(text))
    shares = np.bincount(ids) / len(ids)
    entropy = -(shares[shares > 0] * np.log(shares[shares > 0])).sum()
    options = LMOptions(context=64, batch=8, steps=600, lr=3e-3)
    made = pipeline.train_lm(iter([text]), tmp_path / "m", tokenizer=tokenizer, options=options, threads=1)
    assert made.eval_loss < entropy
    assert len(pipeline.load(tmp_path / "m").generate("The ", max_new_tokens=20, seed=1)) > 10


def test_languages_of_sentences_are_told_apart(tmp_path: Path) -> None:
    rows = [
        (sentence.strip(), language)
        for language in ("english", "finnish", "french", "german")
        for sentence in re.split(r"(?<=[.!?])\s+", (bundled.folder() / f"{language}.txt").read_text(encoding="utf-8"))
        if len(sentence.strip()) > 20
    ]
    texts = iter([text for text, _ in rows])
    options = LMOptions(context=48, batch=8, steps=3)
    pipeline.train_masked_lm(texts, tmp_path / "e", vocab_size=600, options=options)
    tuned = FineTuneOptions(batch=16, steps=200, lr=5e-4)
    made = pipeline.train_classifier(rows, tmp_path / "c", model=tmp_path / "e", options=tuned)
    assert made.accuracy is not None
    assert made.accuracy > 0.9


@pytest.mark.parametrize("lora", [None, LoraOptions(rank=8)])
def test_minilm_learns_the_codes_of_a_shop(tmp_path: Path, lora: LoraOptions | None) -> None:
    rows = [tuple(json.loads(line)) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 250

    def found(model: pipeline.SentenceEncoder) -> int:
        codes, words = (model.encode([row[i] for row in rows[200:]]) for i in (0, 1))
        return int(((codes @ words.T).argmax(1) == np.arange(50)).sum())

    options = FineTuneOptions(batch=20, epochs=5, lr=5e-5 if lora is None else 2e-3, held_out=0.01)
    pipeline.train_pairs(rows[:200], tmp_path / "m", model=minilm.folder(), options=options, lora=lora, threads=1)
    assert found(minilm.encoder()) <= 20
    assert found(pipeline.load(tmp_path / "m")) >= 45
