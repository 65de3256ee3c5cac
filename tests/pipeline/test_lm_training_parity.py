"""Folders of language models trained here give the same logits and tokens in transformers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tokkit
from extras import extra
from pipeline.test_lm_training import SHAPES, TEXTS, train
from tokkit import pipeline

pytestmark = pytest.mark.parity
torch = extra("torch")
transformers = extra("transformers")


@pytest.mark.parametrize("shape", SHAPES)
def test_transformers_gives_equal_logits_and_tokens(tmp_path: Path, shape: str) -> None:
    tokenizer = tokkit.train(iter(TEXTS), vocab_size=280, special_tokens=["<|endoftext|>"])
    train(tmp_path, tokenizer, shape, overwrite=True)
    ours = pipeline.load(tmp_path)
    theirs, info = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    ids = transformers.AutoTokenizer.from_pretrained(tmp_path)("the old cat sat on").input_ids
    assert ids == ours.ids("the old cat sat on").tolist()
    with torch.no_grad():
        wanted = theirs(torch.tensor([ids])).logits[0].numpy()
    np.testing.assert_allclose(ours.logits("the old cat sat on"), wanted, atol=1e-4)
    made = theirs.generate(torch.tensor([ids]), max_new_tokens=6, do_sample=False)[0, len(ids) :].tolist()
    assert ours.tokenizer.decode(made).startswith(ours.generate("the old cat sat on", max_new_tokens=6))
