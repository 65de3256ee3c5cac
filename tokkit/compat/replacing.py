"""Finds the modules of a package here by a library's name, after `sys.modules["tiktoken"] = tokkit.compat.tiktoken`.

Otherwise `import tiktoken.core` would run the file a second time, and its `Encoding` would be another class.
"""

import sys

# As in lazy.py, nothing that takes time is imported here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

PACKAGES = "tokkit.compat."


class Replaced:
    """Finds modules whose parent in sys.modules is a package of `tokkit.compat` with another name."""

    def find_spec(self, name: str, path: "object" = None, target: "object" = None) -> "ModuleSpec | None":
        """Return the spec of a module of a library that is replaced; None for any other."""
        parent, _, last = name.rpartition(".")
        real = getattr(sys.modules.get(parent), "__name__", "") if parent else ""
        if real == parent or not isinstance(real, str) or not real.startswith(PACKAGES):
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, self, origin=f"{real}.{last}")  # type: ignore[arg-type]

    def create_module(self, spec: "ModuleSpec") -> "ModuleType":
        """Return the module of tokkit."""
        import importlib

        module = importlib.import_module(str(spec.origin))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: "ModuleType") -> None:
        """Restore the module's own spec, which the import system has replaced."""
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state


sys.meta_path.insert(0, Replaced())
