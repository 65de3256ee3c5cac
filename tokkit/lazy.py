"""Imports the public names of a package when they are first used."""

import sys

# No slow imports here: Ctrl-C is not handled yet (tokkit.interrupts).
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

NOTEBOOK = "tokkit.view.notebook"
"""The module that renders objects in notebooks."""


def names(
    package: str, modules: "Mapping[str, str]", parts: "Sequence[str]" = (), renamed: "Mapping[str, str] | None" = None
) -> "Callable[[str], Any]":
    """Return `__getattr__` for `package`: each name is imported from modules[name] once, when it is first used.

    `parts` are submodules that become attributes of the package when they are first used. `renamed` maps old public
    names to new ones; an old name returns the new one with a DeprecationWarning.

    `tokkit --help` and shell completion import the package but use none of its names. Without the import of numpy, they
    take half the time (tests/cli/test_process.py).
    """

    def get(name: str) -> "Any":
        import importlib

        if renamed is not None and name in renamed:
            import warnings

            warnings.warn(f"{package}.{name} is now {package}.{renamed[name]}", DeprecationWarning, stacklevel=2)
            return get(renamed[name])
        if name in parts:
            return importlib.import_module(f"{package}.{name}")  # which sets the attribute
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get


def notebook_html(thing: object) -> str:
    """Return the HTML that a notebook shows for an object: the only call from lower levels into tokkit.view."""
    import importlib

    return str(importlib.import_module(NOTEBOOK).shown(thing))
