"""`Tape`: records a forward pass for the backward pass, and reuses the memory of arrays."""

from __future__ import annotations

import bisect
import math
import sys
from collections.abc import Callable

import numpy as np

from tokkit._core.grad.backward import Room, matmul
from tokkit._core.grad.optim import round_to_bf16, widen_bf16
from tokkit.errors import OptionError
from tokkit.nn.arrays import Floats, current_threads

MAX_SPARE = 1.25
"""Memory up to this many times the size of an array is reused for it: numbers of tokens differ between batches."""
PRECISIONS = ("fp32", "bf16")
"""The precisions of matrix products."""

Backward = Callable[[Floats], Floats]
"""Takes the gradient of a layer's output, returns that of its input, and adds to the gradients of its weights."""


class Tape:
    """The backward functions of layers, in the order in which the layers ran.

    Each layer pushes its backward function in forward. `backward` calls these from the last to the first, passes the
    result of each to the next, and removes them. For evaluation, use `recording=False`: nothing is recorded. The tape
    is one chain: a layer that uses its input twice, like a residual, adds the two gradients itself.

    With `bf16`, `matmul` rounds its inputs to bfloat16, and `keep` stores bfloat16; master weights, sums and gradients
    are float32.

    `empty` returns arrays whose memory is reused as soon as nothing refers to them: to allocate it from the system in
    each step would take as long as the layers between the matrix products.

    >>> tape = Tape()
    >>> tape.push(lambda dy: dy * 2)
    >>> tape.push(lambda dy: dy + 1)
    >>> tape.backward(np.float32([1, 2]))
    array([4., 6.], dtype=float32)
    """

    def __init__(self, *, recording: bool = True, bf16: bool = False) -> None:
        self.recording, self.bf16 = recording, bf16
        self.room = Room()
        """The workspace of matrix products."""
        self._entries: list[Backward] = []
        self._memory: dict[int, list[Floats]] = {}
        self._sizes: list[int] = []
        self._used: set[int] = set()

    def push(self, back: Backward) -> None:
        """Record the backward function of the layer that has just run, if the tape records."""
        if self.recording:
            self._entries.append(back)

    def backward(self, grad: Floats) -> Floats:
        """Return the gradient of the first layer's input, given the gradient of the last layer's output."""
        while self._entries:
            grad = self._entries.pop()(grad)
        return grad

    def clear(self) -> None:
        """Begin a step: remove functions left after an error, and free memory sizes that the last step did not use."""
        self._entries.clear()
        if self._used:
            self._memory = {size: held for size, held in self._memory.items() if size in self._used}
            self._sizes = sorted(self._memory)
            self._used.clear()

    def matmul(
        self, a: Floats, b: Floats, c: Floats, add: Floats | None = None, *, bias: Floats | None = None,
        sums: Floats | None = None,
    ) -> None:  # fmt: skip
        """Write a b + add, or a b + bias, to c; the sum of each row of a is added to `sums`."""
        matmul(
            a, b, c, add, bias=bias, a_sums=sums, bf16=self.bf16, room=self.room, threads=current_threads()
        )  # fmt: skip

    def keep(self, x: Floats, *, in_place: bool = False) -> Callable[[], Floats]:
        """Save x for backward; return a function that returns it. `bf16` stores bfloat16, in half the memory.

        With `in_place`, x itself is also rounded, so that the rest of forward uses the same numbers as backward.
        """
        if not (self.bf16 and self.recording):
            return lambda: x
        shape, n = x.shape, x.size
        half = self.empty((n + 1) // 2).view(np.uint16)[:n]
        round_to_bf16(x.reshape(-1), half, in_place=in_place, threads=current_threads())

        def widened() -> Floats:
            made = self.empty(*shape)
            widen_bf16(half, made.reshape(-1), threads=current_threads())
            return made

        return widened

    def empty(self, *shape: int) -> Floats:
        """Return an uninitialized array; memory of an unused array is reused if at most MAX_SPARE times as large."""
        n = math.prod(shape)
        for size in self._sizes[bisect.bisect_left(self._sizes, n) :]:
            if size > n * MAX_SPARE:
                break
            for array in self._memory[size]:
                if sys.getrefcount(array) == _UNUSED:
                    self._used.add(size)
                    return array[:n].reshape(shape)
        made = np.empty(n, dtype=np.float32)
        if n not in self._memory:
            bisect.insort(self._sizes, n)
        self._memory.setdefault(n, []).append(made)
        self._used.add(n)
        return made.reshape(shape)


def is_bf16(precision: str) -> bool:
    """Return whether `precision` is "bf16"; OptionError if it is neither "bf16" nor "fp32"."""
    if precision not in PRECISIONS:
        raise OptionError(f"precision is {precision!r}; it must be one of {', '.join(PRECISIONS)}")
    return precision == "bf16"


def _unused() -> int:
    # The getrefcount of an array to which only a list and a loop variable refer; it depends on the Python version.
    for array in [np.empty(1, dtype=np.float32)]:
        return sys.getrefcount(array)
    raise AssertionError


_UNUSED = _unused()
