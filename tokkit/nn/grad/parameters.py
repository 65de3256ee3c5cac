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
    """Name → weight, views into `data`; `grads` has views of the same names into `grad`.

    Matrices come first, `n_matrices` numbers, and then what has one axis (norms and biases), which is not decayed;
    within either, weights have the order of `shapes`, so that matrices that read the same are one matrix (`joined`).
    An optimizer works on the two arrays whole. Weights named in `frozen` are in an array of their own, without
    gradients: layers read them, and no step changes them.

    >>> weights = Parameters({"a.bias": (2,), "a.weight": (2, 3), "b.weight": (1, 3)})
    >>> list(weights), weights.n_matrices, weights.joined("a.weight", "b.weight")[0].shape
    (['a.weight', 'b.weight', 'a.bias'], 9, (3, 3))
    """

    def __init__(
        self, shapes: Shapes, *, frozen: Collection[str] = (), adapters: Mapping[str, float] | None = None
    ) -> None:
        self.adapters = dict(adapters or {})
        """What has a low-rank change (LoRA), and by how much this counts: see `lora.py`."""
        ordered = sorted(shapes, key=lambda name: len(shapes[name]) < 2)
        self._frozen = frozenset(frozen)
        self._shapes = {name: tuple(shapes[name]) for name in ordered}
        self._places: dict[str, slice] = {}
        learnt = self._placed([name for name in ordered if name not in self._frozen])
        kept = self._placed([name for name in ordered if name in self._frozen])
        self.n_matrices = sum(math.prod(shape) for name, shape in self._shapes.items()
                              if len(shape) >= 2 and name not in self._frozen)  # fmt: skip
        self.data: Floats = np.zeros(learnt, dtype=np.float32)
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
        """Copy weights of all names; ShapeError names one that is missing or has another shape."""
        for name, shape in self._shapes.items():
            self[name][...] = take(weights, name, shape)

    def joined(self, *names: str) -> tuple[Floats, Floats | None]:
        """Return weights that follow one another as one, and their gradients, None if they are frozen.

        Rows come after one another.
        """
        places = [self._places[name] for name in names]
        kept = {name in self._frozen for name in names}
        if len(kept) > 1 or any(a.stop != b.start for a, b in itertools.pairwise(places)):
            raise ShapeError(f"{', '.join(names)} do not follow one another")
        whole = slice(places[0].start, places[-1].stop)
        rest = self._shapes[names[0]][1:]
        if kept == {True}:
            return self._kept[whole].reshape(-1, *rest), None
        return self.data[whole].reshape(-1, *rest), self.grad[whole].reshape(-1, *rest)

    def first_bad_gradient(self) -> str | None:
        """Return the name of the first weight whose gradient has a number that is not finite, or None."""
        return next((name for name, grad in self.grads.items() if not np.isfinite(grad).all()), None)
