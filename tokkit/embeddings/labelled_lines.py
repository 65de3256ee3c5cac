"""Reads lines with labels once: counts words and labels, and writes their numbers to a temporary file."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokkit import limits
from tokkit._core.embed.labelled import LabelledWords, word_hashes
from tokkit.corpus import paths
from tokkit.embeddings.counted_sentences import BLOCK_BYTES, StrPath, disk_errors
from tokkit.embeddings.fasttext_file import END_OF_LINE
from tokkit.errors import CorpusError

_NOTHING = (1 << 32) - 1
_IDS_AT_ONCE = 1 << 20
_WORDS_PRIME = np.uint64(116049371)
"""The multiplier of hashes of several words (csrc/embed/ngrams.c)."""


@dataclass(eq=False)
class LabelledLines:
    """Lines as numbers: words from 0, then labels, then words too rare to have a row.

    Numbers index `words`, followed by `dropped`; 2**32 - 1 is a label that is too rare.
    """

    words: list[bytes]
    """Words in descending order of counts, then labels likewise."""
    counts: NDArray[np.int64]
    n_words: int
    dropped: list[bytes]
    ids: NDArray[np.uint32]
    ends: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        path: StrPath,
        *,
        label: bytes,
        min_count: int,
        min_count_label: int,
        known: tuple[list[bytes], int] | None = None,
    ) -> LabelledLines:
        """Read a file; words are separated by ASCII white space, and those that begin with `label` are labels.

        `known` are the words and labels with rows, and how many of them are words; others are not added.
        """
        table = LabelledWords()
        ids = _read(path, table)
        words, counted = table.words()
        counts = np.array(counted, dtype=np.int64)
        named, n_words = known or _chosen(paths.input_name(str(path)), words, counts, label, min_count, min_count_label)
        numbers = {word: i for i, word in enumerate(named)}
        dropped: list[bytes] = []
        to = np.full(len(words), _NOTHING, dtype=np.uint32)
        named_counts = np.zeros(len(named), dtype=np.int64)
        for i, word in enumerate(words):
            if (number := numbers.get(word)) is not None:
                named_counts[number] = counts[i]
                to[i] = number
            elif not word.startswith(label):
                to[i] = len(named) + len(dropped)
                dropped.append(word)
        ends = _ends(ids, table.find(END_OF_LINE))
        for start in range(0, len(ids), _IDS_AT_ONCE):
            ids[start : start + _IDS_AT_ONCE] = to[ids[start : start + _IDS_AT_ONCE]]
        return cls(named, named_counts, n_words, dropped, ids, ends)


def word_ngram_buckets(lines: LabelledLines, longest: int, bucket: int) -> NDArray[np.uint32]:
    """Return the distinct buckets of the n-grams of 2 to `longest` words in the lines."""
    n_labels = len(lines.words) - lines.n_words
    named = [*lines.words, *lines.dropped]
    hashes = np.frombuffer(word_hashes(named), np.uint32).view(np.int32).astype(np.int64).view(np.uint64)
    used = np.zeros(bucket, dtype=bool)
    first = 0
    while first < len(lines.ends):
        start = int(lines.ends[first - 1]) if first else 0
        stop = max(int(np.searchsorted(lines.ends, start + _IDS_AT_ONCE)), first + 1)
        ids = lines.ids[start : lines.ends[stop - 1]]
        of_line = np.repeat(np.arange(stop - first), np.diff(lines.ends[first:stop], prepend=start))
        is_word = (ids < lines.n_words) | ((ids >= lines.n_words + n_labels) & (ids != _NOTHING))
        words, of_line = hashes[ids[is_word]], of_line[is_word]
        made = words
        for size in range(1, longest):
            made = made[: len(words) - size] * _WORDS_PRIME + words[size:]
            used[made[of_line[: len(made)] == of_line[size:]] % np.uint64(bucket)] = True
        first = stop
    return np.flatnonzero(used).astype(np.uint32)


def _chosen(
    name: str, words: list[bytes], counts: NDArray[np.int64], label: bytes, min_count: int, min_count_label: int
) -> tuple[list[bytes], int]:
    """Return the words and labels that are frequent enough, in descending order of counts, and the number of words."""
    is_label = np.array([word.startswith(label) for word in words], dtype=bool)
    enough = counts >= np.where(is_label, min_count_label, min_count)
    kept, labels = (
        found[np.argsort(-counts[found], kind="stable")]
        for found in (np.flatnonzero(enough & ~is_label), np.flatnonzero(enough & is_label))
    )
    if not len(labels):
        prefix = label.decode("utf-8", "surrogatepass")
        if not is_label.any():
            raise CorpusError(f"{name}: no word begins with {prefix!r}, as the labels of a line must")
        raise CorpusError(f"{name}: none of the {int(is_label.sum()):,} labels occurs at least {min_count_label} times")
    if not len(kept):
        raise CorpusError(f"{name}: no word occurs at least {min_count} times; lower minCount")
    return [words[i] for i in np.concatenate([kept, labels]).tolist()], len(kept)


def _read(path: StrPath, table: LabelledWords) -> NDArray[np.uint32]:
    """Return the numbers of all words, in a memory-mapped temporary file."""
    name = paths.input_name(str(path))
    with tempfile.TemporaryFile(prefix="tokkit-") as file:
        rest = b""
        with paths.opened(str(path), name) as (stream, _, _):
            while True:
                block = stream.read(BLOCK_BYTES)
                data = rest + block
                used = table.read(data, last=not block)
                with disk_errors("a temporary file"):
                    file.write(table.take())
                rest = data[used:]
                if not block:
                    break
                if len(rest) > limits.current().held_bytes:
                    raise limits.exceeded("held_bytes", f"{name}: a word of {len(rest):,} bytes", CorpusError)
        with disk_errors("a temporary file"):
            file.flush()
        n = file.tell() // 4
        if not n:
            raise CorpusError(f"{name} has no words")
        return np.memmap(file, np.uint32, "r+", shape=(n,))


def _ends(ids: NDArray[np.uint32], end_of_line: int) -> NDArray[np.int64]:
    """Return the ends of lines: after each line end, and at the end of the file."""
    found = [
        np.flatnonzero(ids[start : start + _IDS_AT_ONCE] == end_of_line) + start + 1
        for start in range(0, len(ids), _IDS_AT_ONCE)
    ]
    ends = np.concatenate(found).astype(np.int64)
    return ends if len(ends) and ends[-1] == len(ids) else np.append(ends, np.int64(len(ids)))
