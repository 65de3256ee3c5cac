"""The random generator of sampling, and its seed."""

from __future__ import annotations

import threading

import numpy as np

_local = threading.local()
_seed: list[int | None] = [None]


def set_random_generator_seed(seed: int) -> None:
    """Restart sampling with a seed, in this thread and in threads that have not sampled yet."""
    _seed[0] = seed
    _local.generator = np.random.default_rng(seed)


def generator() -> np.random.Generator:
    """Return the generator of this thread."""
    if not hasattr(_local, "generator"):
        _local.generator = np.random.default_rng(_seed[0])
    made: np.random.Generator = _local.generator
    return made
