"""Writes ids of texts: lines of ids, tokens or JSON; .npy; raw .bin with a JSON sidecar."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import click
import numpy as np
from numpy.typing import NDArray

from tokkit.cli import output
from tokkit.cli.inputs import Reading, expand, total_bytes
from tokkit.cli.token_text import readable
from tokkit.corpus.encode_file import IdSink
from tokkit.corpus.id_writers import IdWriter
from tokkit.corpus.paths import holds_records, size_of
from tokkit.errors import OptionError
from tokkit.escaping import show

if TYPE_CHECKING:
    from tokkit.progress import Progress
    from tokkit.tokenizer import Tokenizer

KINDS = {".npy": "npy", ".bin": "bin", ".json": "json", ".jsonl": "json"}
"""Suffix → content of files with this suffix; other files have ids separated by spaces."""
FITTING = {"npy": ("npy",), "bin": ("bin",), "json": ("json", "full")}
"""Format that a suffix implies → all formats that such a file may have."""
BINARY = ("npy", "bin")
MAX_IDS = {"uint16": (1 << 16) - 1, "uint32": (1 << 32) - 1}


@dataclass(frozen=True, slots=True)
class Source:
    """The input and how to encode it. Iterating yields batches of (ids, offsets, texts, are lines)."""

    tok: Tokenizer
    files: Sequence[str]
    reading: Reading
    special: str
    threads: int | None
    progress: Progress

    def batches(
        self, *, with_line_ends: bool
    ) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.int64], list[str], bool]]:
        """Yield ids (uint32, flat), offsets (int64, one more than texts), the texts, and whether they are lines."""
        paths = expand(self.files)
        total, before = total_bytes(paths), 0
        for path in paths:
            read = 0

            def tick(done: int, before: int = before) -> None:
                nonlocal read
                read = done
                self.progress("encode", before + done, total)

            for texts, lines in self.reading.batches(path, tick):
                whole = with_line_ends or not lines
                given = texts if whole else [text.removesuffix("\n") for text in texts]
                yield *self.tok.encode_batch(given, special=self.special, threads=self.threads), texts, lines
            before += read

    def is_text_by_file(self) -> bool:
        """Return whether each file is one text, without records."""
        return self.reading.unit == "file" and not any(map(holds_records, expand(self.files)))

    def write_files(self, writer: IdSink, *, narrow: bool) -> None:
        """Write the ids of each file as it is read, in constant memory."""
        paths = expand(self.files)
        total, before = total_bytes(paths), 0
        for path in paths:
            # Not in a second thread: Ctrl-C could not stop one that waits for a pipe or a terminal.
            threads = self.threads if os.path.isfile(path) else 1
            encoder = self.tok.file_encoder(
                special=self.special, threads=threads, input_errors=self.reading.input_errors, narrow=narrow
            )

            def tick(done: int, before: int = before) -> None:
                self.progress("encode", before + done, total)

            encoder.encode(path, writer, tick)
            before += size_of(path)


class _Lines:
    """Writes the ids of each file as one line, as they come."""

    def __init__(self, file: BinaryIO, kind: str, tok: Tokenizer) -> None:
        self._file, self._documents, self._vocab = file, 0, tok.vocab
        self._start, self._between, self._end = (b"[", b",", b"]\n") if kind == "json" else (b"", b" ", b"\n")
        self._word = self._token if kind == "tokens" else str
        self._begun = False

    def _token(self, id_: int) -> str:
        return readable(self._vocab[id_])

    def reads(self, path: str) -> None:
        """Accept every file: the output is complete before it replaces one."""

    def write(self, data: Any) -> None:
        """Write packed ids of four bytes."""
        ids = np.frombuffer(data, dtype=np.uint32).tolist()
        if ids:
            self._file.write(self._between if self._begun else self._start)
            self._file.write(self._between.join([self._word(id_).encode() for id_ in ids]))
            self._begun = True

    @property
    def documents(self) -> int:
        """The number of lines; a new one ends a line."""
        return self._documents

    @documents.setter
    def documents(self, n: int) -> None:
        self._file.write((b"" if self._begun else self._start) + self._end)
        self._documents, self._begun = n, False


def kind_of(path: str) -> str | None:
    """Return the format that a file's suffix implies, None for other suffixes."""
    return KINDS.get(os.path.splitext(path)[1].lower())


