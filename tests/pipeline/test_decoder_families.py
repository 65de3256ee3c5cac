"""Every family of decoders, compared with transformers: logits with and without a cache, and generated ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from extras import extra
from tokkit.errors import FormatError
from tokkit.files.sharded import read_model
from tokkit.nn.text_decoder import TextDecoder
from tokkit.pipeline import decoder_families
from tokkit.pipeline.decoder_weights import DecoderWeights

pytestmark = pytest.mark.parity
torch = extra("torch")
transformers = extra("transformers")

COMMON = {"vocab_size": 97, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SIZES = {**COMMON, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64,
         "max_position_embeddings": 64}  # fmt: skip
GROUPED = {**SIZES, "num_key_value_heads": 2}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16, "rope_theta": 500000.0}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 10000.0}
LONG = {"rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 32,
        "short_factor": [1.0, 1.1, 1.3, 2.0], "long_factor": [1.0, 2.0, 4.0, 8.0]}  # fmt: skip
EXPERTS = {"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 24}
HALF_TURNED = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("gpt2", {**COMMON, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64}),
    "gpt2 untied": ("gpt2", {**COMMON, "n_embd": 48, "n_layer": 2, "n_head": 3, "n_positions": 64, "n_inner": 80,
                             "activation_function": "relu", "tie_word_embeddings": False}),
    "gpt_neox": ("gpt_neox", SIZES),
    "gpt_neox in turn": ("gpt_neox", {**SIZES, "use_parallel_residual": False, "attention_bias": False,
                                      "rope_parameters": HALF_TURNED}),
    "llama": ("llama", GROUPED),
    "llama 3": ("llama", {**GROUPED, "head_dim": 16, "attention_bias": True, "mlp_bias": True,
                          "tie_word_embeddings": True, "rope_parameters": LLAMA3}),
    "llama yarn": ("llama", {**GROUPED, "rope_parameters": YARN}),
    "llama linear": ("llama", {**GROUPED, "rope_parameters": {"rope_type": "linear", "factor": 4.0,
                                                              "rope_theta": 10000.0}}),
    "mistral": ("mistral", {**GROUPED, "sliding_window": 5}),
    "mistral without a window": ("mistral", {**GROUPED, "sliding_window": None, "head_dim": 8}),
    "qwen2": ("qwen2", GROUPED),
    "qwen2 with windows": ("qwen2", {**GROUPED, "use_sliding_window": True, "sliding_window": 6,
                                     "max_window_layers": 1}),
    "qwen2 with windows by type": ("qwen2", {
        **GROUPED, "use_sliding_window": True, "sliding_window": 6,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}),
    "qwen3 with windows": ("qwen3", {**GROUPED, "head_dim": 8, "use_sliding_window": True, "sliding_window": 5,
                                     "max_window_layers": 2}),
    "mixtral": ("mixtral", {**GROUPED, "num_local_experts": 4}),
    "mixtral with windows": ("mixtral", {**GROUPED, "num_local_experts": 5, "num_experts_per_tok": 3, "head_dim": 16,
                                         "sliding_window": 5, "tie_word_embeddings": True}),
    "qwen2_moe": ("qwen2_moe", {**GROUPED, **EXPERTS, "shared_expert_intermediate_size": 40}),
    "qwen2_moe with dense layers": ("qwen2_moe", {**GROUPED, **EXPERTS, "shared_expert_intermediate_size": 80,
        "norm_topk_prob": True, "decoder_sparse_step": 2, "use_sliding_window": True, "sliding_window": 6}),
    "qwen3_moe": ("qwen3_moe", {**GROUPED, **EXPERTS, "head_dim": 16}),
    "qwen3_moe with dense layers": ("qwen3_moe", {**GROUPED, **EXPERTS, "head_dim": 8, "norm_topk_prob": True,
        "mlp_only_layers": [1], "attention_bias": True, "use_sliding_window": True, "sliding_window": 5}),
    "gemma2": ("gemma2", {**GROUPED, "head_dim": 16, "sliding_window": 6, "query_pre_attn_scalar": 20,
                          "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}),
    "gemma2 without caps": ("gemma2", {**GROUPED, "head_dim": 8, "attn_logit_softcapping": None, "layer_types": [
        "full_attention", "sliding_attention", "sliding_attention"], "sliding_window": 4, "attention_bias": True,
        "final_logit_softcapping": None}),
    "qwen3": ("qwen3", {**GROUPED, "head_dim": 16}),
    "qwen3 tied": ("qwen3", {**GROUPED, "head_dim": 8, "attention_bias": True, "tie_word_embeddings": True}),
    "gemma": ("gemma", {**GROUPED, "head_dim": 16}),
    "gemma with one key head": ("gemma", {**GROUPED, "head_dim": 8, "num_key_value_heads": 1}),
    "gemma3": ("gemma3_text", {**GROUPED, "head_dim": 16, "sliding_window": 4, "layer_types": [
        "sliding_attention", "full_attention", "sliding_attention"]}),
    "gemma3 scaled": ("gemma3_text", {**GROUPED, "head_dim": 8, "query_pre_attn_scalar": 10}),
    "gemma3 with pictures": ("gemma3", {
        "text_config": {**GROUPED, "head_dim": 8, "sliding_window": 5,
                        "rope_scaling": {"rope_type": "linear", "factor": 8.0}},
        "vision_config": {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16,
                          "image_size": 28, "patch_size": 14}, "mm_tokens_per_image": 4}),
    "phi3": ("phi3", GROUPED),
    "phi3 for long texts": ("phi3", {**GROUPED, "rope_parameters": LONG, "original_max_position_embeddings": 32}),
    "phi3 half turned for long texts": ("phi3", {**GROUPED, "rope_parameters": {
        **LONG, "short_factor": [1.0, 1.5], "long_factor": [1.0, 5.0], "partial_rotary_factor": 0.5},
        "original_max_position_embeddings": 32}),
    "phi3 half turned": ("phi3", {**GROUPED, "sliding_window": 7, "rope_parameters": HALF_TURNED}),
    "bloom": ("bloom", {**COMMON, "hidden_size": 32, "n_layer": 3, "n_head": 4}),
    "bloom of six heads": ("bloom", {**COMMON, "hidden_size": 48, "n_layer": 2, "n_head": 6}),
}  # fmt: skip


def random_model(name: str, folder: Path, **more: Any) -> Any:
    """Save a random model of transformers, and return it."""
    kind, options = CASES[name]
    options = {**options, **more}
    config = transformers.AutoConfig.for_model(kind, **options)
    config._attn_implementation = "eager"
    torch.manual_seed(len(name))
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn_like(weight) * 0.3 if weight.ndim > 1 else weight + torch.randn_like(weight) * 0.2)
    model.save_pretrained(folder)
    return model


def ours(folder: Path) -> TextDecoder:
    spec = decoder_families.read(json.loads((folder / "config.json").read_text()))
    return TextDecoder(spec.config, DecoderWeights(read_model(folder), spec, folder.name))


@pytest.mark.parametrize("name", CASES)
def test_logits_and_greedy_ids_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    model, decoder = random_model(name, tmp_path), ours(tmp_path)
    ids = np.random.default_rng(0).integers(3, 97, 64)  # as many as the models have positions
    with torch.no_grad():
        expected = model(torch.tensor(ids)[None]).logits[0].numpy()
    tolerance = 1e-4 * max(1.0, float(np.abs(expected).max()) / 5)
    for caches in ([decoder.cache()], None):
        np.testing.assert_allclose(decoder.logits(decoder([ids], caches)), expected, atol=tolerance)
    if "for long texts" in name:  # below 32 tokens logits are those of a short text
        with torch.no_grad():
            expected[:32] = model(torch.tensor(ids[:32])[None]).logits[0].numpy()
    one, other = decoder.cache(), decoder.cache()
    made = [decoder.logits(decoder([ids[:9], ids[:4]], [one, other]))[:9]]
    for i in range(9, len(ids)):  # another sequence goes beside it
        made.append(decoder.logits(decoder([ids[i : i + 1], ids[i - 5 : i - 4]], [one, other]))[:1])
    np.testing.assert_allclose(np.concatenate(made), expected, atol=tolerance)
    n = 40 if "for long texts" in name else 20  # so that they become long
    with torch.no_grad():
        generated = model.generate(
            torch.tensor(ids[:5])[None], max_new_tokens=n, do_sample=False, eos_token_id=None, pad_token_id=0
        )[0, 5:].tolist()
    cache = decoder.cache()
    new, last = [], ids[:5]
    for _ in range(n):
        last = decoder.logits(decoder([last], [cache])[-1:]).argmax(-1)
        new.append(int(last[0]))
    assert new == generated


@pytest.mark.parametrize("factor", [2.0, 4.0])
def test_a_base_that_grows_with_the_text_reaches_beyond_the_positions_stated(factor: float, tmp_path: Path) -> None:
    rope = {"rope_type": "dynamic", "factor": factor, "rope_theta": 10000.0, "original_max_position_embeddings": 8}
    model = random_model("llama", tmp_path, max_position_embeddings=16, rope_parameters=rope)
    spec = decoder_families.read(json.loads((tmp_path / "config.json").read_text()))
    assert spec.max_length == 16 * factor
    decoder, ids = ours(tmp_path), np.random.default_rng(0).integers(3, 97, int(16 * factor))
    for n in (12, 16, 17, len(ids)):
        with torch.no_grad():
            expected = model(torch.tensor(ids[:n])[None]).logits[0].numpy()
        made = decoder.logits(decoder([ids[:n]], [decoder.cache()]))
        np.testing.assert_allclose(made, expected, atol=1e-4 * max(1.0, float(np.abs(expected).max()) / 5))
    with torch.no_grad():  # keys that a cache holds keep the angles of their time
        generated = model.generate(
            torch.tensor(ids[:5])[None], max_new_tokens=len(ids) - 5, do_sample=False, eos_token_id=None, pad_token_id=0
        )[0, 5:].tolist()
    cache, new, last = decoder.cache(), [], ids[:5]
    for _ in range(len(ids) - 5):
        last = decoder.logits(decoder([last], [cache])[-1:]).argmax(-1)
        new.append(int(last[0]))
    assert new == generated


def test_the_older_form_of_a_configuration_is_read_too(tmp_path: Path) -> None:
    random_model("llama 3", tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    ropes = config.pop("rope_parameters")
    older = {**config, "rope_theta": ropes.pop("rope_theta"), "rope_scaling": ropes}
    newer = json.loads((tmp_path / "config.json").read_text())
    assert decoder_families.read(older).config == decoder_families.read(newer).config


def test_a_soft_cap_of_scores_is_refused() -> None:
    config = {**transformers.AutoConfig.for_model("gemma3_text", **GROUPED).to_dict(), "attn_logit_softcapping": 50.0}
    with pytest.raises(FormatError, match=r"attn_logit_softcapping: 50\.0 is not supported"):
        decoder_families.read(config)
