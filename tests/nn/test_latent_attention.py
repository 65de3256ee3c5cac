"""Latent attention: expanded and absorbed forms equal each other, the naive twin, and transformers' layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from extras import extra
from nn.stacks import draw
from reference.latent_attention import latent_attention
from tokkit import nn
from tokkit.errors import OptionError, ShapeError


def config_of(*, interleaved: bool = True, **options: Any) -> nn.LatentConfig:
    sizes = {"dim": 48, "n_heads": 4, "nope_dim": 16, "v_dim": 12, "kv_rank": 20}
    return nn.LatentConfig(rope=nn.RopeConfig(head_dim=8, interleaved=interleaved), **{**sizes, **options})


def weights_of(config: nn.LatentConfig) -> dict[str, np.ndarray]:
    made, rng = nn.initial(config.shapes(), seed=3, std=0.25), np.random.default_rng(4)
    return {n: w if w.ndim > 1 else w + rng.normal(0, 0.1, w.shape).astype(np.float32) for n, w in made.items()}


CONFIGS = [config_of(), config_of(interleaved=False, q_rank=24, bias=True, scale=0.3), config_of(n_heads=40)]


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("absorbed", [True, False, None])
def test_both_forms_are_the_twins(config: nn.LatentConfig, absorbed: bool | None) -> None:
    weights, x = weights_of(config), draw(2, 9, 48)
    layer = nn.MultiHeadLatentAttention(config, weights)
    for ignored in (None, np.arange(9) >= np.array([[9], [6]])):
        expected = latent_attention(config, weights, x, ignored=ignored)
        made = layer(x, absorbed=absorbed, key_padding_mask=ignored)
        np.testing.assert_allclose(made, expected, atol=2e-6 * np.abs(expected).max())


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("absorbed", [True, False, None])
def test_tokens_fed_in_parts_give_what_the_whole_gives(config: nn.LatentConfig, absorbed: bool | None) -> None:
    x, cache = draw(2, 80, 48), nn.KVCache()
    layer = nn.MultiHeadLatentAttention(config, weights_of(config))
    whole = layer(x)
    for first, last in ((0, 70), (70, 71), (71, 72), (72, 78), (78, 80)):
        out = layer(x[:, first:last], cache=cache, absorbed=absorbed)
        np.testing.assert_allclose(out, whole[:, first:last], atol=1e-5)
    keys, values = cache.append(np.empty((2, 1, 0, 28), np.float32), np.empty((2, 1, 0, 0), np.float32))
    assert (keys.shape, values.size) == ((2, 1, 80, config.kv_rank + 8), 0)


def test_the_form_with_fewer_products_is_taken() -> None:
    layer = nn.MultiHeadLatentAttention(config_of(kv_rank=40), weights_of(config_of(kv_rank=40)))
    assert layer._fewer_absorbed(1, 4096)
    assert not layer._fewer_absorbed(4096, 4096)


def test_what_does_not_fit_is_refused() -> None:
    config = config_of()
    layer = nn.MultiHeadLatentAttention(config, weights_of(config))
    cache = nn.KVCache()
    with pytest.raises(ShapeError, match=r"\(B, T, 48\)"):
        layer(draw(2, 3, 47))
    with pytest.raises(OptionError, match="without window"):
        layer(draw(2, 3, 48), cache=nn.KVCache(window=5))
    with pytest.raises(ShapeError, match="positions"):
        layer(draw(2, 3, 48), cache=cache, positions=[1])
    assert cache.length == 0
    with pytest.raises(ShapeError, match=r"kv_b\.weight"):
        nn.MultiHeadLatentAttention(config, {**weights_of(config), "kv_b.weight": draw(3, 20)})
    with pytest.raises(OptionError, match="head_factors"):
        nn.LatentConfig(
            dim=8, n_heads=2, nope_dim=4, v_dim=4, kv_rank=4, rope=nn.RopeConfig(head_dim=4, head_factors=(1.0, 2.0))
        )


@pytest.mark.parametrize("version", ["v2", "v3"])
@pytest.mark.parametrize("q_rank", [None, 24])
def test_outputs_are_those_of_transformers(version: str, q_rank: int | None) -> None:
    torch, transformers = extra("torch"), extra("transformers")
    v2 = version == "v2"
    module = extra(f"transformers.models.deepseek_{version}.modeling_deepseek_{version}")
    sizes = {"qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 12, "kv_lora_rank": 20, "q_lora_rank": q_rank}
    theirs = getattr(transformers, f"Deepseek{version.upper()}Config")(
        hidden_size=48, num_attention_heads=4, num_key_value_heads=4, attention_bias=True, **sizes,
        **({"head_dim": 8} if v2 else {}),
    )  # fmt: skip
    theirs._attn_implementation = "eager"
    config = config_of(q_rank=q_rank, bias=True)
    weights = weights_of(config)
    attention = getattr(module, f"Deepseek{version.upper()}Attention")(theirs, 0).eval()
    names = {
        "q": "q_proj", "q_a": "q_a_proj", "q_norm": "q_a_layernorm", "q_b": "q_b_proj", "kv_a": "kv_a_proj_with_mqa",
        "kv_norm": "kv_a_layernorm", "kv_b": "kv_b_proj", "o": "o_proj",
    }  # fmt: skip
    state = {f"{names[n.split('.')[0]]}.{n.split('.')[1]}": torch.from_numpy(w) for n, w in weights.items()}
    attention.load_state_dict(state)
    layer = nn.MultiHeadLatentAttention(config, weights)
    rope = getattr(module, f"Deepseek{version.upper()}RotaryEmbedding")(theirs)
    x, cache, ours = draw(2, 12, 48), transformers.DynamicCache(), nn.KVCache()
    for first, last in ((0, 10), (10, 11), (11, 12)):
        part, n = torch.from_numpy(x[:, first:last]), last - first
        mask = torch.full((n, last), -torch.inf).triu(first + 1)[None, None]
        with torch.no_grad():
            turned = rope(part, torch.arange(first, last)[None])
            expected, _ = attention(
                part, position_embeddings=turned, attention_mask=mask, past_key_values=cache
            )  # fmt: skip
        np.testing.assert_allclose(layer(x[:, first:last], cache=ours), expected.numpy(), atol=1e-5)
