"""`Matrices`: packs the matrices of a model into one buffer, or uses packed ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokkit._core.nn.linear import LargeMemory, PackedLinear
from tokkit.nn.arrays import Named, take
from tokkit.nn.linear import Linear

Shape = tuple[int, ...]


class Matrices:
    """The packed matrices of a model by name (`packed`), and the weights that each is made of (`sources`).

    The optional mapping `weights.ready` has packed matrices by the same names.
    """

    def __init__(self, weights: Mapping[str, Any], dtype: str) -> None:
        self._weights, self._dtype, self._memory = weights, dtype, LargeMemory()
        self._ready: Mapping[str, PackedLinear] = getattr(weights, "ready", {})
        self.packed: dict[str, PackedLinear] = {}
        self.sources: dict[str, tuple[str, ...]] = {}

    def pack(
        self, name: str, parts: Mapping[str, Shape], *, dtype: str | None = None,
        weights: Mapping[str, Any] | None = None,
    ) -> PackedLinear:  # fmt: skip
        """Return the matrix of layers that read the same x: `parts` are their names, without ".weight", and shapes.

        Their weights and optional biases are those of the model unless `weights` is given.
        """
        if name in self._ready:
            made = self._ready[name]
        else:
            source, own = self._weights if weights is None else weights, Named({}, "")
            for part, shape in parts.items():
                own[f"{part}.weight"] = take(source, f"{part}.weight", shape)
                if f"{part}.bias" in source:
                    own[f"{part}.bias"] = take(source, f"{part}.bias", shape[:1])
            made = Linear.of(own, tuple(parts), dtype=dtype or self._dtype, memory=self._memory).packed
        self.packed[name], self.sources[name] = made, tuple(parts)
        return made
