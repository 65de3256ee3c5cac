"""Dropout of attention weights in training equals a twin with whole masks, for any ISA and number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tokkit.nn as nn
from nn.test_grad import learner as decoder
from nn.test_grad import texts
from nn.test_grad_encoder import IDS, MASKED, STARTS, TYPES, learner
from reference import attention_dropout as naive
from tokkit._core.grad import attention_back as core
from tokkit._core.text import isas
from tokkit.errors import OptionError
from tokkit.nn.grad import CausalLM, MaskedLM, SentencePairs

SEED = 2**40 + 7


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


@pytest.mark.threads
@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("n", "heads", "kv_heads", "d"), [(1, 2, 2, 8), (67, 4, 2, 12), (40, 3, 3, 32)])
def test_attention_and_its_gradients_are_those_of_the_same_mask(
    isa: str, causal: bool, n: int, heads: int, kv_heads: int, d: int
) -> None:
    batch, p, first = 2, 0.3, 5
    rows, dout = draw(batch * n, (heads + 2 * kv_heads) * d), draw(batch * n, heads * d)
    ends = heads * d, (heads + kv_heads) * d
    parts = rows[:, : ends[0]], rows[:, ends[0] : ends[1]], rows[:, ends[1] :]
    q, k, v = (part.reshape(batch, n, -1, d).astype(np.float64) for part in parts)
    options: dict[str, Any] = {"scale": d**-0.5, "causal": causal}
    mask = naive.left(p, SEED, batch, heads, n, first)
    out, lse = np.empty_like(dout), np.empty((batch, heads, n), dtype=np.float32)
    made = []
    for threads in (1, 2, 3):
        more: dict[str, Any] = {"dropout": p, "seed": SEED, "first_sequence": first, "isa": isa, "threads": threads}
        core.grad_attention(*parts, out, lse, **options, **more)
        d_rows = np.empty_like(rows)
        d_parts = d_rows[:, : ends[0]], d_rows[:, ends[0] : ends[1]], d_rows[:, ends[1] :]
        core.attention_back(*parts, out, lse, dout, *d_parts, **options, **more)
        made.append((out.copy(), lse.copy(), d_rows))
    for other in made[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(made[0], other, strict=True))
    np.testing.assert_allclose(out, naive.attention(q, k, v, mask, **options).reshape(out.shape), atol=1e-5)
    wanted = naive.attention_back(q, k, v, mask, dout.reshape(batch, n, heads, d), **options)
    for part, right in zip(d_parts, wanted, strict=True):
        np.testing.assert_allclose(part, right.reshape(part.shape), atol=3e-5)


def test_masks_have_their_share_and_do_not_repeat() -> None:
    kept = naive.left(0.25, SEED, 3, 2, 48) > 0
    assert abs(kept.mean() - 0.75) < 0.02
    for axis in range(4):
        assert abs(kept.mean(tuple(i for i in range(4) if i != axis)) - 0.75).max() < 0.12
    rows = kept.reshape(-1, 48)
    assert len(np.unique(rows, axis=0)) == len(rows)
    # Two rows agree as often as chance has it: in 0.75² + 0.25² of the places.
    agree = [(rows[i] == rows[j]).mean() for i, j in ((0, 1), (0, 48), (48, 96), (0, 144), (7, 200))]
    assert abs(np.mean(agree) - 0.625) < 0.12
    assert (naive.left(0.25, SEED + 1, 3, 2, 48) > 0)[kept].mean() < 0.8


MODELS: dict[str, tuple[Callable[[float], Any], Callable[..., float]]] = {
    "gpt2": (
        lambda p: CausalLM(decoder("gpt2").config, dict(decoder("gpt2").parameters), attention_dropout=p),
        lambda model, **more: model.forward_backward(texts(3, 11), **more),
    ),
    "llama": (
        lambda p: CausalLM(decoder("llama").config, dict(decoder("llama").parameters), attention_dropout=p),
        lambda model, **more: model.forward_backward(texts(3, 11), **more),
    ),
    "masked": (
        lambda p: learner(MaskedLM, attention_dropout=p),
        lambda model, **more: model.forward_backward(*MASKED, **more),
    ),
    "pairs": (
        lambda p: learner(SentencePairs, attention_dropout=p),
        lambda model, **more: model.forward_backward(IDS, STARTS, TYPES, **more),
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_gradients_of_models_are_those_of_finite_differences_of_the_same_masks(name: str) -> None:
    made, run = MODELS[name]
    model = made(0.4)
    loss = run(model, seed=3)
    data, grad = model.parameters.data, model.parameters.grad.copy()
    direction = np.random.default_rng(0).standard_normal(len(data)).astype(np.float32)
    direction *= np.abs(grad) > 0
    kept, step = data.copy(), np.float32(2e-3)
    losses = []
    for sign in (1, -1):
        data[:] = kept + sign * step * direction
        losses.append(run(model, seed=3))
    data[:] = kept
    assert (losses[0] - losses[1]) / (2 * step) == pytest.approx(float(grad @ direction), rel=2e-2)
    model.parameters.grad[:] = 0
    for threads in (1, 2, 3):
        with nn.threads(threads):
            model.parameters.grad[:] = 0
            assert run(model, seed=3) == loss
            np.testing.assert_array_equal(model.parameters.grad, grad)
    assert run(model, seed=4) != loss
    with pytest.raises(OptionError, match=r"attention_dropout is 1.0; it must be below 1"):
        made(1.0)


def test_nothing_drops_out_where_nothing_is_learnt() -> None:
    plain, dropped = (MODELS["pairs"][0](p) for p in (0.0, 0.4))
    np.testing.assert_array_equal(plain.vectors(IDS, STARTS, TYPES), dropped.vectors(IDS, STARTS, TYPES))
    assert plain.loss(IDS, STARTS, TYPES) == dropped.loss(IDS, STARTS, TYPES)
