"""Products with weights in groups of 32 inputs, compared with naive twins for every instruction set."""

from __future__ import annotations

import numpy as np
import pytest

from reference.groups import int4_weights, int8_weights, largest_int4, nearest_int8, rounded_rows
from tokkit._core.nn.linear import LargeMemory, PackedLinear
from tokkit._core.text import isas

pytestmark = pytest.mark.threads

KINDS = ["int4", "int8-weight-only"]
SHAPES = [(1, 1), (32, 32), (33, 7), (100, 40), (64, 64), (67, 385), (31, 1056)]
ROWS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 130]
SIZE = {"int4": 16, "int8-weight-only": 32}
WEIGHTS = {"int4": int4_weights, "int8-weight-only": int8_weights}


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape, dtype=np.float32)


def product(packed: PackedLinear, x: np.ndarray, isa: str | None = None, **options) -> np.ndarray:
    y = np.full((len(x), packed.shape[0]), np.nan, dtype=np.float32)
    packed.run(x, y, isa=isa, **options)
    return y


def stored(packed: PackedLinear) -> np.ndarray:
    n, k = packed.shape
    made = np.full((n, k), np.nan, dtype=np.float32)
    packed.read(np.arange(n), made)
    return made


def blocks(kind: str, n: int, groups: int, *, minima: bool = False) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng([n, groups])
    q = rng.integers(0, 256, (n, groups, SIZE[kind])).astype(np.uint8)
    scales = rng.uniform(-0.1, 0.1, (n, groups)).astype(np.float16)
    scales[0] = 1e-7  # below the normal halves
    least = rng.uniform(-1, 1, (n, groups)).astype(np.float16) if minima else None
    return (q if kind == "int4" else q.view(np.int8)), scales, least


def assert_near(got: np.ndarray, x: np.ndarray, weights: np.ndarray, bias: np.ndarray | float = 0) -> None:
    """Whole products are exact; the sum over groups is rounded as float32."""
    seen = rounded_rows(x)
    expected = seen @ weights.T + bias
    room = np.abs(seen) @ np.abs(weights).T + np.abs(bias)
    assert (np.abs(got - expected) <= 1e-6 * room + 1e-7).all()


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("minima", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_product_is_that_of_the_blocks(isa: str, kind: str, minima: bool) -> None:
    for n, groups in ((1, 1), (32, 2), (45, 5), (100, 24)):
        made = blocks(kind, n, groups, minima=minima)
        bias = draw(n)
        packed = PackedLinear.of_blocks([made], kind, bias)
        assert (packed.shape, packed.kind, packed.minima) == ((n, groups * 32), kind, minima)
        for m in ROWS:
            x = draw(m, groups * 32)
            for threads in (1, 3):
                assert_near(product(packed, x, isa, threads=threads), x, WEIGHTS[kind](*made), bias)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("kind", KINDS)
def test_the_largest_numbers_do_not_overflow(isa: str, kind: str) -> None:
    for byte, sign in ((0x00, 1), (0x00, -1), (0xFF, 1), (0xFF, -1), (0x80, 1), (0x80, -1)):
        q = np.full((32, 3, SIZE[kind]), byte, np.uint8)
        made = q if kind == "int4" else q.view(np.int8), np.ones((32, 3), np.float16)
        for least in (None, np.zeros((32, 3), np.float16)):
            packed = PackedLinear.of_blocks([(*made, least)], kind)
            x = np.full((1, 96), 127 * sign, np.float32)
            assert np.array_equal(product(packed, x, isa), x @ WEIGHTS[kind](*made, least).T)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "k"), SHAPES)
def test_a_product_is_that_of_the_stored_weights(isa: str, kind: str, n: int, k: int) -> None:
    w, bias = draw(n, k), draw(n)
    packed = PackedLinear(w, bias, kind)
    for m in ROWS[:9]:
        x = np.full((m, k + 5), np.nan, dtype=np.float32)  # what is behind a row is not read
        x[:, :k] = draw(m, k)
        assert_near(product(packed, x[:, :k], isa), x[:, :k], stored(packed).astype(np.float64), bias)


@pytest.mark.parametrize(("n", "k"), SHAPES)
def test_int8_takes_the_nearest_numbers_of_the_largest_weight(n: int, k: int) -> None:
    w = draw(n, k)
    w[0] = 0
    assert np.array_equal(stored(PackedLinear(w, None, "int8-weight-only")), nearest_int8(w))


