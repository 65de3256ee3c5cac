"""Teach griffe, which reads the sources for the reference, how tokkit writes packages and docstrings.

Packages name what they import lazily in `_MODULES`; docstrings are prose with examples for doctest at the end, and
only backticks and lists in them are Markdown.
"""

from __future__ import annotations

import ast
import inspect
import pydoc
import re
from typing import Any

import griffe

SPECIAL = re.compile(r"(`[^`\n]+`)|([\\<>*_\[\]#])")
"""Code, which stays as it is, or a character that Markdown would read as markup."""


def escaped(match: re.Match[str]) -> str:
    """Return what stands for a match of `SPECIAL`."""
    return match[1] or ("&lt;" if match[2] == "<" else f"\\{match[2]}")


def as_markdown(docstring: str) -> str:
    """Return a docstring as Markdown: examples in fenced blocks, characters that mean something escaped."""
    made: list[str] = []
    in_example = False
    for line in docstring.split("\n"):
        starts = line.lstrip().startswith(">>>")
        if starts and not in_example:
            made += ["", "```pycon"]
        elif in_example and not line.strip():
            made += ["```"]
        in_example = bool(line.strip()) and (in_example or starts)
        made.append(line if in_example else SPECIAL.sub(escaped, line))
    return "\n".join([*made, "```"] if in_example else made)


class Docstrings(griffe.Extension):
    """Adds lazily imported names to packages and signatures to tuples, and makes Markdown of docstrings."""

    def on_module_members(self, *, mod: griffe.Module, **_: Any) -> None:
        """Make an alias of each name in a package's `_MODULES`, and take them as its public names."""
        table = mod.members.get("_MODULES")
        if not isinstance(table, griffe.Attribute) or mod.path == "tokkit":
            return  # of tokkit itself the .pyi has them
        modules: dict[str, str] = ast.literal_eval(str(table.value))
        for name, module in modules.items():
            mod.set_member(name, griffe.Alias(name, f"{module}.{name}"))
        mod.exports = sorted(modules)

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Show the fields of a NamedTuple or a TypedDict as those of a dataclass are shown: in a signature."""
        if not {str(base) for base in cls.bases} & {"NamedTuple", "TypedDict"}:
            return
        kind = griffe.ParameterKind.positional_or_keyword
        made = [
            griffe.Parameter(name, annotation=member.annotation, kind=kind, default=member.value)
            for name, member in cls.members.items()
            if isinstance(member, griffe.Attribute) and member.annotation
        ]
        own = griffe.Parameter("self", kind=kind)
        cls.set_member("__init__", griffe.Function("__init__", parameters=griffe.Parameters(own, *made)))

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of an object; those of the core's functions are in the extension modules."""
        if obj.is_function and not obj.docstring and obj.path.startswith("tokkit._core."):
            made = inspect.getdoc(pydoc.locate(obj.path))
            obj.docstring = griffe.Docstring(made, parent=obj) if made else None
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)
