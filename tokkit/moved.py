"""Old names of modules that have moved: they import the module at its new name, with a DeprecationWarning.

Pickles that name an old module load too.
"""

import sys

TYPE_CHECKING = False  # as in lazy.py: nothing that takes time is imported here
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

MOVED = {
    "tokkit.added_tokens": "tokkit.engine.special_tokens",
    "tokkit.alignment": "tokkit.encoding.alignment",
    "tokkit.assembly": "tokkit.engine.assembly",
    "tokkit.atoms": "tokkit.unicode_regex.atoms",
    "tokkit.cli.ending": "tokkit.cli.errors",
    "tokkit.cli.machine": "tokkit.cli.cpu_name",
    "tokkit.cli.pieces": "tokkit.cli.token_text",
    "tokkit.cli.progress": "tokkit.progress",
    "tokkit.cli.showing": "tokkit.cli.token_lines",
    "tokkit.cli.stages": "tokkit.cli.stage_timing",
    "tokkit.columns": "tokkit.encoding.columns",
    "tokkit.compat.sentencepiece.loaded": "tokkit.compat.sentencepiece.loaded_model",
    "tokkit.continuing": "tokkit.engine.encode_stream",
    "tokkit.costs": "tokkit.cli.costs",
    "tokkit.decoding": "tokkit.engine.decoding",
    "tokkit.fingerprint": "tokkit.formats.fingerprint",
    "tokkit.formats.gguf_kinds": "tokkit.formats.gguf_models",
    "tokkit.formats.unfinished": "tokkit.files.temporary_files",
    "tokkit.formats.unsupported": "tokkit.formats.unsupported_formats",
    "tokkit.length_rules": "tokkit.encoding.length_rules",
    "tokkit.mixed": "tokkit.encoding.aligned_encodings",
    "tokkit.models.pieces": "tokkit.models.base",
    "tokkit.pipeline.search": "tokkit.search",
    "tokkit.pipeline.search.ann": "tokkit.search.ann",
    "tokkit.pipeline.search.builder": "tokkit.search.builder",
    "tokkit.pipeline.search.chunking": "tokkit.chunks.chunking",
    "tokkit.pipeline.search.embedding": "tokkit.search.embedding",
    "tokkit.pipeline.search.exact": "tokkit.search.exact",
    "tokkit.pipeline.search.index": "tokkit.search.index",
    "tokkit.pipeline.search.snippets": "tokkit.search.snippets",
    "tokkit.pipeline.search.sources": "tokkit.search.sources",
    "tokkit.registry.places": "tokkit.registry.local_files",
    "tokkit.search.chunking": "tokkit.chunks.chunking",
    "tokkit.segmentations": "tokkit.engine.segmentations",
    "tokkit.subwords": "tokkit.engine.sampling",
    "tokkit.unicode_regex.bounds": "tokkit.unicode_regex.cost_limits",
    "tokkit.unicode_regex.cuts": "tokkit.unicode_regex.boundaries",
    "tokkit.visible": "tokkit.escaping",
}
"""Old name → new name."""

RENAMED = {
    "tokkit.compat.sentencepiece.loaded": {"Loaded": "LoadedModel"},
    "tokkit.mixed": {"Mixed": "AlignedEncodings"},
    "tokkit.models.pieces": {"PieceModel": "CompiledModel"},
    "tokkit.unicode_regex.cuts": {"PatternCuts": "PatternBoundaries", "pattern_cuts": "pattern_boundaries"},
}
"""Old name of a module → old names in it → their new names."""


class OldNames:
    """Finds modules by their old names, if no file has that name."""

    def find_spec(self, name: str, path: "object" = None, target: "object" = None) -> "ModuleSpec | None":
        """Return the spec of a module that has moved; None for any other."""
        if name not in MOVED:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, self)  # type: ignore[arg-type]

    def create_module(self, spec: "ModuleSpec") -> None:
        """Let the import system make an empty module."""

    def exec_module(self, module: "ModuleType") -> None:
        """Make the module return the attributes of the moved module, with a warning."""
        import importlib
        import warnings

        new = MOVED[module.__name__]
        warnings.warn(f"{module.__name__} is {new} now", DeprecationWarning, stacklevel=2)
        moved = importlib.import_module(new)

        if hasattr(moved, "__path__"):
            module.__path__ = []  # so that its submodules are found here, by their old names

        renamed = RENAMED.get(module.__name__, {})

        def get(name: str) -> "Any":
            return getattr(moved, renamed.get(name, name))

        module.__getattr__ = get  # type: ignore[method-assign]
        module.__dir__ = lambda: dir(moved)  # type: ignore[method-assign]


sys.meta_path.append(OldNames())
