"""Low-rank adapters (LoRA): a matrix is frozen, and the product of two narrow, trained matrices is added to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tokkit.checks import as_float, as_int
from tokkit.errors import OptionError
from tokkit.nn.arrays import Floats
from tokkit.nn.grad.parameters import Parameters, Shapes

TARGETS = ("q", "k", "v", "o", "gate", "up", "down")
"""The matrices of a layer that can have an adapter: those of attention and of the feed-forward."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraOptions:
    """Adapters of `rank` on the `targets` of each layer: W + alpha / rank · B A, for A (rank, in) and B (out, rank).

    A is initialized at random within ±1 / √in, and B with 0, so that at first the model's output does not change.
    Source: Hu et al. 2021, 4.1.

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
        """The factor of B A: alpha / rank."""
        return self.alpha / self.rank


def with_lora(
    shapes: Shapes,
    weights: Mapping[str, Floats],
    places: Mapping[str, Sequence[str]],
    options: LoraOptions,
    *,
    seed: int,
    trained: Collection[str] = (),
) -> Parameters:
    """Return parameters with adapters; only these and the weights in `trained` are trained. `weights` are copied.

    `places` maps the name of each adapter to the names (without .weight) of the matrices that it is added to: one, or
    several adjacent ones. The weights of an adapter are NAME.lora_A.weight and NAME.lora_B.weight.

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
    parameters = Parameters(made, frozen=shapes.keys() - set(trained), adapters=dict.fromkeys(places, options.scale))
    parameters.load(start)
    return parameters
