"""Imports the public names of a package when they are first used."""

import sys

# Nothing is imported that takes time: Ctrl-C meanwhile is not handled yet (tokkit.interrupts).
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any


def names(
    package: str, modules: "Mapping[str, str]", parts: "Sequence[str]" = (), renamed: "Mapping[str, str] | None" = None
) -> "Callable[[str], Any]":
    """Return `__getattr__` for `package`: each name is imported from modules[name] once, when it is first used.

    `parts` are modules of the package that are attributes of it without being imported by name; `renamed` maps names
    that were public once to those of today, which they give with a DeprecationWarning.

    `tokkit --help` and shell completion import the package and need nothing of it: numpy, half of the time,
    stays out (tests/cli/test_process.py).
    """

    def get(name: str) -> "Any":
        import importlib

        if renamed is not None and name in renamed:
            import warnings

            warnings.warn(f"{package}.{name} is {package}.{renamed[name]} now", DeprecationWarning, stacklevel=2)
            return get(renamed[name])
        if name in parts:
            return importlib.import_module(f"{package}.{name}")  # which sets the attribute
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get
