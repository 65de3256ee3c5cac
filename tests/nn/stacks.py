"""Arrays, configurations and weights that tests of `tokkit.nn` share."""

from __future__ import annotations

from typing import Any

import numpy as np

from tokkit import nn


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    """Return normal numbers, the same at each run."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape, dtype=np.float32)


def config_of(**options: Any) -> nn.TransformerConfig:
    """Return a small configuration of two layers, with these options."""
    return nn.TransformerConfig(**{"dim": 32, "n_heads": 4, "n_layers": 2, **options})


def weights_of(config: nn.TransformerConfig) -> dict[str, np.ndarray]:
    """Return weights of a stack, whose biases and norms are not 0 and 1."""
    made = nn.initial(config.shapes(), seed=7, std=0.2)
    rng = np.random.default_rng(9)
    return {n: w if w.ndim > 1 else w + rng.normal(0, 0.1, w.shape).astype(np.float32) for n, w in made.items()}
