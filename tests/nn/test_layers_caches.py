"""Calls that fail, and caches that are reused, lose and mix no tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nn.stacks import draw
from tokkit import nn
from tokkit.errors import OptionError, ShapeError


def config_of(**options: Any) -> nn.TransformerConfig:
    return nn.TransformerConfig(**{"dim": 32, "n_heads": 4, "n_layers": 2, "causal": True, **options})


def weights_of(config: nn.TransformerConfig) -> dict[str, np.ndarray]:
    return nn.initial(config.shapes(), seed=7, std=0.2)


@pytest.mark.parametrize("kept", [{}, {"capacity": 90}, {"window": 5}], ids=str)
def test_a_call_that_fails_leaves_the_caches_as_they_were(kept: dict[str, int]) -> None:
    config = config_of(cross=True, window=kept.get("window"))
    stack, x, memory = nn.Decoder(config, weights_of(config)), draw(2, 90, 32), draw(2, 4, 32)
    whole = stack(x, memory)
    caches = stack.caches(**kept)
    bad: list[dict[str, Any]] = [
        {"mask": np.ones((3, 3), bool)},
        {"key_padding_mask": np.zeros((2, 1), bool)},
        {"memory_padding_mask": np.zeros((2, 5), bool)},
        {"bias": np.zeros(3)},
    ]
    parts = []
    # From 60 tokens to 90 the memory of a cache that grows is made anew within a call that fails.
    for a, b in ((0, 7), (7, 60), (60, 90)):
        for options in bad:
            for _ in range(2):
                with pytest.raises((ShapeError, OptionError)):
                    stack(x[:, a:b], memory, caches=caches, **options)
            with pytest.raises((ShapeError, OptionError)):
                stack.layers[1](x[:, a:b], memory, cache=caches[1], **options)
        with pytest.raises(ShapeError, match="key_padding_mask"):
            stack.layers[0].attention(x[:, a:b], cache=caches[0], key_padding_mask=np.zeros((2, 1), bool))
        assert [cache.length for cache in caches] == [a, a]
        parts.append(stack(x[:, a:b], memory, caches=caches))
    np.testing.assert_allclose(np.concatenate(parts, axis=1), whole, atol=2e-5)


def test_a_call_that_is_broken_off_in_a_later_layer_is_undone_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    stack, x = nn.Encoder(config_of(), weights_of(config_of())), draw(2, 9, 32)

    def broken_off(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    caches = stack.caches()
    first = stack(x[:, :4], caches=caches)
    with monkeypatch.context() as patch:
        patch.setattr(stack.layers[1], "feed_forward", broken_off)
        with pytest.raises(KeyboardInterrupt):
            stack(x[:, 4:], caches=caches)
    assert [cache.length for cache in caches] == [4, 4]
    rest = stack(x[:, 4:], caches=caches)
    np.testing.assert_allclose(np.concatenate([first, rest], axis=1), stack(x), atol=2e-5)


def test_a_cache_that_does_not_fit_is_left_as_it_was() -> None:
    cache = nn.KVCache(window=3)
    cache.append(draw(1, 2, 8, 4), draw(1, 2, 8, 4))
    assert (cache.length, cache.first) == (8, 0)
    with pytest.raises(ShapeError, match=r"values have shape \(1, 2, 1, 5\); those in the cache have \(1, 2, 8, 4\)"):
        cache.append(draw(1, 2, 1, 4), draw(1, 2, 1, 5))
    assert (cache.length, cache.first) == (8, 0)


def test_a_cache_takes_what_is_an_array_and_what_becomes_one() -> None:
    k, v = draw(1, 2, 3, 4), draw(1, 2, 3, 5)
    kept = nn.KVCache().append(k.tolist(), v.astype(np.float64))
    assert np.array_equal(kept[0], k)
    assert np.array_equal(kept[1], v)
    with pytest.raises(TypeError, match="keys is an array of int64"):
        nn.KVCache().append(np.ones((1, 2, 3, 4), np.int64), v)


@pytest.mark.parametrize("kept", [{}, {"capacity": 40}, {"window": 6}], ids=str)
def test_a_cache_that_was_cleared_takes_another_batch(kept: dict[str, int]) -> None:
    config = config_of(window=kept.get("window"))
    stack = nn.Encoder(config, weights_of(config))
    caches = stack.caches(**kept)
    for batch in (2, 3, 3, 1):
        x = draw(batch, 12, 32)
        parts = [stack(x[:, :8], caches=caches), stack(x[:, 8:], caches=caches)]
        np.testing.assert_allclose(np.concatenate(parts, axis=1), stack(x), atol=2e-5)
        for cache in caches:
            cache.clear()
            assert (cache.length, cache.first) == (0, 0)


def test_caches_that_would_change_the_outcome_are_refused() -> None:
    x = draw(2, 5, 32)
    open_ = config_of(causal=False)
    stack = nn.Encoder(open_, weights_of(open_))
    for refused in (stack.caches, lambda: stack(x, caches=[nn.KVCache(), nn.KVCache()])):
        with pytest.raises(OptionError, match="a cache needs causal attention: causal=True"):
            refused()
    for window, sees in ((None, "sees all earlier ones"), (6, "sees 6, itself included"), ((9, 0), "sees 10")):
        config = config_of(window=window)
        stack = nn.Encoder(config, weights_of(config))
        for refused in (
            lambda stack=stack: stack.caches(window=3),
            lambda stack=stack: stack(x, caches=[nn.KVCache(window=3), nn.KVCache(window=3)]),
        ):
            with pytest.raises(OptionError, match=f"keeps the last 3 tokens.*{sees}"):
                refused()
    with pytest.raises(OptionError, match="keeps the last 9 tokens"):
        stack.caches(window=9)
    assert len(stack.caches(window=10)) == 2
    behind = config_of(causal=False, window=(4, 0))
    stack = nn.Encoder(behind, weights_of(behind))
    caches = stack.caches(window=5)
    parts = [stack(x[:, :3], caches=caches), stack(x[:, 3:], caches=caches)]
    np.testing.assert_allclose(np.concatenate(parts, axis=1), stack(x), atol=2e-5)


def test_caches_that_do_not_belong_together_are_refused() -> None:
    stack, x = nn.Encoder(config_of(), weights_of(config_of())), draw(2, 5, 32)
    with pytest.raises(OptionError, match="several layers have the same cache"):
        stack(x, caches=[nn.KVCache()] * 2)
    caches = stack.caches()
    stack(x, caches=caches)
    with pytest.raises(ShapeError, match=r"have seen \[5, 0\] tokens"):
        stack(x, caches=[caches[0], nn.KVCache()])
    with pytest.raises(OptionError, match="cu_seqlens and cache are given"):
        stack(x[0], caches=stack.caches(), cu_seqlens=[0, 5])
