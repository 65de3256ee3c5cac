"""RoPE: rotary position embeddings in both layouts, and the scalings for longer texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit import pickled
from tokkit._core.nn import rows as kernels
from tokkit.checks import as_float, as_int
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, check_overlap, current_threads, floats, ids_of, output

Doubles = NDArray[np.float64]
SCALINGS = ("none", "linear", "power", "ntk", "dynamic", "ntk-by-parts", "yarn", "llama3")


@dataclass(frozen=True, slots=True, kw_only=True)
class RopeConfig:
    """Angles of RoPE: pair i of `rotary_dim` columns turns by position * base^(-2i/rotary_dim); then `scaling`.

    A head has `head_dim` columns, of which `rotary_dim` (even; all if None) are rotated. `interleaved`: pairs are the
    columns (2i, 2i + 1) (GPT-J, the paper) instead of (i, i + half) (Llama, GPT-NeoX). `scaling`, with s = `factor` and
    L = `original_length`, the length of training:

    - "linear": positions / s (Chen et al. 2023);
    - "power": frequency i times (1 - 2i/dim)^exponent: low frequencies become almost 0 (Pal et al. 2023);
    - "ntk": a base s^(dim/(dim-2)) times as large: high frequencies stay, the lowest is divided by s (NTK-aware);
    - "dynamic": like "ntk", but above L the factor grows with the text: s·n/L - (s - 1) for n tokens;
    - "ntk-by-parts": frequencies of more than `beta_fast` turns in L stay, those of fewer than `beta_slow` are divided
      by s, and between them the interpolation is linear in the turns;
    - "yarn": the interpolation is linear in the index of the pair, with the limits rounded to whole pairs, and cosines
      and sines are multiplied by 0.1 ln s + 1, or `attention_factor` (Peng et al. 2023; the form of published models);
    - "llama3": frequencies of a wavelength below L / high_freq_factor stay, those above L / low_freq_factor are divided
      by s, and between them is an interpolation (Llama 3.1).

    `head_factors`: for each head a number that divides its positions. `pair_factors`: for each pair a number that
    divides its angle after `scaling`, for model files that list the factors instead of naming a scaling. `long_factors`
    replace them for texts longer than L (LongRoPE: Ding et al. 2024).

    "dynamic" and `long_factors` take n from the call: its largest position plus one. Beyond L tokens this has two
    effects. All sequences of a batch or of a packed call are rotated for the length of the longest one. And cached keys
    keep the rotation they were stored with, while later tokens are rotated differently, so that decoding token by token
    gives different results from reading the whole text at once (as in transformers). If that matters, use "ntk", or
    `Rope` with a `length`. `TextDecoder` handles `long_factors`: a text that becomes longer than L is read again,
    separately from shorter ones.

    An odd number of rotated columns, or more than `head_dim`, raises ShapeError, and so does a wrong number of factors
    for pairs; any other invalid number raises OptionError.
    """

    head_dim: int
    base: float = 10000.0
    rotary_dim: int | None = None
    interleaved: bool = False
    scaling: str = "none"
    factor: float = 1.0
    original_length: int = 2048
    exponent: float = 1.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    attention_factor: float | None = None
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    head_factors: tuple[float, ...] | None = field(default=None)
    pair_factors: tuple[float, ...] | None = field(default=None)
    long_factors: tuple[float, ...] | None = field(default=None)

    def __setstate__(self, values: Sequence[object]) -> None:
        pickled.fill(self, values)

    def __post_init__(self) -> None:
        self._check_numbers()
        dim = self.head_dim if self.rotary_dim is None else self.rotary_dim
        if dim % 2 or dim < 2 or dim > self.head_dim:
            raise ShapeError(
                f"RoPE rotates {dim} columns of a head of {self.head_dim}; give an even number, because columns are "
                "rotated in pairs"
            )
        for name in ("pair_factors", "long_factors"):
            factors = getattr(self, name)
            if factors is not None and len(factors) != dim // 2:
                raise ShapeError(f"{name} has {len(factors)} numbers; it must have one for each of {dim // 2} pairs")
        if self.scaling not in SCALINGS:
            raise OptionError(f"scaling is {self.scaling!r}; it must be one of {', '.join(SCALINGS)}")
        fast, slow, low, high = self.beta_fast, self.beta_slow, self.low_freq_factor, self.high_freq_factor
        if self.scaling == "yarn" and not (self.base > 1 and fast >= slow > 0):
            raise OptionError(
                f"base {self.base}, beta_fast {fast} and beta_slow {slow}: yarn needs a base above 1, and beta_fast of "
                "at least beta_slow, which is above 0"
            )
        if self.scaling == "ntk-by-parts" and not fast > slow:
            raise OptionError(f"beta_fast {fast} and beta_slow {slow}; ntk-by-parts needs beta_fast above beta_slow")
        if self.scaling == "llama3" and not high >= low:
            raise OptionError(
                f"low_freq_factor {low} and high_freq_factor {high}; llama3 needs the second to be at least the first"
            )

    def _check_numbers(self) -> None:
        # Stored as Python numbers: a base of type np.float32 would make all angles less precise.
        made: dict[str, object] = {
            name: as_int(name, getattr(self, name), minimum=1) for name in ("head_dim", "original_length")
        }
        if self.rotary_dim is not None:
            made["rotary_dim"] = as_int("rotary_dim", self.rotary_dim, minimum=1)
        made["base"] = as_float("base", self.base, greater_than=0)
        made["factor"] = as_float("factor", self.factor, minimum=1)
        made["exponent"] = as_float("exponent", self.exponent)
        for name in ("beta_fast", "beta_slow", "low_freq_factor", "high_freq_factor"):
            made[name] = as_float(name, getattr(self, name), minimum=0)
        if self.attention_factor is not None:
            made["attention_factor"] = as_float("attention_factor", self.attention_factor, greater_than=0)
        for name in ("head_factors", "pair_factors", "long_factors"):
            factors = getattr(self, name)
            if factors is not None:
                made[name] = tuple(as_float(f"each of {name}", f, greater_than=0) for f in factors)
        for name, value in made.items():
            object.__setattr__(self, name, value)


def converted_base(base: float, factor: float, dim: int) -> float:
    """Return the base for which the lowest of dim / 2 frequencies is divided by `factor`, and the highest stays.

    Raises OptionError unless `base` and `factor` are above 0 and `dim` is at least 2.

    >>> round(converted_base(10000.0, 4.0, 128), 1)
    40889.9
    """
    base, factor = as_float("base", base, greater_than=0), as_float("factor", factor, greater_than=0)
    dim = as_int("dim", dim, minimum=2)
    return base * factor ** (dim / (dim - 2)) if dim > 2 else base * factor


def inverse_frequencies(config: RopeConfig, length: int = 0) -> Doubles:
    """Return the angle of each pair per position (rotary_dim / 2).

    `length` is the length of the text; only "dynamic" and `long_factors` use it.

    >>> inverse_frequencies(RopeConfig(head_dim=4)).tolist()
    [1.0, 0.01]
    """
    length = as_int("length", length, minimum=0)
    long = config.long_factors is not None and length > config.original_length
    factors = config.long_factors if long else config.pair_factors
    made = _scaled(config, length)
    return made if factors is None else made / np.array(factors)


def _scaled(config: RopeConfig, length: int) -> Doubles:
    dim, s, train = config.rotary_dim or config.head_dim, config.factor, config.original_length
    base, i = config.base, np.arange(0, dim, 2) / dim
    if config.scaling == "ntk":
        base = converted_base(base, s, dim)
    if config.scaling == "dynamic" and length > train:
        base = converted_base(base, s * length / train - (s - 1), dim)
    plain = base**-i
    if config.scaling == "linear":
        return plain / s
    if config.scaling == "power":
        return plain * (1 - i) ** config.exponent
    turns = train * plain / (2 * math.pi)
    if config.scaling == "ntk-by-parts":
        kept = np.clip((turns - config.beta_slow) / (config.beta_fast - config.beta_slow), 0, 1)
        return plain / s * (1 - kept) + plain * kept
    if config.scaling == "yarn":
        kept = 1 - _ramp(config, dim)
        return plain / s * (1 - kept) + plain * kept
    if config.scaling == "llama3":
        low, high = config.low_freq_factor, config.high_freq_factor
        kept = np.clip((turns - low) / (high - low), 0, 1) if high > low else (turns > low).astype(np.float64)
        return plain / s * (1 - kept) + plain * kept
    return plain


def _ramp(config: RopeConfig, dim: int) -> Doubles:
    # 0 up to the pair that makes beta_fast turns in the length of training, 1 from the pair of beta_slow turns on.
    def pair(turns: float) -> float:
        return dim * math.log(config.original_length / (turns * 2 * math.pi)) / (2 * math.log(config.base))

    low, high = max(math.floor(pair(config.beta_fast)), 0), min(math.ceil(pair(config.beta_slow)), dim - 1)
    return np.clip((np.arange(dim // 2) - low) / max(high - low, 1e-3), 0, 1)


def temperature(config: RopeConfig) -> float:
    """Return the factor of cosines and sines: for YaRN √(1/t) = 0.1 ln s + 1, for other scalings 1."""
    if config.attention_factor is not None:
        return config.attention_factor
    return 0.1 * math.log(config.factor) + 1 if config.scaling == "yarn" else 1.0


def log_n_scale(positions: ArrayLike, train_length: int) -> Floats:
    """Return the factors (…) of queries at positions (…): max(1, log of (position + 1) to the base train_length).

    They keep the entropy of attention stable for texts longer than those of training (Su 2021; "log scaling").
    OptionError if a position is below 0, or `train_length` is not a whole number of at least 2.

    >>> log_n_scale([511, 512 * 512 - 1], 512).tolist()
    [1.0, 2.0]
    """
    train_length = as_int("train_length", train_length, minimum=2)
    where = np.asarray(positions, dtype=np.float64)
    if where.size and not where.min() >= 0:
        raise OptionError(f"positions has {where.min()}; each must be at least 0")
    return np.maximum(1, np.log(where + 1) / math.log(train_length)).astype(np.float32)


class Rope:
    """Rotary position embedding (Su et al. 2021): scores of rotated queries and keys depend only on m - n.

    >>> rope = Rope(RopeConfig(head_dim=2, base=1.0))
    >>> rope(np.array([[[[1.0, 0.0], [1.0, 0.0]]]]), [0, 1]).round(4).tolist()
    [[[[1.0, 0.0], [0.5403000116348267, 0.8414999842643738]]]]
    """

    def __init__(self, config: RopeConfig) -> None:
        self.config = config
        self._tables: tuple[int, Floats, Floats] | None = None
        self._by_length = config.scaling == "dynamic" or config.long_factors is not None

    def angles(self, positions: ArrayLike, *, length: int | None = None) -> tuple[Floats, Floats]:
        """Return cosines and sines (…, rotary_dim / 2) of positions (…); (H, …, rotary_dim / 2) with head_factors.

        `length` is the length of the text, for "dynamic" scaling; if None, the largest position plus one. Angles are
        computed in float64: at position 10^5 float32 would be wrong in the second decimal.
        """
        where = ids_of(positions, "positions").astype(np.float64)
        if length is None:
            length = max(int(where.max()) + 1, 0) if where.size else 0
        turned = where[..., None] * inverse_frequencies(self.config, length)
        if self.config.head_factors is not None:
            heads = np.asarray(self.config.head_factors, dtype=np.float64)
            turned = turned / heads.reshape(-1, *[1] * turned.ndim)
        by = temperature(self.config)
        return (np.cos(turned) * by).astype(np.float32), (np.sin(turned) * by).astype(np.float32)

    def __call__(
        self, x: ArrayLike, positions: ArrayLike, *, length: int | None = None, out: Floats | None = None
    ) -> Floats:
        """Return x (B, H, T, head_dim) rotated, each token by its position (T) or (B, T).

        `length` as in `angles`. Positions may be negative; another shape raises ShapeError, and so does an `out` that
        overlaps x, unless it is x.
        """
        made = floats(x, "x")
        if made.ndim != 4 or made.shape[3] != self.config.head_dim:
            raise ShapeError(f"x has shape {made.shape}; it must be (B, H, T, {self.config.head_dim})")
        where = ids_of(positions, "positions")
        if where.shape not in ((made.shape[2],), (made.shape[0], made.shape[2])):
            raise ShapeError(f"positions have shape {where.shape}; they must be (T) or (B, T), x being {made.shape}")
        cosines, sines = self._cached(where, length)
        heads = self.config.head_factors
        if heads is not None and len(heads) != made.shape[1]:
            raise ShapeError(
                f"head_factors has {len(heads)} entries; it must have one for each of {made.shape[1]} heads of x, "
                f"{made.shape}"
            )
        # To (B, H, T, half): missing axes are broadcast.
        if heads is None:
            cosines, sines = (a[:, None] if where.ndim == 2 else a for a in (cosines, sines))
        elif where.ndim == 2:
            cosines, sines = cosines.swapaxes(0, 1), sines.swapaxes(0, 1)
        shape = (*made.shape[:3], cosines.shape[-1])
        result = output(out, made.shape)
        if out is not None:
            check_overlap(result, in_place={"x": made}, apart={})
        kernels.rotate(
            made, result, np.broadcast_to(cosines, shape), np.broadcast_to(sines, shape),
            pairs=self.config.interleaved, threads=current_threads(),
        )  # fmt: skip
        return result

    def _cached(self, where: NDArray[np.int64], length: int | None) -> tuple[Floats, Floats]:
        # Most calls have positions 0 … n - 1: their table is kept, and replaced as a whole: threads can share it.
        n = where.shape[-1]
        usual = where.ndim == 1 and n and where[0] == 0 and where[-1] == n - 1 and not self._by_length
        if not usual or not np.array_equal(where, np.arange(n)):
            return self.angles(where, length=length)
        tables = self._tables
        if tables is None or tables[0] < n:
            tables = self._tables = (n, *self.angles(where))
        return tables[1][..., :n, :], tables[2][..., :n, :]
