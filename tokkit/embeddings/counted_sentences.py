"""Reads sentences once: counts their words, and writes their numbers to a temporary file."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from tokkit import limits
from tokkit._core.embed.sentences import Sentences
from tokkit.checks import ordered
from tokkit.corpus import paths
from tokkit.errors import CorpusError, OptionError

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

StrPath = str | os.PathLike[str]
MAX_SENTENCE_WORDS = 10_000
"""The maximum words of a sentence; a longer one is split, as gensim splits lines of corpus_file."""
BLOCK_BYTES = 1 << 20
_SENTENCES_AT_ONCE = 1000


class CountedSentences:
    """The words of a corpus in order of first occurrence, their counts, and the sentences as numbers of these words.

    `ids` (uint32) and `ends` (int64) are memory-mapped temporary files, and may be written to.

    >>> with CountedSentences.of(["a rose is a rose", "so it is"]) as counted:
    ...     counted.words, counted.counts.tolist(), counted.ids.tolist(), counted.ends.tolist()
    (['a', 'rose', 'is', 'so', 'it'], [2, 2, 2, 1, 1], [0, 1, 2, 0, 1, 3, 4, 2], [5, 8])
    """

    def __init__(self) -> None:
        self.words: list[str] = []
        self.counts: NDArray[np.int64] = np.empty(0, np.int64)
        self.n_words = 0
        self._files = tuple(tempfile.TemporaryFile(prefix="tokkit-") for _ in range(2))  # noqa: SIM115 - for close

    @classmethod
    def of(
        cls,
        sentences: Iterable[Any] | None = None,
        *,
        corpus_file: StrPath | Sequence[StrPath] | None = None,
        tokenizer: Tokenizer | None = None,
        max_sentence_words: int = MAX_SENTENCE_WORDS,
    ) -> CountedSentences:
        """Read an iterable of lists of words or texts, or the lines of a file, or of several."""
        if (sentences is None) == (corpus_file is None):
            raise OptionError("give either sentences or corpus_file")
        if sentences is not None:
            ordered(sentences, "sentences", "sentences (corpus_file=… reads a file)")
        if isinstance(max_sentence_words, bool) or not isinstance(max_sentence_words, int) or max_sentence_words < 1:
            raise OptionError(f"max_sentence_words is {max_sentence_words!r}; it must be an int of at least 1")
        made = cls()
        try:
            if tokenizer is not None:
                lines = _lines(_files(corpus_file)) if corpus_file is not None else _texts(sentences or ())
                made._read_tokens(lines, tokenizer, max_sentence_words)
            else:
                made._read_words(sentences, corpus_file, max_sentence_words)
        except BaseException:
            made.close()
            raise
        return made

    @property
    def ids(self) -> NDArray[np.uint32]:
        """The number of each word of the corpus."""
        return self._mapped(0, np.dtype(np.uint32))

    @property
    def ends(self) -> NDArray[np.int64]:
        """The end of each sentence."""
        return self._mapped(1, np.dtype(np.int64))

    def _mapped(self, number: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        file = self._files[number]
        size = os.fstat(file.fileno()).st_size
        return np.memmap(file, dtype, "r+", shape=(size // dtype.itemsize,)) if size else np.empty(0, dtype)

    def _write(self, ids: Any, ends: Any) -> None:
        for file, data in zip(self._files, (ids, ends), strict=True):
            with disk_errors("a temporary file"):
                file.write(data)
                file.flush()

    def _end(self) -> None:
        if not self.n_words:
            raise CorpusError("the sentences have no words")

    def _read_words(
        self, sentences: Iterable[Any] | None, corpus_file: StrPath | Sequence[StrPath] | None, longest: int
    ) -> None:
        reader = Sentences(longest)
        if corpus_file is not None:
            for path in _files(corpus_file):
                for _ in _read_file(reader, path):
                    self._write(*reader.take())
        else:
            for number, sentence in enumerate(sentences or (), 1):
                _add(reader, sentence, number)
                if not number % _SENTENCES_AT_ONCE:
                    self._write(*reader.take())
        self._write(*reader.take())
        self.n_words = reader.n_words
        self.words, counts = reader.words()
        self.counts = np.array(counts, dtype=np.int64)
        self._end()

    def _read_tokens(self, texts: Iterable[str], tokenizer: Tokenizer, longest: int) -> None:
        counts = np.zeros(tokenizer.n_ids, dtype=np.int64)
        batches = iter(texts)
        while batch := list(itertools.islice(batches, _SENTENCES_AT_ONCE)):
            ids, offsets = tokenizer.encode_batch(batch)
            pairs = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
            ends = [min(end, at + longest) for start, end in pairs for at in range(start, end, longest)]
            self._write(np.ascontiguousarray(ids, dtype=np.uint32).data, (np.array(ends, np.int64) + self.n_words).data)
            counts += np.bincount(ids, minlength=len(counts))
            self.n_words += len(ids)
        self.words, self.counts = _texts_of_tokens(tokenizer, counts), counts
        self._end()

    def close(self) -> None:
        """Remove the temporary files."""
        for file in self._files:
            with contextlib.suppress(OSError):  # data not yet written is not needed
                file.close()

    def __enter__(self) -> CountedSentences:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


@contextlib.contextmanager
def disk_errors(path: str) -> Iterator[None]:
    """Turn an OSError, such as a full disk, into one that names the data and the place."""
    try:
        yield
    except OSError as error:
        where = f"{path} in {tempfile.gettempdir()}" if path == "a temporary file" else path
        raise OSError(error.errno, f"the ids of the corpus cannot be written to {where}: {error.strerror}") from None


def corpus_key(
    corpus_file: StrPath | Sequence[StrPath], tokenizer: Tokenizer | None, options: dict[str, Any]
) -> dict[str, Any]:
    """Return a key that tells whether stored ids belong to these files."""
    files = []
    for path in _files(corpus_file):
        status = os.stat(path)
        files.append([os.path.abspath(path), status.st_size, status.st_mtime_ns])
    return {"files": files, "tokenizer": None if tokenizer is None else tokenizer.fingerprint(), **options}


def _files(corpus_file: StrPath | Sequence[StrPath]) -> list[str]:
    return paths.files_of([corpus_file] if isinstance(corpus_file, (str, os.PathLike)) else corpus_file)


def _add(reader: Sentences, sentence: Any, number: int) -> None:
    """Read one sentence of an iterable."""
    try:
        if isinstance(sentence, str):
            reader.add_words(sentence.split())
        elif isinstance(sentence, (bytes, bytearray)) or not isinstance(sentence, Iterable):
            raise TypeError(f"it is {type(sentence).__name__}; it must be a list of words (str) or a text")
        else:
            reader.add_words(sentence)
    except (TypeError, UnicodeEncodeError) as error:
        raise CorpusError(f"sentence {number:,}: {error}") from None


def _texts(sentences: Iterable[Any]) -> Iterator[str]:
    for number, sentence in enumerate(sentences, 1):
        if not isinstance(sentence, str):
            raise CorpusError(
                f"sentence {number:,} is {type(sentence).__name__}; with a tokenizer it must be a text (str)"
            )
        yield sentence


def _read_file(reader: Sentences, path: str) -> Iterator[None]:
    """Read the lines of a file; yields after each block."""
    name, rest, last = paths.input_name(path), b"", False
    with paths.opened(path, name) as (stream, _, offset):
        while not last:
            block = stream.read(BLOCK_BYTES)
            last, data = not block, rest + block
            used, bad = reader.add_text(data, last=last)
            if bad >= 0 and (last or len(data) - bad > 3):
                raise CorpusError(
                    f"{name}: byte {offset + bad} (0x{data[bad]:02x}) is not UTF-8; corpus_file needs UTF-8"
                )
            rest, offset = data[used:], offset + used
            if len(rest) > limits.current().held_bytes:
                raise limits.exceeded("held_bytes", f"{name}: a word of {len(rest):,} bytes", CorpusError)
            yield


def _lines(files: list[str]) -> Iterator[str]:
    """Yield the lines of files without their ends."""
    for path in files:
        name = paths.input_name(path)
        with paths.opened(path, name) as (stream, _, _):
            raw = cast("io.RawIOBase", stream)
            try:
                for line in io.TextIOWrapper(io.BufferedReader(raw), "utf-8", newline="\n"):
                    yield line.removesuffix("\n")
            except UnicodeDecodeError as error:
                raise CorpusError(f"{name} is not UTF-8: {error.reason}; corpus_file needs UTF-8") from None


def _texts_of_tokens(tokenizer: Tokenizer, counts: NDArray[np.int64]) -> list[str]:
    """Return each token as text; tokens that do not occur are empty, and bytes that are not UTF-8 are hexadecimal."""
    texts: dict[str, None] = {}
    words = [""] * len(counts)
    for id_ in np.flatnonzero(counts).tolist():
        text = tokenizer.token_bytes(id_).decode("utf-8", "backslashreplace")
        words[id_] = f"{text}<{id_}>" if text in texts else text
        texts[words[id_]] = None
    return words
