"""Encoders with other layers than BERT's that learn: states of the encoder that infers, gradients by differences."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

import tokkit.nn as nn
from nn.test_grad_encoder import IDS, LABELS, MASKED, STARTS, TYPES
from tokkit.nn.encoder import TextEncoder
from tokkit.nn.grad import EncoderConfig, HeadConfig, LoraOptions, MaskedLM, SentencePairs, TextClassifier, with_lora
from tokkit.nn.layered_encoder import LayeredEncoder
from tokkit.nn.rope import RopeConfig
from tokkit.nn.text_decoder import TextDecoder

SIZES: dict[str, Any] = {"dim": 16, "n_heads": 4, "n_layers": 3, "hidden_dim": 24, "eps": 1e-5}
ROPE, LOCAL = RopeConfig(head_dim=4, base=100.0), RopeConfig(head_dim=4, base=20.0)
HEAD = HeadConfig(n_labels=3)
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], HeadConfig]] = {
    "ModernBERT": (
        {"pre_norm": True, "activation": "geglu", "rope": ROPE, "bias": False},
        {"windows": (None, 2, None), "local_rope": LOCAL, "norm_bias": False, "first_norm": False},
        HeadConfig(n_labels=3, dense_bias=False, activation="gelu", norm="layer", norm_bias=False, pooling="mean"),
    ),
    "Nomic": (
        {"activation": "swiglu", "rope": RopeConfig(head_dim=4, base=70.0, rotary_dim=2), "bias": False}, {"types": 2},
        HEAD,
    ),
    "GTE": (
        {"activation": "geglu", "rope": dataclasses.replace(ROPE, scaling="yarn", factor=2.0)},
        {"types": 2, "biases": ("attention.q", "attention.k", "attention.v", "attention.o", "feed_forward.down")}, HEAD,
    ),
    "EuroBERT": (
        {"pre_norm": True, "norm": "rms", "activation": "swiglu", "rope": ROPE, "n_kv_heads": 2, "bias": False},
        {"embedding_norm": False}, HeadConfig(n_labels=3, activation="gelu", pooling="mean"),
    ),
    "Gemma": (
        {"pre_norm": True, "norm": "rms", "activation": "geglu_tanh", "rope": ROPE, "n_kv_heads": 1, "scale": 0.7,
         "causal": True, "bias": False},
        {"embedding_norm": False, "embedding_scale": 4.0, "qk_norm": True, "part_norms": True, "windows": (2, 3, None),
         "local_rope": LOCAL},
        HeadConfig(n_labels=3, dense=False, out_bias=False, pooling="last"),
    ),
    "MPNet": (
        {"relative_buckets": 8, "relative_distance": 16}, {"positions": 12, "position_offset": 3, "padding_idx": 2},
        HEAD,
    ),
    "ELECTRA": ({}, {"positions": 9, "types": 2, "embedding_dim": 6}, HEAD),
}  # fmt: skip


def config(name: str) -> EncoderConfig:
    layers, more, _ = CASES[name]
    return EncoderConfig(layers=nn.TransformerConfig(**SIZES, **layers), vocab_size=12, **more)


def moved(model: Any) -> Any:
    """The model, with biases and norms that are not those that it begins with."""
    data = model.parameters.data
    data += np.random.default_rng(5).normal(0, 0.15, data.shape).astype(np.float32)
    return model


def inferring(of: EncoderConfig, weights: dict[str, np.ndarray]) -> Any:
    """The encoder that infers, with these weights."""
    if of.positions:
        return TextEncoder(of.layers, weights, position_offset=of.position_offset, padding_idx=of.padding_idx)
    names = {n: n.replace("embeddings.norm", "embedding_norm").removeprefix("embeddings.") for n in weights}
    return LayeredEncoder(TextDecoder(of.decoder, {names[n]: w for n, w in weights.items()}), max_length=99)


@pytest.mark.parametrize("name", CASES)
def test_states_are_those_of_the_encoder_that_infers(name: str) -> None:
    of = config(name)
    types = TYPES if of.types else None
    for pooling in ("mean", "cls", "last"):
        model = moved(SentencePairs(of, seed=3, pooling=pooling))
        states = inferring(of, dict(model.parameters))(IDS, STARTS, types)
        rows = {"mean": lambda x: x.mean(0), "cls": lambda x: x[0], "last": lambda x: x[-1]}
        wanted = np.stack([rows[pooling](states[a:b]) for a, b in itertools.pairwise(STARTS)])
        np.testing.assert_allclose(model.vectors(IDS, STARTS, types), wanted, atol=2e-5)


@pytest.mark.parametrize("masked", [False, True], ids=["labels", "masked"])
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_finite_differences(name: str, masked: bool) -> None:
    of = config(name)
    types = TYPES if of.types else None
    if masked:
        model = moved(MaskedLM(of, activation="gelu", head_biases=() if name == "ModernBERT" else ("dense",), seed=3))
    else:
        model = moved(TextClassifier(of, head=CASES[name][2], seed=3, padding_id=int(IDS[-1])))

    def learn() -> float:
        return model.forward_backward(*(MASKED if masked else (IDS, STARTS, LABELS, types)))

    learn()
    grads = {weight: grad.copy() for weight, grad in model.parameters.grads.items()}
    rng = np.random.default_rng(2)
    for weight_name, grad in grads.items():
        noise = rng.normal(0, 0.3, grad.shape) / grad.size**0.5
        direction = (grad / max(np.linalg.norm(grad), 1e-9) + noise).astype(np.float32)
        weight = model.parameters[weight_name]
        # Steep gradients change fast: these need smaller steps.
        kept, step, losses = weight.copy(), np.float32(0.02 / max(1.0, float(np.linalg.norm(grad)))), []
        for factor in (1, -1, 2, -2):
            weight[...] = kept + direction * step * np.float32(factor)
            losses.append(learn())
        weight[...] = kept
        slope = (8 * (losses[0] - losses[1]) - (losses[2] - losses[3])) / (12 * float(step))
        assert slope == pytest.approx(float((grad * direction).sum()), rel=2e-2, abs=2e-4), weight_name


@pytest.mark.parametrize("name", CASES)
def test_gradients_have_equal_bits_for_any_number_of_threads_and_drop_out(name: str) -> None:
    of, made, losses = config(name), [], []
    for threads in (1, 3):
        model = SentencePairs(of, seed=1, dropout=0.2, attention_dropout=0.3)
        with nn.threads(threads):
            losses.append([model.forward_backward(IDS, STARTS, seed=seed) for seed in (4, 4, 5)])
        made.append(model.parameters.grad)
    assert losses[0] == losses[1]
    assert losses[0][0] == losses[0][1] != losses[0][2]
    assert np.array_equal(*made)


@pytest.mark.parametrize("name", ["ModernBERT", "MPNet"])
def test_frozen_weights_have_no_gradients_and_adapters_have(name: str) -> None:
    of = config(name)
    whole = moved(SentencePairs(of, seed=3))
    places = {"layers.1.attention.qkv": [f"layers.1.attention.{part}" for part in "qkv"],
              "layers.0.feed_forward.down": ["layers.0.feed_forward.down"]}  # fmt: skip
    parameters = with_lora(of.shapes(), whole.parameters, places, LoraOptions(rank=2), seed=0)
    model = SentencePairs(of, parameters=parameters)
    assert model.forward_backward(IDS, STARTS) == pytest.approx(whole.forward_backward(IDS, STARTS), rel=1e-5)
    assert len(parameters.grads) == 4
    assert all(np.abs(grad).max() > 0 for n, grad in parameters.grads.items() if "lora_B" in n)
