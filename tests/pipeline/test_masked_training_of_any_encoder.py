"""Encoders of other families that are trained on masked tokens have the logits of transformers, with adapters too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from extras import extra
from pipeline.test_classifiers_of_any_encoder import saved
from pipeline.test_finetuning import weights_of
from pipeline.test_masked_training import TEXTS
from tokkit import pipeline
from tokkit.errors import OptionError
from tokkit.nn.grad import LoraOptions
from tokkit.pipeline import LMOptions

pytestmark = pytest.mark.parity
NAMES = ("MPNet", "ModernBERT", "ModernBERT with biases", "Nomic", "GTE")
TEXT = "the cat [MASK] on the mat ."


@pytest.mark.parametrize("name", NAMES)
def test_transformers_gives_equal_logits_of_masked_tokens(tmp_path: Path, name: str) -> None:
    transformers, torch = extra("transformers"), extra("torch")
    base, told = saved(name, tmp_path / "base", of="ForMaskedLM"), list[float]()
    options = LMOptions(context=16, batch=8, steps=30, lr=3e-3, warmup=5, weight_decay=0.0)
    pipeline.train_masked_lm(
        iter(TEXTS * 10), tmp_path / "m", model=base, options=options, progress=lambda now: told.append(now.loss)
    )
    assert np.mean(told[-5:]) < 0.7 * np.mean(told[:2])
    assert weights_of(base).keys() == weights_of(tmp_path / "m").keys()
    theirs, info = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / "m", output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    ours = pipeline.load(tmp_path / "m")
    ids = torch.from_numpy(ours.tokenizer(TEXT, special="all").column("ids").astype(np.int64))[None]
    with torch.no_grad():
        wanted = theirs.eval()(ids).logits[0].numpy()
    np.testing.assert_allclose(ours.masked_logits(TEXT), wanted, atol=1e-4)
    # Adapters go on with it; a model without a head has none to go on with.
    lora, few = LoraOptions(rank=2), LMOptions(context=16, batch=8, steps=2, lr=1e-9)
    more = pipeline.train_masked_lm(iter(TEXTS * 10), tmp_path / "a", model=tmp_path / "m", lora=lora, options=few)
    assert more.loss < np.mean(told[:2])
    np.testing.assert_allclose(pipeline.load(tmp_path / "a").masked_logits(TEXT), wanted, atol=1e-4)
    bare = saved(name, tmp_path / "bare")
    with pytest.raises(OptionError, match="has no head for masked tokens"):
        pipeline.train_masked_lm(iter(TEXTS * 10), tmp_path / "b", model=bare, lora=lora, options=few)
    made = pipeline.train_masked_lm(iter(TEXTS * 10), tmp_path / "b", model=bare, options=few)
    assert made.steps == 2
    assert weights_of(tmp_path / "b").keys() == weights_of(tmp_path / "m").keys()
