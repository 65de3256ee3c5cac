"""Jobs for one shard as picklable callables: for multiprocessing, `datasets.map`, Ray, or any other engine.

A call takes a path, or a row with the key "shard", and returns a row of plain values. An error of one shard is returned
in the row as "error" (and "kind", the name of its class), so that other shards continue; `raise_failed` raises it at
the end. Calls are idempotent: a shard whose files exist is only checked.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tokkit import errors
from tokkit.data.encoding import encode_shards
from tokkit.errors import CorpusError, TokkitError, WorkerError
from tokkit.escaping import show
from tokkit.loading import load
from tokkit.tokenizer import Tokenizer
from tokkit.trainers import build_counts, merge_counts

StrPath = str | os.PathLike[str]
Row = dict[str, Any]
_RIGHT = {"error": "", "kind": ""}
SHOWN = 5
"""Maximum number of failed shards that a message names."""


class CountShard:
    """Counts the words of a shard into a file in the folder `out`, as `build_counts` does with these options.

    A row may contain the name of the shard's "source". The returned row has "shard", "path", "words", "total",
    "counted" (False if the file existed), "error" and "kind". A call uses `threads` threads, by default one, because
    engines run one process per CPU.

    >>> import tempfile, pickle
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "a.txt").write_text("low low lower")
    13
    >>> job = pickle.loads(pickle.dumps(CountShard(folder / "counts")))
    >>> row = job(folder / "a.txt")
    >>> row["words"], row["total"], row["counted"], row["error"]
    (3, 3, True, '')
    """

    def __init__(self, out: StrPath, *, threads: int = 1, **options: Any) -> None:
        self.out = os.fspath(out)
        self.options = {**options, "threads": threads}

    def __call__(self, row: StrPath | Mapping[str, Any]) -> Row:
        """Count a shard, and return its row."""
        shard, source = _shard_of(row)
        made: Row = {"shard": shard, "path": "", "words": 0, "total": 0, "counted": False} | _RIGHT
        try:
            given = [shard] if source is None else {source: [shard]}
            done = build_counts(given, self.out, **self.options)[0]
            made |= {"path": str(done.path), "words": done.words, "total": done.total, "counted": done.counted}
        except (TokkitError, OSError) as error:
            made |= _failed(error)
        return made


class EncodeShard:
    """Encodes a shard into files in the folder `out`, as `encode_shards` does with these options.

    The tokenizer, or the path of its file, is loaded once in each process. The returned row has "shard", "files",
    "tokens", "documents", "encoded", "error" and "kind". The manifest is not written: call `finish` with all shards at
    the end, which also checks that none is missing.
    """

    def __init__(self, tokenizer: Tokenizer | StrPath, out: StrPath, *, threads: int = 1, **options: Any) -> None:
        self.tokenizer = tokenizer if isinstance(tokenizer, Tokenizer) else os.fspath(tokenizer)
        self.out = os.fspath(out)
        self.options = {**options, "threads": threads}
        self._loaded: Tokenizer | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_loaded": None}

    def loaded(self) -> Tokenizer:
        """Return the tokenizer."""
        if self._loaded is None:
            self._loaded = self.tokenizer if isinstance(self.tokenizer, Tokenizer) else load(self.tokenizer)
        return self._loaded

    def __call__(self, row: StrPath | Mapping[str, Any]) -> Row:
        """Encode a shard, and return its row."""
        shard, _ = _shard_of(row)
        made: Row = {
            "shard": shard,
            "files": [],
            "tokens": 0,
            "documents": 0,
            "encoded": False,
            "error": "",
            "kind": "",
        }
        try:
            done = encode_shards(self.loaded(), [shard], self.out, with_manifest=False, **self.options)[0]
            made |= {"files": [str(path) for path in done.files], "tokens": done.tokens, "documents": done.documents}
            made["encoded"] = done.encoded
        except (TokkitError, OSError) as error:
            made |= _failed(error)
        return made

    def finish(self, shards: StrPath | Sequence[StrPath]) -> None:
        """Write the manifest after all shards are encoded; missing ones are encoded here."""
        encode_shards(self.loaded(), shards, self.out, **self.options)


class MergeCounts:
    """Merges files of counts into one: a node of a tree. A row has "files" and "path", the output file.

    An existing output file is complete, because it gets its name at the end, and is kept.
    """

    def __call__(self, row: Mapping[str, Any]) -> Row:
        """Merge the files of a row, and return it with "error" and "kind"."""
        made: Row = {**row, **_RIGHT}
        try:
            if not os.path.exists(row["path"]):
                merge_counts(list(row["files"]), row["path"], threads=1, overwrite=True)
        except (TokkitError, OSError) as error:
            made |= _failed(error)
        return made


def raise_failed(rows: Iterable[Mapping[str, Any]], n_all: int) -> None:
    """Raise one error for all failed rows: CorpusError, or the error of an invalid option, which is the same in all."""
    failed = [row for row in rows if row["error"]]
    if not failed:
        return
    kinds = {row["kind"] for row in failed}
    lines = [f"{show(row.get('shard') or row['path'])}: {row['error']}" for row in failed[:SHOWN]]
    more = [f"and {len(failed) - SHOWN} more"] if len(failed) > SHOWN else []
    shared = getattr(errors, next(iter(kinds)), None) if len(kinds) == 1 else None
    if kinds & {"OptionError", "VocabError"} and len({row["error"] for row in failed}) == 1 and shared is not None:
        raise shared(failed[0]["error"])  # an error of the options, not of a shard
    kept = f"{len(failed)} of {n_all} shards failed; the files of the others are complete: run it again to continue"
    raise (CorpusError if shared is not None else WorkerError)("; ".join([kept, *lines, *more]))


def _shard_of(row: StrPath | Mapping[str, Any]) -> tuple[str, str | None]:
    if isinstance(row, Mapping):
        return str(row["shard"]), row.get("source")
    return os.fspath(row), None


def _failed(error: Exception) -> Row:
    return {"error": str(error), "kind": type(error).__name__}
