"""tokkit's own format: one .safetensors with the memory-mapped matrix, and the keys as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokkit._core.embed.vector_file import PackedKeys
from tokkit.embeddings.formats.detection import Path
from tokkit.errors import FormatError, OptionError
from tokkit.files import files
from tokkit.files.safetensors import Tensors, read_safetensors, write_safetensors
from tokkit.files.strict_json import brief, loads

FORMAT = {"format": "tokkit.KeyedVectors", "version": "1"}
VECTORS, KEYS, ATTRIBUTE = "vectors", "keys", "attribute."
NEEDS_PARSING = re.compile(rb"[\\\x00-\x1f]")
DTYPES = {"F32": np.float32, "F16": np.float16, "F64": np.float64}


class Saved(NamedTuple):
    """The contents of a file: keys, key → row (if not in the keys), mapped vectors (n, d), and attributes (n,).

    The vectors are read-only.
    """

    keys: PackedKeys | list[Any]
    rows: dict[Any, int] | None
    vectors: NDArray[Any]
    attributes: dict[str, NDArray[Any]]


def write(path: Path, keys: list[Any], vectors: NDArray[Any], attributes: Mapping[str, NDArray[Any]]) -> None:
    """Write a file atomically; OptionError for rows without keys and attributes that are not numbers."""
    if None in keys:
        raise OptionError(f"row {keys.index(None)} has no key; every row of a file must have one")
    for name, values in attributes.items():
        if values.dtype.kind not in "biuf":
            raise OptionError(f"the attribute {name!r} has values of {values.dtype}; it must have numbers")
    try:
        listed = json.dumps([int(key) if isinstance(key, np.integer) else key for key in keys], ensure_ascii=False)
        text = listed.encode()
    except UnicodeEncodeError as error:
        raise OptionError(
            f"a key contains a lone surrogate, {error.object[error.start]!a}, which UTF-8 cannot encode"
        ) from None
    tensors = {VECTORS: vectors, KEYS: np.frombuffer(text, dtype=np.uint8)}
    write_safetensors(path, tensors | {ATTRIBUTE + name: values for name, values in attributes.items()}, FORMAT)


def read(path: Path, limit: int | None = None) -> Saved:
    """Return the contents of a file, up to `limit` vectors; FormatError for another file, or invalid keys."""
    tensors = read_safetensors(path)
    with files.naming(path):
        return _checked(tensors, limit)


def _checked(tensors: Tensors, limit: int | None) -> Saved:
    if tensors.metadata.get("format") != FORMAT["format"]:
        raise FormatError(
            f"its metadata have format {brief(tensors.metadata.get('format'))}, not {FORMAT['format']!r}: this is "
            "another kind of .safetensors file"
        )
    if tensors.metadata.get("version") != FORMAT["version"]:
        raise FormatError(f"the version of the format is {brief(tensors.metadata.get('version'))}; it must be 1")
    missing = [name for name in (VECTORS, KEYS) if name not in tensors]
    if missing:
        raise FormatError(f"the tensor {missing[0]!r} is missing")
    vectors = tensors[VECTORS]
    if len(vectors.shape) != 2 or vectors.dtype not in DTYPES or not vectors.shape[1]:
        raise FormatError(f"{VECTORS} are {vectors.dtype} of shape {vectors.shape}; they must be floats (n, d)")
    if tensors[KEYS].dtype != "U8":
        raise FormatError(f"{KEYS} are {tensors[KEYS].dtype}; they must be the bytes of JSON, U8")
    n, attributes = vectors.shape[0], {}
    for name, tensor in tensors.items():
        if name.startswith(ATTRIBUTE):
            if tensor.shape != (n,):
                raise FormatError(
                    f"the tensor {name!r} has shape {tensor.shape}; it must have {n:,} rows, one per vector"
                )
            attributes[name.removeprefix(ATTRIBUTE)] = tensor.data[:limit].copy()
    text = tensors[KEYS].data.tobytes()
    packed = _packed(text) if limit is None or limit >= n else None
    if packed is not None and len(packed) == n:
        return Saved(packed, None, vectors.data, attributes)
    keys = loads(text)
    if not isinstance(keys, list) or not set(map(type, keys)) <= {str, int}:
        raise FormatError(f"{KEYS} must be a list of strings (or whole numbers)")
    rows = dict(zip(keys, range(len(keys)), strict=True))
    if len(keys) != n or len(rows) != n:
        raise FormatError(f"there are {len(keys):,} keys, {len(rows):,} of them distinct, and {n:,} vectors")
    if limit is not None and limit < n:
        keys = keys[:limit]
        rows = dict(zip(keys, range(limit), strict=True))
    return Saved(keys, rows, vectors.data[:limit], attributes)


def _packed(text: bytes) -> PackedKeys | None:
    """Return the keys of JSON written by `write`, if it contains no escapes; None if it must be parsed."""
    if not (text.startswith(b'["') and text.endswith(b'"]')) or NEEDS_PARSING.search(text):
        return None
    keys = text[2:-2].split(b'", "')
    if text.count(b'"') != 2 * len(keys):
        return None
    offsets = np.zeros(len(keys) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, keys), dtype=np.int64, count=len(keys)), out=offsets[1:])
    try:
        return PackedKeys(b"".join(keys), offsets.tobytes())
    except ValueError:  # parsing them raises the error
        return None
