"""Tokenizers by name: published encodings and models, from this machine or downloaded on request.

Only `download=True`, `fetch` and `tokkit fetch` download files. Every file must have the SHA-256 that is pinned in
encodings.py, each time it is read.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokkit.errors import DownloadError, OptionError
from tokkit.registry import local_files, models
from tokkit.registry.encodings import ALIASES, ENCODINGS, GPT2_PAIR, SPECIAL_TOKENS, Source
from tokkit.registry.models import encoding_name_for_model, nearest

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

__all__ = [
    "ALIASES",
    "ENCODINGS",
    "encoding_for_model",
    "encoding_name_for_model",
    "fetch",
    "get_encoding",
    "list_encoding_names",
]

_loaded: dict[tuple[object, ...], Tokenizer] = {}
_lock = threading.Lock()


def list_encoding_names() -> list[str]:
    """Return the names that `get_encoding` accepts."""
    return list(ENCODINGS)


def source_of(name: str) -> Source:
    """Return the file of an encoding; the OptionError for an unknown name lists the nearest names."""
    if not isinstance(name, str):
        raise OptionError(f"an encoding's name is {type(name).__name__}; it must be a str")
    if name not in ENCODINGS:
        if (meant := models.find(name)) is not None:
            raise OptionError(f"{name!r} is a model; its encoding is {meant}, and encoding_for_model() loads it")
        raise OptionError(f"{name!r} is not a published encoding{nearest(name, ENCODINGS)}")
    return ENCODINGS[name]


def get_encoding(name: str, *, path: str | os.PathLike[str] | None = None, download: bool = False) -> Tokenizer:
    """Return the published encoding of this name, with its pattern and special tokens.

    The names are gpt2, r50k_base, p50k_base, p50k_edit, cl100k_base, o200k_base and o200k_harmony. The rank file is
    searched for at `path` (the file, or its folder), or in the working directory, TOKKIT_DATA_DIR, TIKTOKEN_CACHE_DIR
    and the user's cache. With `download`, a missing file is downloaded from its publisher into the cache. Later calls
    return the same tokenizer as long as the file does not change.

    Raises OptionError for an unknown name, DownloadError if the file is missing or cannot be downloaded, FormatError
    for a file whose SHA-256 is not the published one.
    """
    source = source_of(name)
    place = local_files.find(source, path)
    if place is None:
        if name == "gpt2" and (pair := _gpt2_pair(path)) is not None:
            return pair
        if not download:
            raise DownloadError(_nowhere(name, source, path))
        place = fetch(name)
    status = place.stat()
    key = (name, os.path.abspath(place), status.st_mtime_ns, status.st_size, status.st_ino)
    with _lock:
        made = _loaded.get(key)
        if made is None:
            made = _loaded[key] = _read(name, source, place)
            made.recalled_by(_recalled, name, None)
        if path is not None:  # also if an earlier call found the file by itself: it may no longer be found so
            made.recalled_by(_recalled, name, os.path.abspath(place))
        return made


def _recalled(name: str, place: str | None) -> Tokenizer:
    """Return the encoding of a pickle, which has only its name and, if it was loaded from a given path, that."""
    return get_encoding(name, path=place if place is not None and os.path.exists(place) else None)


def encoding_for_model(model: str, *, path: str | os.PathLike[str] | None = None, download: bool = False) -> Tokenizer:
    """Return the encoding that a model uses, by tiktoken's table; other arguments are as in `get_encoding`."""
    return get_encoding(encoding_name_for_model(model), path=path, download=download)


def _read(name: str, source: Source, place: Path) -> Tokenizer:
    from tokkit.formats import tiktoken
    from tokkit.tokenizer import Tokenizer

    definition = tiktoken.read(local_files.read(source, place), special_tokens=SPECIAL_TOKENS.get(name))
    return Tokenizer(replace(definition, name=name))


def _gpt2_pair(path: str | os.PathLike[str] | None) -> Tokenizer | None:
    """Return gpt2 from its two original files, if both are found."""
    from tokkit.formats import gpt2
    from tokkit.tokenizer import Tokenizer

    found = [local_files.find(source, path) for source in GPT2_PAIR]
    if (path is not None and not Path(path).is_dir()) or None in found:
        return None
    vocab, merges = (local_files.read(source, place) for source, place in zip(GPT2_PAIR, found, strict=True) if place)
    return Tokenizer(replace(gpt2.read(vocab, merges), name="gpt2"))


def _nowhere(name: str, source: Source, path: str | os.PathLike[str] | None) -> str:
    from tokkit.files.files import show

    looked = ", ".join(dict.fromkeys(show(place.parent) for place in local_files.places(source, path)))
    return (
        f"{name} is not on this machine: {source.file} ({source.n_bytes / 1e6:.1f} MB) is not in {looked}; "
        f"tokkit fetch {name} downloads it, and so does download=True"
    )


def fetch(
    name: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    mirror: str | None = None,
    patience: float | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Path:
    """Download the file of an encoding, or of a model's encoding, if it is missing, and return its path.

    It is written to `folder`, by default the user's cache, and comes from its publisher, or from the address `mirror`
    (TOKKIT_MIRROR). An existing file is checked, and replaced if it was changed. `patience` is the time to wait for a
    server, in seconds (30); `progress(done, total)` gets bytes.
    """
    from tokkit.errors import FormatError
    from tokkit.registry import download

    encoding = name if name in ENCODINGS else models.find(name)
    if encoding is None:
        raise OptionError(f"{name!r} is not a published encoding or model{nearest(name, [*ENCODINGS, *models.MODELS])}")
    source = ENCODINGS[encoding]
    target = local_files.user_cache() if folder is None else Path(folder)
    if (target / source.file).is_file():
        try:
            local_files.read(source, target / source.file)
        except FormatError:
            if download.offline():
                raise
        else:
            return target / source.file
    return download.fetch(
        source,
        target,
        mirror=mirror or os.environ.get("TOKKIT_MIRROR") or None,
        patience=download.PATIENCE if patience is None else patience,
        progress=progress,
    )
