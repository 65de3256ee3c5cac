"""RoPE's scalings, compared with their published formulas in float64, and with transformers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from extras import extra
from nn.stacks import draw
from reference.rows import rotate
from tokkit import nn
from tokkit.errors import OptionError, ShapeError

DIM, BASE = 64, 10000.0
CASES = [
    {"scaling": "none"},
    {"scaling": "linear", "factor": 4.0},
    {"scaling": "power", "exponent": 0.5},
    {"scaling": "power", "exponent": 3.0},
    {"scaling": "ntk", "factor": 4.0},
    {"scaling": "dynamic", "factor": 4.0, "original_length": 100},
    {"scaling": "dynamic", "factor": 1.0, "original_length": 300},
    {"scaling": "ntk-by-parts", "factor": 4.0, "original_length": 2048},
    {"scaling": "ntk-by-parts", "factor": 8.0, "original_length": 4096, "beta_fast": 20.0, "beta_slow": 2.0},
    {"scaling": "yarn", "factor": 16.0, "original_length": 4096},
    {"scaling": "yarn", "factor": 2.0, "original_length": 512, "beta_fast": 8.0, "beta_slow": 0.5},
    {"scaling": "yarn", "factor": 4.0, "original_length": 131072},
    {"scaling": "llama3", "factor": 8.0, "original_length": 8192},
    {"scaling": "llama3", "factor": 32.0, "original_length": 1024, "low_freq_factor": 0.5, "high_freq_factor": 2.0},
]
LENGTH = 250


def between(value: float, low: float, high: float) -> float:
    """0 up to `low`, 1 from `high` on, a straight line from the one to the other."""
    return min(max((value - low) / (high - low), 0.0), 1.0)


def yarn_kept(pair: int, dim: int, length: float, fast: float, slow: float) -> float:
    # Equation 17's inverse: the pair, as a fraction, that makes so many turns; its ends as whole pairs.
    first, last = (dim * math.log(length / (2 * math.pi * turns)) / (2 * math.log(BASE)) for turns in (fast, slow))
    return 1 - between(pair, max(math.floor(first), 0), min(math.ceil(last), dim - 1))


def formula(pair: int, dim: int, length: int, case: dict[str, float]) -> float:
    """The angle of one pair at position 1, as the papers give it."""
    kind, s, train = case["scaling"], case.get("factor", 1.0), case.get("original_length", 2048)
    plain = math.pow(BASE, -2 * pair / dim)
    wavelength = 2 * math.pi / plain
    stretched = {
        "none": lambda: plain,
        "linear": lambda: plain / s,
        "power": lambda: plain * math.pow(1 - 2 * pair / dim, case["exponent"]),
        "ntk": lambda: math.pow(BASE * math.pow(s, dim / (dim - 2)), -2 * pair / dim),
        "dynamic": lambda: math.pow(
            BASE * math.pow(max(s * length / train - (s - 1), 1.0), dim / (dim - 2)), -2 * pair / dim
        ),
    }
    if kind in stretched:
        return stretched[kind]()
    if kind == "yarn":
        kept = yarn_kept(pair, dim, train, case.get("beta_fast", 32.0), case.get("beta_slow", 1.0))
    elif kind == "ntk-by-parts":
        kept = between(train / wavelength, case.get("beta_slow", 1.0), case.get("beta_fast", 32.0))
    else:
        kept = between(train / wavelength, case.get("low_freq_factor", 1.0), case.get("high_freq_factor", 4.0))
    return (1 - kept) * plain / s + kept * plain


def named(case: dict[str, object]) -> str:
    return "-".join(map(str, case.values()))


@pytest.mark.parametrize("case", CASES, ids=named)
@pytest.mark.parametrize(("head_dim", "rotary_dim"), [(DIM, None), (128, None), (DIM, 24)])
def test_every_pair_turns_by_the_formula(case: dict[str, object], head_dim: int, rotary_dim: int | None) -> None:
    config = nn.RopeConfig(head_dim=head_dim, rotary_dim=rotary_dim, base=BASE, **case)
    dim = rotary_dim or head_dim
    expected = [formula(pair, dim, LENGTH, case) for pair in range(dim // 2)]
    np.testing.assert_allclose(nn.inverse_frequencies(config, LENGTH), expected, rtol=1e-12)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("case", CASES, ids=named)
def test_heads_are_turned_by_those_angles_and_temperatures(case: dict[str, object], interleaved: bool) -> None:
    rope = nn.Rope(nn.RopeConfig(head_dim=DIM, base=BASE, interleaved=interleaved, **case))
    x, where = draw(1, 2, LENGTH, DIM), np.arange(LENGTH)
    angles = where[:, None] * np.array([formula(pair, DIM, LENGTH, case) for pair in range(DIM // 2)])
    by = 0.1 * math.log(case["factor"]) + 1 if case["scaling"] == "yarn" else 1.0
    np.testing.assert_allclose(rope(x, where), by * rotate(x, angles, pairs=interleaved), atol=2e-6)


@pytest.mark.parametrize("scaling", ["none", "yarn"])
def test_a_given_attention_factor_is_what_cosines_are_multiplied_by(scaling: str) -> None:
    config = nn.RopeConfig(head_dim=8, scaling=scaling, factor=4.0, attention_factor=1.7)
    cosines, sines = nn.Rope(config).angles([0, 5])
    np.testing.assert_allclose(np.hypot(cosines, sines), 1.7, rtol=1e-6)


@pytest.mark.parametrize("case", [case for case in CASES if case["scaling"] in ("linear", "dynamic", "yarn", "llama3")],
                         ids=named)  # fmt: skip
def test_frequencies_and_temperatures_are_those_of_transformers(case: dict[str, object]) -> None:
    extra("torch")
    # Before 5, the options stood in other places of the configuration.
    transformers = extra("transformers", minversion="5.0")
    functions = extra("transformers.modeling_rope_utils").ROPE_INIT_FUNCTIONS
    train = case.get("original_length", 2048)
    parameters = {"rope_type": case["scaling"], "rope_theta": BASE, "original_max_position_embeddings": train,
                  "low_freq_factor": 1.0, "high_freq_factor": 4.0} | case  # fmt: skip
    del parameters["scaling"]
    theirs = transformers.LlamaConfig(
        hidden_size=2 * DIM, num_attention_heads=2, max_position_embeddings=train, rope_parameters=parameters
    )
    frequencies, temperature = functions[case["scaling"]](theirs, device="cpu", seq_len=LENGTH)
    ours = nn.RopeConfig(head_dim=DIM, base=BASE, **case)
    np.testing.assert_allclose(nn.inverse_frequencies(ours, LENGTH), frequencies.numpy(), rtol=1e-6)
    assert nn.Rope(ours).angles([0])[0][0, 0] == pytest.approx(temperature)


def test_dynamic_takes_the_length_of_each_call_and_remembers_none() -> None:
    config = nn.RopeConfig(head_dim=8, scaling="dynamic", factor=4.0, original_length=16)
    plain, x = nn.Rope(nn.RopeConfig(head_dim=8)), draw(1, 1, 40, 8)
    rope = nn.Rope(config)
    for n in (40, 16, 17, 3):
        angles = np.arange(n)[:, None] * nn.inverse_frequencies(config, n)
        expected = rotate(x[:, :, :n], angles, pairs=False)
        np.testing.assert_allclose(rope(x[:, :, :n], np.arange(n)), expected, atol=2e-6)
        assert np.array_equal(rope(x[:, :, :n], np.arange(n)), plain(x[:, :, :n], np.arange(n))) == (n <= 16)
    # One token behind 16 is the seventeenth: the length is its position and one.
    seventeenth = 16 * nn.inverse_frequencies(config, 17)
    assert not np.allclose(seventeenth, 16 * nn.inverse_frequencies(config, 16))
    np.testing.assert_allclose(rope.angles([16])[0], np.cos(seventeenth)[None], atol=1e-6)
    behind = np.arange(-9, -4)
    assert np.array_equal(rope(x[:, :, :5], behind), plain(x[:, :, :5], behind))


def test_dynamic_turns_what_is_packed_by_the_longest_and_the_cached_by_its_own_time() -> None:
    rope = nn.RopeConfig(head_dim=8, scaling="dynamic", factor=4.0, original_length=16)
    config = nn.TransformerConfig(dim=16, n_heads=2, rope=rope, causal=True)
    stack, x = nn.Encoder(config, nn.initial(config.shapes(), seed=3, std=0.3)), draw(1, 40, 16)
    for n, alike in ((16, True), (40, False)):
        caches, whole = stack.caches(), stack(x[:, :n])
        steps = [stack(x[:, i : i + 1], caches=caches) for i in range(n)]
        assert np.allclose(np.concatenate(steps, axis=1), whole, atol=1e-4) == alike
        packed = stack(np.concatenate([x[0, :n], x[0, :7]]), cu_seqlens=[0, n, n + 7])
        assert np.allclose(packed[:n], whole[0], atol=1e-4)
        assert np.allclose(packed[n:], stack(x[:, :7])[0], atol=1e-4) == alike


def test_numbers_of_numpy_are_taken_as_what_they_are() -> None:
    given = {"head_dim": np.int64(8), "rotary_dim": np.uint8(6), "base": np.float32(500.0), "factor": np.int32(2)}
    config = nn.RopeConfig(**given, scaling="ntk", head_factors=[np.float32(2)])
    assert config == nn.RopeConfig(head_dim=8, rotary_dim=6, base=500.0, factor=2.0, scaling="ntk", head_factors=(2.0,))
    assert type(config.head_dim) is int
    assert type(config.base) is float
    assert hash(config)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"scaling": "yarn", "base": 1.0}, "yarn needs a base above 1"),
        ({"scaling": "yarn", "beta_fast": 0.0, "beta_slow": 0.0}, "yarn needs a base above 1, and beta_fast"),
        ({"scaling": "yarn", "beta_fast": 1.0, "beta_slow": 2.0}, "beta_fast 1.0 and beta_slow 2.0"),
        ({"scaling": "ntk-by-parts", "beta_fast": 2.0, "beta_slow": 2.0}, "beta_fast above beta_slow"),
        ({"scaling": "ntk-by-parts", "beta_fast": 1.0, "beta_slow": 2.0}, "beta_fast above beta_slow"),
        ({"scaling": "llama3", "low_freq_factor": 4.0, "high_freq_factor": 1.0}, "at least the first"),
        ({"beta_fast": -1.0}, "beta_fast is .*must be a finite number of at least 0"),
        ({"exponent": math.nan}, "exponent is .*must be a finite number"),
        ({"attention_factor": -1.0}, "attention_factor is .*must be a finite number above 0"),
        ({"base": 0.0}, "base is .*must be a finite number above 0"),
        ({"base": math.inf}, "base is .*must be a finite number above 0"),
        ({"base": "10000"}, "base is .*must be a finite number above 0"),
        ({"factor": 0.5}, "factor is .*must be a finite number of at least 1"),
        ({"original_length": 0}, "original_length is .*must be a whole number of at least 1"),
        ({"head_factors": (1.0, 0.0)}, "each of head_factors"),
        ({"head_dim": "8"}, "head_dim is .*must be a whole number of at least 1"),
        ({"head_dim": True}, "head_dim is .*must be a whole number of at least 1"),
        ({"head_dim": 8.0}, "head_dim is .*must be a whole number of at least 1"),
        ({"head_dim": np.int64(-8)}, "head_dim is .*must be a whole number of at least 1"),
        ({"rotary_dim": -2}, "rotary_dim is .*must be a whole number of at least 1"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused_at_once(options: dict[str, object], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        nn.RopeConfig(**{"head_dim": 8} | options)


def test_bases_lengths_and_logarithms_that_cannot_work_are_refused() -> None:
    assert nn.converted_base(100.0, 3.0, 2) == 300.0
    for bad in ((1e4, -4.0, 64), (0.0, 4.0, 64), (1e4, 4.0, 0), (1e4, math.nan, 64)):
        with pytest.raises(OptionError, match=r"is .*must be a finite number above 0|at least 2"):
            nn.converted_base(*bad)
    for length in (-1, True, 2.0):
        with pytest.raises(OptionError, match=r"length is .*must be a whole number of at least 0"):
            nn.inverse_frequencies(nn.RopeConfig(head_dim=8), length)
    for train in (0, 1, 512.0, True):
        with pytest.raises(OptionError, match=r"train_length is .*must be a whole number of at least 2"):
            nn.log_n_scale([1, 2], train)
    with pytest.raises(OptionError, match=r"has -1.*at least 0"):
        nn.log_n_scale([3, -1], 512)
    np.testing.assert_allclose(nn.log_n_scale([99, 9999], np.int64(100)), [1.0, 2.0])
    assert nn.log_n_scale([], 512).shape == (0,)


def test_a_stack_wants_a_factor_for_each_query_head() -> None:
    rope = nn.RopeConfig(head_dim=8, head_factors=(1.0, 2.0))
    with pytest.raises(ShapeError, match="2 head_factors; 4 query heads"):
        nn.TransformerConfig(dim=32, n_heads=4, rope=rope)
