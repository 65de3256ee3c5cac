"""Loads the user's tokenizers, and reads the user's files as documents."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Literal

import click

from tokkit.errors import CorpusError

if TYPE_CHECKING:
    from tokkit.corpus.readers import Block
    from tokkit.tokenizer import Tokenizer

STDIN = "-"


def stdin() -> BinaryIO:
    """Return standard input as a binary stream; CorpusError if the process has none."""
    if sys.stdin is None:
        raise CorpusError("standard input is closed")
    return sys.stdin.buffer


def argument(text: str) -> str:
    """Return the text of an argument: that of standard input for "-", which must be UTF-8, else CorpusError."""
    if text != STDIN:
        return text
    from tokkit.corpus.utf8 import without_mark

    data = without_mark(stdin().read(), "standard input")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorpusError(f"standard input: byte {error.start} (0x{data[error.start]:02x}) is not UTF-8") from None


def lines(path: str) -> Iterator[str]:
    """Yield the lines of a file or of standard input without their ends, as soon as each is read.

    Invalid UTF-8 is replaced, and a byte-order mark at the start is dropped.
    """
    from tokkit.corpus.paths import input_name
    from tokkit.corpus.utf8 import without_mark

    with contextlib.nullcontext(stdin()) if path == STDIN else open(path, "rb") as file:
        for number, line in enumerate(file):
            text = line if number else without_mark(line, input_name(path))
            yield text.decode("utf-8", "replace").removesuffix("\n")


def load(path: str, pattern: str | None = None) -> Tokenizer:
    """Load a tokenizer; every command does this before other work, so that a wrong path fails at once."""
    from tokkit.loading import load

    return load(path, pattern=pattern)


def expand(files: Sequence[str]) -> list[str]:
    """Return the files that paths and globs name; stdin if there are none."""
    import os

    from tokkit.corpus import paths

    return [os.fsdecode(path) for path in paths.expand(files or [STDIN])]


def given() -> list[str]:
    """Return the files that the command's arguments name as input, with globs expanded."""
    from tokkit import formats
    from tokkit.cli.options import READ
    from tokkit.corpus import paths

    ctx = click.get_current_context(silent=True)
    named = [] if ctx is None else ctx.meta.get(READ, [])
    found = [(match, is_model) for path, is_model in named for match in paths.matches(path)]
    return [file for path, is_model in found for file in (formats.files_of(path) if is_model else [path])]


def total_bytes(paths: Sequence[str]) -> int:
    """Return the size of all files in bytes, 0 if it is unknown before reading."""
    import os

    sizes = [os.path.getsize(path) if path != STDIN and os.path.isfile(path) else 0 for path in paths]
    return sum(sizes) if all(sizes) else 0


@dataclass(frozen=True, slots=True)
class Reading:
    """How input is read: the options of the same names."""

    unit: Literal["line", "file"] = "file"
    field: str = "text"
    input_errors: Literal["strict", "replace", "ignore"] = "strict"

    def batches(self, path: str, tick: Callable[[int], object] | None = None) -> Iterator[tuple[list[str], bool]]:
        """Yield (texts, are lines) of a file: about a megabyte of lines with their ends, or one text.

        The records of a .jsonl file are texts, not lines. Nothing is removed but a byte-order mark at the start.
        `tick` is called with the number of bytes read.
        """
        from tokkit.corpus import readers

        found = False
        corpus = readers.Corpus([path], unit=self.unit, field=self.field, errors=self.input_errors, tables=False)
        for block in corpus:
            if tick is not None:
                tick(corpus.done)
            found = True
            if block.unit == "item":
                ends = block.document_ends()
                yield [block.data[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)], False
                continue
            text = self._decoded(block)
            yield _lines(text) if block.unit == "line" else [text], block.unit == "line"
        if not found and self.unit == "file":
            yield [""], False

    def texts(self, path: str) -> list[str]:
        """Return all texts of a file."""
        return [text for batch, _ in self.batches(path) for text in batch]

    def beginning(self, paths: Sequence[str], n_bytes: int) -> tuple[list[str], bool]:
        """Return the first texts of files, about `n_bytes` in all, and whether they are all.

        The last text may be the beginning of one, up to the end of a line (or of a character, if none ends there).
        """
        from tokkit.corpus.paths import holds_records

        found: list[str] = []
        left = n_bytes
        for path in paths:
            if holds_records(path):
                for batch, _ in self.batches(path):
                    for text in batch:
                        if left <= 0:
                            return found, False
                        found.append(text)
                        left -= len(text.encode())
                continue
            text, whole = self._start(path, max(left, 0))
            if whole or text:
                found.append(text)
            if not whole:
                return found, False
            left -= len(text.encode())
        return found, True

    def _start(self, path: str, n_bytes: int) -> tuple[str, bool]:
        """Return the first bytes of a text file, up to the end of a line, and whether they are all."""
        from tokkit.corpus import paths, readers
        from tokkit.corpus.readers import Block

        name = paths.input_name(path)
        with paths.opened(path, name) as (stream, _, _):
            data = b""
            while len(data) <= n_bytes and (more := readers.read_block(stream, name, n_bytes + 1 - len(data))):
                data += more
        whole = len(data) <= n_bytes
        if not whole and not (end := data.rfind(b"\n", 0, n_bytes) + 1):
            end = n_bytes
            while end > n_bytes - 3 and data[end] & 0xC0 == 0x80:
                end -= 1
        return self._decoded(Block(data if whole else data[:end], "file", name)), whole

    def _decoded(self, block: Block) -> str:
        from tokkit.corpus.utf8 import not_utf8

        try:
            return block.data.decode("utf-8", self.input_errors)
        except UnicodeDecodeError as error:
            raise not_utf8(block.name, block.offset + error.start, block.data[error.start]) from None


def _lines(text: str) -> list[str]:
    """Split only after line feeds, unlike str.splitlines."""
    *lines, last = text.split("\n")
    ended = [line + "\n" for line in lines]
    return [*ended, last] if last else ended
