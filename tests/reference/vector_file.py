"""Files of vectors, read one record at a time, with Python's own numbers."""

from __future__ import annotations

import io

import numpy as np


def read_binary(data: bytes) -> tuple[list[str], np.ndarray]:
    """Keys and vectors of word2vec's .bin."""
    file = io.BytesIO(data)
    n, d = map(int, file.readline().split())
    keys, rows = [], np.zeros((n, d), dtype=np.float32)
    for i in range(n):
        key = b""
        while (character := file.read(1)) != b" ":
            key += character
        keys.append(key.lstrip(b"\n").decode())
        rows[i] = np.frombuffer(file.read(4 * d), dtype="<f4")
    return keys, rows


def read_text(data: bytes, d: int) -> tuple[list[str], np.ndarray]:
    """Keys and vectors of lines without a header: a key, which may have spaces, and d numbers."""
    keys, rows = [], []
    for line in data.split(b"\n"):
        fields = line.rstrip(b" \t\r").split(b" ")
        if fields != [b""]:
            keys.append(b" ".join(fields[:-d]).decode())
            rows.append([float(field) for field in fields[-d:]])
    return keys, np.array(rows, dtype=np.float32).reshape(-1, d)
