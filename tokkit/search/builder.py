"""Adds texts to an index: cuts them into chunks and encodes a few hundred at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tokkit.chunks import chunking
from tokkit.errors import OptionError, ShapeError
from tokkit.search.index import About, Rows, SearchIndex, empty_rows
from tokkit.search.sources import Document

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

BATCH = 64
"""Number of chunks that are encoded at a time: about a second of work, so that progress and Ctrl-C work."""
OVERLAP = 8
"""By default, 1/8 of the tokens of a chunk is repeated in the next one."""
ANY_LENGTH = 1 << 20
"""A model with at least this maximum length counts as unlimited."""
OF_ANY_LENGTH = 512
"""Default tokens of a chunk for such a model: a few paragraphs, which one vector can still represent."""
OF_QUERIES, OF_PASSAGES = ("query",), ("document", "passage")
"""Names of prompts for queries; the first one that a model has is used."""


class Encoder(Protocol):
    """Encodes texts to vectors: a `tokkit.pipeline.SentenceEncoder`, or your own class."""

    @property
    def dimension(self) -> int:
        """Number of dimensions of a vector."""

    @property
    def max_length(self) -> int:
        """Maximum tokens of a text, including special tokens."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the model."""

    def fingerprint(self) -> str:
        """Return a fingerprint, equal for equal models."""

    def encode(self, sentences: Sequence[str], *, normalize: bool = True, threads: int | None = None) -> NDArray[Any]:
        """Return unit vectors (n, dimension), float32."""


def about(encoder: Encoder, model: str, *, tokens: int | None = None, overlap: int | None = None) -> About:
    """Return the description of vectors for an index.

    Chunks default to the model's maximum length and repeat an eighth.

    OptionError for chunks that are longer than the model's maximum.
    """
    limit = encoder.max_length - len(encoder.tokenizer("", truncation=None, padding=None))
    if tokens is not None and tokens > limit:
        raise OptionError(f"tokens is {tokens}; the model reads at most {limit}")
    size = tokens if tokens is not None else limit if limit < ANY_LENGTH else OF_ANY_LENGTH
    repeated = size // OVERLAP if overlap is None else overlap
    chunking.check(size, repeated)
    fingerprints = encoder.fingerprint(), encoder.tokenizer.fingerprint()
    return About(model, *fingerprints, encoder.dimension, size, repeated)


def check(encoder: Encoder, model: str, index: SearchIndex) -> None:
    """Raise OptionError, which names both models, if another model made the vectors of an index."""
    own, fingerprints = index.about, (encoder.fingerprint(), encoder.tokenizer.fingerprint())
    index.check(About(model, *fingerprints, encoder.dimension, own.tokens, own.overlap))


def encode_queries(encoder: Encoder, queries: Sequence[str], *, threads: int | None = None) -> NDArray[np.float32]:
    """Return the vectors (q, dimension) of queries, with the model's prompt for queries if it has one."""
    return _encode(encoder, queries, OF_QUERIES, threads)


def _encode(encoder: Encoder, texts: Sequence[str], prompts: Sequence[str], threads: int | None) -> NDArray[np.float32]:
    own = getattr(encoder, "prompts", {})
    prompt = next(({"prompt_name": name} for name in prompts if name in own), {})
    made = np.asarray(encoder.encode(list(texts), normalize=True, threads=threads, **prompt))
    if made.shape != (len(texts), encoder.dimension) or made.dtype != np.float32:
        wanted = f"float32 of shape {(len(texts), encoder.dimension)}"
        raise ShapeError(f"the encoder returned {made.dtype} of shape {made.shape}; it must return {wanted}")
    if not np.isfinite(made).all():
        raise ShapeError("the encoder returned a vector with NaN or infinity")
    return made


class Builder:
    """Makes rows from texts, file by file: call `add` for each, then `rows`.

    `progress` is called with the number of encoded chunks.
    """

    def __init__(
        self,
        encoder: Encoder,
        about: About,
        *,
        threads: int | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        self._encoder, self._about, self._threads, self._progress = encoder, about, threads, progress
        self._waiting: list[str] = []
        self._vectors: list[NDArray[np.float32]] = []
        self._places: list[tuple[int, int, int, int, int]] = []
        self._texts: list[bytes] = []

    def add(self, source: int, documents: Sequence[Document]) -> int:
        """Add the texts of source number `source`; return the number of their chunks."""
        before = len(self._places)
        for document in documents:
            self._add(source, document)
        return len(self._places) - before

    def _add(self, source: int, document: Document) -> None:
        text, size, tok = document.text, self._about, self._encoder.tokenizer
        # Bytes and lines are counted from chunk to chunk, backwards for overlaps, so a long text is scanned only once.
        at, offset, line = 0, document.offset, 1
        for part, start, _, _ in chunking.chunk(text, tok, tokens=size.tokens, overlap=size.overlap):
            between, sign = (text[at:start], 1) if start >= at else (text[start:at], -1)
            offset, line = offset + sign * len(between.encode()), line + sign * between.count("\n")
            at = start
            utf8 = part.encode()
            self._places.append((source, document.record, line, offset, offset + len(utf8)))
            self._texts.append(utf8)
            self._waiting.append(part)
            if len(self._waiting) >= BATCH:
                self._encode()

    def _encode(self) -> None:
        if self._waiting:
            self._vectors.append(_encode(self._encoder, self._waiting, OF_PASSAGES, self._threads))
            self._waiting = []
            if self._progress is not None:
                self._progress(len(self._places))

    def rows(self) -> Rows:
        """Return all rows, in the order of their texts."""
        self._encode()
        if not self._places:
            return empty_rows(self._about.dimension)
        places = np.array(self._places, dtype=np.int64)
        ends = np.cumsum([len(text) for text in self._texts], dtype=np.int64)
        text = np.frombuffer(b"".join(self._texts), dtype=np.uint8)
        source = places[:, 0].astype(np.uint32)
        return Rows(np.concatenate(self._vectors), source, places[:, 1], places[:, 2], places[:, 3:], text, ends)