def kind_to_write(path: str, asked: str | None, *, explains: bool) -> str:
    """Return the format of an output: as requested, or else by its suffix; UsageError if the two conflict."""
    by_name = kind_of(path)
    lines = explains and asked not in BINARY
    if by_name is not None and (lines or asked not in (None, *FITTING[by_name])):
        otherwise = "--explain writes lines" if lines else f"--output is {asked}"
        hint = "" if lines else f", or give --output {by_name}"
        raise click.UsageError(
            f"-o {show(path)}: the suffix is for {by_name}, but {otherwise}; choose another name{hint}"
        )
    return asked or by_name or "ids"


def check_stdout(path: str, kind: str, dtype: str) -> None:
    """Raise UsageError for binary output to a terminal, and for raw ids on stdout without a dtype."""
    if path != output.STDOUT or kind not in BINARY:
        return
    if sys.stdout is not None and sys.stdout.isatty():
        raise click.UsageError(f"--output {kind} is not for a terminal; name a file with -o")
    if kind == "bin" and dtype == "auto":
        raise click.UsageError(
            "--output bin on stdout has no sidecar that records the dtype of ids; give --dtype, or -o FILE"
        )


def write_lines(
    source: Source, path: str, kind: str, *, force: bool, from_text: Callable[[str], Any] | None = None
) -> None:
    """Write one line per text: ids separated by spaces, a JSON list, or readable tokens.

    `from_text`, if given, makes the line of a text, or its ids.
    """
    line_of = _tokens_line(source.tok) if kind == "tokens" else _json_line if kind == "json" else _ids_line
    unended = False
    with output.writing(path, force=force) as file:
        if from_text is None and source.is_text_by_file():
            source.write_files(_Lines(file, kind, source.tok), narrow=False)
            return
        for ids, offsets, texts, lines in source.batches(with_line_ends=False):
            flat, ends = ids.tolist(), offsets.tolist()
            out = ["\n"] if unended else []
            for i, text in enumerate(texts):
                made = flat[ends[i] : ends[i + 1]] if from_text is None else from_text(text)
                out.append(made if isinstance(made, str) else line_of(made))
                unended = lines and not text.endswith("\n")
                if not unended:
                    out.append("\n")
            file.write("".join(out).encode())


def _ids_line(ids: list[int]) -> str:
    return " ".join(map(str, ids))


def _json_line(ids: list[int]) -> str:
    return json.dumps(ids, separators=(",", ":"))


def _tokens_line(tok: Tokenizer) -> Callable[[list[int]], str]:
    return lambda ids: " ".join(readable(tok.vocab[i]) for i in ids)


def width(tok: Tokenizer, dtype: str) -> str:
    """Return "uint16" or "uint32"; OptionError if the tokenizer has ids that do not fit."""
    if dtype == "auto":
        return "uint16" if tok.n_ids - 1 <= MAX_IDS["uint16"] else "uint32"
    if tok.n_ids - 1 > MAX_IDS[dtype]:
        raise OptionError(f"ids of this tokenizer run to {tok.n_ids - 1}; {dtype} holds up to {MAX_IDS[dtype]}")
    return dtype


def write_binary(source: Source, path: str, kind: str, dtype: str, *, force: bool) -> None:
    """Write ids as they come, except .npy to a stream, where they are collected: the header needs their number."""
    dtype = width(source.tok, dtype)
    sidecar = sidecar_of(path)
    if sidecar is None:
        _write_stream(source, path, kind, dtype, force=force)
        return
    if kind == "bin":
        output.check(sidecar, force=force)
    with IdWriter(path, kind, dtype=dtype, overwrite=force, about=source.tok.about_ids()) as writer:
        if source.is_text_by_file():
            source.write_files(writer, narrow=dtype == "uint16")
            return
        for ids, offsets, _, _ in source.batches(with_line_ends=True):
            writer.write(ids.astype(dtype))
            writer.documents += len(offsets) - 1


def _write_stream(source: Source, path: str, kind: str, dtype: str, *, force: bool) -> None:
    kept = []
    with output.writing(path, force=force) as file:
        for ids, *_ in source.batches(with_line_ends=True):
            narrow = ids.astype("<u2" if dtype == "uint16" else "<u4")
            if kind == "bin":
                file.write(narrow.tobytes())
            else:
                kept.append(narrow)
        if kind == "npy":
            np.save(file, np.concatenate(kept) if kept else np.empty(0, dtype=dtype), allow_pickle=False)


def sidecar_of(path: str) -> str | None:
    """Return the name of a .bin file's sidecar, which is its name plus ".json"; None for streams."""
    return None if path == output.STDOUT or output.is_stream(path) else path + ".json"
