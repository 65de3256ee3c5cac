"""Detects the format of a file of vectors by its first bytes, and opens it, decompressed."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from io import BufferedReader
from typing import BinaryIO, NamedTuple, cast

from tokkit.errors import FormatError
from tokkit.files import files

Path = str | os.PathLike[str]
HEADER = re.compile(rb"[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t\r]*(?:\n|\Z)")
"""The header: the number of vectors, and their size."""
MAX_SIZE = 1 << 20
"""The maximum size of a vector; a larger one means a wrong header, or another format."""
START = 1 << 16
"""Bytes read for detection: more than a header, a key and a few numbers."""
NUMERIC = frozenset(b"0123456789+-.eE \t\r")
FASTTEXT = (793712314).to_bytes(4, "little")
"""The first bytes of a fastText model, .bin or .ftz."""
PICKLE = re.compile(rb"\x80[\x02-\x05]")
EXPECTED = (
    "a file of vectors (word2vec's .bin or text, GloVe's or fastText's text, or a file written by KeyedVectors.save)"
)
PICKLED = (
    "this is a pickle, as gensim saves models; reading it could run any code. Export it with gensim: "
    'model.wv.save_word2vec_format("vectors.bin", binary=True) (KeyedVectors have no .wv), and '
    "load that"
)


class Header(NamedTuple):
    """The first line of word2vec's formats: number and size of vectors, and the bytes of the line."""

    n: int
    d: int
    length: int

    @classmethod
    def of(cls, start: bytes) -> Header | None:
        """Return the header at the start of a file, None without one; FormatError for an invalid one."""
        found = HEADER.match(start)
        if found is None:
            return None
        n, d = int(found[1]), int(found[2])
        if not 1 <= d <= MAX_SIZE:
            raise FormatError(f"the header states vectors of {d} numbers; it must be 1 to {MAX_SIZE:,}")
        return cls(n, d, found.end())


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for its bytes, decompressed if its name ends in .gz, .bz2 or .xz; errors name the file."""
    damaged: tuple[type[Exception], ...] = ()
    try:
        with files.naming(path), files.open_regular(path, EXPECTED) as raw:
            file, damaged = _decompressed(raw, compression(path))
            yield file
    except damaged as error:
        raise FormatError(f"{files.show(path)}: the compressed file is damaged or truncated: {error}") from None


def compression(path: Path) -> str:
    """Return ".gz", ".bz2" or ".xz" if the file's name has this ending, else ""."""
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    return suffix if suffix in (".gz", ".bz2", ".xz") else ""


def _decompressed(raw: BufferedReader, suffix: str) -> tuple[BinaryIO, tuple[type[Exception], ...]]:
    """Return the open function for a file, and the errors that it raises for damaged data."""
    if suffix == ".gz":
        import gzip
        import zlib

        return cast(BinaryIO, gzip.GzipFile(fileobj=raw)), (EOFError, zlib.error, gzip.BadGzipFile)
    if suffix == ".bz2":
        import bz2

        return cast(BinaryIO, bz2.BZ2File(raw)), (EOFError, OSError)
    if suffix == ".xz":
        import lzma

        return cast(BinaryIO, lzma.LZMAFile(raw)), (EOFError, lzma.LZMAError)
    return raw, ()


def detect(start: bytes) -> str:
    """Return "saved", "binary" or "text" for the first bytes of a file; FormatError for other contents."""
    if not start:
        raise FormatError("the file is empty")
    if PICKLE.match(start):
        raise FormatError(PICKLED)
    if start.startswith(FASTTEXT):
        raise FormatError(
            "this is a fastText model; load it with tokkit.embeddings.FastText.load, or query it with `tokkit "
            "wordvec oov`"
        )
    if len(start) > 8 and start[8:9] == b"{" and int.from_bytes(start[:8], "little") < 1 << 32:
        return "saved"
    header = Header.of(start)
    return "binary" if header is not None and _is_binary(start[header.length :], header.d) else "text"


def _is_binary(first: bytes, d: int) -> bool:
    """Return whether a key and a space are followed by d binary floats instead of decimal numbers."""
    first = first.lstrip(b"\n")
    if any(byte < 32 and byte not in b"\t\n\r" for byte in first.partition(b" ")[2][: 4 * d]):
        return True
    line, _, more = first.partition(b"\n")
    key, _, number = line.partition(b" ")
    if not number.strip():
        return bool(more) or not key
    if set(number[: 4 * d]) <= NUMERIC:
        return False
    try:  # in a key with spaces, or with nan, the last fields are numbers
        for field in number.split()[-d:][:3]:
            float(field)
    except ValueError:
        return True
    return False
