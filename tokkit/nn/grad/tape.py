"""`Tape`: what a forward pass did, to be gone through backwards, and the memory that it did it in."""

from __future__ import annotations

import bisect
import math
import sys
from collections.abc import Callable

import numpy as np

from tokkit._core.grad import Room, matmul, round_to_bf16, widen_bf16
from tokkit.errors import OptionError
from tokkit.nn.arrays import Floats, current_threads

MAX_SPARE = 1.25
"""An array is of memory up to so many times its size: batches of texts have about as many tokens, not just as many."""
PRECISIONS = ("fp32", "bf16")
"""What matrices are multiplied in."""

Backward = Callable[[Floats], Floats]
"""Makes of the gradient of what a layer gave that of what it read, and adds to the gradients of its weights."""


class Tape:
    """Backward functions in the order in which their layers ran.

    A layer pushes one as it runs; `backward` calls them from the last to the first, each with what the one before
    returned, and forgets them. With `recording=False` nothing is kept: to evaluate. There is one chain: a layer that
    reads something twice, as a residual does, adds up the gradients itself.

    With `bf16`, `matmul` rounds what it multiplies to bfloat16, and `keep` holds that: master weights, sums and
    gradients stay float32.

    `empty` gives arrays whose memory is used again as soon as nothing refers to them: asking the system for it anew in
    each step would cost as much as the layers between the matrices.

    >>> tape = Tape()
    >>> tape.push(lambda dy: dy * 2)
    >>> tape.push(lambda dy: dy + 1)
    >>> tape.backward(np.float32([1, 2]))
    array([4., 6.], dtype=float32)
    """

    def __init__(self, *, recording: bool = True, bf16: bool = False) -> None:
        self.recording, self.bf16 = recording, bf16
        self.room = Room()
        """What matrix products work in."""
        self._entries: list[Backward] = []
        self._memory: dict[int, list[Floats]] = {}
        self._sizes: list[int] = []
        self._used: set[int] = set()

    def push(self, back: Backward) -> None:
        """Keep the backward function of what has just run."""
        if self.recording:
            self._entries.append(back)

    def backward(self, grad: Floats) -> Floats:
        """Return the gradient of what the first layer read, given that of what the last one returned."""
        while self._entries:
            grad = self._entries.pop()(grad)
        return grad

    def clear(self) -> None:
        """Begin a step: forget what an error left, and memory of sizes that no array of the step before had."""
        self._entries.clear()
        if self._used:
            self._memory = {size: held for size, held in self._memory.items() if size in self._used}
            self._sizes = sorted(self._memory)
            self._used.clear()

    def matmul(
        self, a: Floats, b: Floats, c: Floats, add: Floats | None = None, *, bias: Floats | None = None,
        sums: Floats | None = None,
    ) -> None:  # fmt: skip
        """Write a b + add, or a b + bias, to c; the sums of the rows of a are added to `sums`."""
        matmul(
            a, b, c, add, bias=bias, a_sums=sums, bf16=self.bf16, room=self.room, threads=current_threads()
        )  # fmt: skip

    def keep(self, x: Floats, *, in_place: bool = False) -> Callable[[], Floats]:
        """Return what gives x again, to backward: with `bf16` its numbers as bfloat16, which take half the memory.

        x becomes those numbers, too, if it is `in_place`: what forward goes on with is then what backward reads.
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
        """Return an array of any values, of memory that nothing refers to any more and that is not much larger."""
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
    """Return whether it is "bf16"; OptionError unless it is that or "fp32"."""
    if precision not in PRECISIONS:
        raise OptionError(f"precision is {precision!r}; it must be one of {', '.join(PRECISIONS)}")
    return precision == "bf16"


def _unused() -> int:
    # What getrefcount says of an array that only a list and a loop over it refer to: not the same in all versions.
    for array in [np.empty(1, dtype=np.float32)]:
        return sys.getrefcount(array)
    raise AssertionError


_UNUSED = _unused()
