"""Adapter folders of PEFT and of tokkit give the same logits in both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import model_folders
import tokkit
from extras import extra
from pipeline.test_finetuning import LABELLED, PAIRS
from pipeline.test_lm_training import SHAPES, TEXTS
from pipeline.test_lm_training import train as train_lm
from pipeline.test_masked_training import train as train_masked
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


def test_adapters_of_classifiers_go_both_ways(tmp_path: Path) -> None:
    base = model_folders.write(tmp_path / "base")
    lora = LoraOptions(rank=2, targets=("q", "v", "up"))
    pipeline.train_classifier(
        LABELLED, tmp_path / "ours", model=base, lora=lora, options=FineTuneOptions(batch=8, steps=5, lr=1e-2)
    )
    ours = pipeline.load(tmp_path / "ours")
    ids = torch.from_numpy(ours.tokenizer("the cat sat", special="all").column("ids").astype(np.int64))[None]
    made = transformers.AutoModelForSequenceClassification.from_pretrained(base, num_labels=2)
    theirs = peft.PeftModel.from_pretrained(made, tmp_path / "ours").eval()
    with torch.no_grad():
        wanted = theirs(ids).logits[0].softmax(0).numpy()
    np.testing.assert_allclose(scores(ours, ours.labels), wanted, atol=1e-5)
    pipeline.merge_adapter(base, tmp_path / "ours", tmp_path / "merged")
    merged = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "merged").eval()
    with torch.no_grad():
        np.testing.assert_allclose(merged(ids).logits[0].softmax(0).numpy(), wanted, atol=1e-5)
    torch.manual_seed(0)
    made = transformers.AutoModelForSequenceClassification.from_pretrained(base, num_labels=2)
    config = peft.LoraConfig(
        task_type="SEQ_CLS", r=3, lora_alpha=5, target_modules=["query", "value"], init_lora_weights=False,
        modules_to_save=["pooler.dense"],
    )  # fmt: skip
    theirs = peft.get_peft_model(made, config).eval()
    theirs.save_pretrained(tmp_path / "theirs")
    with torch.no_grad():
        wanted = theirs(ids).logits[0].softmax(0).numpy()
    loaded = pipeline.load(base, adapter=tmp_path / "theirs")
    np.testing.assert_allclose(scores(loaded, ("LABEL_0", "LABEL_1")), wanted, atol=1e-5)


def scores(model: pipeline.CrossEncoder, labels: Sequence[str]) -> list[float]:
    """Return the probabilities of labels, in their order."""
    found = {one["label"]: one["score"] for one in model.classify(["the cat sat"], top_k=None)[0]}
    return [found[label] for label in labels]


def test_adapters_of_masked_models_are_read_by_peft(tmp_path: Path) -> None:
    options = LMOptions(context=16, batch=8, steps=3, lr=1e-2)
    train_masked(tmp_path / "base", options=options)
    train_masked(tmp_path / "ours", model=tmp_path / "base", lora=LoraOptions(rank=2), options=options)
    ours = pipeline.load(tmp_path / "ours")
    made = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / "base")
    theirs = peft.PeftModel.from_pretrained(made, tmp_path / "ours").eval()
    text = "the old cat [MASK] on the mat ."
    ids = torch.from_numpy(ours.tokenizer(text, special="all").column("ids").astype(np.int64))[None]
    with torch.no_grad():
        logits = theirs(ids).logits[0]
    place = int((ids[0] == ours.tokenizer.special_tokens["[MASK]"]).nonzero()[0])
    for found in ours.fill_mask(text)[0]:
        wanted = logits[place].softmax(0)[ours.tokenizer.vocab[found.token]].item()
        assert found.probability == pytest.approx(wanted, abs=1e-5)
