"""Low-rank adapters (LoRA): a matrix stays, and the product of two narrow ones that learn is added to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tokkit.errors import OptionError
from tokkit.nn.arrays import Floats
from tokkit.nn.checks import as_float, as_int
from tokkit.nn.grad.parameters import Parameters, Shapes

TARGETS = ("q", "k", "v", "o", "gate", "up", "down")
"""Matrices of a layer that may have an adapter: those of attention, and those of the feed-forward."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraOptions:
    """Adapters of `rank` on the `targets` of each layer: W + alpha / rank · B A, for A (rank, in) and B (out, rank).

    A begins at random, within ±1 / √in, and B at 0, so that a model begins as it was. Source: Hu et al. 2021, 4.1.

    >>> LoraOptions(rank=4).scale
    4.0
    """

    rank: int = 8
    alpha: float = 16.0
    targets: Sequence[str] = ("q", "v")

    def __post_init__(self) -> None:
        as_int("rank", self.rank, minimum=1)
        as_float("alpha", self.alpha, greater_than=0)
        unknown = [target for target in self.targets if target not in TARGETS]
        if unknown or not self.targets:
            raise OptionError(f"targets are {tuple(self.targets)}; they must be some of {', '.join(TARGETS)}")

    @property
    def scale(self) -> float:
        """How much an adapter counts."""
        return self.alpha / self.rank


def with_lora(
    shapes: Shapes,
    weights: Mapping[str, Floats],
    places: Mapping[str, Sequence[str]],
    options: LoraOptions,
    *,
    seed: int,
    learnt: Collection[str] = (),
) -> Parameters:
    """Return parameters of which only adapters, and the weights named in `learnt`, learn; `weights` are copied.

    `places` are name of an adapter → the matrices, without .weight, whose rows it changes: one, or several that follow
    one another. Its weights are named NAME.lora_A.weight and NAME.lora_B.weight.

    >>> w = {"a.q.weight": np.ones((4, 3), np.float32)}
    >>> p = with_lora({"a.q.weight": (4, 3)}, w, {"a.q": ["a.q"]}, LoraOptions(rank=2), seed=0)
    >>> {name: grad.shape for name, grad in p.grads.items()}
    {'a.q.lora_A.weight': (2, 3), 'a.q.lora_B.weight': (4, 2)}
    """
    made: dict[str, Sequence[int]] = dict(shapes)
    rng, start = np.random.default_rng(as_int("seed", seed, minimum=0)), dict(weights)
    for name, stems in places.items():
        rows, columns = sum(shapes[f"{stem}.weight"][0] for stem in stems), shapes[f"{stems[0]}.weight"][1]
        bound = columns**-0.5
        start[f"{name}.lora_A.weight"] = rng.uniform(-bound, bound, (options.rank, columns)).astype(np.float32)
        start[f"{name}.lora_B.weight"] = np.zeros((rows, options.rank), dtype=np.float32)
        for part in ("A", "B"):
            made[f"{name}.lora_{part}.weight"] = start[f"{name}.lora_{part}.weight"].shape
    parameters = Parameters(made, frozen=shapes.keys() - set(learnt), adapters=dict.fromkeys(places, options.scale))
    parameters.load(start)
    return parameters
