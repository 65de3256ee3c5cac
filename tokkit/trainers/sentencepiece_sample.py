"""Samples lines of a large corpus with a seed, to train SentencePiece models.

All lines are read, and the sample is held in memory. Lines that training would leave out, because they are empty or too
long, are not candidates, as in sentencepiece. The random generator differs from sentencepiece's, so the same seed gives
different lines.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import numpy as np

from tokkit.corpus.readers import Block, Corpus
from tokkit.corpus.stream_blocks import Cut
from tokkit.trainers.sentencepiece_text import LeftOut, in_lines

BLOCK_BYTES = 1 << 22
"""Size of the blocks of the sample, which threads process in parallel."""


class Reservoir:
    """Keeps a uniform random sample of `n` lines, or the first `n` lines without shuffling.

    The index of the next kept line is drawn, not a decision for each line: Li, "Reservoir-Sampling Algorithms of Time
    Complexity O(n(1 + log(N/n)))", 1994, algorithm L.
    """

    def __init__(self, n: int, *, shuffle: bool, seed: int) -> None:
        self.lines: list[bytes] = []
        self.seen = 0
        self._n, self._shuffle, self._random = n, shuffle, random.Random(seed)
        self._weight = 1.0
        self._next = n - 1
        self._draw()

    @property
    def is_full(self) -> bool:
        """Whether no line will be kept any more."""
        return not self._shuffle and len(self.lines) == self._n

    def _draw(self) -> None:
        self._weight *= math.exp(math.log(1 - self._random.random()) / self._n)
        passed = math.log(1 - self._random.random()) / math.log1p(-self._weight) if self._weight < 1 else 0
        self._next += int(passed) + 1

    def show(self, data: bytes, starts: list[int], ends: list[int]) -> None:
        """Process the lines data[start:end]."""
        first, self.seen = self.seen, self.seen + len(starts)
        filling = min(self._n - len(self.lines), len(starts))
        self.lines += [data[starts[k] : ends[k]] for k in range(filling)]
        while self._shuffle and self._next < self.seen:
            k = self._next - first
            self.lines[self._random.randrange(self._n)] = data[starts[k] : ends[k]]
            self._draw()


class SampledCorpus:
    """A sample of `n` lines of a corpus, drawn during iteration; `left_out` counts lines that are too long."""

    def __init__(
        self, corpus: Corpus, n: int, *, shuffle: bool, seed: int, longest: int | None, left_out: LeftOut
    ) -> None:
        self._corpus, self._longest, self._left_out = corpus, longest, left_out
        self._reservoir = Reservoir(n, shuffle=shuffle, seed=seed)
        self.errors, self.total = corpus.errors, corpus.total

    @property
    def done(self) -> int:
        """Bytes of the files read so far."""
        return self._corpus.done

    def blocks(self, cut: Cut | None = None) -> Iterator[Block]:
        """Yield the lines of the sample in blocks."""
        for block in self._corpus.blocks(cut):
            data = in_lines(block.validated(self.errors)).data
            ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n"))
            if not data.endswith(b"\n"):
                ends = np.append(ends, len(data))
            starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
            lengths = ends - starts
            fits = lengths > 0
            if self._longest is not None:
                self._left_out.too_long += int(np.count_nonzero(lengths > self._longest))
                fits &= lengths <= self._longest
            self._reservoir.show(data, starts[fits].tolist(), ends[fits].tolist())
            if self._reservoir.is_full:
                break
        yield from self._blocks()

    def _blocks(self) -> Iterator[Block]:
        lines, size = [], 0
        for line in self._reservoir.lines:
            lines.append(line)
            size += len(line)
            if size >= BLOCK_BYTES:
                yield Block(b"\n".join(lines) + b"\n", "line", "the sample")
                lines, size = [], 0
        if lines:
            yield Block(b"\n".join(lines) + b"\n", "line", "the sample")
