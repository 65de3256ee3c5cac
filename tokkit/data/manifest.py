"""The records of encoded shards, and the manifest of a folder of them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tokkit.errors import FormatError, OptionError
from tokkit.escaping import show
from tokkit.files.files import write_atomically

MANIFEST = "manifest.json"
RECORD = ".shard.json"
FORMAT = "tokkit shards"
VERSION = 1
KINDS = ("bin", "npy", "megatron", "arrow", "parquet")
DTYPES = ("uint16", "uint32", "int32")


def digest(path: str) -> str:
    """Return the sha256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files_record(paths: Iterable[str], known: Mapping[str, str]) -> dict[str, Any]:
    """Return the size and the sha256 of files by their names; `known` are digests already computed."""
    return {
        os.path.basename(path): {"bytes": os.path.getsize(path), "sha256": known.get(path) or digest(path)}
        for path in sorted(paths)
    }


def write_json(path: str, value: object) -> None:
    """Write a JSON file atomically, in ASCII, because file names may contain any bytes."""
    write_atomically(path, json.dumps(value, indent=1).encode() + b"\n")


def read_json(path: str) -> Any:
    """Return the object in a JSON file; FormatError if it is not an object."""
    with open(path, "rb") as file:
        try:
            found = json.loads(file.read())
        except ValueError as error:
            raise FormatError(f"{show(path)} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise FormatError(f"{show(path)} contains a {type(found).__name__}; it must contain a JSON object")
    return found


def is_done(folder: str, record: Mapping[str, Any], key: str) -> bool:
    """Return whether a record matches the current state of its shard, and its files exist with their sizes."""
    files = record.get("files")
    return record.get("key") == key and isinstance(files, dict) and not differing(folder, files)


def differing(folder: str, files: Mapping[str, Any]) -> str:
    """Return a message about a file of a record that is missing or has another size; "" if there is none."""
    for name, about in files.items():
        path = os.path.join(folder, os.path.basename(name))
        try:
            size = os.path.getsize(path)
        except OSError:
            return f"{show(path)} does not exist"
        if size != about["bytes"]:
            return f"{show(path)} has {size:,} bytes, but {about['bytes']:,} by its record"
    return ""


def check_same(folder: str, how: Mapping[str, Any]) -> None:
    """Raise OptionError if the folder has shards encoded with another tokenizer or other options.

    Without a manifest, after an interrupted run, it checks one record: all later shards were compared with it.
    """
    path = os.path.join(folder, MANIFEST)
    if os.path.exists(path):
        _refuse_others(folder, read_json(path), how)
        return
    with os.scandir(folder) as entries:
        record = next((entry.path for entry in entries if entry.name.endswith(RECORD)), None)
    if record is not None:
        _refuse_others(folder, _options_of(read_json(record)), how)


def _options_of(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options of a shard; an empty dict if the record has none."""
    found = record.get("options")
    return found if isinstance(found, Mapping) else {}


def _refuse_others(folder: str, found: Mapping[str, Any], how: Mapping[str, Any]) -> None:
    for name, value in how.items():
        if name in found and found[name] != value:
            raise OptionError(
                f"{show(folder)} contains shards with {name} {found[name]!r}, but {name} is {value!r} now; choose "
                "another folder"
            )


def write(folder: str, how: Mapping[str, Any]) -> dict[str, Any]:
    """Write the manifest of all shards with a record, and return it; OptionError for a shard with other options."""
    records = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(RECORD):
            record = read_json(os.path.join(folder, name))
            _refuse_others(folder, _options_of(record), how)
            records.append({key: value for key, value in record.items() if key != "options"})
    records.sort(key=lambda record: (record["shard"], record["name"]))
    totals = {what: sum(record[what] for record in records) for what in ("tokens", "documents", "bytes")}
    made = {"format": FORMAT, "version": VERSION, **how, **totals, "shards": records}
    write_json(os.path.join(folder, MANIFEST), made)
    return made


def read(folder: str) -> dict[str, Any]:
    """Return the manifest of a folder; FormatError if files are missing or have other sizes."""
    path = os.path.join(folder, MANIFEST)
    if not os.path.exists(path):
        raise FormatError(
            f"{show(folder)} has no {MANIFEST}, which tokkit encode-shards writes once all shards are done"
        )
    found = read_json(path)
    if found.get("format") != FORMAT or found.get("version") != VERSION:
        raise FormatError(f"{show(path)} is not a manifest of tokkit encode-shards, version {VERSION}")
    try:
        _check(found)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise FormatError(f"{show(path)} is malformed: {type(error).__name__} {error}") from None
    for shard in found["shards"]:
        wrong = differing(folder, shard["files"])
        if wrong:
            raise FormatError(f"{show(path)} disagrees with its files: {wrong}; run tokkit encode-shards again")
    return dict(found)


def _check(found: Mapping[str, Any]) -> None:
    """Raise ValueError, or the error of a missing or invalid value, unless a manifest describes readable shards."""
    shards: Sequence[Mapping[str, Any]] = found["shards"]
    for shard in shards:
        for name, about in shard["files"].items():
            if not name.startswith(shard["name"]) or not isinstance(about["sha256"], str):
                raise ValueError(f"the file {name!r} of {shard['name']!r}")
            _number(about["bytes"])
    for total in ("tokens", "documents", "bytes"):
        if _number(found[total]) != sum(_number(shard[total]) for shard in shards):
            raise ValueError(f"{total} is not the sum over the shards")
    if found["kind"] not in KINDS or found["dtype"] not in DTYPES:
        raise ValueError(f"{found['kind']!r} of {found['dtype']!r}")
    if found["seq_len"] is not None and _number(found["seq_len"]) < 1:
        raise ValueError("rows without ids")


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is not a number")
    return value
