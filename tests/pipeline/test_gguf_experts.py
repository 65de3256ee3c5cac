"""Experts in GGUF files: one tensor has the matrices of all experts; and the memory of such a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gguf_models
from gguf_files import Stored
from gguf_models import plain, random_blocks, stacked
from tokkit import pipeline
from tokkit.errors import FormatError, OptionError
from tokkit.pipeline import decoder_families, memory

IDS = np.random.default_rng(0).integers(0, 300, 40)
SIZES: dict[str, Any] = {
    "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2, "vocab_size": 320,
    "intermediate_size": 64, "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "num_experts": 4,
    "num_experts_per_tok": 2, "moe_intermediate_size": 64, "shared_expert_intermediate_size": 64,
}  # fmt: skip
KEYS: dict[str, Any] = {
    "embedding_length": 32, "attention.head_count": 4, "attention.head_count_kv": 2, "block_count": 2,
    "feed_forward_length": 64, "context_length": 64, "attention.layer_norm_rms_epsilon": 1e-6, "expert_count": 4,
    "expert_used_count": 2, "expert_feed_forward_length": 64, "expert_shared_feed_forward_length": 64,
}  # fmt: skip


def tensors(*, each: bool = False, flat: bool = False) -> dict[str, Stored]:
    """Random weights, those of experts Q8_0: one tensor for `each` expert, or all in one; a gate without rows."""
    rng, made, experts = np.random.default_rng(3), {}, {}
    spec = decoder_families.read({"model_type": "qwen2_moe", **SIZES})
    for ours, shape in spec.config.shapes().items():
        values = rng.normal(0, 0.3, shape).astype(np.float32) + (len(shape) == 1)
        if ".experts." not in ours:
            name = gguf_models.name(ours)
            made[name] = plain(values[0] if flat and name.endswith("ffn_gate_inp_shexp.weight") else values)
            continue
        _, layer, _, j, part, _ = ours.split(".")
        experts.setdefault(f"blk.{layer}.ffn_{part}", {})[j] = random_blocks("Q8_0", (shape[0], shape[1]), rng)
    for name, blocks in experts.items():
        if each:
            made |= {f"{name}.{j}.weight": block for j, block in blocks.items()}
        else:
            made[f"{name}_exps.weight"] = stacked(list(blocks.values()))
    return made


def logits(path: Path, *, precision: str | None = None, **how: bool) -> np.ndarray:
    path.write_bytes(gguf_models.model("qwen2moe", KEYS, tensors(**how)))
    model = pipeline.load(path, precision=precision)
    kinds = {each.kind for name, each in model.decoder.matrices.items() if ".experts." in name}
    assert kinds == {"float32" if precision else "int8-weight-only"}
    return model.logits(IDS)


@pytest.mark.parametrize("how", [{"each": True}, {"flat": True}], ids=("one tensor each", "a gate without rows"))
def test_files_of_other_forms_have_the_same_experts(tmp_path: Path, how: dict[str, bool]) -> None:
    np.testing.assert_array_equal(logits(tmp_path / "a.gguf"), logits(tmp_path / "b.gguf", **how))


def test_blocks_of_experts_are_multiplied_as_they_are(tmp_path: Path) -> None:
    found, expected = logits(tmp_path / "m.gguf"), logits(tmp_path / "m.gguf", precision="fp32")
    assert np.sqrt(np.square(found - expected).mean()) < 0.03 * expected.std()  # rows of x are quantized too


def test_a_feed_forward_length_that_no_layer_has_takes_no_memory(tmp_path: Path) -> None:
    expected = logits(tmp_path / "m.gguf")
    keys = {**KEYS, "feed_forward_length": 1 << 31}
    (tmp_path / "m.gguf").write_bytes(gguf_models.model("qwen2moe", keys, tensors()))
    np.testing.assert_array_equal(pipeline.load(tmp_path / "m.gguf").logits(IDS), expected)


@pytest.mark.parametrize("precision", [None, "int8"])
def test_memory_that_is_short_is_said_before_it_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str | None
) -> None:
    (tmp_path / "m.gguf").write_bytes(gguf_models.model("qwen2moe", KEYS, tensors()))
    monkeypatch.setattr(memory, "available", lambda: 20 << 10)
    with pytest.raises(OptionError, match=r"m\.gguf: the weights need .* of memory .*, but 20.0 KiB are available"):
        pipeline.load(tmp_path / "m.gguf", precision=precision)


@pytest.mark.parametrize("key", ["expert_count", "attention.key_length", "attention.value_length"])
def test_a_size_for_each_layer_is_refused(tmp_path: Path, key: str) -> None:
    (tmp_path / "m.gguf").write_bytes(gguf_models.model("qwen2moe", {**KEYS, key: [8, 8]}, tensors()))
    with pytest.raises(FormatError, match=rf"qwen2moe\.{key}: an integer is needed, not an array"):
        pipeline.load(tmp_path / "m.gguf")
