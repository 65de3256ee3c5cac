"""Reads files of ids and decodes them; errors name the line or the position."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tokkit.cli.id_files import sidecar_of
from tokkit.cli.inputs import STDIN, stdin
from tokkit.errors import CorpusError, FormatError, VocabError
from tokkit.escaping import show

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

MAX_DIGITS = 20
"""Maximum digits of a number; longer ones cannot be ids and are refused before they are parsed."""
IDS_AT_ONCE = 1 << 20
NPY_MAGIC = b"\x93NUMPY"


@contextlib.contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    if path == STDIN:
        yield stdin()
        return
    with open(path, "rb") as file:
        yield file


def without_special(tok: Tokenizer) -> Callable[[Any], bytes]:
    """Return a function that decodes ids to bytes and leaves out special tokens."""

    def to_bytes(ids: Any) -> bytes:
        return tok.decode(ids, errors="surrogateescape", skip_special=True).encode("utf-8", "surrogateescape")

    return to_bytes


def decoded_lines(
    tok: Tokenizer, to_bytes: Callable[[Any], bytes], path: str, kind: str, line_end: bytes
) -> Iterator[bytes]:
    """Yield the bytes of each line of ids, with `line_end` after lines that end in a line feed."""
    parse = _json_ids if kind == "json" else _plain_ids
    with _opened(path) as file:
        for number, line in enumerate(file, 1):
            where = f"{show(path) if path != STDIN else 'standard input'}, line {number}"
            try:
                yield to_bytes(parse(line))
            except (VocabError, ValueError, RecursionError) as error:
                raise CorpusError(f"{where}: {error}") from None
            except OverflowError:
                raise CorpusError(f"{where}: an id is far above the highest, {tok.n_ids - 1}") from None
            if line.endswith(b"\n"):
                yield line_end


def _plain_ids(line: bytes) -> list[int]:
    words = line.split()
    for word in words:
        if not word.isdigit() or len(word) > MAX_DIGITS:
            raise ValueError(
                f"{word[:40].decode('utf-8', 'backslashreplace')!r} is not an id; write numbers separated by spaces"
            )
    return list(map(int, words))


def _json_ids(line: bytes) -> list[int]:
    ids = json.loads(line) if line.strip() else []
    if not isinstance(ids, list):
        raise ValueError(f"{type(ids).__name__} where a list of ids was expected")
    for id_ in ids:
        if isinstance(id_, bool) or not isinstance(id_, int) or id_ < 0:
            raise ValueError(f"{json.dumps(id_)[:40]} is not an id; ids are numbers of at least 0")
    return ids


def decoded_binary(
    tok: Tokenizer, to_bytes: Callable[[Any], bytes], path: str, kind: str, dtype: str, *, any_tokenizer: bool
) -> Iterator[bytes]:
    """Yield the bytes of a .npy or .bin file, whose header or sidecar is checked first."""
    with _opened(path) as file:
        data = file.read()
    about = {} if kind == "npy" or dtype != "auto" else _sidecar(path)
    if about and about.get("tokenizer") != tok.fingerprint() and not any_tokenizer:
        raise FormatError(
            f"{show(path)} was written with another tokenizer, by its sidecar (--any-tokenizer decodes it)"
        )
    ids = _npy(data, path) if kind == "npy" else _raw(data, path, str(about.get("dtype", dtype)))
    if "count" in about and about["count"] != len(ids):
        raise FormatError(
            f"{show(path)} has {len(ids)} ids, but its sidecar has {about['count']}: is the file truncated?"
        )
    wrong = np.flatnonzero(ids >= tok.n_ids)
    if len(wrong):
        raise VocabError(f"{show(path)}: id {ids[wrong[0]]} at position {wrong[0]}; ids run from 0 to {tok.n_ids - 1}")
    for start in range(0, len(ids), IDS_AT_ONCE):
        yield to_bytes(ids[start : start + IDS_AT_ONCE])


def _sidecar(path: str) -> dict[str, Any]:
    name = sidecar_of(path)
    if name is None or not os.path.exists(name):
        raise FormatError(f"{show(path)} has no sidecar {show(name or '')} with the dtype of ids; give --dtype")
    try:
        with open(name, "rb") as file:
            about = json.load(file)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{show(name)} is not JSON: {error}") from None
    if not isinstance(about, dict) or about.get("dtype") not in ("uint16", "uint32"):
        raise FormatError(f'{show(name)} has no "dtype" of "uint16" or "uint32"')
    return about


def _raw(data: bytes, path: str, dtype: str) -> NDArray[Any]:
    kind = np.dtype("<u2" if dtype == "uint16" else "<u4")
    if len(data) % kind.itemsize:
        raise FormatError(f"{show(path)} has {len(data)} bytes, which is not a whole number of {dtype}")
    return np.frombuffer(data, dtype=kind)


def _npy(data: bytes, path: str) -> NDArray[Any]:
    if not data.startswith(NPY_MAGIC):
        raise FormatError(f"{show(path)} is not a .npy file")
    try:
        ids = np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise FormatError(f"{show(path)} is not a .npy file: {error}") from None
    if not isinstance(ids, np.ndarray) or ids.ndim != 1 or ids.dtype.kind not in "ui":
        raise FormatError(f"{show(path)} does not hold a one-dimensional array of integers")
    if len(ids) and int(ids.min()) < 0:
        raise VocabError(f"{show(path)}: the id {int(ids.min())} is negative")
    return ids
