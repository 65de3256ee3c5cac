"""Adapters beside PEFT: what it writes is read with its own logits, and what we write it reads with ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import model_folders
import tokkit
from extras import extra
from pipeline.test_finetuning import PAIRS
from pipeline.test_lm_training import SHAPES, TEXTS
from pipeline.test_lm_training import train as train_lm
from tokkit import pipeline
from tokkit.nn.grad import LoraOptions
from tokkit.pipeline import FineTuneOptions, LMOptions

pytestmark = pytest.mark.parity
torch = extra("torch")
transformers = extra("transformers")
peft = extra("peft")
MODULES = {"llama": ["q_proj", "v_proj", "down_proj"], "gpt2": ["c_attn", "c_fc"]}
TEXT = "the old cat sat on"


@pytest.mark.parametrize("shape", SHAPES)
def test_adapters_of_decoders_go_both_ways(tmp_path: Path, shape: str) -> None:
    tokenizer = tokkit.train(iter(TEXTS), vocab_size=280, special_tokens=["<|endoftext|>"])
    train_lm(tmp_path / "base", tokenizer, shape, options=LMOptions(context=16, batch=8, steps=5))
    base = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "base")
    ids = torch.tensor([tokenizer.encode(TEXT)])
    torch.manual_seed(0)
    config = peft.LoraConfig(
        task_type="CAUSAL_LM", r=3, lora_alpha=5, target_modules=MODULES[shape], init_lora_weights=False,
        fan_in_fan_out=shape == "gpt2",
    )  # fmt: skip
    theirs = peft.get_peft_model(base, config).eval()
    theirs.save_pretrained(tmp_path / "theirs")
    with torch.no_grad():
        wanted = theirs(ids).logits[0].numpy()
    ours = pipeline.load(tmp_path / "base", adapter=tmp_path / "theirs")
    np.testing.assert_allclose(ours.logits(TEXT), wanted, atol=1e-4)
    options = LMOptions(context=16, batch=8, steps=5, lr=3e-2)
    train_lm(
        tmp_path / "ours", None, model=tmp_path / "base", options=options,
        lora=LoraOptions(rank=2, targets=("q", "v", "o", "up", "down")),
    )  # fmt: skip
    base = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "base")
    theirs = peft.PeftModel.from_pretrained(base, tmp_path / "ours").eval()
    with torch.no_grad():
        wanted = theirs(ids).logits[0].numpy()
    np.testing.assert_allclose(pipeline.load(tmp_path / "ours").logits(TEXT), wanted, atol=1e-4)


def test_adapters_of_encoders_are_read_by_peft(tmp_path: Path) -> None:
    base = model_folders.write(tmp_path / "base")
    lora = LoraOptions(rank=2, targets=("q", "k", "o", "up", "down"))
    options = FineTuneOptions(batch=4, steps=4, lr=1e-2)
    pipeline.train_pairs(PAIRS, tmp_path / "ours", model=base, lora=lora, options=options)
    model = transformers.AutoModel.from_pretrained(base)
    theirs = peft.PeftModel.from_pretrained(model, tmp_path / "ours").eval()
    ours = pipeline.load(tmp_path / "ours")
    ids = ours.tokenizer("the cat sat", special="all").column("ids").astype(np.int64)
    with torch.no_grad():
        wanted = theirs(torch.from_numpy(ids)[None]).last_hidden_state[0].numpy()
    np.testing.assert_allclose(ours.hidden_states("the cat sat").states[-1], wanted, atol=1e-4)
