"""`Parameters`: all weights of a model in one array, and their gradients in another."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from tokkit.errors import ShapeError
from tokkit.nn.arrays import Floats, take

Shapes = Mapping[str, Sequence[int]]


class Parameters(Mapping[str, Floats]):
    """A mapping of name → weight, as views into `data`; `grads` has views with the same names into `grad`.

    Matrices come first (`n_matrices` numbers in all), then weights with one axis (norms and biases), which have no
    weight decay. Each group has the order of `shapes`, so that adjacent matrices with the same input can be used as
    one (`joined`). An optimizer works on `data` and `grad` as a whole. Weights in `frozen` are in a separate array and
    have no gradients: layers read them, but no step changes them.

    >>> weights = Parameters({"a.bias": (2,), "a.weight": (2, 3), "b.weight": (1, 3)})
    >>> list(weights), weights.n_matrices, weights.joined("a.weight", "b.weight")[0].shape
    (['a.weight', 'b.weight', 'a.bias'], 9, (3, 3))
    """

    def __init__(
        self, shapes: Shapes, *, frozen: Collection[str] = (), adapters: Mapping[str, float] | None = None
    ) -> None:
        self.adapters = dict(adapters or {})
        """Name of each low-rank adapter (LoRA) → its scale: see `lora.py`."""
        ordered = sorted(shapes, key=lambda name: len(shapes[name]) < 2)
        self._frozen = frozenset(frozen)
        self._shapes = {name: tuple(shapes[name]) for name in ordered}
        self._places: dict[str, slice] = {}
        n_trained = self._placed([name for name in ordered if name not in self._frozen])
        kept = self._placed([name for name in ordered if name in self._frozen])
        self.n_matrices = sum(math.prod(shape) for name, shape in self._shapes.items()
                              if len(shape) >= 2 and name not in self._frozen)  # fmt: skip
        self.data: Floats = np.zeros(n_trained, dtype=np.float32)
        self.grad: Floats = np.zeros_like(self.data)
        self._kept: Floats = np.zeros(kept, dtype=np.float32)
        self.grads: dict[str, Floats] = {
            name: self.grad[place].reshape(self._shapes[name])
            for name, place in self._places.items()
            if name not in self._frozen
        }

    def _placed(self, names: Sequence[str]) -> int:
        first = 0
        for name in names:
            size = math.prod(self._shapes[name])
            self._places[name] = slice(first, first + size)
            first += size
        return first

    def __getitem__(self, name: str) -> Floats:
        data = self._kept if name in self._frozen else self.data
        return data[self._places[name]].reshape(self._shapes[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def load(self, weights: Mapping[str, Floats]) -> None:
        """Copy all weights; if one is missing or has a wrong shape, ShapeError names it."""
        for name, shape in self._shapes.items():
            self[name][...] = take(weights, name, shape)

    def joined(self, *names: str) -> tuple[Floats, Floats | None]:
        """Return adjacent weights as one array, concatenated by rows, and their gradients (None if frozen)."""
        places = [self._places[name] for name in names]
        kept = {name in self._frozen for name in names}
        if len(kept) > 1 or any(a.stop != b.start for a, b in itertools.pairwise(places)):
            raise ShapeError(f"{', '.join(names)} are not adjacent; joined needs parameters that follow one another")
        whole = slice(places[0].start, places[-1].stop)
        rest = self._shapes[names[0]][1:]
        if kept == {True}:
            return self._kept[whole].reshape(-1, *rest), None
        return self.data[whole].reshape(-1, *rest), self.grad[whole].reshape(-1, *rest)

    def first_bad_gradient(self) -> str | None:
        """Return the name of the first weight with a non-finite gradient, or None."""
        return next((name for name, grad in self.grads.items() if not np.isfinite(grad).all()), None)
