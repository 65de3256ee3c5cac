"""Calls whose `out` overlaps their inputs give the right result or ShapeError."""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

from nn.stacks import draw
from tokkit import nn
from tokkit.errors import ShapeError

# Bytes before where `out` lies, and more behind, so that inputs may begin and end elsewhere.
PAD = 1 << 14
HEADS = (2, 2, 6, 6)
Inputs = Mapping[str, np.ndarray]


class Call(NamedTuple):
    """What is called with which arrays, by the names that messages have for them."""

    run: Callable[..., np.ndarray]
    inputs: Inputs
    in_place: tuple[str, ...] = ()  # what `out` may be
    copied: tuple[str, ...] = ()  # what is converted or packed first, so that nothing overlaps it


def rows(**more: np.ndarray) -> Inputs:
    return {"x": draw(7, 33), **more}


def attending(run: Callable[..., np.ndarray], shape: tuple[int, ...] = HEADS, **more: np.ndarray) -> Call:
    inputs = {name: draw(*shape, seed=seed) for seed, name in enumerate(("query", "key", "value"))}
    return Call(run, inputs | more, ("query",))


# Keys are the names of callables, and behind a comma what is special about a call.
CALLS = {
    "softmax": Call(nn.softmax, rows(), ("x",)),
    "softmax, of three axes": Call(nn.softmax, {"x": draw(3, 4, 9)}, ("x",)),
    "log_softmax": Call(nn.log_softmax, rows(), ("x",)),
    "relu": Call(nn.relu, rows(), ("x",)),
    "gelu": Call(nn.gelu, rows(), ("x",)),
    "gelu, approximate": Call(lambda x, out: nn.gelu(x, approximate="tanh", out=out), rows(), ("x",)),
    "silu": Call(nn.silu, rows(), ("x",)),
    "activate": Call(lambda x, bias, out: nn.activate(x, "tanh", bias=bias, out=out), rows(bias=draw(33)), ("x",)),
    "gated": Call(nn.gated, {"gate": draw(7, 33), "up": draw(7, 33, seed=1)}, ("gate", "up")),
    "layer_norm": Call(nn.layer_norm, rows(weight=draw(33), bias=draw(33, seed=1)), ("x",)),
    "layer_norm, of a sum": Call(nn.layer_norm, rows(residual=draw(7, 33, seed=1)), ("x", "residual")),
    "rms_norm": Call(nn.rms_norm, rows(weight=draw(33)), ("x",)),
    "rms_norm, of a sum": Call(nn.rms_norm, rows(residual=draw(7, 33, seed=1)), ("x", "residual")),
    "LayerNorm.__call__": Call(
        lambda x, residual, weight, bias, out: nn.LayerNorm({"weight": weight, "bias": bias}, dim=weight.size)(
            x, residual=residual, out=out
        ),
        rows(residual=draw(7, 33, seed=1), weight=draw(33), bias=draw(33, seed=1)),
        ("x", "residual"),
    ),
    "RMSNorm.__call__": Call(
        lambda x, residual, weight, out: nn.RMSNorm({"weight": weight}, dim=weight.size)(x, residual=residual, out=out),
        rows(residual=draw(7, 33, seed=1), weight=draw(33)),
        ("x", "residual"),
    ),
    **{
        f"Linear.__call__, {kind}": Call(
            lambda x, residual, weight, bias, out, kind=kind: nn.Linear(weight, bias, dtype=kind)(
                x, activation="gelu", residual=residual, out=out
            ),
            rows(residual=draw(7, 33, seed=1), weight=draw(33, 33), bias=draw(33)),
            ("residual",),
            ("weight", "bias"),
        )
        for kind in ("float32", "bfloat16", "int8")
    },
    "Linear.__call__, to another size": Call(
        lambda x, weight, out: nn.Linear(weight)(x, out=out),
        {"x": draw(3, 4, 5), "weight": draw(7, 5)},
        copied=("weight",),
    ),
    "LMHead.__call__": Call(
        lambda x, weight, bias, out: nn.LMHead(weight, bias)(x, out=out),
        rows(weight=draw(33, 33), bias=draw(33)),
        copied=("weight", "bias"),
    ),
    "Embedding.__call__": Call(
        lambda weight, ids, out: nn.Embedding(weight)(ids, out=out),
        {"weight": draw(7, 5), "ids": np.arange(7)[::-1]},
        copied=("ids",),
    ),
    **{
        f"Rope.__call__, interleaved {pairs}": Call(
            lambda x, positions, out, pairs=pairs: nn.Rope(nn.RopeConfig(head_dim=6, rotary_dim=4, interleaved=pairs))(
                x, positions, out=out
            ),
            {"x": draw(*HEADS), "positions": np.arange(5, 11)},
            ("x",),
            ("positions",),
        )
        for pairs in (False, True)
    },
    "attention": attending(nn.attention),
    "attention, of grouped heads": Call(
        nn.attention,
        {"query": draw(2, 4, 6, 6), "key": draw(2, 2, 9, 6), "value": draw(2, 2, 9, 6, seed=1)},
        ("query",),
    ),
    "attention, of one query and shorter values": Call(
        nn.attention, {"query": draw(1, 1, 1, 6), "key": draw(1, 1, 6, 6), "value": draw(1, 1, 6, 4)}, ("query",)
    ),
    "attention, by masks": attending(
        nn.attention,
        mask=draw(*HEADS) > -1,
        key_padding_mask=draw(2, 6) > 1,
        block_mask=np.ones((2, 2, 1, 1), dtype=np.bool_),
    ),
    "attention, by numbers that are added": attending(nn.attention, mask=draw(*HEADS, seed=5)),
    "attention, with weights": attending(
        lambda out, **given: nn.attention(**given, return_weights=True, out=out)[0], mask=draw(*HEADS, seed=5)
    ),
    "attention, with dropout": attending(lambda out, **given: nn.attention(**given, dropout_p=0.5, seed=1, out=out)),
    "attention, by distance": attending(
        lambda table, out, **given: nn.attention(**given, bias=nn.DistanceBias(table, 5), out=out), table=draw(2, 11)
    ),
    "attention, packed": attending(
        nn.attention, (1, 4, 6, 6), cu_seqlens=np.array([0, 2, 6]), cu_seqlens_k=np.array([0, 3, 6])
    ),
    "sparse_attention": attending(
        lambda out, **given: nn.sparse_attention(**given, mask=nn.BlockMask(6, [nn.SlidingWindow(2)]), out=out),
        key_padding_mask=draw(2, 6) > 1,
    ),
    "linear_attention": attending(nn.linear_attention, key_padding_mask=draw(2, 6) > 1),
    "linear_attention, causal": attending(lambda out, **given: nn.linear_attention(**given, is_causal=True, out=out)),
    "linear_attention, of random features": attending(
        lambda out, **given: nn.linear_attention(**given, features=nn.RandomFeatures(6, seed=0), out=out)
    ),
}


