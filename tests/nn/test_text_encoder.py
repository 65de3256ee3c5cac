"""The encoder in one call of the core, compared with a float64 twin on every instruction set."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from reference.rows import layer_norm
from reference.transformer import stack as naive
from tokkit import nn
from tokkit._core.nn.encoder import PackedEncoder
from tokkit._core.nn.linear import PackedLinear
from tokkit._core.text import isas
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.encoder import TextEncoder, embedding_shapes

LENGTHS = [[5], [1, 1, 1], [16, 3, 0, 40, 1], [300, 2], [7] * 90, [], [0, 0]]


def config_of(**options: Any) -> nn.TransformerConfig:
    return nn.TransformerConfig(**{"dim": 32, "n_heads": 4, "n_layers": 2, "eps": 1e-12, **options})


def weights_of(config: nn.TransformerConfig, types: int = 2, positions: int = 400) -> dict[str, np.ndarray]:
    tables = embedding_shapes(config, vocab_size=50, positions=positions, types=types)
    shapes = {f"embeddings.{name}": shape for name, shape in tables.items()} | config.shapes()
    made = nn.initial(shapes, seed=3, std=0.3)
    rng = np.random.default_rng(5)
    return {n: w if w.ndim > 1 else w + rng.normal(0, 0.1, w.shape).astype(np.float32) for n, w in made.items()}


def packed(lengths: list[int], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    starts = np.concatenate([[0], np.cumsum(np.array(lengths, dtype=np.int64))])
    return np.random.default_rng(seed).integers(0, 50, starts[-1]), starts


def twin(config: Any, weights: Any, ids: np.ndarray, types: int = 0, first: int = 0) -> np.ndarray:
    """One sequence, embeddings and layers."""
    table = {n.removeprefix("embeddings."): np.float64(w) for n, w in weights.items() if n.startswith("embeddings.")}
    x = table["word.weight"][ids] + table["position.weight"][first : first + len(ids)]
    if "type.weight" in table:
        x = x + table["type.weight"][types]
    x = layer_norm(x, config.eps) * table["norm.weight"] + table["norm.bias"]
    return naive(config, x[None], weights)[0]


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("options", [{}, {"activation": "relu", "hidden_dim": 130}, {"dim": 48, "n_heads": 3}], ids=str)
def test_each_packed_sequence_is_what_its_formulas_say(lengths: list[int], options: dict[str, Any]) -> None:
    config = config_of(**options)
    weights = weights_of(config)
    ids, starts = packed(lengths)
    expected = [twin(config, weights, ids[a:b]) for a, b in itertools.pairwise(starts) if a < b]
    for threads in (1, 2, 3):
        with nn.threads(threads):
            got = TextEncoder(config, weights)(ids, starts)
        np.testing.assert_allclose(got, np.concatenate([np.empty((0, config.dim)), *expected]), atol=3e-5)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8"])
def test_one_call_is_all_of_its_parts_in_turn(isa: str, kind: str) -> None:
    """Matrices, attention and norms have twins of their own; here is what the call makes of them."""
    config = config_of(dim=40, n_heads=5, hidden_dim=100, n_layers=3)
    weights = weights_of(config)
    layers: list[list[Any]] = []
    for i in range(3):
        own = {n.removeprefix(f"layers.{i}."): w for n, w in weights.items() if n.startswith(f"layers.{i}.")}
        joined = [np.concatenate([own[f"attention.{n}.{part}"] for n in "qkv"]) for part in ("weight", "bias")]
        others = [[own[f"{n}.{part}"] for part in ("weight", "bias")] for n in
                  ("attention.o", "feed_forward.up", "feed_forward.down")]  # fmt: skip
        norms = [own[f"{n}_norm.{part}"] for n in ("attention", "feed_forward") for part in ("weight", "bias")]
        layers.append([*(PackedLinear(w, b, kind) for w, b in [joined, *others]), *norms])
    ids, starts = packed([9, 1, 33, 270, 4])
    x = np.random.default_rng(1).standard_normal((len(ids), 40), dtype=np.float32)
    expected = nn.Encoder(config_of(dim=40, n_heads=5, hidden_dim=100, n_layers=3, dtype=kind), weights)(
        x, cu_seqlens=starts
    )
    encoder, runs = PackedEncoder(layers, heads=5, dim=40), []
    for threads in (1, 2, 5):
        states = np.empty((3, *x.shape), dtype=np.float32)
        got = x.copy()
        encoder.run(got, starts, states=states, threads=threads, isa=isa)
        # `expected` is this CPU's: others round no rows to bfloat16; and a sum may be at the edge of 8 bits.
        far = {"float32": 2e-5, "bfloat16": 0.1, "int8": 0.1}[kind]
        np.testing.assert_allclose(got, expected, atol=far)
        runs.append(got)
        assert np.array_equal(got, runs[0]), "the number of threads changes bits"
        assert np.array_equal(states[-1], got)
        again = x.copy()
        encoder.run(again, starts, threads=threads, isa=isa)
        assert np.array_equal(again, got)


def test_relative_positions_give_what_the_general_stack_gives() -> None:
    config = config_of(relative_buckets=8, relative_distance=20)
    weights = weights_of(config, types=0)
    ids, starts = packed([30, 1, 12])
    encoder = TextEncoder(config, weights)
    x = encoder.embeddings(ids, starts)
    np.testing.assert_allclose(encoder(ids, starts), nn.Encoder(config, weights)(x, cu_seqlens=starts), atol=2e-5)


def test_positions_begin_where_they_are_told_and_leave_out_an_id() -> None:
    config = config_of()
    weights = weights_of(config)
    encoder = TextEncoder(config, weights, position_offset=2, padding_idx=1)
    ids, starts = np.array([4, 1, 5, 1, 6, 7, 8]), np.array([0, 4, 7])
    table = weights["embeddings.position.weight"] + weights["embeddings.type.weight"][0]
    got = encoder.embeddings(ids, starts)
    x = np.float64(weights["embeddings.word.weight"][ids] + table[[2, 1, 3, 1, 2, 3, 4]])
    expected = layer_norm(x, 1e-12) * weights["embeddings.norm.weight"] + weights["embeddings.norm.bias"]
    np.testing.assert_allclose(got, expected, atol=1e-5)
    assert encoder.embeddings.max_length == 398


def test_types_other_than_0_are_added_in_place_of_it() -> None:
    config = config_of()
    weights = weights_of(config)
    ids, starts = packed([6])
    got = TextEncoder(config, weights)(ids, starts, np.ones(6, dtype=np.int64))
    np.testing.assert_allclose(got, twin(config, weights, ids, types=1), atol=3e-5)


@pytest.mark.parametrize("stored", ["float16", "bfloat16"])
def test_a_table_of_words_in_16_bits_is_read_as_it_stands(stored: str) -> None:
    config = config_of()
    weights: dict[str, Any] = weights_of(config)
    words = weights["embeddings.word.weight"]
    narrow = words.astype(np.float16) if stored == "float16" else (words.view(np.uint32) >> 16).astype(np.uint16)
    wide = narrow.astype(np.float32) if stored == "float16" else (narrow.astype(np.uint32) << 16).view(np.float32)
    ids, starts = packed([6, 3])
    expected = TextEncoder(config, weights | {"embeddings.word.weight": wide})(ids, starts)
    assert np.array_equal(TextEncoder(config, weights | {"embeddings.word.weight": narrow})(ids, starts), expected)


def test_the_weights_of_attention_are_those_that_make_the_next_state() -> None:
    config = config_of()
    weights = weights_of(config)
    encoder = TextEncoder(config, weights)
    ids, starts = packed([11])
    x = encoder.embeddings(ids, starts)
    seen = encoder.attention_weights(0, x)
    assert seen.shape == (4, 11, 11)
    np.testing.assert_allclose(seen.sum(-1), 1, atol=1e-5)
    own = {n.removeprefix("layers.0.attention."): w for n, w in weights.items() if n.startswith("layers.0.attention.")}
    expected = nn.MultiHeadAttention(config, own)(x[None], return_weights=True)[1]
    np.testing.assert_allclose(seen, expected[0], atol=1e-6)


def test_what_does_not_fit_is_refused_with_what_was_given() -> None:
    config = config_of()
    weights = weights_of(config)
    encoder = TextEncoder(config, weights)
    with pytest.raises(ShapeError, match="they must ascend from 0"):
        encoder([1, 2, 3], [0, 2])
    with pytest.raises(ShapeError, match="starts descend"):
        encoder([1, 2, 3], [0, 4, 2, 3])
    with pytest.raises(IndexError, match="the id 50 is outside an embedding table of 50 rows"):
        encoder([1, 50], [0, 2])
    with pytest.raises(IndexError, match="the id -1"):
        encoder([1, -1], [0, 2])
    with pytest.raises(ShapeError, match="401 tokens; it must have at most 400"):
        encoder([1] * 401, [0, 401])
    with pytest.raises(IndexError, match="token types are 0 to 2; there are 2"):
        encoder([1, 1], [0, 2], [0, 2])
    with pytest.raises(ShapeError, match=r"layers\.1\.attention\.q\.weight"):
        TextEncoder(config, weights | {"layers.1.attention.q.weight": np.ones((3, 3), dtype=np.float32)})
    for wrong in ({"pre_norm": True}, {"activation": "swiglu"}, {"n_kv_heads": 2}, {"alibi": True}, {"norm": "rms"}):
        with pytest.raises(OptionError, match="a packed encoder"):
            TextEncoder(config_of(**wrong), weights)


def test_the_core_refuses_layers_and_arrays_that_do_not_fit() -> None:
    w = np.ones((12, 4), dtype=np.float32)
    square, norm = PackedLinear(w[:4]), np.ones(4, dtype=np.float32)
    layer = [PackedLinear(w), square, PackedLinear(w), PackedLinear(w.T.copy()), norm, norm, norm, norm]
    encoder = PackedEncoder([layer], heads=2, dim=4)
    x = np.ones((3, 4), dtype=np.float32)
    for starts in ([0, 2], [1, 3], [0, 4, 3], []):
        with pytest.raises(ValueError, match="starts"):
            encoder.run(x, np.array(starts, dtype=np.int64))
    with pytest.raises(ValueError, match="states"):
        encoder.run(x, np.array([0, 3]), states=np.empty((2, 3, 4), dtype=np.float32))
    with pytest.raises(ValueError, match="by_distance"):
        encoder.run(x, np.array([0, 3]), by_distance=np.empty((2, 4), dtype=np.float32), zero=2)
    for place, wrong in ((0, square), (1, PackedLinear(w)), (3, PackedLinear(w)), (5, norm[:3])):
        with pytest.raises(ValueError, match="of layer 0"):
            PackedEncoder([[*layer[:place], wrong, *layer[place + 1 :]]], heads=2, dim=4)
    with pytest.raises(ValueError, match="heads"):
        PackedEncoder([], heads=3, dim=4)
