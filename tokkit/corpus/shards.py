"""Identifies the shards of a corpus, and detects whether one has changed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from tokkit.corpus import remote
from tokkit.errors import CorpusError
from tokkit.escaping import show

KEY_CHARACTERS = 12


def keys(shard: str, how: Mapping[str, Any]) -> tuple[str, str]:
    """Return a hash of a shard's path and the job's options, and a hash of the shard's current state."""
    if remote.is_url(shard):
        return key([shard, how]), key(remote.state(shard))
    status = os.stat(shard)
    return key([os.path.realpath(shard), how]), key([status.st_size, status.st_mtime_ns])


def key(value: object) -> str:
    """Return a hash of a value that JSON can represent."""
    import hashlib  # imported here: OpenSSL takes 4 MB

    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:KEY_CHARACTERS]


def refuse_repeats(given: Sequence[str]) -> None:
    """Raise CorpusError for a file that is given twice, even under different names."""
    seen: dict[str, str] = {}
    for path in given:
        real = os.path.realpath(path)
        if real in seen:
            also = "" if seen[real] == path else f", also as {show(seen[real])}"
            raise CorpusError(f"{show(path)} is given twice{also}")
        seen[real] = path
