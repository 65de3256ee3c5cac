"""Classifiers trained on random encoders of every family give the logits that transformers gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from extras import extra
from pipeline.test_classifier_rivals import MODERN, SIZES, byte_pairs, wordpieces
from pipeline.test_finetuning import LABELLED, weights_of
from tokkit import pipeline
from tokkit.pipeline import FineTuneOptions

pytestmark = pytest.mark.parity
GROUPED = SIZES | {"num_key_value_heads": 2, "head_dim": 16, "bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1}
SMALL = {"n_embd": 48, "n_layer": 2, "n_head": 4, "bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1}
CASES: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "MPNet": ("MPNet", wordpieces, SIZES),
    "ModernBERT": ("ModernBert", wordpieces, MODERN),
    "ModernBERT with biases": ("ModernBert", wordpieces, MODERN | {
        "classifier_pooling": "mean", "classifier_activation": "silu", "classifier_bias": True, "norm_bias": True,
        "attention_bias": True, "mlp_bias": True}),
    "Nomic": ("NomicBert", wordpieces, SIZES | {"num_attention_heads": 4}),
    "GTE": ("Gte", wordpieces, SIZES | {"type_vocab_size": 2}),
    "EuroBERT": ("EuroBert", byte_pairs, GROUPED | {"classifier_pooling": "bos", "mask_token_id": 4}),
    "EuroBERT, pooled late": ("EuroBert", byte_pairs, GROUPED | {"mask_token_id": 4}),
    "Qwen3": ("Qwen3", byte_pairs, GROUPED),
    "an embedding Gemma": ("Gemma3Text", byte_pairs, GROUPED | {
        "use_bidirectional_attention": True, "sliding_window": 9, "sliding_window_pattern": 2}),
    "GPT-2": ("GPT2", byte_pairs, SMALL),
}  # fmt: skip
DECODERS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "Llama with biases": ("Llama", byte_pairs, GROUPED | {"attention_bias": True, "mlp_bias": True}),
    "Mistral": ("Mistral", byte_pairs, GROUPED | {"sliding_window": 5}),
    "Qwen2": ("Qwen2", byte_pairs, GROUPED),
    "Gemma": ("Gemma", byte_pairs, GROUPED),
    "Phi-3": ("Phi3", byte_pairs, GROUPED),
    "a causal Gemma 3": ("Gemma3Text", byte_pairs, GROUPED | {"sliding_window": 4, "sliding_window_pattern": 2}),
}  # fmt: skip
TEXTS = ["the cat sat on the mat", "money", "a bank of the river, the money and a cat on the mat of the bank"]


def saved(name: str, folder: Path, of: str = "Model") -> Path:
    """A random encoder, its norms and biases random too, saved by transformers with a tokenizer."""
    transformers, torch = extra("transformers"), extra("torch")
    transformers.logging.set_verbosity_error()
    kind, tokenizer, options = (CASES | DECODERS)[name]
    torch.manual_seed(0)
    folder.mkdir()
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=tokenizer(folder, transformers), max_position_embeddings=36, **options
    )
    config.initializer_range = 0.25
    model = getattr(transformers, f"{kind}{of}")(config).eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:
            parameter.data += 0.2 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    return folder


def logits_of_transformers(folder: Path) -> tuple[np.ndarray, Any]:
    transformers, torch = extra("transformers"), extra("torch")
    model, info = transformers.AutoModelForSequenceClassification.from_pretrained(folder, output_loading_info=True)
    assert not info["missing_keys"]
    assert not [key for key in info["unexpected_keys"] if "pooler" not in key]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        given = tokenizer(TEXTS, padding=True, return_tensors="pt")
        return model(given["input_ids"], attention_mask=given["attention_mask"]).logits.numpy(), model.config


@pytest.mark.parametrize("freeze", [True, False], ids=["frozen", "whole"])
@pytest.mark.parametrize("name", CASES)
def test_transformers_gives_equal_logits(tmp_path: Path, name: str, freeze: bool) -> None:
    base, told = saved(name, tmp_path / "base"), []
    options = FineTuneOptions(batch=16, epochs=8, lr=1e-2 if freeze else 2e-3, warmup=2, freeze=freeze)
    pipeline.train_classifier(
        LABELLED, tmp_path / "m", model=base, options=options, progress=lambda now: told.append(now.loss)
    )
    assert np.mean(told[-5:]) < 0.9 * np.mean(told[:3])
    expected, config = logits_of_transformers(tmp_path / "m")
    ours = pipeline.load(tmp_path / "m")
    assert isinstance(ours, pipeline.CrossEncoder)
    assert ours.labels == tuple(config.id2label.values()) == ("even", "odd")
    found = np.array([[one["score"] for one in sorted(row, key=lambda one: one["label"])]
                      for row in ours.classify(TEXTS, top_k=None, function_to_apply="none")])  # fmt: skip
    np.testing.assert_allclose(found, expected, atol=1e-4)
    before, after = weights_of(base), weights_of(tmp_path / "m")
    same = [np.array_equal(array, after[other]) for name, array in before.items()
            for other in after if other.endswith(name) and array.ndim == 2]  # fmt: skip
    assert len(same) >= 6
    assert all(same) if freeze else not any(same)
    # It goes on with its head.
    more = FineTuneOptions(batch=16, steps=1, lr=1e-9, freeze=freeze)
    again = pipeline.train_classifier(LABELLED, tmp_path / "n", model=tmp_path / "m", options=more)
    assert again.loss < 0.9 * np.mean(told[:3])
    stated = json.loads((tmp_path / "n" / "config.json").read_text())
    assert stated["architectures"] == [f"{CASES[name][0]}ForSequenceClassification"]
