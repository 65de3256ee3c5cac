"""Finds the files that paths, globs and folders name, and opens them decompressed."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, NamedTuple, cast

from tokkit.corpus import remote, utf8
from tokkit.errors import CorpusError, OptionError
from tokkit.escaping import show

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

TABLES = (".json", ".csv", ".tsv", ".parquet", ".arrow")
TEXTS = (".txt", ".md", ".rst", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow")
"""Suffixes of files in folders that are read, compressed or not; .json files are not, they may hold anything."""
_COMPRESSION = re.compile(r"\.(gz|bz2|xz|zst)\Z")
_NOT_TEXT = (".parquet", ".arrow")
_ARCHIVES = (".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".zip")


def files_of(paths: Iterable[Path]) -> list[str]:
    """Return the files that paths, globs and folders name; folders are searched at any depth, and sorted."""
    found: list[str] = []
    for given in paths:
        if isinstance(given, str) and remote.is_url(given):
            found += remote.files(given, _is_text)
        elif isinstance(given, (str, bytes, os.PathLike)) and os.path.isdir(given):
            found += _walk(os.fsdecode(given))
        else:
            found += expand([given])
    return found or expand([])


def _walk(folder: str) -> list[str]:
    files = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
    chosen = sorted(filter(_is_text, files))
    if not chosen:
        seen = sorted({suffix_of(path) or "no suffix" for path in files})
        what = f"only files of {', '.join(map(repr, seen[:8]))}" if seen else "no files"
        raise CorpusError(
            f"{input_name(folder)} is a folder with {what}; in a folder, files with these suffixes are read: "
            f"{', '.join(TEXTS)}"
        )
    return chosen


def _is_text(path: str) -> bool:
    return suffix_of(path) in TEXTS


def suffix_of(path: str) -> str:
    """Return the suffix of a file's name in lower case, without the suffix of a compression.

    >>> suffix_of("a/b.TXT.gz")
    '.txt'
    """
    return os.path.splitext(_COMPRESSION.sub("", path.lower()))[1]


def expand(paths: Iterable[Path]) -> list[str]:
    """Return the files that paths and globs name, those of a glob sorted; CorpusError if there are none."""
    found: list[str] = []
    for given in paths:
        if not isinstance(given, (str, bytes, os.PathLike)):
            raise TypeError(f"{given!r:.80} is not a path; give a list of paths, or an iterator (iter(texts)) of texts")
        path = os.fsdecode(given)
        matching = matches(path)
        if not matching:
            raise CorpusError(f"no file matches {input_name(path):.200}")
        found += matching
    if not found:
        raise CorpusError("no file was given")
    for path in found:
        if path == "-" or remote.is_url(path):
            continue
        if os.path.isdir(path):
            files = os.path.join(input_name(path), "*.txt")
            raise CorpusError(f"{input_name(path)} is a directory; name its files, as in {files}")
        if not os.path.exists(path):
            raise CorpusError(
                f"{show(path):.200} does not exist; if this is a text and not a path, give iter(texts) or iter([text])"
            )
    return found


def matches(path: str) -> list[str]:
    """Return the sorted files that match, if the path is a glob; else the path, existing or not."""
    if remote.is_url(path):
        return remote.files(path, _is_text)
    if path == "-" or os.path.lexists(path) or not _is_pattern(path):
        return [path]
    return sorted(found for found in glob.glob(path, recursive=True) if not os.path.isdir(found))


def one(path: Path) -> str:
    """Return the one file that a path or a glob names; OptionError for several."""
    found = expand([path])
    if len(found) > 1:
        raise OptionError(f"{input_name(os.fsdecode(path))} names {len(found)} files; it must name one")
    return found[0]


def _is_pattern(path: str) -> bool:
    return re.search("[*?[]", path) is not None


def input_name(path: str) -> str:
    """Return the name of an input for messages: its path, or "standard input"."""
    return "standard input" if path == "-" else show(path)


def holds_records(path: str) -> bool:
    """Return whether a file's name says that it holds JSON lines, not plain text."""
    return suffix_of(path) in (".jsonl", ".ndjson")


def size_of(path: str) -> int:
    """Return the size of a regular file in bytes, 0 if it is unknown without reading."""
    if remote.is_url(path):
        return remote.size(path)
    with contextlib.suppress(OSError):
        status = os.stat(path)
        return status.st_size if stat.S_ISREG(status.st_mode) else 0
    return 0


@contextlib.contextmanager
def read_errors(name: str) -> Iterator[None]:
    """Raise CorpusError for what reading a file, perhaps compressed, leads to."""
    try:
        yield
    except EOFError:
        raise CorpusError(f"{name} ends early: the compressed file is truncated") from None
    except (MemoryError, CorpusError, OptionError):
        raise
    except Exception as error:  # zlib.error and lzma.LZMAError have no other common base, and are not imported here
        raise CorpusError(f"{name} cannot be read: {error}") from None


class Opened(NamedTuple):
    """The decompressed bytes of a file, and a function for the number of bytes read from the file.

    A byte-order mark at the start of a text is not in the stream; `skipped` is its length, or 0.
    """

    stream: BinaryIO
    position: Callable[[], int]
    skipped: int


@contextlib.contextmanager
def opened(path: str, name: str, *, binary: bool = False) -> Iterator[Opened]:
    """Open a file; `binary` allows tables that are not text."""
    if path == "-":
        if sys.stdin is None or sys.stdin.closed:  # None: the process was started without it
            raise CorpusError("standard input is closed")
        yield _text(sys.stdin.buffer, lambda: 0, name, seekable=False)
        return
    if _COMPRESSION.sub("", path.lower()).endswith(_ARCHIVES):
        raise CorpusError(f"{name} is an archive of files; unpack it and give the files")
    suffix = os.path.splitext(path.lower())[1]
    if suffix in _NOT_TEXT and not binary:
        raise CorpusError(f"{name}: {suffix} files cannot be read; give text or jsonl, plain or compressed")
    try:
        # Closed below, after its decompressor.
        raw = remote.opened(path) if remote.is_url(path) else open(path, "rb", buffering=0)  # noqa: SIM115
    except OSError as error:
        raise CorpusError(f"{name} cannot be read: {error.strerror}") from None
    with raw:
        seekable = raw.seekable()
        position = raw.tell if seekable else lambda: 0
        stream = _decompressed(raw, suffix, name)
        if suffix_of(path) in _NOT_TEXT:
            yield Opened(stream, position, 0)
        else:
            yield _text(stream, position, name, seekable=seekable and suffix != ".zst")


def _decompressed(raw: BinaryIO, suffix: str, name: str) -> BinaryIO:
    """Return a stream of the decompressed bytes of a file with this suffix."""
    if suffix == ".gz":
        import gzip

        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if suffix == ".bz2":
        import bz2

        return cast(BinaryIO, bz2.BZ2File(raw))
    if suffix == ".xz":
        import lzma

        return cast(BinaryIO, lzma.LZMAFile(raw))
    if suffix == ".zst":
        from tokkit.corpus.zstandard_stream import ZstandardStream

        return cast(BinaryIO, ZstandardStream(raw, name))
    return raw


def _text(stream: BinaryIO, position: Callable[[], int], name: str, *, seekable: bool) -> Opened:
    with read_errors(name):
        text, skipped = utf8.after_mark(stream, name, seekable=seekable)
    return Opened(text, position, skipped)
