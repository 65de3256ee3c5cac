"""`SearchIndex`: vectors and passages in a folder on disk, replaced as a whole by each write.

The folder has index.json, which describes the vectors, and the .safetensors file that it names, with a row of `vectors`
for each passage, its position in its file, and its text. A change writes a new file next to the old one and then
replaces index.json, so that readers always see either the old or the new index, even after an interrupted write.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.errors import FormatError, OptionError
from tokkit.files import files
from tokkit.files.safetensors import read_safetensors, write_safetensors
from tokkit.files.strict_json import Section, brief, loads
from tokkit.search.exact import Nearest, largest_norm, top_k

INDEX = "index.json"
KIND, VERSION = "tokkit search index", 1
_DATA = re.compile(r"vectors-([0-9]{1,9})\.safetensors")
_OURS = re.compile(r"vectors-([0-9]{1,9})\.(?:safetensors|usearch)")
MEANWHILE = "has been changed by another program meanwhile; try again"
COLUMNS = {"source": "U32", "record": "I64", "line": "I64", "spans": "I64", "text_ends": "I64"}
"""The other tensors and their dtypes: one entry per row, two for spans."""


class Hit(NamedTuple):
    """A search result: score, file, position in the file, and text of a passage.

    `record` is the number of the record in a .jsonl file, and 0 in other files. `line` (from 1) and `span`, (start,
    end) in bytes of UTF-8, are positions in the text of the record, or in the file.
    """

    score: float
    path: str
    record: int
    line: int
    span: tuple[int, int]
    text: str


@dataclass(frozen=True, slots=True)
class About:
    """How the vectors of an index were made; new rows and queries must be made in the same way (see `check`)."""

    model: str
    """The path or name from which the model was loaded."""
    model_fingerprint: str
    tokenizer_fingerprint: str
    dimension: int
    tokens: int
    """The maximum number of tokens of a chunk, and of those that the next chunk repeats."""
    overlap: int


class Rows(NamedTuple):
    """Passages as columns with one entry each, with the dtypes in `COLUMNS`; `text` is all texts as UTF-8, joined."""

    vectors: NDArray[np.float32]
    source: NDArray[np.uint32]
    record: NDArray[np.int64]
    line: NDArray[np.int64]
    spans: NDArray[np.int64]
    text: NDArray[np.uint8]
    text_ends: NDArray[np.int64]

    def part(self, first: int, end: int) -> Rows:
        """Return the rows first … end - 1; vectors and text are not copied."""
        start = int(self.text_ends[first - 1]) if first else 0
        text = self.text[start : int(self.text_ends[end - 1]) if end else 0]
        columns = {name: getattr(self, name)[first:end] for name in ("vectors", "source", "record", "line", "spans")}
        return Rows(**columns, text=text, text_ends=self.text_ends[first:end] - start)


def _runs(keep: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return (first, end) of each run of True."""
    edges = np.flatnonzero(np.diff(keep, prepend=False, append=False)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


class SearchIndex:
    """Passages and their vectors, read from a folder; immutable.

    `about` says how the vectors were made; `sources` is path → sha256 of the texts of each file.
    """

    def __init__(
        self, folder: Path, about: About, sources: Mapping[str, str], rows: Rows, norm: float, data: str, stamp: bytes
    ) -> None:
        self.folder, self.about, self.sources, self.rows = folder, about, dict(sources), rows
        self._norm, self._data, self._stamp, self._paths = norm, data, stamp, list(sources)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> SearchIndex:
        """Open an index; its vectors are memory-mapped. FormatError names the file and what is wrong in it."""
        folder = Path(folder)
        if not folder.is_dir():
            if folder.exists():
                raise FormatError(f"{files.show(folder)}: this is a file; an index is a folder")
            raise FileNotFoundError(f"{files.show(folder)}: this index does not exist")
        if not (folder / INDEX).exists():
            raise FormatError(f"{files.show(folder)}: this folder is not an index: it has no {INDEX}")
        stamp = files.read_bytes(folder / INDEX)
        with files.naming(folder / INDEX):
            about, sources, data, norm, n = _read_about(stamp)
        try:
            rows = _read_rows(folder / data, n, about.dimension, len(sources))
        except FileNotFoundError:
            if files.read_bytes(folder / INDEX) != stamp:  # changed between the two reads
                return cls.open(folder)
            raise FormatError(f"{files.show(folder / data)}: this file is missing, but {INDEX} names it") from None
        return cls(folder, about, sources, rows, norm, data, stamp)

    def __len__(self) -> int:
        return len(self.rows.vectors)

    @property
    def data(self) -> Path:
        """The file of the vectors."""
        return self.folder / self._data

    def check(self, about: About) -> None:
        """Raise OptionError if vectors described by `about` cannot be compared with those of this index."""
        mine, shown = self.about, files.show(self.folder)
        for name in ("model_fingerprint", "tokenizer_fingerprint", "dimension"):
            here, given = getattr(mine, name), getattr(about, name)
            if here != given:
                what = name.replace("_fingerprint", "'s fingerprint")
                raise OptionError(
                    f"{shown} was made with another model: its {what} is {here} ({mine.model}); "
                    f"that of the given model is {given} ({about.model})"
                )

    def nearest(self, queries: ArrayLike, k: int, *, threads: int | None = None) -> Nearest:
        """Return rows and scores of the k passages nearest to each of `queries` (q, dimension); see `top_k`."""
        return top_k(self.rows.vectors, queries, k, norm=self._norm, threads=threads)

    def hits(self, rows: Sequence[int], scores: Sequence[float]) -> list[Hit]:
        """Return the passages of some rows."""
        return [self._hit(int(row), float(score)) for row, score in zip(rows, scores, strict=True)]

    def _hit(self, row: int, score: float) -> Hit:
        r = self.rows
        start = int(r.text_ends[row - 1]) if row else 0
        text = r.text[start : int(r.text_ends[row])].tobytes().decode("utf-8", "replace")
        span = int(r.spans[row, 0]), int(r.spans[row, 1])
        return Hit(score, self._paths[int(r.source[row])], int(r.record[row]), int(r.line[row]), span, text)

    def with_rows(self, sources: Mapping[str, str], rows: Rows) -> SearchIndex:
        """Add the rows of files, write the result in place of this index, and return it.

        `rows.source` is the index of an entry of `sources`. The rows of a file with the same path are replaced. If the
        index on disk has changed since it was read, OptionError is raised and nothing is written.
        """
        gone = [number for number, path in enumerate(self._paths) if path in sources]
        paths = [path for path in self._paths if path not in sources]
        places = {path: number for number, path in enumerate([*paths, *sources])}
        moved = np.array([places[path] for path in self._paths], dtype=np.uint32)
        parts = [self.rows.part(*run) for run in _runs(~np.isin(self.rows.source, gone))]
        parts = [part._replace(source=moved[part.source]) for part in parts]
        parts.append(rows._replace(source=rows.source + np.uint32(len(paths))))
        merged = {path: self.sources[path] for path in paths} | dict(sources)
        norm = max(self._norm, largest_norm(rows.vectors))
        return _write(self.folder, self.about, merged, parts, norm, self._stamp)


def create(
    folder: str | os.PathLike[str], about: About, sources: Mapping[str, str], rows: Rows, *, overwrite: bool = False
) -> SearchIndex:
    """Write a new index and return it; FileExistsError if there is one and `overwrite` is not set."""
    folder = Path(folder)
    check_place(folder, overwrite=overwrite)
    stamp = files.read_bytes(folder / INDEX) if (folder / INDEX).exists() else b""
    return _write(folder, about, sources, [rows], largest_norm(rows.vectors), stamp)


def check_place(folder: Path, *, overwrite: bool) -> None:
    """Raise OSError if a new index cannot be written here, FormatError if index.json does not belong to an index."""
    shown = files.show(folder)
    if not folder.exists():
        if not folder.absolute().parent.is_dir():
            raise FileNotFoundError(f"{shown} cannot be written: there is no directory {files.show(folder.parent)}")
        return
    if not folder.is_dir():
        raise FileExistsError(f"{shown} is a file; an index is a folder")
    names = os.listdir(folder)
    if INDEX in names:
        if not overwrite:
            raise FileExistsError(f"{shown} exists")
        SearchIndex.open(folder)  # so that another program's index.json is not overwritten
    elif others := sorted(name for name in names if not _OURS.fullmatch(name) and not name.startswith(".tokkit-")):
        raise FileExistsError(
            f"{shown} is a folder with other files ({files.show(others[0])}); give the name of a new folder"
        )


def files_in(folder: Path) -> list[Path]:
    """Return the files of the index in a folder, which the next change may replace or remove."""
    names = os.listdir(folder) if folder.is_dir() else []
    return [folder / name for name in names if name == INDEX or _OURS.fullmatch(name)]


def _write(
    folder: Path, about: About, sources: Mapping[str, str], parts: Sequence[Rows], norm: float, stamp: bytes
) -> SearchIndex:
    new = not folder.exists()
    folder.mkdir(exist_ok=True)
    numbers = [int(found[1]) for name in os.listdir(folder) if (found := _DATA.fullmatch(name))]
    number = (max(numbers) + 1) % 10**9 if numbers else 1
    data = folder / f"vectors-{number}.safetensors"
    value = {
        "format": KIND, "version": VERSION, "data": data.name, "rows": sum(len(part.vectors) for part in parts),
        "largest_norm": norm, "model": about.model, "model_fingerprint": about.model_fingerprint,
        "tokenizer_fingerprint": about.tokenizer_fingerprint, "dimension": about.dimension, "tokens": about.tokens,
        "overlap": about.overlap, "sources": [{"path": path, "sha256": sha} for path, sha in sources.items()],
    }  # fmt: skip
    written = False
    try:
        columns = {name: [getattr(part, name) for part in parts] for name in Rows._fields}
        before = itertools.accumulate((len(part.text) for part in parts), initial=0)
        columns["text_ends"] = [part.text_ends + start for part, start in zip(parts, before, strict=False)]
        try:
            write_safetensors(data, columns, overwrite=False)
        except FileExistsError:  # another program has taken this number meanwhile; its file stays
            raise OptionError(f"{files.show(folder)} {MEANWHILE}") from None
        written = True
        if stamp != (files.read_bytes(folder / INDEX) if (folder / INDEX).exists() else b""):
            raise OptionError(f"{files.show(folder)} {MEANWHILE}")
        files.write_atomically(folder / INDEX, json.dumps(value, indent=1).encode() + b"\n")
    except BaseException:
        if written:
            with contextlib.suppress(OSError):
                data.unlink()
        if new:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    for name in os.listdir(folder):
        # A file with a higher number belongs to another program that is writing now.
        if (found := _OURS.fullmatch(name)) and int(found[1]) < number:
            # Some systems cannot remove a file that another program still reads; the next change tries again.
            with contextlib.suppress(OSError):
                (folder / name).unlink()
    return SearchIndex.open(folder)


def _read_about(data: bytes) -> tuple[About, dict[str, str], str, float, int]:
    whole = Section(loads(data), "")
    if whole.peek("format") != KIND:
        raise FormatError(
            f"this is not an index of tokkit: its format is {brief(whole.peek('format'))}; it must be {KIND!r}"
        )
    whole.take("format")
    whole.expect("version", VERSION, optional=False)
    name = whole.take("data", str)
    if not _DATA.fullmatch(name):
        raise FormatError(f"data is {brief(name)}; it must be a file of this folder, such as vectors-1.safetensors")
    n, norm = whole.take("rows", int), float(whole.take("largest_norm", int, float))
    if n < 0 or not 0 <= norm < np.inf:
        raise FormatError(f"rows and largest_norm are {n} and {norm}; they must be numbers of at least 0")
    texts = (whole.take(key, str) for key in ("model", "model_fingerprint", "tokenizer_fingerprint"))
    counts = (whole.take(key, int) for key in ("dimension", "tokens", "overlap"))
    about = About(*texts, *counts)
    sources: dict[str, str] = {}
    for number, value in enumerate(whole.take("sources", list)):
        entry = Section(value, f"sources[{number}]")
        sources[entry.take("path", str)] = entry.take("sha256", str)
        if len(sources) <= number:
            raise FormatError(f"sources[{number}]: its path is given twice")
    return about, sources, name, norm, n


def _read_rows(path: Path, n: int, dimension: int, n_sources: int) -> Rows:
    tensors = read_safetensors(path)
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {name: (dtype, (n,)) for name, dtype in COLUMNS.items()}
    shapes |= {"vectors": ("F32", (n, dimension)), "spans": ("I64", (n, 2))}
    for name, (dtype, shape) in shapes.items():
        found = tensors.get(name)
        if found is None or (found.dtype, found.shape) != (dtype, shape):
            there = "missing" if found is None else f"{found.dtype} of shape {found.shape}"
            raise FormatError(
                f"{files.show(path)}: the tensor {name!r} is {there}; it must be {dtype} of shape {shape}"
            )
    text = tensors.get("text")
    if text is None or text.dtype != "U8" or len(text.shape) != 1:
        raise FormatError(f"{files.show(path)}: there must be a one-dimensional tensor 'text' of U8")
    rows = Rows(**{name: tensors[name].data for name in Rows._fields})
    ends = rows.text_ends
    if n and (
        rows.source.max() >= n_sources or ends[0] < 0 or (np.diff(ends) < 0).any() or ends[n - 1] != len(rows.text)
    ):
        raise FormatError(f"{files.show(path)}: its rows refer to files or texts that do not exist")
    return rows


def empty_rows(dimension: int) -> Rows:
    """Return rows without entries."""
    none = np.empty(0, dtype=np.int64)
    vectors, text = np.empty((0, dimension), dtype=np.float32), np.empty(0, dtype=np.uint8)
    return Rows(vectors, none.astype(np.uint32), none, none, none.reshape(0, 2), text, none)
