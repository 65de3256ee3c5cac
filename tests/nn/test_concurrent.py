"""Layers, encoders and caches that several threads call at once return what one thread gets, or an error."""

from __future__ import annotations

import copy
import functools
import pickle
import threading
from typing import Any

import numpy as np
import pytest

from at_once import at_once
from nn.stacks import config_of, draw, weights_of
from tokkit import nn
from tokkit.errors import OptionError

pytestmark = pytest.mark.threads


def same(results: list[Any], expected: np.ndarray) -> None:
    for result in results:
        assert isinstance(result, np.ndarray), result
        assert np.array_equal(result, expected)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {
            "norm": "rms",
            "pre_norm": True,
            "activation": "swiglu",
            "bias": False,
            "causal": True,
            "rope": nn.RopeConfig(head_dim=8),
        },
    ],
    ids=["post", "pre"],
)
def test_an_encoder_gives_threads_what_it_gives_one(options: dict[str, Any], threads: int) -> None:

    config = config_of(**options)
    stack, x = nn.Encoder(config, weights_of(config)), draw(3, 33, 32)
    ignored = np.arange(33) >= np.array([33, 7, 20])[:, None]

    def work(**more: Any) -> np.ndarray:
        with nn.threads(threads):
            return stack(x, **more)

    fresh = nn.Encoder(config, weights_of(config))
    for more in ({}, {"key_padding_mask": ignored}):
        expected = work(**more)
        same(at_once([functools.partial(work, **more)] * 3, times=5), expected)
        # Tables of positions are made by the first call, or by several.
        same(at_once([functools.partial(fresh, x, **more)] * 3), expected)


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8"])
def test_packed_matrices_are_shared_by_threads(kind: str) -> None:
    layer, x = nn.Linear(draw(70, 96), draw(70), dtype=kind), draw(130, 96)

    def work(threads: int) -> np.ndarray:
        with nn.threads(threads):
            return layer(x)

    expected = work(1)
    same(at_once([lambda: work(2), lambda: work(1), lambda: work(3)], times=5), expected)


def test_attention_is_the_same_in_threads() -> None:
    q, k, v = (draw(2, 4, 150, 16, seed=seed) for seed in range(3))

    def work(threads: int) -> np.ndarray:
        with nn.threads(threads):
            return nn.attention(q, k, v, is_causal=True)

    same(at_once([lambda: work(2), lambda: work(2), lambda: work(1)], times=5), work(1))


def test_threads_that_decode_with_caches_of_their_own_share_the_layers() -> None:
    config = config_of(causal=True)
    stack, x = nn.Encoder(config, weights_of(config)), draw(1, 40, 32)

    def work() -> np.ndarray:
        caches = stack.caches()
        return np.concatenate([stack(x[:, at : at + 1], caches=caches) for at in range(40)], axis=1)

    same(at_once([work] * 3), work())


def decoder() -> tuple[nn.Encoder, np.ndarray, list[nn.KVCache]]:
    config = config_of(causal=True)
    stack = nn.Encoder(config, weights_of(config))
    caches = stack.caches()
    x = draw(1, 9, 32)
    stack(x[:, :4], caches=caches)
    return stack, x, caches


def while_in_use(stack: nn.Encoder, x: np.ndarray, caches: list[nn.KVCache], call: Any) -> Any:
    """What `call` gives another thread in the middle of a call of this one, whose result must be as ever."""
    given: list[Any] = []
    feed_forward = stack.layers[0].feed_forward

    def with_another(*args: Any, **options: Any) -> Any:
        given.extend(at_once([call]))
        return feed_forward(*args, **options)

    expected = stack(x)[:, 4:]
    stack.layers[0].feed_forward = with_another  # type: ignore[assignment]
    found = stack(x[:, 4:], caches=caches)
    stack.layers[0].feed_forward = feed_forward
    np.testing.assert_allclose(found, expected, atol=2e-5)
    return given[0]


@pytest.mark.parametrize(
    "call",
    [
        lambda stack, x, caches: stack(x[:, :1], caches=caches),
        lambda stack, x, caches: stack.layers[1](x[:, :1], cache=caches[1]),
        lambda stack, x, caches: stack.layers[0].attention(x[:, :1], cache=caches[0]),
        lambda stack, x, caches: caches[1].append(np.zeros((1, 4, 1, 8)), np.zeros((1, 4, 1, 8))),
        lambda stack, x, caches: caches[0].clear(),
    ],
    ids=["stack", "layer", "attention", "append", "clear"],
)
def test_a_cache_that_another_thread_uses_is_refused(call: Any) -> None:
    stack, x, caches = decoder()
    given = while_in_use(stack, x, caches, lambda: call(stack, x, caches))
    assert isinstance(given, OptionError)
    assert "in use by another thread" in str(given)
    assert [cache.length for cache in caches] == [9, 9]
    call(stack, x, caches)


def test_a_refused_call_leaves_the_other_caches_free() -> None:
    stack, x, caches = decoder()
    others = stack.caches()
    others[0].append(np.zeros((1, 4, 4, 8)), np.zeros((1, 4, 4, 8)))
    given = while_in_use(stack, x, caches, lambda: stack(x[:, :1], caches=[others[0], caches[1]]))
    assert isinstance(given, OptionError)
    others[0].clear()


def test_tokens_that_another_thread_adds_before_a_call_has_the_cache_are_noticed() -> None:
    stack, x, caches = decoder()
    attention = stack.layers[0].attention
    projected = attention._projected

    def with_another(*args: Any) -> Any:
        at_once([lambda: caches[0].append(np.zeros((1, 4, 1, 8)), np.zeros((1, 4, 1, 8)))])
        return projected(*args)

    attention._projected = with_another  # type: ignore[method-assign]
    with pytest.raises(OptionError, match="another thread changed this cache"):
        attention(x[:, 4:5], cache=caches[0])


def test_one_cache_for_many_threads_gives_an_error_or_a_row_of_calls() -> None:
    cache = nn.KVCache()
    done = threading.Semaphore(0)

    def work(number: int) -> None:
        one = np.full((1, 1, 1, 2), number, np.float32)
        for _ in range(200):
            try:
                cache.append(one, one)
            except OptionError:
                continue
            done.release()

    assert at_once([functools.partial(work, number) for number in range(3)]) == [None] * 3
    n = 0
    while done.acquire(blocking=False):
        n += 1
    assert cache.length == n
    keys, values = cache.append(np.zeros((1, 1, 1, 2)), np.zeros((1, 1, 1, 2)))
    assert keys.shape[2] == n + 1
    assert np.array_equal(keys, values)


def test_a_cache_is_copied_and_pickled_with_what_is_in_it() -> None:
    stack, x, caches = decoder()
    expected = stack(x[:, 4:], caches=copy.deepcopy(caches))
    same([stack(x[:, 4:], caches=pickle.loads(pickle.dumps(caches)))], expected)
    assert [cache.length for cache in caches] == [4, 4]
