"""Trainable decoders: losses and gradients, compared with finite differences and with the inference decoder."""

from __future__ import annotations

import numpy as np
import pytest

import tokkit.nn as nn
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.grad import CausalLM, Parameters

SHAPES = {
    "llama": {"norm": "rms", "activation": "swiglu", "n_kv_heads": 2, "bias": False, "hidden_dim": 24},
    "gpt2": {"norm": "layer", "activation": "gelu_tanh", "bias": True},
}


def config(shape: str, *, tied: bool = True, n_layers: int = 2) -> nn.DecoderConfig:
    rope = nn.RopeConfig(head_dim=4) if shape == "llama" else None
    layers = nn.TransformerConfig(
        dim=16, n_heads=4, n_layers=n_layers, pre_norm=True, causal=True, rope=rope, **SHAPES[shape]
    )
    return nn.DecoderConfig(layers=layers, vocab_size=40, positions=0 if shape == "llama" else 12, tied=tied)


def learner(shape: str, **options: object) -> CausalLM:
    """A model whose biases and norms are not those that it begins with."""
    made = CausalLM(config(shape, **options), seed=3)
    rng = np.random.default_rng(5)
    made.parameters.data += rng.normal(0, 0.1, made.parameters.data.shape).astype(np.float32)
    return made


def texts(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 40, shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tied", [True, False])
def test_logits_are_those_of_the_decoder_that_infers(shape: str, tied: bool) -> None:
    model, ids = learner(shape, tied=tied), texts(2, 9)
    decoder = nn.TextDecoder(model.config, model.parameters)
    for row, logits in zip(ids, model.logits(ids), strict=True):
        wanted = decoder.logits(decoder([row]))
        np.testing.assert_allclose(logits, wanted, atol=2e-5)
    loss = nn.cross_entropy(model.logits(ids)[:, :-1], ids[:, 1:])
    assert model.loss(ids) == pytest.approx(loss, rel=1e-5)
    assert model.forward_backward(ids) == pytest.approx(loss, rel=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_are_those_of_finite_differences(shape: str) -> None:
    """In random directions of each weight: float32 is too coarse for single numbers."""
    model, ids = learner(shape), texts(3, 9)
    model.forward_backward(ids)
    rng = np.random.default_rng(2)
    for name, weight in model.parameters.items():
        grad = model.parameters.grads[name]
        direction = (grad / max(np.linalg.norm(grad), 1e-9) + rng.normal(0, 0.3, grad.shape) / grad.size**0.5).astype(
            "f4"
        )
        kept, step, losses = weight.copy(), np.float32(0.02), []
        for factor in (1, -1, 2, -2):
            weight[...] = kept + direction * step * np.float32(factor)
            losses.append(model.loss(ids))
        weight[...] = kept
        slope = (8 * (losses[0] - losses[1]) - (losses[2] - losses[3])) / (12 * float(step))
        assert slope == pytest.approx(float((grad * direction).sum()), rel=5e-3, abs=2e-5), name


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_have_equal_bits_for_any_number_of_threads_and_batches_add_up(shape: str) -> None:
    layers = nn.TransformerConfig(
        dim=64, n_heads=4, n_layers=1, pre_norm=True, causal=True, **SHAPES[shape] | {"hidden_dim": 200}
    )
    made = []
    for threads in (1, 2, 3):
        model = CausalLM(nn.DecoderConfig(layers=layers, vocab_size=300, positions=64, tied=True), dropout=0.1)
        with nn.threads(threads):
            loss = model.forward_backward(np.arange(16 * 65).reshape(16, 65) % 300, share=0.5, seed=4)
            again = model.forward_backward(np.arange(16 * 65).reshape(16, 65) % 300, share=0.5, seed=4)
        assert loss == again
        made.append(model.parameters.grad)
    assert made[0].any()
    assert np.array_equal(made[0], made[1])
    assert np.array_equal(made[0], made[2])
    model.parameters.grad[:] = 0
    model.forward_backward(np.arange(16 * 65).reshape(16, 65) % 300, seed=4)
    np.testing.assert_allclose(model.parameters.grad, made[0], atol=1e-7, rtol=1e-5)
    assert model.forward_backward(np.arange(16 * 65).reshape(16, 65) % 300, seed=5) != loss  # other numbers drop out


def test_ignored_targets_have_neither_loss_nor_gradient() -> None:
    model, ids, targets = learner("llama"), texts(2, 6), texts(2, 6) * 0 - 100
    targets[0, 2] = 7
    loss = model.forward_backward(ids, targets)
    assert loss == pytest.approx(nn.cross_entropy(model.logits(ids)[0, 2:3], [7]), rel=1e-5)
    kept = model.parameters.grad.copy()
    model.parameters.grad[:] = 0
    ids[1], ids[0, 3:] = 0, 1  # which the one prediction does not see
    model.forward_backward(ids, targets)
    np.testing.assert_allclose(model.parameters.grad, kept, atol=1e-6)


def test_what_is_not_learnt_and_what_does_not_fit_is_said() -> None:
    layers = config("llama").layers
    with pytest.raises(OptionError, match="qk_norm, which training does not support"):
        CausalLM(nn.DecoderConfig(layers=layers, vocab_size=9, qk_norm=True))
    model = learner("gpt2")
    with pytest.raises(ShapeError, match="14 tokens; the model has 12 positions"):
        model.forward_backward(texts(1, 14))
    with pytest.raises(ShapeError, match="no token has a target"):
        model.loss(texts(2, 1))
    with pytest.raises(IndexError, match="must be from 0 to 39"):
        model.loss([[3, 40, 1]])
    with pytest.raises(ShapeError, match="are not adjacent"):
        Parameters({"a": (2, 2), "b": (2, 2), "c": (2, 2)}).joined("a", "c")


@pytest.mark.parametrize("shape", SHAPES)
def test_bf16_learns_what_float32_does_up_to_its_digits(shape: str) -> None:
    ids, made = texts(3, 9), {}
    for precision in ("fp32", "bf16"):
        for threads in (1, 3):
            model = CausalLM(config(shape), learner(shape).parameters, precision=precision)
            with nn.threads(threads):
                losses = [model.forward_backward(ids), model.loss(ids)]
            made[precision, threads] = losses, model.parameters.grad
    exact, rounded = made["fp32", 1], made["bf16", 1]
    np.testing.assert_array_equal(rounded[1], made["bf16", 3][1])
    assert rounded[0] == pytest.approx(exact[0], rel=2e-3)
    assert 1e-4 < np.linalg.norm(rounded[1] - exact[1]) / np.linalg.norm(exact[1]) < 2e-2
    with pytest.raises(OptionError, match="precision is 'fp16'; it must be one of fp32, bf16"):
        CausalLM(config(shape), precision="fp16")
