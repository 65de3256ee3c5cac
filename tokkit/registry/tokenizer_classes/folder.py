"""Loads the tokenizer of a folder as its class does in transformers 5.24: `load`."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokkit import formats
from tokkit.errors import FormatError, OptionError, TokkitError, VocabError
from tokkit.files import files
from tokkit.registry.tokenizer_classes import build, choice, model_types, settings, sources
from tokkit.registry.tokenizer_classes.build import Built
from tokkit.registry.tokenizer_classes.draft import Draft
from tokkit.registry.tokenizer_classes.row import Row
from tokkit.registry.tokenizer_classes.table import CLASSES

FILE = "tokenizer.json"
VERSION = (5, 24)
"""The version of transformers whose rules these are."""
_VERSIONED = re.compile(r"tokenizer\.(\d+(?:\.\d+)*)\.json")
_OTHER_VOCABULARY = re.compile(r"tokenizer\.model|tiktoken\.model")
_MODEL_TYPE = re.compile(rb'"model"\s*:\s*\{\s*"type"\s*:\s*"(\w+)"')
_LOG = logging.getLogger("tokkit")


def class_of(folder: Path, config: Mapping[str, Any] | None = None) -> str:
    """Return the name of the class of a folder; `config` replaces its config.json.

    A folder's tokenizer.json is used as it is, and that is logged, if the named class is unknown, or if no class is
    named and the one of the model type needs another type of model. OptionError for an unknown class without the file.
    """
    stated = settings.read(folder / settings.CONFIG)
    config = settings.read(folder / settings.MODEL, of_tokenizer=False) if config is None else config
    file = files.read_bytes(folder / FILE) if (folder / FILE).is_file() else b""
    known = {*CLASSES, *model_types.CLASS_OF.values()}
    name = choice.choose(stated, config, is_known=known.__contains__, has_byte_level=b'"ByteLevel"' in file)
    if not file or name == choice.PLAIN:
        return name
    if name not in CLASSES:
        return _as_it_is(folder, f"the tokenizer class {name} is unknown")
    found, row = _MODEL_TYPE.search(file), CLASSES[name]
    is_named = bool(stated.get("tokenizer_class") or config.get("tokenizer_class"))
    if not is_named and found is not None and row.parts is not None and found[1].decode() != (row.model or "Unigram"):
        return _as_it_is(folder, f"its model is {found[1].decode()}, which {name}, the class of its model type, is not")
    return name


def _as_it_is(folder: Path, why: str) -> str:
    _LOG.warning("%s: %s; %s is used as it is", files.show(folder), why, FILE)
    return choice.PLAIN


def has_settings(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder says which class it is of, in tokenizer_config.json or config.json."""
    return any(os.path.isfile(os.path.join(folder, name)) for name in (settings.CONFIG, settings.MODEL))


def load(
    path: Path,
    *,
    name: str | None = None,
    stated: Mapping[str, Any] | None = None,
    asked: Mapping[str, Any] | None = None,
) -> Built:
    """Return the tokenizer in a folder, or of a single vocabulary file of the class `name`.

    `stated` replaces the folder's tokenizer_config.json; `asked` are arguments of the caller. FormatError or
    OptionError names the file, the class and what is wrong.
    """
    asked, folder = dict(asked or {}), path if path.is_dir() else None
    if name is None:
        name = choice.PLAIN if folder is None else class_of(folder)
    try:
        row = build.row_of(name)
        if stated is None:
            stated = {} if folder is None else settings.read(folder / settings.CONFIG)
        paths = files_of(row, path, stated.get("fast_tokenizer_files"))
        whole = _read_other(row, path, paths)
        file = sources.read_file(paths["tokenizer_file"]) if "tokenizer_file" in paths else None
        found = settings.gather(stated, folder, file, asked)
        build.warn_unknown(name, row, found, asked)
        return build.build(name, found, paths, file, whole)
    except (FormatError, OptionError, VocabError) as error:
        raise _named(error, path, name) from None


def _named(error: TokkitError, path: Path, name: str) -> TokkitError:
    """Return an error whose message begins with the folder and the class."""
    place = files.show(path)
    said = str(error).removeprefix(f"{place}: ")
    return type(error)(f"{place}: {said}" if name == choice.PLAIN or name in said else f"{place} ({name}): {said}")


def files_of(row: Row, path: Path, versions: Any = None) -> dict[str, str]:
    """Return the files of a class that exist, by argument: in a folder, or the single file.

    `versions` are names of files for versions of transformers: tokenizer.4.0.0.json.
    """
    if not path.is_dir():
        return {"tokenizer_file" if path.name.endswith(FILE) else "vocab_file": str(path)}
    wanted = {**row.files, "tokenizer_file": _newest(versions) or FILE}
    listed = sorted(os.listdir(path))
    other = next(filter(_OTHER_VOCABULARY.search, listed), None)
    if FILE not in "\n".join(listed) and other is not None:
        wanted["spm_file" if "spm_file" in wanted else "vocab_file"] = other
    return {argument: str(path / name) for argument, name in wanted.items() if (path / name).is_file()}


def _newest(names: Any) -> str | None:
    """Return the file for the newest version of transformers up to VERSION; None without one."""
    matches = [_VERSIONED.fullmatch(name) for name in names or () if isinstance(name, str)]
    versions = {tuple(map(int, match[1].split("."))): match[0] for match in matches if match}
    return versions.get(max((version for version in versions if version <= VERSION), default=()))


def _read_other(row: Row, path: Path, paths: Mapping[str, str]) -> Draft | None:
    """Return the tokenizer of files that only tokkit reads without a class: tekken.json, ranks, GGUF, vocab.txt."""
    if row.parts is not None or row.scripted is not None or "tokenizer_file" in paths:
        return None
    if paths.get("vocab_file", "").endswith(sources.SPIECE) and path.is_dir():
        return None
    return Draft.of_definition(formats.read(path))
