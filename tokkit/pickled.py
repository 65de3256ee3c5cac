"""Pickles: their version number, so that those of a later tokkit are refused clearly, and objects that never change.

Each class whose pickled form may change includes FORM in its pickles. Pickles of the first release have no number;
tests/pickles has them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any
from weakref import WeakValueDictionary

from tokkit.errors import FormatError

FORM = 1


def check(form: int) -> None:
    """Raise FormatError for a form that this release cannot read."""
    if form != FORM:
        raise FormatError(
            f"the pickle was made by a later tokkit (form {form}; this version reads {FORM}): load it with that version"
        )


def fill(made: Any, values: Sequence[object]) -> None:
    """Set the fields of a frozen dataclass with slots from the values in a pickle; later fields get their defaults."""
    for i, field in enumerate(fields(made)):
        object.__setattr__(made, field.name, values[i] if i < len(values) else field.default)


_alive: WeakValueDictionary[bytes, Any] = WeakValueDictionary()


class Immutable:
    """An object that never changes: its copies are itself, and a pickle of it returns it as long as it is alive.

    In another process, a pickle builds it again, or calls what loaded it, if that was said by `recalled_by`.
    """

    _recall: tuple[Callable[..., Any], tuple[Any, ...]] | None = None
    _key: bytes = b""
    made_by: Callable[..., tuple[Callable[..., Any], tuple[Any, ...]]]
    """The method that returns the call which builds an equal object."""

    def recalled_by(self, load: Callable[..., Any], *args: Any) -> None:
        """Let pickles hold only this call, which returns this object or one that is equal."""
        self._recall = load, args

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self._recall is not None:
            return self._recall
        if not self._key:
            self._key = os.urandom(16)  # a number could be another object's in another process
            _alive[self._key] = self
        return restored, (self._key, *self.made_by())


def restored(key: bytes, make: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Return the object with this key if it is alive in this process, else a new one."""
    found = _alive.get(key)
    return make(*args) if found is None else found
