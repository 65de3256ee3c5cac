"""`load`: a tokenizer from a file, a folder, or the name of a published encoding, of a model, or on the hub."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tokkit import formats
from tokkit.errors import OptionError
from tokkit.escaping import show
from tokkit.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokkit.definition import Definition
    from tokkit.tokenizer import StrPath

SUFFIXES = (".json", ".tiktoken", ".txt", ".model", ".gguf")
"""A path with one of these suffixes is a file, never the name of a model."""


def load(
    path: StrPath,
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    lowercase: bool | None = None,
    download: bool = False,
) -> Tokenizer:
    """Load a tokenizer: tokenizer.json, .model, .tiktoken, vocab.json + merges.txt, vocab.txt, tekken.json, .gguf.

    `path` is a file, or a folder with one of these files. A folder with a tokenizer_config.json or config.json
    gives the ids that transformers 5.24 gives for it: its class decides, also where that builds the pipeline of a
    tokenizer.json anew; `load("folder/tokenizer.json")` gives what the file says. The rank files of published
    encodings are recognized by their SHA-256; another .tiktoken file needs `pattern` (a name such as "cl100k", or a
    pattern), and so does a .gguf file whose split has no known name. A vocab.txt is read as BERT's: lowercased,
    unless `lowercase` or a tokenizer_config.json or tokenizer.json in its folder specifies otherwise.

    If no such path exists, `path` may be the name of a published encoding ("cl100k_base"), of a model that uses one
    ("gpt-4"), or "org/name" or "org/name@revision" in the cache of the Hugging Face hub (extra `hub`). With
    `download=True`, a missing file is downloaded. Raises FormatError for an invalid file, DownloadError for a name
    whose file is not on this machine, FileNotFoundError if `path` is neither a file nor a known name.
    """
    if isinstance(path, str) and not os.path.lexists(path):
        if "/" in path:
            from tokkit.registry import hub

            path = hub.find_folder(path, download=download) if hub.is_name(path) else path
        elif pattern is None and lowercase is None and path.isprintable() and not path.endswith(SUFFIXES):
            found = _published(path, download)
            return found.with_special_tokens(special_tokens) if special_tokens else found
    if pattern is None and _is_of_a_class(path):
        return Tokenizer(_of_a_class(path, special_tokens, lowercase))
    return Tokenizer(formats.read(path, pattern=pattern, special_tokens=special_tokens, lowercase=lowercase))


def _is_of_a_class(path: object) -> bool:
    """Return whether a path is a folder that names its class in transformers."""
    if not isinstance(path, (str, os.PathLike)) or not os.path.isdir(path):
        return False
    from tokkit.registry.tokenizer_classes import folder

    return folder.has_settings(path)


def _of_a_class(path: StrPath, special_tokens: Mapping[str, int] | None, lowercase: bool | None) -> Definition:
    from pathlib import Path

    from tokkit.registry.tokenizer_classes import folder

    asked = {} if lowercase is None else {"do_lower_case": lowercase}
    built = folder.load(Path(path), asked=asked)
    if lowercase is not None and "do_lower_case" not in built.row.arguments:
        raise OptionError(f"lowercase= was given, but {built.name} has no such argument")
    return built.definition.with_special_tokens(special_tokens) if special_tokens else built.definition


def _published(name: str, download: bool) -> Tokenizer:
    from tokkit.registry import ENCODINGS, get_encoding, models

    encoding = name if name in ENCODINGS else models.find(name)
    if encoding is None:
        near = models.nearest(name, [*ENCODINGS, *models.MODELS])
        raise FileNotFoundError(f"{show(name)} is neither a file nor a published encoding or model{near}")
    return get_encoding(encoding, download=download)
