"""Beam search: the most probable continuations of several prompts, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tokkit.errors import OptionError
from tokkit.nn.arrays import Floats
from tokkit.nn.decoder_cache import DecoderCache
from tokkit.nn.generation import Chooser
from tokkit.nn.greatest import greatest
from tokkit.nn.text_decoder import TextDecoder
from tokkit.pipeline.generation import Text, checked
from tokkit.pipeline.generation_options import GenerationOptions


@dataclass(frozen=True, slots=True, eq=False)
class Hypothesis:
    """A beam of the search, running or finished with a `reason`."""

    chooser: Chooser
    ids: list[int]
    score: float
    logprobs: list[float]
    reason: str | None = None


class BeamSearch:
    """The beams of one new text; `best` are the finished beams, the best first.

    `stopped(ids)` tells whether ids end a text for a reason that is not part of its `ending`.
    """

    def __init__(
        self, text: Text, options: GenerationOptions, *, stopped: Callable[[list[int]], bool] | None = None
    ) -> None:
        self._options, self._ending, self._stopped = options, text.ending, stopped
        self._running = [Hypothesis(text.chooser, [], 0.0, [])]
        self._caches = [text.cache]
        self._common = np.zeros((1, 1), np.int64)  # how many tokens two beams have in common
        self._scratch = np.empty((0, 0), dtype=np.float32)
        self.pending = [text.pending]
        """The ids that each running beam reads next."""
        self.best: list[Hypothesis] = []
        self.done = False

    @property
    def caches(self) -> list[DecoderCache]:
        """The cache of each running beam."""
        return self._caches

    def step(self, logits: Floats) -> None:
        """Extend the beams by one token, given the logits (beams, vocab_size) after the pending ids.

        Overwrites the logits.
        """
        n, ending = self._options.num_beams, self._ending
        if (
            self._scratch.shape != logits.shape
        ):  # reused: allocating memory in each step would take longer than the sums
            self._scratch = np.empty(logits.shape, dtype=np.float32)
        log_probs = self._log_probs(logits)
        scores = np.array([[beam.score] for beam in self._running], dtype=np.float32)
        totals = np.add(log_probs, scores, out=self._scratch)
        found = greatest(totals.reshape(-1), n * max(2, 1 + len(ending.eos_ids)))
        if not len(found) and not self.best:
            raise OptionError("no token can be chosen: all are banned or excluded")
        late = ending.until is not None and time.monotonic() >= ending.until
        running: list[Hypothesis] = []
        parents: list[int] = []
        for rank, at in enumerate(found.tolist()):
            parent, id_ = divmod(at, totals.shape[1])
            made = self._extended(parent, id_, float(totals[parent, id_]), float(log_probs[parent, id_]), late)
            if made.reason is None and len(running) < n:
                running.append(made)
                parents.append(parent)
            elif made.reason is not None and rank < n:
                score = made.score / len(made.ids) ** self._options.length_penalty
                self.best.append(replace(made, score=score))
        self.best = sorted(self.best, key=lambda made: -made.score)[:n]
        self._follow(running, parents)
        self.done = not running or self._settled()

    def _log_probs(self, logits: Floats) -> Floats:
        callback = self._options.callback
        if callback is not None:
            rows = zip(self._running, logits, strict=True)
            logits = np.stack([callback(list(beam.ids), row.copy()) for beam, row in rows])
        logits -= logits.max(1, keepdims=True)
        logits -= np.log(np.exp(logits, out=self._scratch).sum(1, keepdims=True))
        for row, beam in zip(logits, self._running, strict=True):
            processed = beam.chooser.processed(row)
            if processed is not row:
                row[:] = processed
        return logits

    def _extended(self, parent: int, id_: int, total: float, log_prob: float, late: bool) -> Hypothesis:
        before, ending = self._running[parent], self._ending
        chooser, ids = before.chooser.copy(), [*before.ids, id_]
        chooser.add(id_)
        reason = None
        if id_ in ending.eos_ids:
            reason = "eos"
        elif chooser.ended or (self._stopped is not None and self._stopped(ids)):
            reason = "stop"
        elif len(ids) >= ending.max_new_tokens:
            reason = "length"
        elif late:
            reason = "time"
        return Hypothesis(chooser, ids, total, [*before.logprobs, log_prob], reason)

    def _settled(self) -> bool:
        """Return whether the search is finished: no running beam can, or must, become better than the finished ones."""
        options = self._options
        if len(self.best) < options.num_beams:
            return False
        length = len(self._running[0].ids)
        if options.early_stopping == "never" and options.length_penalty > 0:
            length = self._ending.max_new_tokens
        possible = self._running[0].score / length**options.length_penalty
        return options.early_stopping is True or possible <= self.best[-1].score

    def _follow(self, running: list[Hypothesis], parents: list[int]) -> None:
        """Give each beam the cache of the beam that it continues.

        The first beam that continues a cache keeps it. The others reuse caches that no beam continues, and copy only
        what follows the last common token.
        """
        free = sorted(set(range(len(self._caches))).difference(parents))
        caches: list[DecoderCache] = []
        for i, parent in enumerate(parents):
            cache = self._caches[parent]
            if parent in parents[:i] and free:
                at = max(free, key=lambda other: int(self._common[parent, other]))
                free.remove(at)
                self._caches[at].follow(cache, int(self._common[parent, at]))
                cache = self._caches[at]
            elif parent in parents[:i]:
                cache = cache.copy(room=self._ending.max_new_tokens - len(running[i].ids) + 1)
            caches.append(cache)
        common = self._common[np.ix_(parents, parents)]
        same = np.equal.outer(parents, parents)
        self._running, self._caches = running, caches
        self._common = np.where(same, caches[0].length if caches else 0, common)
        self.pending = [np.array([beam.ids[-1]]) for beam in running]


def run(decoder: TextDecoder, searches: Sequence[BeamSearch]) -> None:
    """Run searches to their ends, all beams of all of them side by side."""
    while alive := [search for search in searches if not search.done]:
        pending = [ids for search in alive for ids in search.pending]
        hidden = decoder(pending, [cache for search in alive for cache in search.caches])
        last = hidden[np.cumsum([len(ids) for ids in pending]) - 1]
        logits = checked(decoder, decoder.logits(last), pending)
        start = 0
        for search in alive:
            n = len(search.pending)
            search.step(logits[start : start + n])
            start += n
