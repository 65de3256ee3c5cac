"""Reads the texts of JSON lines in the core; lines that the core does not handle are read by Python's json."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from tokkit._core.documents import json_texts
from tokkit.corpus import records

Texts = tuple[bytes, NDArray[np.int64]]
"""Joined texts, and the end of each."""


def texts_of(
    chunks: Iterable[bytes], name: str, field: str, errors: str, utf8: Callable[[object, str], bytes]
) -> Iterator[Texts]:
    """Yield the texts of a file of JSON lines that is read in chunks; empty lines are skipped.

    `utf8` converts a text from Python's json to bytes; its second argument names the place, for errors. CorpusError for
    a line that is not JSON or has no text in the field.
    """
    key = _encoded(field)
    number = 0
    for head, data, at, stop in _lines(chunks):
        found: list[Texts] = []
        while head or at < stop:
            if key is not None:
                end = stop if stop < len(data) else None
                texts, ends, at, n_lines = json_texts(data, at, key, head=head, stop=end)
                number += n_lines
                head = b"" if n_lines else head
                found.append((texts, np.frombuffer(ends, dtype=np.int64)))
                if not head and at == stop:
                    break
            if head:
                line, head = head, b""
            else:
                end = data.find(b"\n", at, stop)
                line, at = (data[at:stop], stop) if end < 0 else (data[at:end], end + 1)
            number += 1
            for _, text in records.of_lines([line.removesuffix(b"\n")], name, field, errors, first=number):
                one = utf8(text, f"{name}, line {number}")
                found.append((one, np.array([len(one)])))
        if any(len(ends) for _, ends in found):
            yield found[0] if len(found) == 1 else _joined(found)


def _lines(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, bytes, int, int]]:
    """Yield (head, data, at, stop): a line that began in an earlier chunk, if any, and the lines data[at:stop].

    This avoids copying whole chunks.
    """
    carried: list[bytes] = []
    for chunk in chunks:
        stop = chunk.rfind(b"\n") + 1
        if not stop:
            carried.append(chunk)
            continue
        at = chunk.find(b"\n") + 1 if carried else 0
        yield b"".join((*carried, chunk[:at])), chunk, at, stop
        carried = [chunk[stop:]] if stop < len(chunk) else []
    if last := b"".join(carried):
        yield b"", last, 0, len(last)


def _encoded(field: str) -> bytes | None:
    try:
        return field.encode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON can have as an escape
        return None


def _joined(found: list[Texts]) -> Texts:
    sizes = np.cumsum([0, *(len(texts) for texts, _ in found)])
    ends = [ends + size for (_, ends), size in zip(found, sizes[:-1], strict=True)]
    return b"".join(texts for texts, _ in found), np.concatenate(ends)
