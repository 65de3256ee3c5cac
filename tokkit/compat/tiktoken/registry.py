"""Encodings by name, as in `tiktoken.registry`: the published ones, and those of plug-ins.

A plug-in is a module of the namespace package `tiktoken_ext` with a dict ENCODING_CONSTRUCTORS: name → function that
returns the arguments of `Encoding`. The module `openai_public` of tiktoken is left out: its encodings are found as
`tokkit.get_encoding` finds them.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tokkit import registry
from tokkit.compat.tiktoken.core import Encoding
from tokkit.errors import OptionError

NAMESPACE = "tiktoken_ext"
PUBLISHED = f"{NAMESPACE}.openai_public"

ENCODINGS: dict[str, Encoding] = {}
"""Encodings that were requested before; programs may add their own."""
ENCODING_CONSTRUCTORS: dict[str, Callable[[], dict[str, Any]]] | None = None
"""Name → function that returns the arguments of `Encoding`; None until names are looked up. Programs may add to it."""

_lock = threading.RLock()


def get_encoding(encoding_name: str) -> Encoding:
    """Return an encoding by name, the same object each time; ValueError for an unknown name."""
    if not isinstance(encoding_name, str):
        raise ValueError(f"an encoding's name is {type(encoding_name).__name__}; it must be a str")
    if encoding_name in ENCODINGS:
        return ENCODINGS[encoding_name]
    with _lock:
        constructors = _constructors()
        if encoding_name not in constructors:
            raise OptionError(
                f"{encoding_name!r} is not the name of an encoding; it must be one of {', '.join(constructors)}"
                f" (plug-ins found: {', '.join(_available_plugin_modules()) or 'none'})"
            )
        constructor = constructors[encoding_name]
        made = constructor.encoding() if isinstance(constructor, _Published) else Encoding(**constructor())
        made.recalled_by(get_encoding, encoding_name)
        return ENCODINGS.setdefault(encoding_name, made)


def list_encoding_names() -> list[str]:
    """Return the names of the published encodings, and those of plug-ins."""
    with _lock:
        return list(_constructors())


class _Published:
    """The constructor of a published encoding."""

    def __init__(self, name: str) -> None:
        self.name = name

    def encoding(self) -> Encoding:
        """Return the encoding."""
        tok = registry.get_encoding(self.name)
        special = {**tok.special_tokens, **registry.ALIASES.get(self.name, {})}
        return Encoding._of(self.name, tok, special)

    def __call__(self) -> dict[str, Any]:
        """Return the arguments of `Encoding`."""
        made = self.encoding()
        return {
            "name": self.name,
            "pat_str": made._pat_str,
            "mergeable_ranks": made._mergeable_ranks,
            "special_tokens": made._special_tokens,
        }


def _constructors() -> dict[str, Callable[[], dict[str, Any]]]:
    if ENCODING_CONSTRUCTORS is None:
        _find_constructors()
    found = ENCODING_CONSTRUCTORS
    return {} if found is None else found


@functools.lru_cache(maxsize=1)
def _available_plugin_modules() -> Sequence[str]:
    """Return the names of the plug-ins' modules."""
    try:
        namespace = importlib.import_module(NAMESPACE)
    except ModuleNotFoundError:
        return []
    found = pkgutil.iter_modules(namespace.__path__, f"{NAMESPACE}.")
    return [module.name for module in found if module.name != PUBLISHED]


def _find_constructors() -> None:
    """Set ENCODING_CONSTRUCTORS, unless it is set; ValueError for a plug-in without constructors, or a name again."""
    global ENCODING_CONSTRUCTORS
    with _lock:
        if ENCODING_CONSTRUCTORS is not None:
            return
        made: dict[str, Callable[[], dict[str, Any]]] = {
            name: _Published(name) for name in registry.list_encoding_names()
        }
        for module in _available_plugin_modules():
            constructors = getattr(importlib.import_module(module), "ENCODING_CONSTRUCTORS", None)
            if constructors is None:
                raise OptionError(f"the plug-in {module} has no ENCODING_CONSTRUCTORS, a dict of names and functions")
            for name, constructor in constructors.items():
                if name in made:
                    raise OptionError(f"the plug-in {module} has an encoding {name!r}; there is one of this name")
                made[name] = constructor
        ENCODING_CONSTRUCTORS = made
