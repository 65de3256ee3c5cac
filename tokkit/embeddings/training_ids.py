"""The ids of a corpus in a memory-mapped file, so that text is tokenized once and every epoch reads ids."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from tokkit._core.embed.sentences import map_sentences
from tokkit.embeddings.counted_sentences import (
    MAX_SENTENCE_WORDS,
    CountedSentences,
    StrPath,
    corpus_key,
    disk_errors,
)
from tokkit.embeddings.vocabulary import Vocabulary
from tokkit.errors import CorpusError, FormatError

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

UNKNOWN = (1 << 32) - 1
_FORMAT = b"tokkit ids 1\n"
_MAPPED_IDS = 1 << 22
"""Number of ids copied at a time."""


class TrainingIds:
    """Sentences as ids of a vocabulary: sentence i is `ids[ends[i - 1]:ends[i]]`, without out-of-vocabulary words.

    `ids` (uint32) and `ends` (int64) are parts of a memory-mapped file, which is removed on `close`, with the object,
    or at the end of the process, unless `cache` keeps it. `n_words` is the number of words in the corpus,
    out-of-vocabulary words included.

    >>> with TrainingIds.of([["a", "rose", "is", "a", "rose"], ["is", "it"]], min_count=2) as corpus:
    ...     corpus.vocabulary.words, [ids.tolist() for ids in corpus.sentences()], corpus.n_words
    (('is', 'rose', 'a'), [[2, 1, 0, 2, 1], [0]], 7)
    """

    def __init__(self, file: IO[bytes], about: dict[str, Any], vocabulary: Vocabulary) -> None:
        n_ids, n_ends = about["n_ids"], about["n_ends"]
        self.vocabulary = vocabulary
        self.n_words: int = about["n_words"]
        self._file = file
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.ids: NDArray[np.uint32] = np.frombuffer(self._map, "<u4", n_ids, 8 * n_ends)
        self.ends: NDArray[np.int64] = np.frombuffer(self._map, "<i8", n_ends)

    @classmethod
    def of(
        cls,
        sentences: Iterable[Any] | None = None,
        *,
        corpus_file: StrPath | Sequence[StrPath] | None = None,
        tokenizer: Tokenizer | None = None,
        vocabulary: Vocabulary | None = None,
        min_count: int = 5,
        max_final_vocab: int | None = None,
        sorted_vocab: bool = True,
        cache: StrPath | None = None,
        max_sentence_words: int = MAX_SENTENCE_WORDS,
    ) -> TrainingIds:
        """Read sentences (lists of words, or texts) or files of lines, choose a vocabulary, and return ids.

        Texts and lines are split at white space, or by a `tokenizer`, whose tokens are then the words. A sentence of
        more than `max_sentence_words` is split. A given `vocabulary` is used as it is. The file is temporary; with
        `cache` it is kept under that name, and reused if corpus_file, tokenizer and options are the same. CorpusError
        for invalid UTF-8 or no words, OSError for a full disk; no files are left then.
        """
        key = None
        if cache is not None and corpus_file is not None and vocabulary is None:
            chosen = {"min_count": min_count, "max_final_vocab": max_final_vocab, "sorted_vocab": sorted_vocab}
            key = corpus_key(corpus_file, tokenizer, {**chosen, "max_sentence_words": max_sentence_words})
            if os.path.exists(cache) and (found := cls._open(cache, key)) is not None:
                return found
        with CountedSentences.of(
            sentences, corpus_file=corpus_file, tokenizer=tokenizer, max_sentence_words=max_sentence_words
        ) as counted:
            if vocabulary is None:
                vocabulary = Vocabulary.of(
                    counted.words,
                    counted.counts,
                    min_count=min_count,
                    max_final_vocab=max_final_vocab,
                    sorted_vocab=sorted_vocab,
                )
            return cls.from_counted(counted, vocabulary, cache=cache, key=key)

    @classmethod
    def from_counted(
        cls, counted: CountedSentences, vocabulary: Vocabulary, *, cache: StrPath | None = None, key: Any = None
    ) -> TrainingIds:
        """Write the ids of counted sentences."""
        to = np.array([vocabulary.ids.get(word, UNKNOWN) for word in counted.words], dtype=np.uint32)
        n_words = counted.n_words
        ids, ends = counted.ids, counted.ends
        n_ids, n_ends = map_sentences(ids, ends, to)
        if not n_ids:
            raise CorpusError(f"none of the {n_words:,} words of the sentences is in the vocabulary")
        about = {"n_ids": n_ids, "n_ends": n_ends, "n_words": n_words, "key": key}
        part = None if cache is None else f"{os.fspath(cache)}.part"
        file = _created(part)
        try:
            with disk_errors(part or "a temporary file"):
                for array in (ends[:n_ends], ids[:n_ids]):
                    for start in range(0, len(array), _MAPPED_IDS):
                        file.write(array[start : start + _MAPPED_IDS].data)
                if part is not None:
                    listed = {"words": list(vocabulary.words), "counts": vocabulary.counts.tolist()}
                    data = json.dumps(about | listed).encode()
                    file.write(data + len(data).to_bytes(8, "little") + _FORMAT)
                file.flush()
            if part is not None and cache is not None:
                file.close()
                os.replace(part, cache)
                file = open(cache, "rb")  # noqa: SIM115 - the object closes it
            return cls(file, about, vocabulary)
        except BaseException:
            with contextlib.suppress(OSError):
                file.close()
            if part is not None:
                with contextlib.suppress(FileNotFoundError):
                    os.remove(part)
            raise

    @classmethod
    def open(cls, path: StrPath) -> TrainingIds:
        """Return the ids stored by `cache`; FormatError for another file."""
        return cast(TrainingIds, cls._open(path, None))

    @classmethod
    def _open(cls, path: StrPath, key: Any) -> TrainingIds | None:
        """Return the ids stored by `cache`, or None if they were made from a corpus or options other than `key`."""
        file = open(path, "rb")  # noqa: SIM115 - the object closes it
        try:
            about = _about(file, os.fspath(path))
            if key is not None and about["key"] != key:
                file.close()
                return None
            vocabulary = Vocabulary.stored(about["words"], about["counts"])
            made = cls(file, about, vocabulary)
        except (KeyError, TypeError, ValueError) as error:
            file.close()
            if isinstance(error, FormatError):
                raise
            raise FormatError(f"{os.fspath(path)}: the description at its end is invalid: {error}") from None
        if made.ids.max(initial=0) >= len(vocabulary) or not _rises(made.ends, len(made.ids)):
            made.close()
            raise FormatError(
                f"{os.fspath(path)}: its ids do not match its vocabulary, or its sentences do not match its ids"
            )
        return made

    @property
    def n_sentences(self) -> int:
        """The number of sentences with at least one word of the vocabulary."""
        return len(self.ends)

    def __len__(self) -> int:
        """Return the number of ids."""
        return len(self.ids)

    def sentences(self) -> Iterator[NDArray[np.uint32]]:
        """Yield the ids of each sentence."""
        start = 0
        for end in self.ends:
            yield self.ids[start:end]
            start = end

    def close(self) -> None:
        """Remove the temporary file; `ids` and `ends` become empty. A second call does nothing."""
        self.ids, self.ends = np.empty(0, np.uint32), np.empty(0, np.int64)
        self._file.close()
        with contextlib.suppress(BufferError):  # the caller's arrays still use it; it is freed with them
            self._map.close()

    def __enter__(self) -> TrainingIds:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"TrainingIds({len(self):,} ids, {self.n_sentences:,} sentences, {len(self.vocabulary):,} words)"


def _created(path: str | None) -> IO[bytes]:
    """Return a new file, or a temporary one, unnamed if the system supports it."""
    return open(path, "w+b") if path is not None else tempfile.TemporaryFile(prefix="tokkit-")


def _rises(ends: NDArray[np.int64], last: int) -> bool:
    return len(ends) > 0 and ends[0] > 0 and ends[-1] == last and bool((np.diff(ends) > 0).all())


def _about(file: IO[bytes], path: str) -> dict[str, Any]:
    """Return the description at the end of a file; FormatError if it is missing or its sizes do not match."""
    tail = len(_FORMAT) + 8
    size = os.fstat(file.fileno()).st_size
    file.seek(max(size - tail, 0))
    data = file.read(tail)
    length = int.from_bytes(data[:8], "little")
    if not data.endswith(_FORMAT) or length > size - tail:
        raise FormatError(f"{path} is not a file of training ids, or is truncated")
    file.seek(size - tail - length)
    about: dict[str, Any] = json.loads(file.read(length))
    if 8 * about["n_ends"] + 4 * about["n_ids"] + length + tail != size:
        raise FormatError(f"{path}: its size does not match {about['n_ids']} ids and {about['n_ends']} sentences")
    return about
