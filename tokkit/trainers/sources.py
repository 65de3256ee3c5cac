"""Identifies the source of a training, so that a state is refused for another corpus."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from tokkit.corpus.paths import files_of
from tokkit.corpus.shards import key, keys
from tokkit.escaping import show
from tokkit.trainers.count_source import CountFiles
from tokkit.trainers.mixtures import Mixture

NAMED = 3


def identity(source: object, **reading: str) -> dict[str, str] | None:
    """Return the name of a source, and a key that differs if its files or words differ.

    `reading` has the options of reading files: unit and field. The key is None for iterators and tables, which cannot
    be identified before they are read.
    """
    if isinstance(source, CountFiles):
        shards = [shard["path"] for shard in source.header.sources]
        return {"name": f"counts of {_names(shards)}", "key": source.identity()}
    if isinstance(source, Mixture):
        mixed = [path for files in source.files.values() for path in files]
        return {"name": f"a mixture of {_names(mixed)}", "key": key([source.identity(), reading])}
    if isinstance(source, Mapping):
        return {"name": f"a mapping of {len(source):,} words", "key": f"{_sum(source):032x}"}
    given = [source] if isinstance(source, (str, bytes, os.PathLike)) else source
    if not isinstance(given, (list, tuple)) or not all(isinstance(path, (str, bytes, os.PathLike)) for path in given):
        return None
    files = sorted((path for path in files_of(given) if path != "-"), key=os.fsencode)
    return {"name": _names(files), "key": key(sorted(keys(path, reading) for path in files))}


def _names(paths: Sequence[str]) -> str:
    """Return the first names of some files, and how many more there are."""
    shown = ", ".join(map(show, paths[:NAMED]))
    return shown + (f" and {len(paths) - NAMED:,} more" if len(paths) > NAMED else "")


def _sum(counts: Mapping[object, object]) -> int:
    """Return a hash of words and counts that does not depend on their order."""
    import hashlib  # imported here: OpenSSL takes 4 MB

    total = 0
    for word, count in counts.items():
        made = hashlib.blake2b(repr((word, count)).encode("utf-8", "surrogatepass"), digest_size=16).digest()
        total += int.from_bytes(made, "little")
    return total % (1 << 128)