def public_callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the functions and methods of tokkit.nn and its modules by name."""
    for module in (nn, *(importlib.import_module(f"tokkit.nn.{m.name}") for m in pkgutil.iter_modules(nn.__path__))):
        for name, value in vars(module).items():
            ours = str(getattr(value, "__module__", "")).startswith("tokkit.nn")
            # What others compute into arrays.py only looks at.
            if name.startswith("_") or not ours or value.__module__ == "tokkit.nn.arrays":
                continue
            if inspect.isclass(value):
                methods = (m for m in dir(value) if m == "__call__" or not m.startswith("_"))
                yield from ((f"{name}.{m}", getattr(value, m)) for m in methods if callable(getattr(value, m)))
            elif callable(value):
                yield name, value


def test_every_call_that_takes_out_is_tried_here() -> None:
    found = {name for name, value in public_callables() if "out" in inspect.signature(value).parameters}
    assert {"softmax", "attention", "Linear.__call__"} < found
    assert found == {name.split(",")[0] for name in CALLS}


def at(raw: np.ndarray, offset: int, like: np.ndarray) -> np.ndarray:
    """Return a contiguous view of bytes, of the shape and type of `like`."""
    return raw[PAD + offset : PAD + offset + like.nbytes].view(like.dtype).reshape(like.shape)


def up(n: int) -> int:
    """Return n, or the next multiple of 8: where numbers of any type may begin."""
    return -(-n // 8) * 8


Views = tuple[np.ndarray, np.ndarray]


def columns(shift: int) -> Callable[..., Views | None]:
    """Wide rows: those of `out`, and `shift` columns behind their last those of the input."""

    def views(raw: np.ndarray, given: np.ndarray, out: np.ndarray) -> Views | None:
        if given.dtype != out.dtype or given.shape[:-1] != out.shape[:-1]:
            return None
        n = out.shape[-1]
        wide = at(raw, 0, np.empty((*out.shape[:-1], n + given.shape[-1] + shift), dtype=np.float32))
        return wide[..., n + shift :], wide[..., :n]

    return views


def taking_turns(raw: np.ndarray, given: np.ndarray, out: np.ndarray) -> Views | None:
    if given.dtype != out.dtype or given.shape != out.shape:
        return None
    both = at(raw, 0, np.empty((*out.shape[:-2], 2 * out.shape[-2], out.shape[-1]), dtype=np.float32))
    return both[..., 1::2, :], both[..., ::2, :]


def shifted(by: Callable[[np.ndarray, np.ndarray, int], int]) -> Callable[..., Views]:
    """`by` says how many bytes behind out's first the input's first is; its last argument is a number's."""
    return lambda raw, given, out: (at(raw, by(given, out, max(4, given.itemsize)), given), at(raw, 0, out))


