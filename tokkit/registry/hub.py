"""Finds the tokenizer file of "org/name" in the Hugging Face hub's cache, or downloads it on request.

huggingface_hub (the extra `hub`) does the work: its cache, its HF_HOME, HF_ENDPOINT and HF_TOKEN.
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
)
"""Files that a tokenizer may be read from, the best first; all files of one line are needed."""
BESIDE = {"vocab.txt": "tokenizer_config.json", "vocab.json": "added_tokens.json"}
"""File → another that is read beside it, if there is one."""


def is_name(path: object) -> bool:
    """Return whether this is "org/name" or "org/name@revision", and not the path of a file."""
    if not isinstance(path, str) or not NAME.fullmatch(path) or path.endswith(SUFFIXES):
        return False
    return not os.path.lexists(path) and not os.path.isdir(path.split("/")[0])


def library(name: str, kind: str) -> Any:
    """Return huggingface_hub; a DownloadError explains what it is for if it is not installed."""
    try:
        import huggingface_hub
    except ImportError:
        raise DownloadError(
            f"there is no {kind} {name} here; to search the hub, install huggingface_hub: pip install 'pytokkit[hub]'"
        ) from None
    return huggingface_hub


def find(name: str, *, download: bool = False) -> str:
    """Return the path of the file of a hub's tokenizer in the cache; with `download`, a missing one is downloaded.

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
        f"{name} is neither a file nor in the hub's cache; tokkit fetch {name}, or download=True, gets it from the hub"
    )


def cached(hub: Any, repo: str, file: str, revision: str | None) -> str | None:
    """Return the path of a file in the cache of huggingface_hub; DownloadError for a name that no model can have."""
    try:
        found = hub.try_to_load_from_cache(repo, file, revision=revision)
    except ValueError as error:
        raise DownloadError(f"{repo}: {error}") from None
    return found if isinstance(found, str) else None


def _first(get: Callable[[str], str | None]) -> str | None:
    """Return the first file of the first choice of which all can be had."""
    for choice in CHOICES:
        paths = []
        for file in choice:  # not all at once: where the first is not there, nobody has to ask for the second
            if (path := get(file)) is None:
                break
            paths.append(path)
        if len(paths) == len(choice):
            if (more := BESIDE.get(choice[0])) is not None:
                get(more)
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
    except Exception as error:  # it has errors of its own, of requests, of httpx and of the system
        raise DownloadError(f"{repo}: {str(error).strip().splitlines()[0] or type(error).__name__}") from None
    if path is None:
        files = ", ".join(" with ".join(choice) for choice in CHOICES)
        raise DownloadError(f"{repo}: the hub has no tokenizer there that can be read; looked for {files}")
    return path
