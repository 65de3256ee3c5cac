"""Each public name of tokenizers, and each argument, is in tokkit's drop-in, save those that the docs name."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest

theirs = pytest.importorskip("tokenizers")

MODULES = (
    *("", ".decoders", ".implementations", ".models", ".normalizers", ".pre_tokenizers", ".processors", ".trainers"),
)
MISSING = {"ParityBpeTrainer"}
TYPING = {"Any", "Dict", "Enum", "List", "Literal", "Optional", "Tuple", "Union"}


def public(owner: Any) -> set[str]:
    return {name for name in dir(owner) if not name.startswith("_") and not inspect.ismodule(getattr(owner, name))}


def classes(module: str) -> list[tuple[Any, Any]]:
    """The classes of a module, each with ours."""
    other, ours = (importlib.import_module(name + module) for name in ("tokenizers", "tokkit.compat.tokenizers"))
    names = sorted(public(other) - MISSING - TYPING)
    pairs = [(getattr(other, name), getattr(ours, name)) for name in names]
    return [pair for pair in pairs if inspect.isclass(pair[0]) and hasattr(pair[0], "__mro__")]


@pytest.mark.parametrize("module", MODULES)
def test_modules_have_all_names(module: str) -> None:
    other, ours = (importlib.import_module(name + module) for name in ("tokenizers", "tokkit.compat.tokenizers"))
    assert public(other) - public(ours) - TYPING <= MISSING


@pytest.mark.parametrize("module", MODULES)
def test_classes_have_all_methods_and_properties(module: str) -> None:
    missing = {other.__name__: public(other) - public(ours) for other, ours in classes(module)}
    assert {name: names for name, names in missing.items() if names} == {}


def arguments(call: Any) -> dict[str, inspect.Parameter] | None:
    try:
        return dict(inspect.signature(call).parameters)
    except (TypeError, ValueError):  # some methods of an extension module do not tell
        return None


@pytest.mark.parametrize("module", MODULES)
def test_methods_have_all_arguments(module: str) -> None:
    missing = []
    for other, ours in classes(module):
        for name in sorted(public(other)):
            wanted, given = arguments(getattr(other, name)), arguments(getattr(ours, name))
            if wanted is None or given is None or any(p.kind is p.VAR_KEYWORD for p in given.values()):
                continue
            missing += [(other.__name__, name, argument) for argument in wanted.keys() - given.keys()]
    assert missing == []


@pytest.mark.parametrize("name", ["BertWordPieceTokenizer", "ByteLevelBPETokenizer"])
def test_ready_made_tokenizers_can_be_extended(name: str) -> None:
    from tokkit.compat import tokenizers as face

    class Extended(getattr(face, name)):  # type: ignore[misc]
        def add_tokens(self, tokens: list[str]) -> int:
            return int(super().add_tokens([token * 2 for token in tokens]))

    made = Extended()
    assert made.add_tokens(["a"]) == 1
    assert made.add_special_tokens(special_tokens=["<s>"]) == 1
    assert {"aa", "<s>"} <= set(made.get_vocab())
    made.normalizer = face.normalizers.Lowercase()
    assert made.normalizer.normalize_str("A") == made.normalize("A") == "a"
    made.enable_truncation(3)
    assert made.truncation["max_length"] == 3
