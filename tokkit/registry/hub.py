"""Finds the tokenizer file of "org/name" in the Hugging Face hub's cache, or downloads it on request.

It uses huggingface_hub (extra `hub`), with its cache and the variables HF_HOME, HF_ENDPOINT and HF_TOKEN.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from tokkit.errors import DownloadError, TokkitError

NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(?:@[\w./-]+)?")
SUFFIXES = (".json", ".tiktoken", ".gguf", ".txt", ".model", ".vocab", ".bpe")
CHOICES = (
    ("tokenizer.json",),
    ("vocab.json", "merges.txt"),
    ("tekken.json",),
    ("vocab.txt",),
    ("tokenizer.model",),
    ("spiece.model",),
    ("sentencepiece.bpe.model",),
    ("spm.model",),
    ("sentencepiece.model",),
)
"""Files from which a tokenizer can be loaded, the best first; all files of a line are needed."""
BESIDE = (
    *("tokenizer_config.json", "config.json", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja"),
)
"""Files that are read too, if they exist: they name the class of the tokenizer and its special tokens."""


def is_name(path: object) -> bool:
    """Return whether this is "org/name" or "org/name@revision", not the path of a file."""
    if not isinstance(path, str) or not NAME.fullmatch(path) or path.endswith(SUFFIXES):
        return False
    return not os.path.lexists(path) and not os.path.isdir(path.split("/")[0])


def library(name: str, kind: str) -> Any:
    """Import huggingface_hub; if it is not installed, DownloadError says why it is needed."""
    try:
        import huggingface_hub
    except ImportError:
        raise DownloadError(
            f"{kind} {name} is not on this machine; to look on the hub, install huggingface_hub: pip install "
            "'pytokkit[hub]'"
        ) from None
    return huggingface_hub


def find(name: str, *, download: bool = False) -> str:
    """Return the path of a hub tokenizer's file in the cache; with `download`, a missing file is downloaded.

    DownloadError if it is missing, cannot be downloaded, or TOKKIT_OFFLINE forbids it.
    """
    from tokkit.registry.download import refuse_offline

    huggingface_hub = library(name, "file")
    repo, _, revision = name.partition("@")

    if (path := _first(lambda file: cached(huggingface_hub, repo, file, revision or None))) is not None:
        return path
    if download:
        refuse_offline(name)
        return _download(repo, revision or None)
    raise DownloadError(
        f"{name} is neither a file nor in the hub's cache; download it with tokkit fetch {name}, or download=True"
    )


def find_folder(name: str, *, download: bool = False) -> str:
    """Return the folder of a hub tokenizer in the cache, like `find`."""
    return os.path.dirname(find(name, download=download))


def cached(hub: Any, repo: str, file: str, revision: str | None) -> str | None:
    """Return the path of a file in huggingface_hub's cache; DownloadError for an invalid name."""
    try:
        found = hub.try_to_load_from_cache(repo, file, revision=revision)
    except ValueError as error:
        raise DownloadError(f"{repo}: {error}") from None
    return found if isinstance(found, str) else None


def _first(get: Callable[[str], str | None]) -> str | None:
    """Return the first file of the first choice whose files are all available."""
    for choice in CHOICES:
        paths = []
        for file in choice:  # one by one: if the first does not exist, the second is not requested
            if (path := get(file)) is None:
                break
            paths.append(path)
        if len(paths) == len(choice):
            for beside in BESIDE:
                get(beside)
            return paths[0]
    return None


def _download(repo: str, revision: str | None) -> str:
    import huggingface_hub
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    def get(file: str) -> str | None:
        try:
            return str(huggingface_hub.hf_hub_download(repo, file, revision=revision))
        except LocalEntryNotFoundError:
            raise
        except EntryNotFoundError:
            return None

    try:
        path = _first(get)
    except TokkitError:
        raise
    except Exception as error:  # errors of huggingface_hub, requests, httpx and the system
        raise DownloadError(f"{repo}: {str(error).strip().splitlines()[0] or type(error).__name__}") from None
    if path is None:
        files = ", ".join(" with ".join(choice) for choice in CHOICES)
        raise DownloadError(f"{repo}: this repository has no supported tokenizer; looked for {files}")
    return path
