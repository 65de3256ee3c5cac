"""Adapters and vectors trained on random encoders of every family are read by PEFT and transformers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from extras import extra
from pipeline.test_classifiers_of_any_encoder import CASES, TEXTS, logits_of_transformers, saved
from pipeline.test_finetuning import LABELLED, PAIRS
from tokkit import pipeline
from tokkit.errors import OptionError
from tokkit.nn.grad import LoraOptions
from tokkit.pipeline import FineTuneOptions

pytestmark = pytest.mark.parity


def logits(folder: Path) -> np.ndarray:
    found = pipeline.load(folder).classify(TEXTS, top_k=None, function_to_apply="none")
    return np.array([[one["score"] for one in sorted(row, key=lambda one: one["label"])] for row in found])


@pytest.mark.parametrize("name", CASES)
def test_adapters_of_classifiers_are_read_by_peft_and_merged(tmp_path: Path, name: str) -> None:
    transformers, torch, peft = extra("transformers"), extra("torch"), extra("peft")
    base = saved(name, tmp_path / "base")
    targets = ("q", "v", "o", "down") if name == "GTE" else ("q", "v", "o", "up", "down")
    lora = LoraOptions(rank=2, targets=targets)
    options = FineTuneOptions(batch=16, epochs=2, lr=2e-2)
    pipeline.train_classifier(LABELLED, tmp_path / "a", model=base, lora=lora, options=options)
    found = logits(tmp_path / "a")
    pipeline.merge_adapter(base, tmp_path / "a", tmp_path / "merged")
    np.testing.assert_allclose(found, logits(tmp_path / "merged"), atol=1e-4)
    expected, config = logits_of_transformers(tmp_path / "merged")
    np.testing.assert_allclose(found, expected, atol=1e-4)
    if name in ("GTE", "Nomic"):  # whose files have other names than transformers' modules, which PEFT looks for
        return
    config = transformers.AutoConfig.from_pretrained(tmp_path / "merged")
    plain = transformers.AutoModelForSequenceClassification.from_pretrained(base, config=config)
    theirs = peft.PeftModel.from_pretrained(plain, tmp_path / "a").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    with torch.no_grad():
        given = tokenizer(TEXTS, padding=True, return_tensors="pt")
        wanted = theirs(input_ids=given["input_ids"], attention_mask=given["attention_mask"]).logits.numpy()
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def pooled_by_the_last_token(folder: Path) -> None:
    kinds = [("Transformer", ""), ("Pooling", "1_Pooling")]
    (folder / "modules.json").write_text(json.dumps([
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (kind, path) in enumerate(kinds)
    ]))  # fmt: skip
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": "lasttoken"}))


@pytest.mark.parametrize("name", [name for name in CASES if name != "EuroBERT, pooled late"])
def test_vectors_learn_pairs_and_are_those_of_transformers(tmp_path: Path, name: str) -> None:
    transformers, torch = extra("transformers"), extra("torch")
    base = saved(name, tmp_path / "base")
    if name in ("Qwen3", "GPT-2"):  # the folder of a decoder says how to pool, or it generates text
        with pytest.raises(OptionError, match="a decoder that generates text"):
            pipeline.train_pairs(PAIRS, tmp_path / "v", model=base)
        pooled_by_the_last_token(base)
    losses: list[float] = []
    options = FineTuneOptions(batch=4, epochs=2, lr=1e-3, warmup=2)
    pipeline.train_pairs(
        PAIRS, tmp_path / "v", model=base, options=options, progress=lambda now: losses.append(now.loss)
    )
    assert np.mean(losses[-4:]) < np.mean(losses[:4])
    ours = pipeline.load(tmp_path / "v")
    theirs, info = transformers.AutoModel.from_pretrained(
        tmp_path / "v", output_loading_info=True, attn_implementation="eager"
    )
    assert not {key for key in info["missing_keys"] if "pooler" not in key}
    for text in TEXTS:
        ids = ours.tokenizer(text, special="all").column("ids").astype(np.int64)
        with torch.no_grad():
            wanted = theirs.eval()(torch.from_numpy(ids)[None]).last_hidden_state[0].numpy()
        np.testing.assert_allclose(ours.hidden_states(text).states[-1], wanted, atol=1e-4)


def test_gates_that_are_one_matrix_in_another_order_have_no_adapters(tmp_path: Path) -> None:
    base = saved("GTE", tmp_path / "base")
    with pytest.raises(OptionError, match="targets are q, up; in models of this type gate and up are one matrix"):
        pipeline.train_classifier(LABELLED, tmp_path / "a", model=base, lora=LoraOptions(targets=("q", "up")))
