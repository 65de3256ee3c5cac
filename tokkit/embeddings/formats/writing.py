"""Writes word2vec's .bin and text, with or without a header."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit._core.embed.vector_file import vector_lines
from tokkit.embeddings.formats.detection import Path, compression
from tokkit.errors import OptionError
from tokkit.files import files
from tokkit.files.strict_json import brief

NUMBERS = 1 << 17
"""Numbers written at once: at most 3 MiB of text."""


def write(
    path: Path, keys: Sequence[Any], vectors: NDArray[Any], order: NDArray[np.int64], *, binary: bool, header: str
) -> None:
    """Write the header and the rows `order` atomically, compressed by the ending of the name."""
    data = chunks(keys, vectors, order, binary=binary, header=header)
    files.write_atomically(path, _compressed(data, compression(path)))


def _compressed(data: Iterator[bytes], suffix: str) -> Iterator[bytes]:
    compressor = _compressor(suffix)
    if compressor is None:
        yield from data
        return
    for chunk in data:
        yield compressor.compress(chunk)
    yield compressor.flush()


def _compressor(suffix: str) -> Any:
    if suffix == ".gz":
        import zlib

        return zlib.compressobj(wbits=31)  # gzip's format, without a name and a time
    if suffix == ".bz2":
        import bz2

        return bz2.BZ2Compressor()
    if suffix == ".xz":
        import lzma

        return lzma.LZMACompressor()
    return None


def chunks(
    keys: Sequence[Any], vectors: NDArray[Any], order: NDArray[np.int64], *, binary: bool, header: str
) -> Iterator[bytes]:
    """Yield the bytes of a file: the header and the rows `order`; OptionError for keys that cannot be read back."""
    yield header.encode()
    many = max(1, NUMBERS // vectors.shape[1])
    for first in range(0, len(order), many):
        rows = order[first : first + many]
        some = np.ascontiguousarray(vectors[rows], dtype="<f4")
        names = [_key(keys[row], binary=binary) for row in rows]
        if not np.isfinite(some).all():
            row = int(np.flatnonzero(~np.isfinite(some).all(axis=1))[0])
            raise OptionError(
                f"the vector of {brief(keys[rows[row]])} contains NaN or infinity; numbers must be finite"
            )
        if binary:
            yield b"".join(name + b" " + row.tobytes() for name, row in zip(names, some, strict=True))
        else:
            yield vector_lines(names, some)


def _key(key: Any, *, binary: bool) -> bytes:
    text = str(key)
    if key is None:
        raise OptionError("a row has no key; every row of a file must have one")
    fields = text.split(" ")
    if not text or "\n" in text or (binary and len(fields) > 1):
        raise OptionError(
            f"the key {brief(text)} cannot be written: a key must not be empty or contain a line end"
            f"{', nor a space in the binary format' if binary else ''}; KeyedVectors.save supports any key"
        )
    if text != text.strip(" \t\r") or (len(fields) > 1 and all(map(_is_number, fields[1:]))):
        raise OptionError(
            f"the key {brief(text)} cannot be written as text: it would be read as another key, or as numbers; "
            "KeyedVectors.save supports any key"
        )
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise OptionError(f"the key {text!a} contains a lone surrogate, which UTF-8 cannot encode") from None


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return not field
    return True
