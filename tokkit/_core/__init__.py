"""The compiled core. It takes and returns buffers, and imports nothing else of tokkit.

Begin with encode/plan.pyx and csrc/encode/plan.h, text → ids; csrc has the plain C that the modules call.
"""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder


class _Finder:
    """Finds the compiled modules in the one shared object that has them all; setup.py says why it is one."""

    shared = PathFinder.find_spec("tokkit._core._shared", __path__)

    @classmethod
    def find_spec(cls, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """Return where a module is; None for a folder of modules, and for what is not of the core."""
        if not name.startswith("tokkit._core.") or not cls.shared or not cls.shared.origin:
            return None
        if path and os.path.isfile(os.path.join(path[0], name.rpartition(".")[2], "__init__.py")):
            return None
        file = cls.shared.origin
        spec = ModuleSpec(name, ExtensionFileLoader(name, file), origin=file)
        spec.has_location = True
        return spec


sys.meta_path.insert(0, _Finder)  # first, so that a module compiled by an earlier version is never taken instead
