"""Extracts texts from records: lines of .jsonl, tables in files, data frames, and rows of mappings."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, BinaryIO, cast

from tokkit.checks import columns_of
from tokkit.corpus import remote
from tokkit.corpus.paths import suffix_of
from tokkit.corpus.utf8 import TO_GO_ON
from tokkit.errors import CorpusError, OptionError


def of_lines(lines: Iterable[bytes], name: str, field: str, errors: str, first: int = 1) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of JSON lines, which are numbered from `first` on."""
    for number, line in enumerate(lines, first):
        if line.strip():
            yield number, text_of(_json(line, f"{name}, line {number}", errors), field, f"{name}, line {number}")


def _json(data: bytes, place: str, errors: str) -> Any:
    try:
        return json.loads(data.decode("utf-8", errors))
    except UnicodeDecodeError as error:
        what = "of the line" if ", line " in place else "of the file"
        raise CorpusError(f"{place}: byte {error.start} {what} is not UTF-8{TO_GO_ON}") from None
    except json.JSONDecodeError as error:  # its line is 1 if a single line is parsed
        line = f", line {error.lineno}" if ", line " not in place else ""
        raise CorpusError(f"{place}{line}, column {error.colno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{place}: not JSON: {error}") from None


def split_field(field: str, names: Collection[object]) -> tuple[str, str]:
    """Return the name that a field begins with, and the path after it, which may be empty.

    A name may have dots in it: the longest one that exists counts. If none exists, it is the whole field.

    >>> split_field("meta.doc.text", ["meta", "id"]), split_field("a.b.c", ["a", "a.b"]), split_field("a.b", ["a.b"])
    (('meta', 'doc.text'), ('a.b', 'c'), ('a.b', ''))
    """
    end = len(field)
    while end > 0 and field[:end] not in names:
        end = field.rfind(".", 0, end)
    return (field[:end], field[end + 1 :]) if end > 0 else (field, "")


def text_of(record: object, field: str, place: str) -> str:
    """Return the text in a field of a record; CorpusError, with the fields that exist, if there is none.

    "doc.text" is the field "text" of the record in the field "doc", unless a field has that name itself.
    """
    inner, rest, above = record, field, ""
    while isinstance(inner, Mapping):
        name, after = split_field(rest, inner)
        if name not in inner:
            break
        inner, above, rest = inner[name], f"{above}{name}.", after
        if not rest:
            if isinstance(inner, str):
                return inner
            raise CorpusError(f"{place}: no text in the field {field!r}, but {type(inner).__name__} in it")
    found = f"the fields {sorted(map(str, inner))}" if isinstance(inner, Mapping) else f"a {type(inner).__name__}"
    where = f" in {above[:-1]!r}" if above else ""
    raise CorpusError(f"{place}: no text in the field {field!r}, but {found:.200}{where}")


def of_table(stream: BinaryIO, path: str, name: str, field: str, errors: str) -> Iterator[tuple[int, object]]:
    """Yield (number, text) of a .json array, a .csv or .tsv file with a header, or a .parquet file."""
    suffix = suffix_of(path)
    if suffix == ".json":
        return _of_array(_json(stream.read(), name, errors), name, field)
    return _of_column(_of_columns(stream, path, suffix, name, field), name, field)


def _of_column(values: Iterable[object], name: str, field: str) -> Iterator[tuple[int, object]]:
    for number, value in enumerate(values, 1):
        if not isinstance(value, (str, bytes)):
            found = "is empty (null)" if value is None else f"has a value of the type {type(value).__name__}"
            raise CorpusError(f"{name}, record {number}: the column {field!r} {found}; it must have text")
        yield number, value


def _of_array(array: object, name: str, field: str) -> Iterator[tuple[int, str]]:
    if not isinstance(array, list):
        raise CorpusError(
            f"{name} holds a JSON {'object' if isinstance(array, dict) else 'value'}; a .json file must hold an array "
            "of texts or records, and a file with one record per line must end in .jsonl"
        )
    for number, item in enumerate(array, 1):
        yield number, item if isinstance(item, str) else text_of(item, field, f"{name}, record {number}")


