"""Samples sentences of a large corpus with a seed, to train SentencePiece models.

All sentences are read, and the sample is held in memory. Sentences that training would leave out, because they are
empty or too long, are not candidates, as in sentencepiece. The random generator differs from sentencepiece's, so the
same seed gives different sentences.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

import numpy as np

from tokkit.corpus.readers import Block, Corpus
from tokkit.corpus.stream_blocks import Cut
from tokkit.trainers.sentencepiece_sentences import Reading

BLOCK_BYTES = 1 << 22
"""Size of the blocks of the sample, which threads process in parallel."""


class Reservoir:
    """Keeps a uniform random sample of `n` sentences, or the first `n` ones without shuffling.

    The index of the next kept sentence is drawn, not a decision for each: Li, "Reservoir-Sampling Algorithms of Time
    Complexity O(n(1 + log(N/n)))", 1994, algorithm L.
    """

    def __init__(self, n: int, *, shuffle: bool, seed: int) -> None:
        self.sentences: list[bytes] = []
        self.seen = 0
        self._n, self._shuffle, self._random = n, shuffle, random.Random(seed)
        self._weight = 1.0
        self._next = n - 1
        self._draw()

    @property
    def is_full(self) -> bool:
        """Whether no sentence will be kept any more."""
        return not self._shuffle and len(self.sentences) == self._n

    def _draw(self) -> None:
        self._weight *= math.exp(math.log(1 - self._random.random()) / self._n)
        passed = math.log(1 - self._random.random()) / math.log1p(-self._weight) if self._weight < 1 else 0
        self._next += int(passed) + 1

    def show(self, data: bytes, starts: list[int], ends: list[int]) -> None:
        """Process the sentences data[start:end]."""
        first, self.seen = self.seen, self.seen + len(starts)
        filling = min(self._n - len(self.sentences), len(starts))
        self.sentences += [data[starts[k] : ends[k]] for k in range(filling)]
        while self._shuffle and self._next < self.seen:
            k = self._next - first
            self.sentences[self._random.randrange(self._n)] = data[starts[k] : ends[k]]
            self._draw()


class SampledCorpus:
    """A sample of `n` sentences of a corpus, drawn during iteration."""

    def __init__(self, corpus: Corpus, n: int, *, shuffle: bool, seed: int, reading: Reading) -> None:
        self._corpus, self._reading = corpus, reading
        self._reservoir = Reservoir(n, shuffle=shuffle, seed=seed)
        self.errors, self.total = corpus.errors, corpus.total

    @property
    def done(self) -> int:
        """Bytes of the files read so far."""
        return self._corpus.done

    def blocks(self, cut: Cut | None = None) -> Iterator[Block]:
        """Yield the sentences of the sample in blocks."""
        for block in self._corpus.blocks(cut):
            data, packed = self._reading.sentences(block.validated(self.errors))
            if packed is None:
                ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n"))
                ends = ends if not data or data.endswith(b"\n") else np.append(ends, len(data))
                starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
            else:
                ends = np.frombuffer(packed, dtype=np.int64)
                starts = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
            full = ends > starts
            self._reservoir.show(data, starts[full].tolist(), ends[full].tolist())
            if self._reservoir.is_full:
                break
        yield from self._blocks()

    def _blocks(self) -> Iterator[Block]:
        held, size = list[bytes](), 0
        for sentence in self._reservoir.sentences:
            held.append(sentence)
            size += len(sentence)
            if size >= BLOCK_BYTES:
                yield _block(held)
                held, size = [], 0
        if held:
            yield _block(held)


def _block(held: Sequence[bytes]) -> Block:
    ends = np.cumsum([len(sentence) for sentence in held], dtype=np.int64)
    return Block(b"".join(held), "line", "the sample", 0, ends.tobytes())
