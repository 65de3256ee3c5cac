"""Old names of keyword arguments and attributes, which still work and give a DeprecationWarning."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

Target = TypeVar("Target", bound=Callable[..., Any])


def keywords(**renamed: str) -> Callable[[Target], Target]:
    """Return a decorator for a function or a class: each old keyword (old="new") is accepted as the new one.

    >>> @keywords(kind="dtype")
    ... def zeros(n, *, dtype): return [dtype] * n
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     print(zeros(2, kind="int8"), caught[0].message)
    ['int8', 'int8'] the argument kind of zeros() is dtype now
    """

    def decorate(target: Target) -> Target:
        if isinstance(target, type):
            target.__init__ = decorate(target.__init__)  # type: ignore[misc]
            return target
        name = target.__qualname__.removesuffix(".__init__")

        @functools.wraps(target)
        def call(*args: Any, **kwargs: Any) -> Any:
            for old in renamed.keys() & kwargs.keys():
                if renamed[old] in kwargs:
                    raise TypeError(f"{name}() got {renamed[old]} twice: {old} is its old name")
                warnings.warn(f"the argument {old} of {name}() is {renamed[old]} now", DeprecationWarning, stacklevel=2)
                kwargs[renamed[old]] = kwargs.pop(old)
            return target(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate


def attribute(old: str, new: str) -> Any:
    """Return a property for the old name of an attribute: it reads `new` and warns; assign it to `old` in the class."""

    def get(self: object) -> Any:
        warnings.warn(f"{type(self).__name__}.{old} is {new} now", DeprecationWarning, stacklevel=2)
        return getattr(self, new)

    return property(get, doc=f"The old name of `{new}`.")
