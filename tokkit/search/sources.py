"""Reads the texts of files and folders, and lists skipped files with reasons."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tokkit.corpus import readers
from tokkit.corpus.paths import expand, input_name
from tokkit.corpus.readers import InputErrors
from tokkit.errors import CorpusError
from tokkit.files.files import KINDS

SNIFFED = 1 << 13
"""Bytes at the start of a block that are searched for NUL, which nearly all binary files have and texts do not."""


class Document(NamedTuple):
    """One text: a record of a .jsonl file, with its number `record` from 1; or a whole file, with `record` 0.

    `offset` is the start of the text in the file, in bytes: after a byte-order mark.
    """

    text: str
    record: int = 0
    offset: int = 0


class Source(NamedTuple):
    """A file that was read: its absolute path ("-" for stdin), and a sha256 of its texts."""

    path: str
    sha256: str
    documents: list[Document]


class Skipped(NamedTuple):
    """A file that was not read, and why."""

    path: str
    reason: str


def find(paths: Sequence[str], *, leave_out: str | None = None) -> Iterator[str | Skipped]:
    """Yield the files that paths, globs and folders name, without repeats; in folders sorted, without hidden files.

    Symbolic links to folders are not followed, and `leave_out`, the folder of the index itself, is skipped. An entry of
    a folder that is not a regular file is yielded as `Skipped`. CorpusError for a path that does not exist.
    """
    seen: set[str] = set()
    avoided = None if leave_out is None else os.path.realpath(leave_out)
    for given in paths:
        folders = given != "-" and os.path.isdir(given)
        for path in _walk(given, avoided) if folders else expand([given]):
            if isinstance(path, str):
                real = os.path.realpath(path) if path != "-" else path
                if real in seen:
                    continue
                seen.add(real)
            yield path


def _walk(top: str, avoided: str | None) -> Iterator[str | Skipped]:
    failed: list[OSError] = []
    for folder, inner, names in os.walk(top, onerror=failed.append):
        while failed:
            yield _failed(failed.pop())
        inner[:] = sorted(
            name for name in inner if name[0] != "." and os.path.realpath(os.path.join(folder, name)) != avoided
        )
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name[0] != ".":
                yield _kind(path) or path
    while failed:
        yield _failed(failed.pop())


def _failed(error: OSError) -> Skipped:
    return Skipped(os.fsdecode(error.filename), error.strerror or "it cannot be read")


def _kind(path: str) -> Skipped | None:
    """Return why an entry of a folder is not read (None if it is); opening a pipe would block."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        return Skipped(path, error.strerror or "it cannot be read")
    kind = next((kind for is_kind, kind in KINDS if is_kind(mode)), None)
    return None if stat.S_ISREG(mode) else Skipped(path, kind or "not a regular file")


def read(path: str, field: str = "text", errors: InputErrors = "strict") -> Source | Skipped:
    """Return the texts of a file, as read by `tokkit.corpus`, or the reason why it has none.

    Texts are a field of each record of a .jsonl file, or another file as a whole, decompressed. Reasons are: binary,
    not UTF-8, or unreadable.
    """
    digest = hashlib.sha256()
    documents: list[Document] = []
    corpus = readers.Corpus([path], unit="file", field=field, errors=errors, tables=False)
    try:
        for block in corpus:
            if b"\0" in block.data[:SNIFFED] and block.unit != "item":
                return Skipped(path, "binary: it contains the byte 0")
            for text in block.documents(errors):
                record = len(documents) + 1 if block.unit == "item" else 0
                documents.append(Document(text, record, block.offset if not record else 0))
                digest.update(b"%d:" % len(text) + text.encode())
    except CorpusError as error:
        return Skipped(path, str(error).removeprefix(input_name(path)).lstrip(":, "))
    except OSError as error:
        return Skipped(path, error.strerror or str(error))
    return Source(path if path == "-" else os.path.abspath(path), digest.hexdigest(), documents)
