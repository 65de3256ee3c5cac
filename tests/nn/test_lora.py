"""LoRA adapters: gradients by finite differences, no effect before training, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nn.test_grad import SHAPES, learner, texts
from nn.test_grad_encoder import IDS, LABELS, MASKED, STARTS, config
from nn.test_grad_encoder import learner as encoder_learner
from tokkit.errors import OptionError
from tokkit.nn.grad import CausalLM, LoraOptions, MaskedLM, SentencePairs, TextClassifier, with_lora
from tokkit.nn.grad.layers import joined_name

QKV = [f"layers.0.attention.{part}" for part in "qkv"]


ENCODERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "encoder": (SentencePairs, {}), "masked": (MaskedLM, {}), "classifier": (TextClassifier, {"n_labels": 3}),
}  # fmt: skip
TRAINED = {"classifier": ("dense.weight", "dense.bias", "out.weight", "out.bias")}
"""Weights that learn beside adapters."""


def adapted(kind: str, places: dict[str, list[str]], rank: int = 2) -> tuple[Any, Any]:
    """A model, and the same with adapters that change it."""
    of, more = ENCODERS.get(kind, (None, {}))
    whole = learner(kind) if of is None else encoder_learner(of, **more)
    shapes = {name: weight.shape for name, weight in whole.parameters.items()}
    options = LoraOptions(rank=rank, alpha=3.0)
    parameters = with_lora(shapes, whole.parameters, places, options, seed=1, trained=TRAINED.get(kind, ()))
    if of is not None:
        return whole, of(config(), parameters=parameters, **more)
    return whole, CausalLM(whole.config, parameters=parameters)


def learn(model: Any, kind: str) -> float:
    inputs: dict[str, tuple[Any, ...]] = {
        "encoder": (IDS, STARTS), "masked": MASKED, "classifier": (IDS, STARTS, LABELS)
    }  # fmt: skip
    return model.forward_backward(*inputs.get(kind, (texts(3, 9),)))


PLACES = {
    "llama": {name: [name] for name in ("layers.0.attention.q", "layers.1.attention.v", "layers.1.feed_forward.up",
                                        "layers.0.feed_forward.gate", "layers.0.feed_forward.down")},
    "gpt2": {joined_name(QKV): QKV, "layers.1.attention.o": ["layers.1.attention.o"]},
    "encoder": {name: [name] for name in ("layers.0.attention.k", "layers.1.attention.o", "layers.0.feed_forward.up")},
}  # fmt: skip
PLACES["masked"] = PLACES["classifier"] = PLACES["encoder"]


@pytest.mark.parametrize("kind", [*SHAPES, *ENCODERS])
def test_adapters_begin_as_nothing_and_learn_by_gradients_of_finite_differences(kind: str) -> None:
    whole, model = adapted(kind, PLACES[kind])
    p = model.parameters
    assert set(p.grads) == {f"{name}.lora_{part}.weight" for name in PLACES[kind] for part in "AB"} | {
        *TRAINED.get(kind, ())
    }
    assert learn(model, kind) == learn(whole, kind)
    p.grad[:] = 0
    p.data[:] = np.random.default_rng(0).normal(0, 0.3, p.data.shape)
    learn(model, kind)
    rng = np.random.default_rng(2)
    for name, grad in {name: grad.copy() for name, grad in p.grads.items()}.items():
        noise = rng.normal(0, 0.3, grad.shape) / grad.size**0.5
        direction = (grad / max(np.linalg.norm(grad), 1e-9) + noise).astype(np.float32)
        kept, step, losses = p[name].copy(), np.float32(0.02), []
        for factor in (1, -1, 2, -2):
            p[name][...] = kept + direction * step * np.float32(factor)
            losses.append(learn(model, kind))
        p[name][...] = kept
        slope = (8 * (losses[0] - losses[1]) - (losses[2] - losses[3])) / (12 * float(step))
        assert slope == pytest.approx(float((grad * direction).sum()), rel=1e-2, abs=1e-4), name


def test_an_adapter_is_a_change_of_its_matrices() -> None:
    whole, model = adapted("llama", PLACES["llama"])
    p = model.parameters
    p.data[:] = np.random.default_rng(0).normal(0, 0.3, p.data.shape)
    for name in PLACES["llama"]:
        weight = whole.parameters[f"{name}.weight"]
        weight += 1.5 * p[f"{name}.lora_B.weight"] @ p[f"{name}.lora_A.weight"]
    ids = texts(2, 9)
    np.testing.assert_allclose(model.logits(ids), whole.logits(ids), atol=2e-5)


def test_what_cannot_be_adapted_is_said() -> None:
    with pytest.raises(OptionError, match=r"targets are \('x',\); they must be some of q, k, v"):
        LoraOptions(targets=("x",))
    with pytest.raises(OptionError, match="rank is 0"):
        LoraOptions(rank=0)
