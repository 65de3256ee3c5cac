"""Losses and gradients of trainable models, compared with torch's autograd and transformers' models."""

from __future__ import annotations

import numpy as np
import pytest

from extras import extra
from nn.test_grad import SHAPES, learner, texts
from tokkit.nn.grad import CausalLM
from tokkit.pipeline.decoder_families import GPT2, LLAMA

torch = extra("torch")
transformers = extra("transformers")
pytestmark = pytest.mark.parity


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tied", [True, False])
def test_losses_and_gradients_are_those_of_torch(shape: str, tied: bool) -> None:
    model, ids = learner(shape, tied=tied), texts(3, 11)
    if shape == "llama":
        made = transformers.LlamaConfig(
            hidden_size=16, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2, intermediate_size=24,
            vocab_size=40, max_position_embeddings=32, rms_norm_eps=1e-5, tie_word_embeddings=tied,
        )  # fmt: skip
        other = transformers.LlamaForCausalLM(made)
    else:
        made = transformers.GPT2Config(
            n_embd=16, n_head=4, n_layer=2, vocab_size=40, n_positions=12, tie_word_embeddings=tied, resid_pdrop=0,
            embd_pdrop=0, attn_pdrop=0,
        )  # fmt: skip
        other = transformers.GPT2LMHeadModel(made)
    ours = dict(_pairs(shape, model, other))
    with torch.no_grad():
        for tensor, (weight, _) in ours.items():
            tensor.copy_(torch.from_numpy(np.ascontiguousarray(weight)))
    loss = other(torch.from_numpy(ids), labels=torch.from_numpy(ids)).loss
    loss.backward()
    assert model.forward_backward(ids) == pytest.approx(loss.item(), rel=1e-5)
    ours = dict(_pairs(shape, model, other))  # parts that torch joins are copies
    assert len(ours) == len(list(other.parameters()))
    for tensor, (_, grad) in ours.items():
        wanted = tensor.grad.numpy()
        assert np.abs(grad - wanted).max() <= 1e-4 * np.abs(wanted).max()


def _pairs(shape: str, model: CausalLM, other: object) -> object:
    """Yield each of torch's parameters with our weight and gradient."""
    family, named = (LLAMA if shape == "llama" else GPT2), dict(other.named_parameters())
    arrays, grads = dict(model.parameters), dict(model.parameters.grads)
    for i in range(2 if shape == "gpt2" else 0):
        for kind in ("weight", "bias"):
            names = [f"layers.{i}.attention.{part}.{kind}" for part in "qkv"]
            arrays[f"h.{i}.attn.c_attn.{kind}"] = np.concatenate([arrays.pop(name) for name in names])
            grads[f"h.{i}.attn.c_attn.{kind}"] = np.concatenate([grads[name] for name in names])
    for name, array in arrays.items():
        stem, _, kind = name.rpartition(".")
        layer = stem.split(".")[1] if stem.startswith("layers.") else ""
        full = family.tensors.get(stem.replace(f".{layer}.", ".{i}.") if layer else stem, stem).replace("{i}", layer)
        full = f"lm_head.{kind}" if stem == "head" else f"{family.prefixes[0]}{full}.{kind}"
        turned = shape == "gpt2" and array.ndim == 2 and (layer or stem.startswith("h."))
        yield named[full], (array.T, grads[name].T) if turned else (array, grads[name])
