"""Extracts texts from records: lines of .jsonl, tables in files, data frames, and rows of mappings."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO, cast

from tokkit.corpus import remote
from tokkit.corpus.paths import suffix_of
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
        raise CorpusError(f"{place}: byte {error.start} {what} is not UTF-8") from None
    except json.JSONDecodeError as error:  # its line is 1 if a single line is parsed
        line = f", line {error.lineno}" if ", line " not in place else ""
        raise CorpusError(f"{place}{line}, column {error.colno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{place}: not JSON: {error}") from None


def text_of(record: object, field: str, place: str) -> str:
    """Return the text in a field of a record; CorpusError, with the fields that exist, if there is none."""
    text = record.get(field) if isinstance(record, Mapping) else None
    if isinstance(text, str):
        return text
    found = f"a {type(record).__name__}"
    if isinstance(record, Mapping):
        found = f"{type(text).__name__} in it" if field in record else f"the fields {sorted(map(str, record))}"
    raise CorpusError(f"{place}: no text in the field {field!r}, but {found:.200}")


def of_table(stream: BinaryIO, path: str, name: str, field: str, errors: str) -> Iterator[tuple[int, object]]:
    """Yield (number, text) of a .json array, a .csv or .tsv file with a header, or a .parquet file."""
    suffix = suffix_of(path)
    if suffix == ".json":
        return _of_array(_json(stream.read().removeprefix(b"\xef\xbb\xbf"), name, errors), name, field)
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
    _check_field(field, reader.schema.names, name)
    for batch in batches:
        yield from batch.column(reader.schema.names.index(field)).to_pylist()


def _of_parquet(path: str | BinaryIO, name: str, field: str) -> Iterator[object]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        _check_field(field, file.schema_arrow.names, name)
        for batch in file.iter_batches(columns=[field]):
            yield from batch.column(0).to_pylist()


def _of_csv(stream: BinaryIO, suffix: str, name: str, field: str) -> Iterator[object]:
    import pyarrow
    from pyarrow import csv

    parsing = csv.ParseOptions(delimiter="\t" if suffix == ".tsv" else ",", newlines_in_values=True)
    # Bytes, because input_errors decides what happens to invalid UTF-8.
    types = csv.ConvertOptions(column_types={field: pyarrow.binary()}, check_utf8=False)
    with csv.open_csv(stream, parse_options=parsing, convert_options=types) as reader:
        _check_field(field, reader.schema.names, name)
        for batch in reader:
            yield from batch.column(reader.schema.names.index(field)).to_pylist()


def _check_field(field: str, names: Iterable[object], name: str) -> None:
    if field not in (known := list(names)):
        raise CorpusError(f"{name} has no column {field!r}; it has {', '.join(map(repr, known))}: choose with field=")


def of_frame(source: object, field: str) -> Iterable[object] | None:
    """Return the texts of a data frame (pandas, polars), a pyarrow Table or a Dataset; None for anything else."""
    frame = cast(Any, source)
    names = getattr(frame, "column_names", None)  # None for some streaming Datasets, whose rows are mappings
    if names is not None:
        _check_field(field, names, f"the {type(source).__name__}")
        if hasattr(frame, "to_batches"):
            return (value for batch in frame.to_batches() for value in batch.column(field).to_pylist())
        return (row[field] for row in frame)
    names = getattr(frame, "columns", None)
    if names is None or not hasattr(frame, "__getitem__"):
        return None
    _check_field(field, names, f"the {type(source).__name__}")
    return cast(Iterable[object], frame[field])


def check_not_paths(first: list[object]) -> None:
    """Raise CorpusError if all these texts are names of files: an iterator's items are texts, not paths."""
    if first and all(isinstance(text, os.PathLike) or _names_a_file(text) for text in first):
        raise CorpusError(
            f"the texts are names of files, such as {os.fspath(cast(str, first[0]))!r:.200}; give the files as a list, "
            "list(paths), or end each with a line break if names are the text"
        )


def _names_a_file(text: object) -> bool:
    return isinstance(text, str) and 0 < len(text) < 4096 and os.path.isfile(text)