def _of_columns(stream: BinaryIO, path: str, suffix: str, name: str, field: str) -> Iterator[object]:
    try:
        import pyarrow
    except ImportError:
        raise OptionError(f"{name}: {suffix} files are read by pyarrow: pip install 'pytokkit[tables]'") from None
    try:
        if suffix == ".parquet":
            yield from _of_parquet(stream if remote.is_url(path) else path, name, field)
        elif suffix == ".arrow":
            yield from _of_arrow(stream, name, field)
        else:
            yield from _of_csv(stream, suffix, name, field)
    except (pyarrow.ArrowException, OSError) as error:
        raise CorpusError(f"{name} cannot be read: {error}") from None


def _of_arrow(stream: BinaryIO, name: str, field: str) -> Iterator[object]:
    """Read a file in Arrow's IPC file format, or in the stream format, which the datasets library writes."""
    from pyarrow import ipc

    magic = b"ARROW1"
    is_file = stream.read(len(magic)) == magic
    stream.seek(0)
    if not is_file:
        reader = ipc.open_stream(stream)
        batches = iter(reader)
    else:
        reader = ipc.open_file(stream)
        batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
    column, rest = _column(field, reader.schema.names, name)
    at = reader.schema.names.index(column)
    yield from _inside((value for batch in batches for value in batch.column(at).to_pylist()), rest, name)


def _of_parquet(path: str | BinaryIO, name: str, field: str) -> Iterator[object]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        column, rest = _column(field, file.schema_arrow.names, name)
        batches = file.iter_batches(columns=[column])
        yield from _inside((value for batch in batches for value in batch.column(0).to_pylist()), rest, name)


def _of_csv(stream: BinaryIO, suffix: str, name: str, field: str) -> Iterator[object]:
    import pyarrow
    from pyarrow import csv

    parsing = csv.ParseOptions(delimiter="\t" if suffix == ".tsv" else ",", newlines_in_values=True)
    # Bytes, because input_errors decides what happens to invalid UTF-8.
    types = csv.ConvertOptions(column_types={field: pyarrow.binary()}, check_utf8=False)
    with csv.open_csv(stream, parse_options=parsing, convert_options=types) as reader:
        if field not in reader.schema.names:
            raise _no_column(field, reader.schema.names, name)
        for batch in reader:
            yield from batch.column(reader.schema.names.index(field)).to_pylist()


def _no_column(field: str, names: Iterable[object], name: str) -> CorpusError:
    return CorpusError(f"{name} has no column {field!r}; it has {', '.join(map(repr, names))}: choose with field=")


def _column(field: str, names: Iterable[object], name: str) -> tuple[str, str]:
    """Return the column of a field, and the path in its values; CorpusError if there is no such column."""
    column, rest = split_field(field, known := list(names))
    if column not in known:
        raise _no_column(field, known, name)
    return column, rest


def _inside(values: Iterable[object], rest: str, name: str) -> Iterable[object]:
    """Return the texts that a path finds in the values of a column, or the values, if the path is empty."""
    if not rest:
        return values
    return (text_of(value, rest, f"{name}, record {number}") for number, value in enumerate(values, 1))


def of_frame(source: object, field: str) -> Iterable[object] | None:
    """Return the texts of a data frame (pandas, polars), a pyarrow Table or a Dataset; None for anything else."""
    frame, name = cast(Any, source), f"the {type(source).__name__}"
    if (names := columns_of(source)) is None:
        return None
    column, rest = _column(field, names, name)
    if getattr(frame, "column_names", None) is not None:
        if hasattr(frame, "to_batches"):
            of_batches = (value for batch in frame.to_batches() for value in batch.column(column).to_pylist())
            return _inside(of_batches, rest, name)
        return _inside((row[column] for row in frame), rest, name)
    return _inside(cast(Iterable[object], frame[column]), rest, name)


def check_not_paths(first: list[object]) -> None:
    """Raise CorpusError if all these texts are names of files: an iterator's items are texts, not paths."""
    if first and all(isinstance(text, os.PathLike) or _names_a_file(text) for text in first):
        raise CorpusError(
            f"the texts are names of files, such as {os.fspath(cast(str, first[0]))!r:.200}; give the files as a list, "
            "list(paths), or end each with a line break if names are the text"
        )


def _names_a_file(text: object) -> bool:
    return isinstance(text, str) and 0 < len(text) < 4096 and os.path.isfile(text)
