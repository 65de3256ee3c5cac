"""Trainable encoders: states, losses and gradients, compared with finite differences and the inference encoder."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tokkit.nn as nn
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.decoder_config import DecoderConfig
from tokkit.nn.encoder import TextEncoder
from tokkit.nn.grad import EncoderConfig, MaskedLM, Parameters, SentencePairs, TextClassifier, mask_tokens
from tokkit.nn.masked_head import MaskedHead

IDS = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9])
STARTS = np.array([0, 4, 6, 11, 15])
TYPES = np.array([0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1])
LABELS = [2, 0, 1, 2]
MASKED = np.array([[3, 1, 4, 1], [5, 9, 2, 6]]), np.array([[-100, 7, -100, 2], [-100, -100, 11, -100]])


def config(**more: Any) -> EncoderConfig:
    layers = nn.TransformerConfig(dim=16, n_heads=4, n_layers=2, hidden_dim=24, eps=1e-12)
    return EncoderConfig(**{"layers": layers, "vocab_size": 12, "positions": 9, "types": 2} | more)


def learner(of: Callable[..., Any], **more: Any) -> Any:
    """A model whose biases and norms are not those that it begins with."""
    made = of(config(), seed=3, **more)
    made.parameters.data += np.random.default_rng(5).normal(0, 0.1, made.parameters.data.shape).astype(np.float32)
    return made


LEARNERS: dict[str, tuple[Callable[[], Any], Callable[..., float]]] = {
    "pairs": (lambda: learner(SentencePairs), lambda model, **more: model.forward_backward(IDS, STARTS, TYPES, **more)),
    "pairs by the first token": (
        lambda: learner(SentencePairs, pooling="cls", scale=5.0),
        lambda model, **more: model.forward_backward(IDS, STARTS, columns=4, **more),
    ),
    "masked": (lambda: learner(MaskedLM), lambda model, **more: model.forward_backward(*MASKED, **more)),
    "masked, untied": (
        lambda: learner(MaskedLM, tied=False, activation="silu"),
        lambda model, **more: model.forward_backward(*MASKED, **more),
    ),
    "classifier": (
        lambda: learner(TextClassifier, n_labels=3),
        lambda model, **more: model.forward_backward(IDS, STARTS, LABELS, TYPES, **more),
    ),
    "classifier without a dense layer": (
        lambda: learner(TextClassifier, n_labels=3, dense=False),
        lambda model, **more: model.forward_backward(IDS, STARTS, LABELS, **more),
    ),
}


def test_states_are_those_of_the_encoder_that_infers() -> None:
    for more in ({}, {"types": 0}, {"position_offset": 3, "padding_idx": 2}):
        shape = config(**more)
        model = SentencePairs(shape, seed=3)
        model.parameters.data += np.float32(0.1)
        weights = dict(model.parameters)
        encoder = TextEncoder(
            shape.layers, weights, position_offset=shape.position_offset, padding_idx=shape.padding_idx
        )
        types = TYPES if shape.types else None
        states = encoder(IDS, STARTS, types)
        wanted = np.stack([states[a:b].mean(0) for a, b in itertools.pairwise(STARTS)])
        np.testing.assert_allclose(model.vectors(IDS, STARTS, types), wanted, atol=1e-5)
    masked = learner(MaskedLM)
    encoder = TextEncoder(masked.config.layers, dict(masked.parameters))
    head = {name.removeprefix("head."): w for name, w in masked.parameters.items() if name.startswith("head.")}
    logits = MaskedHead(head, masked.parameters["embeddings.word.weight"])(encoder(MASKED[0].ravel(), [0, 4, 8]))
    np.testing.assert_allclose(masked.logits(MASKED[0]).reshape(8, -1), logits, atol=1e-5)
    wanted = nn.cross_entropy(logits[[1, 3, 6]], [7, 2, 11])
    assert masked.loss(*MASKED) == pytest.approx(wanted, rel=1e-5)
    assert masked.forward_backward(*MASKED) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("name", LEARNERS)
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    """In random directions of each weight: float32 is too coarse for single numbers."""
    make, learn = LEARNERS[name]
    model = make()
    learn(model)
    grads = {name: grad.copy() for name, grad in model.parameters.grads.items()}
    rng = np.random.default_rng(2)
    for weight_name, grad in grads.items():
        noise = rng.normal(0, 0.3, grad.shape) / grad.size**0.5
        direction = (grad / max(np.linalg.norm(grad), 1e-9) + noise).astype(np.float32)
        weight = model.parameters[weight_name]
        kept, step, losses = weight.copy(), np.float32(0.02), []
        for factor in (1, -1, 2, -2):
            weight[...] = kept + direction * step * np.float32(factor)
            losses.append(learn(model))
        weight[...] = kept
        slope = (8 * (losses[0] - losses[1]) - (losses[2] - losses[3])) / (12 * float(step))
        assert slope == pytest.approx(float((grad * direction).sum()), rel=1e-2, abs=1e-4), weight_name


@pytest.mark.parametrize("name", LEARNERS)
def test_shares_and_batches_add_up_and_drop_out_by_the_seed(name: str) -> None:
    make, learn = LEARNERS[name]
    model = make()
    learn(model)
    kept = model.parameters.grad.copy()
    model.parameters.grad[:] = 0
    for seed in (0, 1):
        learn(model, share=0.5, seed=seed)
    np.testing.assert_allclose(model.parameters.grad, kept, atol=1e-6, rtol=1e-5)


def test_gradients_have_equal_bits_for_any_number_of_threads() -> None:
    layers = nn.TransformerConfig(dim=64, n_heads=4, n_layers=1)
    shape = EncoderConfig(layers=layers, vocab_size=300, positions=64)
    ids, starts = np.arange(16 * 40) % 300, np.r_[0, np.cumsum([30, 50] * 8)]
    made, losses = [], []
    for threads in (1, 2, 3):
        model = SentencePairs(shape, dropout=0.1)
        with nn.threads(threads):
            losses.append([model.forward_backward(ids, starts, seed=seed) for seed in (4, 4, 5)])
        made.append(model.parameters.grad)
    assert losses[0] == losses[1] == losses[2]
    assert losses[0][0] == losses[0][1] != losses[0][2]
    assert np.array_equal(made[0], made[1])
    assert np.array_equal(made[0], made[2])


def test_weights_that_are_frozen_have_no_gradients_and_the_others_the_same_ones() -> None:
    whole = learner(TextClassifier, n_labels=3)
    whole.forward_backward(IDS, STARTS, LABELS)
    shapes = {name: w.shape for name, w in whole.parameters.items()}
    frozen = [name for name in shapes if name.startswith(("embeddings.", "layers.0."))]
    parameters = Parameters(shapes, frozen=frozen)
    parameters.load(whole.parameters)
    model = TextClassifier(config(), n_labels=3, parameters=parameters)
    model.forward_backward(IDS, STARTS, LABELS)
    assert set(parameters.grads) == set(shapes) - set(frozen)
    assert len(parameters.data) == sum(grad.size for grad in parameters.grads.values())
    for name, grad in parameters.grads.items():
        np.testing.assert_allclose(grad, whole.parameters.grads[name], atol=1e-6)
    with pytest.raises(ShapeError, match="are not adjacent"):
        parameters.joined("layers.0.attention.q.weight", "layers.1.attention.q.weight")


def test_masks_are_drawn_as_bert_draws_them() -> None:
    ids = np.random.default_rng(0).integers(5, 1000, (100, 100))
    ids[:, 0], ids[:, -1] = 1, 2
    made, targets = mask_tokens(ids, np.random.default_rng(1), mask=3, vocab_size=1000, special=[0, 1, 2, 3])
    chosen = targets >= 0
    assert 0.14 < chosen[:, 1:-1].mean() < 0.16
    assert not chosen[:, [0, -1]].any()
    assert np.array_equal(targets[chosen], ids[chosen])
    assert np.array_equal(made[~chosen], ids[~chosen])
    assert 0.77 < (made[chosen] == 3).mean() < 0.83
    assert 0.08 < (made[chosen] == ids[chosen]).mean() < 0.12
    for seed in range(20):  # even of few tokens, one is to be predicted
        _, few = mask_tokens([[1, 7, 2]], np.random.default_rng(seed), mask=3, vocab_size=9, special=[1, 2], share=0.01)
        assert (few >= 0).sum() == 1


def test_what_is_not_learnt_and_what_does_not_fit_is_said() -> None:
    layers = nn.TransformerConfig(dim=16, n_heads=4, alibi=True)
    with pytest.raises(OptionError, match="the configuration has alibi, which cannot be trained"):
        EncoderConfig(layers=layers, vocab_size=9, positions=5)
    layers = nn.TransformerConfig(dim=16, n_heads=4, pre_norm=True)
    capped = DecoderConfig(layers=layers, vocab_size=9, cap=5.0, parallel=True)
    with pytest.raises(OptionError, match="the configuration has parallel, cap, which cannot be trained"):
        EncoderConfig.of_decoder(capped)
    with pytest.raises(OptionError, match="positions is 3; it must be above position_offset, 3"):
        config(positions=3, position_offset=3)
    with pytest.raises(OptionError, match="give either n_labels or head"):
        TextClassifier(config())
    with pytest.raises(OptionError, match="pooling is 'max'; it must be one of cls, mean, last"):
        learner(SentencePairs, pooling="max")
    model = learner(SentencePairs)
    with pytest.raises(ShapeError, match="a text has 10 tokens; the model takes at most 9"):
        model.vectors(np.zeros(10, dtype=int), [0, 10])
    with pytest.raises(ShapeError, match="each needs a token"):
        model.vectors([1, 2], [0, 0, 2])
    with pytest.raises(ShapeError, match="there are 4 texts; with 3 columns"):
        model.loss(IDS, STARTS, columns=3)
    with pytest.raises(IndexError, match="a row of the table"):
        model.vectors([12], [0, 1])
    with pytest.raises(ShapeError, match="no token has a target"):
        learner(MaskedLM).loss([[1, 2]], [[-100, -100]])
    with pytest.raises(ShapeError, match="there are 4 texts and labels of shape"):
        TextClassifier(config(), n_labels=3).forward_backward(IDS, STARTS, [0, 1])
    with pytest.raises(IndexError, match="vocabulary size, 3"):
        TextClassifier(config(), n_labels=3).forward_backward(IDS, STARTS, [0, 1, 3, 0])
