"""Records in random order: in memory, or in temporary files if there are too many."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit.embeddings.growing_arrays import GrowingArrays

RECORD = np.dtype([("word", np.uint32), ("context", np.uint32), ("log_count", np.float32), ("weight", np.float32)])
"""tk_glove_record of csrc/embed/glove.h."""
WHAT = "pairs of words"
MAX_BUCKETS = 256
"""The maximum number of open files."""


@contextlib.contextmanager
def shuffled_records(
    blocks: Iterable[NDArray[Any]], n: int, max_memory: int, random: np.random.Generator
) -> Iterator[NDArray[Any]]:
    """Shuffle at most n records, given in blocks; every order is equally probable.

    Above `max_memory` bytes each record is written to a random bucket, and each bucket is shuffled. OSError if the disk
    is full; temporary files are removed.
    """
    if n * RECORD.itemsize <= max_memory:
        with GrowingArrays((RECORD,), max_memory, WHAT) as made:
            for block in blocks:
                made.append(block)
            (records,) = made.take()
        random.shuffle(records)
        yield records
        return
    n_buckets = min(2 * n * RECORD.itemsize // max_memory + 1, MAX_BUCKETS)
    with GrowingArrays((RECORD,), 0, WHAT) as made:
        with ExitStack() as stack:
            buckets = [stack.enter_context(GrowingArrays((RECORD,), 0, WHAT)) for _ in range(n_buckets)]
            for block in blocks:
                drawn = random.integers(n_buckets, size=len(block))
                ordered = block[np.argsort(drawn, kind="stable")]
                ends = np.cumsum(np.bincount(drawn, minlength=n_buckets))
                for bucket, part in zip(buckets, np.split(ordered, ends[:-1]), strict=True):
                    bucket.append(part)
            for bucket in buckets:
                records = bucket.take()[0].copy()
                random.shuffle(records)
                made.append(records)
        (records,) = made.take()
    yield records
