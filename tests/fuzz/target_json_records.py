"""A file of JSON lines: the texts and the errors that Python's json finds, in blocks of any size."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import mutate
from reference.json_lines import texts_of
from tokkit.corpus import readers
from tokkit.corpus.readers import documents
from tokkit.errors import CorpusError

CHANGE = mutate.one_of(mutate.of_lines, mutate.of_bytes, mutate.of_bytes)
BLOCKS = (1, 64, 1 << 20)


def check(data: bytes) -> None:
    errors = readers.INPUT_ERRORS[len(data) % len(readers.INPUT_ERRORS)]
    try:
        wanted = texts_of(data.removeprefix(b"\xef\xbb\xbf"), "text", errors)
    except ValueError as error:
        wanted = [*error.args[1], f"error {error.args[0]}"]
    usual = readers.BLOCK_BYTES
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.jsonl")
        path.write_bytes(data)
        try:
            readers.BLOCK_BYTES = BLOCKS[sum(data[:9]) % len(BLOCKS)]
            found = []
            for text in documents(os.fspath(path), errors=errors):
                found.append(text)
            end = []
        except CorpusError as caught:
            place = re.search(r"a\.jsonl, line (\d+)", str(caught))
            end = [f"error {place[1] if place else caught}"]
        finally:
            readers.BLOCK_BYTES = usual
    assert wanted[-1:] == end if end else found == wanted
    assert found == wanted[: len(found)]
