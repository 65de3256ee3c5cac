"""The options of word2vec, checked when a model is made."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from tokkit.errors import OptionError

_AT_LEAST = {
    "vector_size": 1, "window": 1, "negative": 0, "min_count": 0, "epochs": 1, "seed": 0,
}  # fmt: skip
_SWITCHES = ("sg", "hs", "cbow_mean", "sorted_vocab", "shrink_windows", "batched", "compute_loss")
_RATES = ("alpha", "min_alpha", "sample")
MAX_NEGATIVE, MAX_INT, MAX_SEED = 1000, (1 << 31) - 1, (1 << 64) - 1


@dataclass(frozen=True)
class Word2VecOptions:
    """The options of a model; names and defaults are those of gensim 4."""

    vector_size: int = 100
    window: int = 5
    sg: int = 0
    hs: int = 0
    negative: int = 5
    ns_exponent: float = 0.75
    cbow_mean: int = 1
    sample: float = 1e-3
    min_count: int = 5
    max_final_vocab: int | None = None
    alpha: float = 0.025
    min_alpha: float = 0.0001
    epochs: int = 5
    seed: int = 1
    sorted_vocab: int = 1
    shrink_windows: bool = True
    batched: bool = False

    def __post_init__(self) -> None:
        for name, least in _AT_LEAST.items():
            value = getattr(self, name)
            most = MAX_SEED if name == "seed" else MAX_INT
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise OptionError(f"{name} is {value!r}; it must be an int of at least {least}")
            if value > most:
                raise OptionError(f"{name} is {value!r}; it must be at most {most}")
        for name in _SWITCHES:
            if getattr(self, name, 0) not in (0, 1):
                raise OptionError(f"{name} is {getattr(self, name)!r}; it must be 0 or 1")
        for name in _RATES:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
                raise OptionError(f"{name} is {value!r}; it must be a number of at least 0")
        if isinstance(self.ns_exponent, bool) or not isinstance(self.ns_exponent, (int, float)):
            raise OptionError(f"ns_exponent is {self.ns_exponent!r}; it must be a number")
        if self.negative > MAX_NEGATIVE:
            raise OptionError(f"negative is {self.negative}; it must be at most {MAX_NEGATIVE}")
        if not self.hs and not self.negative:
            raise OptionError("hs and negative are 0, so nothing is trained; give negative=5 or hs=1")
        if self.batched and (not self.sg or self.hs or not self.negative):
            raise OptionError("batched=True needs skip-gram with negative sampling: sg=1, hs=0, negative=5")

    def as_dict(self) -> dict[str, Any]:
        """Return the options by name."""
        return dataclasses.asdict(self)
