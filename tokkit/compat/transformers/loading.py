"""Loads a tokenizer: its definition, and the settings in other files: special tokens, lengths and templates."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokkit.chat import config as chat_config
from tokkit.definition import Definition
from tokkit.errors import DownloadError, OptionError
from tokkit.files import files
from tokkit.formats import tokenizer_json
from tokkit.registry import hub
from tokkit.registry.tokenizer_classes import settings
from tokkit.registry.tokenizer_classes.tokens import AddedToken, is_token
from tokkit.tokenizer import Tokenizer

OLDER_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
"""Names of the hub without an organization: gpt2, bert-base-uncased."""
VOCABULARIES = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "vocab.txt", "vocab.json")


def found(name: Any, *, revision: str | None = None, subfolder: str = "", local_files_only: bool = False) -> Path:
    """Return the folder or the file of a tokenizer: a path, or a name in the hub's cache; OSError if there is none."""
    path = Path(os.fspath(name))
    if path.exists():
        return path / subfolder
    if not hub.is_name(os.fspath(name)) and not OLDER_NAME.fullmatch(os.fspath(name)):
        raise OSError(f"{files.show(path)} is neither an existing file or folder nor a name on the hub (org/name)")
    full = f"{os.fspath(name)}@{revision}" if revision not in (None, "main") else os.fspath(name)
    try:
        place = Path(hub.find(full))
    except DownloadError:
        how = f"tokkit fetch {full}" if hub.is_name(full) else f"hf download {full}"
        raise DownloadError(f"{full} is neither a folder nor in the hub's cache; run {how} to download it") from None
    return place.parent / subfolder if subfolder else place.parent


def vocabulary_in(folder: Path) -> Path | None:
    """Return the file of a vocabulary in a folder, other than tokenizer.json; None if there is none."""
    return next((folder / name for name in VOCABULARIES if (folder / name).is_file()), None)


def stated_in(path: Path) -> dict[str, Any]:
    """Return what tokenizer_config.json says, with the chat templates of all files; {} for a single file."""
    if path.is_file():
        return {}
    found = settings.read(path / settings.CONFIG)
    templates = chat_config.templates_of(path, path / settings.CONFIG)
    if templates:
        found["chat_template"] = templates["default"] if list(templates) == ["default"] else templates
    return found


def with_own_tokens(given: dict[str, Any]) -> dict[str, Any]:
    """Return arguments in which the added tokens of any library, also in lists and mappings, are ours."""
    return {key: _own(value) for key, value in given.items()}


def _own(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_own(item) for item in value]
    if isinstance(value, dict):
        return {key: _own(item) for key, item in value.items()}
    return AddedToken.of(value) if is_token(value) and not isinstance(value, str) else value


def definition_of(given: Any) -> Definition:
    """Return the definition of a tokenizer object of tokkit, tokenizers or transformers.

    OptionError for an object without a backend of the tokenizers library, such as transformers' slow tokenizers.
    """
    if isinstance(given, Tokenizer):
        return given.definition
    if isinstance(given, Definition):
        return given
    inner = getattr(given, "_tok", None)
    if isinstance(inner, Tokenizer):  # of this interface
        return inner.definition
    backend = getattr(given, "backend_tokenizer", None) or getattr(given, "_tokenizer", None) or given
    if not callable(getattr(backend, "to_str", None)):
        raise OptionError(
            f"the tokenizer is a {type(given).__name__}; it must have a backend of the tokenizers library (is_fast); "
            "slow tokenizers exist only as Python code, or as a .model file, which tokkit.load reads"
        )
    return tokenizer_json.read(backend.to_str().encode(), keep_ids=True)


def without_lengths(definition: Definition) -> Definition:
    """Return a definition without its own truncation and padding, which are arguments of calls in transformers."""
    if definition.truncation is None and definition.padding is None:
        return definition
    return replace(definition, truncation=None, padding=None)


def from_transformers(tok: Any) -> Tokenizer:
    """Make a tokkit tokenizer with equal ids from a tokenizer object of transformers.

    The truncation and padding of the object's last call are left out. OptionError for slow tokenizers, which have no
    tokenizer.json.
    """
    return Tokenizer(without_lengths(definition_of(tok)))