# (bytes, array like the input, array like out) → views of these bytes, or None where the shapes do not allow it.
LAYOUTS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], Views | None]] = {
    "where out begins": shifted(lambda given, out, one: 0),
    "a number ahead": shifted(lambda given, out, one: -one),
    "a number behind": shifted(lambda given, out, one: one),
    "two rows ahead": shifted(lambda given, out, one: -8 * out.shape[-1]),
    "two rows behind": shifted(lambda given, out, one: 8 * out.shape[-1]),
    "up to the first number": shifted(lambda given, out, one: one - given.nbytes // one * one),
    "from the last number on": shifted(lambda given, out, one: (out.nbytes - 1) // one * one),
    "right ahead": shifted(lambda given, out, one: -up(given.nbytes)),
    "right behind": shifted(lambda given, out, one: up(out.nbytes)),
    "columns beside": columns(0),
    "a column in common": columns(-1),
    "rows that take turns": taking_turns,
    "where out begins, whose rows lie further apart": lambda raw, given, out: (
        at(raw, 0, given),
        at(raw, 0, np.empty((*out.shape[:-1], out.shape[-1] + 2), dtype=np.float32))[..., :-2],
    ),
    "out from the last row on": lambda raw, given, out: (
        (at(raw, 0, given), at(raw, 0, out)[..., ::-1, :]) if out.ndim != 3 else None
    ),
    "from the last row on": lambda raw, given, out: (at(raw, 0, given)[::-1], at(raw, 0, out)),
    "from the last column on": lambda raw, given, out: (at(raw, 0, given)[..., ::-1], at(raw, 0, out)),
    "as other numbers": lambda raw, given, out: (
        (at(raw, 0, given.astype(np.float64)), at(raw, 0, out)) if given.dtype == np.float32 else None
    ),
}
# What lies so is copied by calls that cannot read it as it stands: they give the right result.
MAYBE_COPIED = ("a column in common", "from the last row on", "from the last column on", "as other numbers")


@pytest.mark.parametrize("name", CALLS)
def test_out_that_overlaps_an_input_is_refused_or_right(name: str) -> None:
    call = CALLS[name]
    expected = call.run(**call.inputs, out=None)
    for layout, (shared, like) in itertools.product(LAYOUTS, call.inputs.items()):
        where = (layout, shared)
        raw = np.zeros(8 * PAD, dtype=np.uint8)
        views = LAYOUTS[layout](raw, like, expected)
        if views is None:
            continue
        given, out = views
        given[...] = like
        before, overlaps = raw.copy(), np.shares_memory(given, out)
        same = layout == "where out begins" and shared in call.in_place and given.shape == out.shape
        refusal = ""
        try:
            assert call.run(**{**call.inputs, shared: given}, out=out) is out
        except ShapeError as error:
            refusal = str(error)
        if refusal:
            message = rf"out overlaps (bias\.)?{shared} by up to \d+ bytes, .* no memory with it$"
            assert re.match(message, refusal), where
            assert (f"pass {shared} itself, or" in refusal) == (shared in call.in_place), where
            assert overlaps, where
            assert not same, where
            assert shared not in call.copied, where
            assert np.array_equal(raw, before), where
        else:
            assert np.array_equal(out, expected), where
            assert not overlaps or same or shared in call.copied or layout in MAYBE_COPIED, where
            assert overlaps or np.array_equal(given, like), where


@pytest.mark.parametrize("name", [name for name in CALLS if "one query" not in name])
def test_out_whose_own_numbers_overlap_is_refused(name: str) -> None:
    call = CALLS[name]
    shape = call.run(**call.inputs, out=None).shape
    out = np.ndarray(shape, dtype=np.float32, buffer=np.zeros(1 << 10, dtype=np.float32), strides=(4,) * len(shape))
    with pytest.raises(ShapeError, match="its own numbers overlap"):
        call.run(**call.inputs, out=out)
    assert not out.any()


ROWS = [
    name for name, call in CALLS.items() if call.in_place and all({7, 33} >= {*a.shape} for a in call.inputs.values())
]


@pytest.mark.parametrize("name", ROWS)
def test_many_rows_in_place_are_those_of_a_new_array_by_any_threads(name: str) -> None:
    """So many that threads share them, and that sums would go past the caches."""
    call, many = CALLS[name], {7: 2800, 33: 384}
    inputs = {key: draw(*(many[n] for n in a.shape), seed=i) for i, (key, a) in enumerate(call.inputs.items())}
    expected = call.run(**inputs, out=None)
    for shared in call.in_place:
        for n_threads in (1, 3):
            out = inputs[shared].copy()
            with nn.threads(n_threads):
                call.run(**{**inputs, shared: out}, out=out)
            assert np.array_equal(out, expected), (shared, n_threads)


@pytest.mark.parametrize("n", [1, 3, 70, 1100])
@pytest.mark.parametrize("kv_heads", [1, 4])
def test_many_queries_and_rotations_in_place_are_those_of_a_new_array(n: int, kv_heads: int) -> None:
    q, k, v = draw(1, 4, n, 20), draw(1, kv_heads, n + 130, 20), draw(1, kv_heads, n + 130, 20, seed=1)
    rope, positions = nn.Rope(nn.RopeConfig(head_dim=20, rotary_dim=12)), np.arange(n)
    expected, turned = nn.attention(q, k, v, is_causal=True, causal_offset=130), rope(q, positions)
    for n_threads in (1, 3):
        # As layers hold them: tokens before heads.
        out, rotated = (q.swapaxes(1, 2).copy().swapaxes(1, 2) for _ in range(2))
        with nn.threads(n_threads):
            assert nn.attention(out, k, v, is_causal=True, causal_offset=130, out=out) is out
            assert rope(rotated, positions, out=rotated) is rotated
        assert np.array_equal(out, expected)
        assert np.array_equal(rotated, turned)
