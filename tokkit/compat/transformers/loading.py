"""Loads a tokenizer: its definition, and the settings in other files: special tokens, lengths and templates."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokkit import formats
from tokkit.chat import config as chat_config
from tokkit.compat.transformers import settings
from tokkit.definition import Definition
from tokkit.errors import DownloadError, OptionError
from tokkit.formats import files, tokenizer_json
from tokkit.registry import hub
from tokkit.tokenizer import Tokenizer

CONFIG, MAP, MODEL = "tokenizer_config.json", "special_tokens_map.json", "config.json"
OLDER_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
"""Names of the hub without an organization: gpt2, bert-base-uncased."""
BESIDE = (CONFIG, MAP, MODEL, "chat_template.jinja")
"""Files next to a tokenizer.json with more settings."""


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
    library = hub.library(full, "file")
    for beside in BESIDE:
        hub.cached(library, os.fspath(name), beside, None if revision == "main" else revision)
    return place.parent / subfolder if subfolder else place.parent


def settings_of(path: Path) -> tuple[dict[str, Any], str | None]:
    """Return the settings next to a tokenizer, and its model type; {} and None for a single file."""
    if path.is_file():
        return {}, None
    found = settings.read(path / MAP) | settings.read(path / CONFIG)
    templates = chat_config.templates_of(path, path / CONFIG)
    if templates:
        found["chat_template"] = templates["default"] if list(templates) == ["default"] else templates
    model_type = settings.read(path / MODEL, of_tokenizer=False).get("model_type")
    return found, model_type if isinstance(model_type, str) else None


def definition_in(path: Path, given: dict[str, Any]) -> Definition:
    """Return the definition in a file or a folder; ValueError if there is none."""
    prefix, whole = given.get("add_prefix_space"), path / "tokenizer.json" if path.is_dir() else path
    if isinstance(prefix, bool) and whole.name == "tokenizer.json" and whole.is_file():
        value = json.loads(files.read_bytes(whole))
        if _set_prefix(value.get("pre_tokenizer"), prefix):
            return tokenizer_json.from_json(value)
    definition = formats.read(path)
    # Decoding by a .model of sentencepiece leaves control tokens out; components with equal ids do not.
    components, rules = tokenizer_json.in_components(definition)
    return definition if rules else components


def _set_prefix(stage: Any, prefix: bool) -> bool:
    """Set add_prefix_space of a byte-level pretokenizer; return whether that changed anything."""
    if not isinstance(stage, dict):
        return False
    if isinstance(stage.get("pretokenizers"), list):
        changed = [_set_prefix(inner, prefix) for inner in stage["pretokenizers"]]
        return any(changed)
    if stage.get("type") != "ByteLevel" or stage.get("add_prefix_space", True) is prefix:
        return False
    stage["add_prefix_space"] = prefix
    return True


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
    return tokenizer_json.read(backend.to_str().encode())


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
