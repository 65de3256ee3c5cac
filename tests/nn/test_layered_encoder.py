"""Encoders over the layers of a decoder, compared with a float64 twin on every instruction set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from forced_isa import Forced
from reference.decoder import hidden
from reference.decoder_attention import attend, norm
from tokkit import nn
from tokkit._core.text import isas
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.decoder_config import DecoderConfig
from tokkit.nn.layered_encoder import LayeredEncoder
from tokkit.nn.rope import RopeConfig
from tokkit.nn.text_decoder import TextDecoder

ROPE = RopeConfig(head_dim=8, base=1e3)
FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ModernBERT": ({"pre_norm": True, "activation": "geglu", "rope": RopeConfig(head_dim=8, base=1e5)},
                   {"windows": (None, 4, 1), "local_rope": ROPE, "embedding_norm": True, "norm_bias": False,
                    "first_norm": False}),
    "Nomic": ({"activation": "swiglu", "rope": ROPE}, {"types": 2, "embedding_norm": True}),
    "an embedding Qwen": ({"norm": "rms", "pre_norm": True, "causal": True, "activation": "swiglu", "rope": ROPE,
                           "n_kv_heads": 2}, {"windows": (3, None, 3), "qk_norm": True}),
}  # fmt: skip
LENGTHS = (40, 1, 0, 17)


def encoder_of(form: str, max_length: int = 40, **more: Any) -> tuple[LayeredEncoder, dict[str, Any]]:
    layers, options = FORMS[form]
    c = nn.TransformerConfig(dim=32, n_heads=4, n_layers=3, hidden_dim=50, **{**layers, **more})
    config = DecoderConfig(layers=c, vocab_size=50, head=False, **options)
    rng = np.random.default_rng(5)
    weights = {n: w + rng.normal(0, 0.1, w.shape).astype(np.float32) if w.ndim == 1 else w
               for n, w in nn.initial(config.shapes(), seed=3, std=0.3).items()}  # fmt: skip
    return LayeredEncoder(TextDecoder(config, weights), max_length=max_length), weights


def drawn() -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    texts = [rng.integers(0, 50, n) for n in LENGTHS]
    return texts, np.concatenate(texts), np.concatenate([[0], np.cumsum(LENGTHS)])


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("form", FORMS)
def test_packed_texts_give_what_their_formulas_say(form: str, isa: str) -> None:
    encoder, weights = encoder_of(form)
    config = encoder.decoder.config
    encoder.decoder._decoder = Forced(encoder.decoder._decoder, isa)  # type: ignore[assignment]
    texts, ids, starts = drawn()
    types = (np.arange(len(ids)) % 3 == 1).astype(np.int64) if config.types else np.zeros(len(ids), np.int64)
    expected = [
        hidden(config, weights, part, types=types[a:b])
        for part, a, b in zip(texts, starts[:-1], starts[1:], strict=True) if len(part)
    ]  # fmt: skip
    states = np.empty((3, len(ids), 32), dtype=np.float32)
    made = encoder(ids, starts, types if config.types else None, states=states)
    np.testing.assert_allclose(made, np.concatenate(expected), atol=2e-4)
    np.testing.assert_array_equal(states[-1], made)


@pytest.mark.parametrize("form", FORMS)
def test_attention_weights_are_those_that_the_layers_use(form: str) -> None:
    encoder, weights = encoder_of(form)
    texts, config = drawn()[0], encoder.decoder.config
    ids, n = texts[-1], len(texts[-1])
    x = encoder.embeddings(ids, np.array([0, n]))
    states = np.empty((3, n, 32), dtype=np.float32)
    encoder(ids, [0, n], states=states)
    for layer, read in enumerate((x, states[0], states[1])):
        made = encoder.attention_weights(layer, read)
        assert np.abs(made.sum(-1) - 1).max() < 1e-5
        window = config.window(layer) or n
        after = 0 if config.layers.causal else window - 1
        far = np.subtract.outer(np.arange(n), np.arange(n))
        np.testing.assert_array_equal(made[0] > 0, (far < window) & (-far <= after))
        name = f"layers.{layer}.attention"
        normed = read
        if config.layers.pre_norm and f"{name}_norm.weight" in weights:
            normed = norm(config, read, weights, f"{name}_norm")
        values = (normed @ weights[f"{name}.v.weight"].T).reshape(n, -1, 8)
        mixed = np.einsum("hts,shd->thd", made, values.repeat(4 // values.shape[1], axis=1)).reshape(n, 32)
        expected = attend(config, normed, weights, f"layers.{layer}.", layer)
        np.testing.assert_allclose(mixed @ weights[f"{name}.o.weight"].T, expected, atol=2e-4)


def test_ropes_that_grow_with_the_text_turn_each_text_by_its_own_length() -> None:
    rope = RopeConfig(head_dim=8, scaling="dynamic", factor=2.0, original_length=20)
    encoder, _ = encoder_of("Nomic", rope=rope)
    texts, ids, starts = drawn()
    packed = encoder(ids, starts)
    for text, a, b in zip(texts, starts[:-1], starts[1:], strict=True):
        np.testing.assert_allclose(packed[a:b], encoder(text, [0, len(text)]), atol=1e-5)


def test_what_does_not_fit_is_refused() -> None:
    encoder, _ = encoder_of("ModernBERT", max_length=5)
    with pytest.raises(ShapeError, match="a sequence has 6 tokens; it must have at most 5"):
        encoder(range(6), [0, 6])
    with pytest.raises(OptionError, match="no token types"):
        encoder([1], [0, 1], [0])
    with pytest.raises(ShapeError, match="they must ascend from 0"):
        encoder([1], [0, 2])
    with pytest.raises(IndexError, match="token types run from 0 to 2"):
        encoder_of("Nomic")[0]([1, 1], [0, 2], [2, 0])
    with pytest.raises(OptionError, match="first_norm is False"):
        DecoderConfig(layers=nn.TransformerConfig(dim=8, n_heads=2), vocab_size=9, first_norm=False)