def test_int4_is_nearer_than_the_rule_of_the_largest_weight_and_no_shorter_than_the_weights() -> None:
    w = draw(64, 512)
    w[0, :32] = 0
    got, other = stored(PackedLinear(w, None, "int4")), largest_int4(w)
    assert np.square(got - w).sum() < 0.985 * np.square(other - w).sum()
    # Errors of large weights count more.
    each = [(np.square(w) * np.square(made - w)).reshape(64, -1, 32).sum(-1) for made in (got, other)]
    assert (each[0] <= each[1] * 1.0001).mean() > 0.95
    assert abs((got * w).sum() / (w * w).sum() - 1) < 0.002
    assert not got[0, :32].any()


def test_int4_products_stay_near_the_true_ones() -> None:
    x, w = draw(50, 384), draw(300, 384)
    x[:, 7] *= 50  # an outlier: the other groups keep their precision
    true = x.astype(np.float64) @ w.astype(np.float64).T
    for kind, most in (("int4", 0.11), ("int8-weight-only", 0.015)):
        error = product(PackedLinear(w, None, kind), x) - true
        assert np.sqrt(np.square(error).mean()) < most * true.std()


@pytest.mark.parametrize("kind", KINDS)
def test_joined_blocks_and_views_of_blocks_are_taken(kind: str) -> None:
    first, second = blocks(kind, 20, 3), blocks(kind, 30, 3)
    packed = PackedLinear.of_blocks([first, second], kind)
    expected = np.concatenate([WEIGHTS[kind](*first), WEIGHTS[kind](*second)])
    assert np.array_equal(stored(packed), expected.astype(np.float32))
    record = np.zeros((20, 3), np.dtype([("d", "<f2"), ("q", "u1", SIZE[kind])]))  # as GGUF has Q4_0 and Q8_0
    record["d"], record["q"] = first[1], first[0].view(np.uint8)
    q = record["q"] if kind == "int4" else record["q"].view(np.int8)
    viewed = PackedLinear.of_blocks([(q, record["d"], None)], kind)
    assert np.array_equal(stored(viewed), expected[:20].astype(np.float32))


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8", *KINDS])
def test_a_matrix_is_made_again_from_its_bytes(kind: str) -> None:
    w, bias, x = draw(70, 50), draw(70), draw(3, 50)
    memory = LargeMemory()
    packed = PackedLinear(w, bias, kind, memory=memory)
    image = np.frombuffer(packed, dtype=np.uint8)
    assert not image.flags.writeable
    room = np.zeros(len(image) + 128, np.uint8)
    for shift in (0, 1):  # in place, and not on 64 bytes
        start = (-room.ctypes.data) % 64 + shift
        room[start : start + len(image)] = image
        again = PackedLinear.over(room[start : start + len(image)], 70, 50, kind)
        assert np.array_equal(product(again, x), product(packed, x))
    with pytest.raises(ValueError, match="bytes"):
        PackedLinear.over(image[:-1], 70, 50, kind)
    del packed, memory
    assert image.size  # the bytes are there as long as they are used


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8", *KINDS])
def test_sizes_that_wrap_around_are_refused(kind: str) -> None:
    image = np.zeros(64, np.uint8)
    powers = [2**bits for bits in range(40, 64)]
    for n in (2**64 - 1, 2**63 - 1, *powers, *(power - 16 for power in powers)):
        for k in (1, 7, 15, 31, 63, 127, 992, n):  # 2^57 columns of 31 floats and a bias have 2^64 bytes
            with pytest.raises(ValueError, match="bytes"):
                PackedLinear.over(image, n, k, kind)
            with pytest.raises(ValueError, match="bytes"):
                PackedLinear.over(image, k, n, kind)


def test_blocks_that_do_not_fit_are_refused() -> None:
    q, scales, _ = blocks("int4", 4, 2)
    for bad, what in (
        ([(q[:, :, :8], scales, None)], "q has shape"),
        ([(q, scales[:3], None)], "q has shape"),
        ([(q, scales, scales[:, :1])], "minima"),
        ([(q, scales, None), (q, scales, scales)], "minima"),
        ([(q, np.full_like(scales, np.inf), None)], "must be finite"),
        ([(q, scales, np.full_like(scales, np.nan))], "must be finite"),
    ):
        with pytest.raises(ValueError, match=what):
            PackedLinear.of_blocks(bad, "int4")
    with pytest.raises(ValueError, match="groups"):
        PackedLinear.of_blocks([(q, scales, None)], "float32")
    with pytest.raises(ValueError, match="is packed already"):
        PackedLinear(draw(2, 2)).__init__(draw(2, 2))
    with pytest.raises(IndexError):
        PackedLinear.of_blocks([(q, scales, None)], "int4").read(np.array([4]), np.zeros((1, 64), np.float32))
