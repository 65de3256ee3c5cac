"""The training text of a language model: the concatenated ids of documents, in batches drawn with a seed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokkit.corpus import readers
from tokkit.errors import CorpusError
from tokkit.tokenizer import Tokenizer

TEXTS_AT_ONCE = 256
MAX_HELD_OUT = 1 << 16
"""Maximum number of tokens for the evaluation of the loss."""


@dataclass(frozen=True, slots=True)
class TrainingText:
    """The ids for training, and the last ids of the corpus, which are held out for evaluation."""

    ids: NDArray[np.uint32]
    held_out: NDArray[np.uint32]
    digest: str
    """A hash of all ids: a training can only be resumed on the same data."""

    @classmethod
    def of(
        cls, source: object, tokenizer: Tokenizer, *, context: int, end: int | None, share: float, field: str,
        threads: int | None,
    ) -> TrainingText:  # fmt: skip
        """Encode a corpus, with the token `end` after each document unless it is None, and hold out a share of it.

        In files a document is a whole file, or a record. CorpusError for less than one text of `context` tokens for
        training and one for evaluation.
        """
        parts: list[NDArray[np.uint32]] = []
        texts: list[str] = []
        for text in readers.documents(source, unit="file", field=field):
            texts.append(text)
            if len(texts) == TEXTS_AT_ONCE:
                parts += _encoded(texts, tokenizer, end, threads)
                texts = []
        parts += _encoded(texts, tokenizer, end, threads)
        ids = np.concatenate([np.empty(0, np.uint32), *parts])
        least = context + 1
        held = min(max(int(len(ids) * share), least), MAX_HELD_OUT + 1)
        if len(ids) < 2 * least:
            raise CorpusError(
                f"the corpus has {len(ids)} tokens; a context of {context} needs at least {2 * least}, half of them "
                "for evaluation: give more text, or a smaller context"
            )
        digest = hashlib.blake2b(ids.data, digest_size=16).hexdigest()
        return cls(ids[:-held], ids[-held:], digest)

    def batch(self, seed: int, number: int, texts: int, context: int) -> NDArray[np.int64]:
        """Return batch `number`: (texts, context + 1) ids, from positions drawn with the seed and the number."""
        rng = np.random.default_rng([seed, number])
        starts = rng.integers(0, len(self.ids) - context, texts)
        made: NDArray[np.int64] = self.ids[starts[:, None] + np.arange(context + 1)].astype(np.int64)
        return made

    def evaluation(self, texts: int, context: int) -> Iterator[NDArray[np.int64]]:
        """Yield batches of the held-out text, (up to `texts`, context + 1) ids; each token is predicted once."""
        n = (len(self.held_out) - 1) // context
        starts = np.arange(n) * context
        for first in range(0, n, texts):
            yield self.held_out[starts[first : first + texts, None] + np.arange(context + 1)].astype(np.int64)


def _encoded(texts: list[str], tokenizer: Tokenizer, end: int | None, threads: int | None) -> list[NDArray[np.uint32]]:
    if not texts:
        return []
    ids, offsets = tokenizer.encode_batch(texts, threads=threads)
    if end is None:
        return [ids]
    return [np.insert(ids, offsets[1:], end).astype(np.uint32)]
