"""Texts of many requests in one batch equal those made alone, and one failure affects no other request."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import generators
from tokkit import pipeline
from tokkit.pipeline import PromptCache
from tokkit.pipeline.generation_options import GenerationOptions
from tokkit.web.errors import RequestError
from tokkit.web.scheduler import Job, Part, Scheduler

SOON = 60.0
"""Seconds after which a test gives up."""


class Collected:
    """A job whose parts are collected."""

    def __init__(self, prompt: list[int], *, seconds: float = SOON, **options: Any) -> None:
        self.parts: queue.Queue[Part] = queue.Queue()
        self.job = Job(
            prompt=prompt, options=GenerationOptions.of({"max_new_tokens": 10, **options}), first=0,
            until=time.monotonic() + seconds, emit=self.parts.put,
        )  # fmt: skip

    def texts(self) -> list[str]:
        """The job's texts, when all have ended; what went wrong is raised."""
        made, ended = [""] * self.job.options.n, 0
        while ended < len(made):
            part = self.parts.get(timeout=SOON)
            if part.error is not None:
                raise part.error
            made[part.number] += part.text
            ended += part.reason is not None
        return made


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return pipeline.load(generators.folder(tmp_path_factory.mktemp("model"), max_position_embeddings=512))


@pytest.fixture
def scheduler(model: Any) -> Iterator[Scheduler]:
    made = Scheduler(model, max_sequences=3, max_waiting=20)
    made.start()
    yield made
    made.close()


def test_texts_are_those_that_are_made_alone(model: Any, scheduler: Scheduler) -> None:
    prompts = [list(range(first, first + length)) for first, length in [(0, 3), (5, 300), (9, 1), (20, 150), (7, 7)]]
    options = [{}, {"n": 3, "temperature": 1.0, "seed": 5}, {"temperature": 0.7, "seed": 1}, {"n": 2, "seed": 2}, {}]
    jobs = [Collected(prompt, **each) for prompt, each in zip(prompts, options, strict=True)]
    for job in jobs:
        scheduler.submit([job.job])
    for job, prompt, each in zip(jobs, prompts, options, strict=True):
        alone = model.generate_all([prompt], max_new_tokens=10, **each)[0]
        assert job.texts() == [text.text for text in alone]


def test_a_failure_is_of_one_request(model: Any, scheduler: Scheduler) -> None:
    good, bad = Collected([1, 2, 3]), Collected([1, 2, 3], banned=tuple(range(320)))
    scheduler.submit([bad.job])
    scheduler.submit([good.job])
    with pytest.raises(Exception, match="no token can be chosen"):
        bad.texts()
    assert good.texts() == [model.generate_all([[1, 2, 3]], max_new_tokens=10)[0][0].text]


def test_weights_that_give_no_numbers_end_what_runs_and_not_the_server(model: Any, scheduler: Scheduler) -> None:
    def broken(ids: list[int], logits: np.ndarray) -> np.ndarray:
        raise ZeroDivisionError("on purpose")

    failed = Collected([1], callback=broken)
    scheduler.submit([failed.job])
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        failed.texts()
    after = Collected([1])
    scheduler.submit([after.job])
    assert after.texts() == [model.generate_all([[1]], max_new_tokens=10)[0][0].text]


def test_too_many_are_refused_and_the_cancelled_make_room(model: Any) -> None:
    waiting = Scheduler(model, max_sequences=1, max_waiting=2)  # which is not started yet
    jobs = [Collected([1, 2], max_new_tokens=400) for _ in range(3)]
    for job in jobs:
        waiting.submit([job.job])
    assert waiting.load() == (0, 3)
    with pytest.raises(RequestError, match="3 requests wait already") as caught:
        waiting.submit([Collected([1]).job])
    assert (caught.value.status, caught.value.headers) == (429, {"retry-after": "1"})
    with pytest.raises(RequestError, match="n is 2; this server generates at most 1"):
        waiting.submit([Collected([1], n=2).job])
    waiting.cancel([jobs[0].job, jobs[2].job])
    waiting.start()
    assert len(jobs[1].texts()) == 1
    waiting.close()
    assert jobs[0].parts.empty()
    assert jobs[2].parts.empty()


def test_a_cancelled_text_stops(scheduler: Scheduler) -> None:
    job = Collected([1, 2], max_new_tokens=400, logit_bias={300: -1000.0})
    scheduler.submit([job.job])
    job.parts.get(timeout=SOON)
    scheduler.cancel([job.job])
    other = Collected([1])
    scheduler.submit([other.job])
    other.texts()
    assert scheduler.load() == (0, 0)
    parts = [job.parts.get() for _ in range(job.parts.qsize())]
    assert all(part.reason is None and part.error is None for part in parts)


def test_a_request_that_had_no_turn_in_its_time_is_told(scheduler: Scheduler) -> None:
    late = Collected([1], seconds=-1)
    scheduler.submit([late.job])
    with pytest.raises(RequestError, match="no turn for this request within its time"):
        late.texts()


def test_what_has_not_ended_is_told_of_the_end(model: Any) -> None:
    ending = Scheduler(model, max_sequences=1)
    jobs = [Collected([1, 2], max_new_tokens=500, logit_bias={300: -1000.0}) for _ in range(2)]
    ending.submit([job.job for job in jobs])
    ending.start()
    jobs[0].parts.get(timeout=SOON)
    ending.close()
    for job in jobs:
        with pytest.raises(RequestError, match="being stopped"):
            job.texts()


def test_a_chat_that_goes_on_is_read_from_where_it_is_new(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    call = type(model.decoder).__call__

    def counted(self: Any, ids: Any, *rest: Any, **options: Any) -> Any:
        read.append(sum(map(len, ids)))
        return call(self, ids, *rest, **options)

    monkeypatch.setattr(type(model.decoder), "__call__", counted)
    with_caches = Scheduler(model, held_caches=PromptCache(model))
    with_caches.start()

    def turn(prompt: list[int], *, gone: bool = False) -> tuple[list[int], int, int]:
        """The ids that follow a prompt, how many tokens were read for them, and how many need not be."""
        read.clear()
        chat = Collected(prompt, max_new_tokens=400 if gone else 10, logprobs=True, logit_bias={300: -1000.0})
        with_caches.submit([chat.job])
        if gone:
            assert chat.parts.get(timeout=SOON).n_tokens
            with_caches.cancel([chat.job])
            turn([319])  # which begins when the other has left
        else:
            chat.texts()
        return chat.job.texts[0].ids, sum(read), chat.job.n_cached

    first = list(range(3, 203))
    made, n_read, n_cached = turn(first)
    assert (n_read, n_cached) == (200 + 9, 0)
    longer = [*first, *made, 7, 8, 9]
    again, n_read, n_cached = turn(longer)
    # The last id of an answer is chosen and not read.
    assert (n_read, n_cached) == (1 + 3 + 9, 209)
    assert again == model.generate_ids(longer, max_new_tokens=10, logit_bias={300: -1000.0})
    assert turn([*longer, 5])[2] == len(longer)
    other = list(range(300, 0, -1))
    turn(other, gone=True)
    assert turn([*other, 4])[2] == len(other), "of a client that went away"
    with_caches.close()
