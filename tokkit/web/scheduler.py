"""Generates the texts of many requests side by side (continuous batching).

One thread runs the decoder. Each step is one call with the next token of every text that is being generated, and with
some tokens of every prompt that is being read, so that a long prompt delays other texts by one step at most.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from tokkit.checks import as_int
from tokkit.pipeline.generation import Batch, Event, Text, threads
from tokkit.pipeline.generation_options import GenerationOptions
from tokkit.web.errors import RequestError

if TYPE_CHECKING:
    from tokkit.pipeline import PromptCache, TextGenerator

READ_TOKENS = 128
"""Tokens of a prompt that one step reads."""
Scored = tuple[int, float, list[tuple[int, float]]]
"""An id, its log-probability, and the most probable ids with theirs."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one step added to text `number` of a request. The last part has the `reason` why the text ended.

    A request that fails gets a part with the `error`.
    """

    number: int
    text: str = ""
    n_tokens: int = 0
    scored: list[Scored] = field(default_factory=list)
    reason: str | None = None
    error: Exception | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Job:
    """One prompt of a request. Its texts have the numbers `first` to first + options.n - 1, and must end by `until`.

    `emit` is called with their parts, from the thread of the decoder, and must not block. `n_cached` tokens of the
    prompt were in the cache; it is set before the first part.
    """

    prompt: list[int]
    options: GenerationOptions
    first: int
    until: float
    emit: Callable[[Part], None]
    texts: list[Text] = field(default_factory=list)
    n_cached: int = 0


class Scheduler:
    """Runs jobs, the oldest first, with at most `max_sequences` texts at once; at most `max_waiting` jobs wait.

    `held_caches` keep the keys and values of texts that have ended or were cancelled, so that a chat that continues is
    not read again. Between `start` and `close` any thread may submit and cancel jobs.
    """

    def __init__(
        self, generator: TextGenerator, *, max_sequences: int = 8, max_waiting: int = 64, threads: int | None = None,
        held_caches: PromptCache | None = None,
    ) -> None:  # fmt: skip
        self._generator, self._threads, self._held = generator, threads, held_caches
        self._max_sequences = as_int("max_sequences", max_sequences, minimum=1)
        self._max_waiting = as_int("max_waiting", max_waiting, minimum=0)
        self._waiting: deque[Job] = deque()
        self._cancelled: set[Job] = set()
        self._jobs: dict[Text, Job] = {}  # of the texts that are running; of the decoder's thread alone
        self._batch = self._new_batch()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="tokkit-decoder", daemon=True)

    def _new_batch(self) -> Batch:
        return Batch(self._generator.decoder, most_read=READ_TOKENS)

    def start(self) -> None:
        """Start the thread that runs jobs."""
        self._thread.start()

    def close(self) -> None:
        """End after the current step; jobs that have not ended get an error."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()

    def load(self) -> tuple[int, int]:
        """Return the number of running texts and of waiting jobs."""
        return len(self._jobs), len(self._waiting)

    def submit(self, jobs: Sequence[Job]) -> None:
        """Add jobs to the queue; RequestError if one needs too many places (400) or too many wait (429)."""
        for job in jobs:
            if job.options.n > self._max_sequences:
                raise RequestError(
                    f"n is {job.options.n}; this server generates at most {self._max_sequences} texts at once",
                    param="n",
                )
        with self._changed:
            free = self._max_sequences - len(self._jobs)
            if len(self._waiting) + len(jobs) > self._max_waiting + max(free, 0):
                raise RequestError(
                    f"{len(self._waiting)} requests wait already; try again later", status=429,
                    headers={"retry-after": "1"},
                )  # fmt: skip
            self._waiting.extend(jobs)
            self._changed.notify()

    def cancel(self, jobs: Sequence[Job]) -> None:
        """Drop jobs from the next step on; jobs that have ended are ignored."""
        with self._changed:
            self._cancelled.update(jobs)
            self._changed.notify()

    # ---- the thread of the decoder

    def _run(self) -> None:
        while True:
            with self._changed:
                while not (self._closed or self._waiting or self._cancelled or len(self._batch)):
                    self._changed.wait()
                if self._closed:
                    left = [*self._waiting, *dict.fromkeys(self._jobs.values())]
                    break
                cancelled, self._cancelled = self._cancelled, set()
                self._waiting = deque(job for job in self._waiting if job not in cancelled)
                admitted = self._admitted(sum(job not in cancelled for job in self._jobs.values()))
            for job in cancelled:
                self._keep(job)
                self._leave(job)
            for job in admitted:
                self._begin(job)
            self._step()
        for job in left:
            job.emit(Part(job.first, error=RequestError("the server is being stopped", status=503)))

    def _admitted(self, running: int) -> list[Job]:
        made: list[Job] = []
        while self._waiting and running + self._waiting[0].options.n <= self._max_sequences:
            made.append(self._waiting.popleft())
            running += made[-1].options.n
        return made

    def _begin(self, job: Job) -> None:
        left = job.until - time.monotonic()
        try:
            if left <= 0:
                raise RequestError("there was no turn for this request within its time; try again later", status=503)
            options = replace(job.options, max_time=left, held_caches=self._held)
            text = self._generator.begin(np.array(job.prompt, dtype=np.int64), options)
        except Exception as error:  # which is this request's alone
            job.emit(Part(job.first, error=error))
            return
        job.texts, job.n_cached = [text, *text.forks], text.cache.length
        self._jobs |= dict.fromkeys(job.texts, job)
        self._batch.add(text)

    def _keep(self, job: Job) -> None:
        """Keep what was read for a client that has gone away, because its chat may continue."""
        for text in job.texts[:1]:
            if self._held is not None and text in self._jobs and text.is_whole:
                self._held.keep(text.read, text.cache)

    def _leave(self, job: Job) -> None:
        for text in job.texts:
            if self._jobs.pop(text, None) is not None:
                self._batch.remove(text)

    def _step(self) -> None:
        try:
            with threads(self._threads):
                events = self._batch.step()
        except Exception as error:  # short of memory, or damaged weights: all that took part
            for job in dict.fromkeys(self._jobs.values()):
                job.emit(Part(job.first, error=error))
            self._jobs, self._batch = {}, self._new_batch()
            return
        for event in events:
            if event.text not in self._jobs:  # another text of its request has failed
                continue
            job = self._jobs[event.text]
            if event.error is not None:
                job.emit(Part(job.first, error=event.error))
                self._leave(job)
                continue
            if event.text.reason is not None:
                del self._jobs[event.text]
            job.emit(_part(job, event))


def _part(job: Job, event: Event) -> Part:
    text, n = event.text, len(event.ids)
    shown = n - (text.reason == "eos")  # the token of an end is none of the text's
    scored = (
        list(zip(text.ids, text.logprobs, text.top, strict=True))[len(text.ids) - n :][:shown] if text.logprobs else []
    )
    return Part(job.first + job.texts.index(text), event.part, n, scored, text.reason)
