"""The data for fine-tuning encoders: rows of texts, their tokens, and batches drawn with a seed."""

from __future__ import annotations

import hashlib
import json
import os
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit.checks import ordered
from tokkit.corpus.paths import opened
from tokkit.errors import CorpusError, OptionError
from tokkit.files import files
from tokkit.pipeline.packing import Packed

Ids = NDArray[np.int64]
MAX_HELD_OUT = 1000
"""Maximum number of rows for the evaluation of the loss."""
FORMS = (".jsonl", ".tsv")


def read_rows(source: object) -> list[tuple[str, ...]]:
    """Return rows with the same number of texts: from one or several .jsonl or .tsv files, or from Python rows.

    A line of .jsonl is an array, or an object whose values are taken in order; a line of .tsv has columns separated by
    tabs, without a header. CorpusError names an invalid line.
    """
    rows = [row for where, value in _values(source) for row in [_row(value, where)]]
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        odd = next(i for i, row in enumerate(rows) if len(row) != len(rows[0]))
        raise CorpusError(
            f"row {odd + 1} has {len(rows[odd])} texts, and row 1 has {len(rows[0])}; all rows must have the same "
            "number"
        )
    return rows


def read_labelled(source: object) -> tuple[list[str], list[str]]:
    """Return texts and their labels: from rows of two as in `read_rows`, or from objects with "text" and "label"."""
    texts, labels = [], []
    for where, value in _values(source):
        if isinstance(value, Mapping) and {"text", "label"} <= value.keys():
            value = [value["text"], value["label"]]
        if isinstance(value, (list, tuple)) and len(value) == 2 and isinstance(value[1], int):
            value = [value[0], str(value[1])]
        row = _row(value, where)
        if len(row) != 2:
            raise CorpusError(f"{where} has {len(row)} values; it must have two: a text and its label")
        texts.append(row[0])
        labels.append(row[1])
    return texts, labels


def _values(source: object) -> Iterable[tuple[str, Any]]:
    if isinstance(source, (str, os.PathLike)):
        source = [source]
    for i, value in enumerate(ordered(source, "source", "files or rows of texts")):
        if isinstance(value, (str, os.PathLike)):
            yield from _lines(value)
        else:
            yield f"row {i + 1}", value


def _lines(path: str | os.PathLike[str]) -> Iterable[tuple[str, Any]]:
    name = files.show(path)
    form = next((form for form in FORMS if form in Path(path).suffixes), None)
    if form is None:
        raise OptionError(f"{name}: files of pairs and labels must have one of the endings {', '.join(FORMS)}")
    with opened(os.fspath(path), name) as (stream, _, _):
        for i, line in enumerate(stream):
            where = f"{name}: line {i + 1}"
            try:
                text = line.decode("utf-8").rstrip("\r\n")
                if text.strip():
                    yield where, json.loads(text) if form == ".jsonl" else text.split("\t")
            except UnicodeDecodeError:
                raise CorpusError(f"{where} is not UTF-8") from None
            except (json.JSONDecodeError, RecursionError) as error:
                raise CorpusError(f"{where} is not JSON: {error}") from None


def _row(value: Any, where: str) -> tuple[str, ...]:
    row = tuple(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(row, (list, tuple)) or len(row) < 2 or not all(isinstance(text, str) for text in row):
        raise CorpusError(f"{where} is not a row of texts; it must contain two or more strings, such as [text, text]")
    return tuple(row)


@dataclass(frozen=True, slots=True)
class Held:
    """The indices of the training rows and of the held-out rows."""

    train: Ids
    held_out: Ids

    @classmethod
    def of(cls, n: int, share: float, seed: int, batch: int) -> Held:
        """Draw a share of n rows to hold out; CorpusError if the rest is smaller than a batch."""
        held = min(max(round(n * share), 1), MAX_HELD_OUT)
        if n - held < batch:
            raise CorpusError(
                f"there are {n} rows; a batch of {batch} needs at least {batch + held}, {held} of them for evaluation: "
                "give more rows, or a smaller batch"
            )
        order = np.random.default_rng([seed, n]).permutation(n)
        return cls(np.sort(order[held:]), np.sort(order[:held]))


class Batches:
    """Batches of rows: each epoch has each row once, in an order drawn with the seed and the number of the epoch.

    Rows with a common text (see `keys`) are never in one batch; rows left over at the end of an epoch are not used.
    """

    def __init__(self, rows: Ids, batch: int, seed: int, keys: Sequence[frozenset[str]] | None = None) -> None:
        self._rows, self._batch, self._seed, self._keys = rows, batch, seed, keys
        self._epoch, self._made = -1, list[Ids]()
        self._before = 0

    def __call__(self, number: int) -> Ids:
        """Return the rows of batch `number`, counted from 0; a call for an earlier batch starts again from 0."""
        if number < self._before:
            self._epoch, self._made, self._before = -1, [], 0
        while number >= self._before + len(self._made):
            self._before += len(self._made)
            self._epoch += 1
            self._made = self._drawn(self._epoch)
        return self._made[number - self._before]

    def per_epoch(self) -> int:
        """Return how many batches the first epoch has."""
        return len(self._drawn(0))

    def _drawn(self, epoch: int) -> list[Ids]:
        order = np.random.default_rng([self._seed, epoch]).permutation(self._rows)
        if self._keys is None:
            return list(order[: len(order) // self._batch * self._batch].reshape(-1, self._batch))
        made, waiting, row, seen = list[Ids](), deque(order.tolist()), list[int](), set[str]()
        later: list[int] = []
        while waiting:
            one = waiting.popleft()
            if seen.isdisjoint(self._keys[one]):
                row.append(one)
                seen |= self._keys[one]
            else:
                later.append(one)
            if len(row) == self._batch:
                made.append(np.array(row))
                row, seen = [], set()
                waiting.extendleft(reversed(later))
                later = []
        if not made:
            raise CorpusError(
                f"the {len(order)} rows have no batch of {self._batch} without a repeated text; give a smaller batch"
            )
        return made


def taken(packed: Packed, texts: Ids) -> tuple[Ids, Ids, Ids | None]:
    """Return ids, starts and types of some of the packed texts, in this order."""
    lengths = np.diff(packed.starts)[texts]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    rows = np.arange(int(starts[-1])) + np.repeat(packed.starts[:-1][texts] - starts[:-1], lengths)
    return packed.ids[rows], starts, None if packed.type_ids is None else packed.type_ids[rows]


def digest(packed: Packed, labels: Ids | None = None) -> str:
    """Return a hash of all ids and labels: a training can only be resumed on the same data."""
    made = hashlib.blake2b(packed.ids.data, digest_size=16)
    made.update(packed.starts.data)
    if labels is not None:
        made.update(labels.data)
    return made.hexdigest()
