"""Clients of `tokkit serve` that disconnect: their requests end, and make room for others."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

import pytest

import generators
from asgi import call, running
from extras import extra
from tokkit import pipeline
from tokkit.web import api, model_server, scheduler

extra("starlette")
pytestmark = pytest.mark.parity


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return pipeline.load(generators.folder(tmp_path_factory.mktemp("models") / "small", max_position_embeddings=512))


@pytest.mark.parametrize("stream", [True, False])
def test_what_is_written_for_a_client_that_goes_away_ends(generator: Any, stream: bool) -> None:
    body = {"prompt": "the", "max_tokens": 400, "logit_bias": {"300": -1000}, "stream": stream}

    async def main() -> None:
        app = model_server(generator, max_sequences=1)
        async with running(app):
            leaving = asyncio.create_task(call(app, "/v1/completions", body, leave_after=3 if stream else None))
            if not stream:
                await asyncio.sleep(0.05)
                leaving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await leaving
            # There is one place, which the next request gets.
            reply = await call(app, "/v1/completions", {"prompt": "the", "max_tokens": 1})
            assert reply.status == 200
            assert (await call(app, "/health")).json["running"] == 0

    asyncio.run(main())


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("waits", [False, True])
def test_what_a_client_that_has_gone_away_asked_for_ends(
    generator: Any, monkeypatch: pytest.MonkeyPatch, *, stream: bool, waits: bool
) -> None:
    """It goes away while a text is written for it, or while it waits for its turn."""
    step = scheduler.Scheduler._step
    monkeypatch.setattr(scheduler.Scheduler, "_step", lambda self: (time.sleep(0.02), step(self))[1])
    monkeypatch.setattr(api, "PAUSE", 0.05)
    body = {"prompt": "the", "max_tokens": 400, "logit_bias": {"300": -1000}, "stream": stream}

    async def main() -> None:
        app = model_server(generator, max_sequences=1)
        async with running(app):
            first = asyncio.create_task(call(app, "/v1/completions", body)) if waits else None
            await asyncio.sleep(0.2)
            reply = await asyncio.wait_for(call(app, "/v1/completions", body, leave_after=0), 5)  # 400 steps are 8 s
            assert reply.status == (200 if stream and not waits else 499)
            left = [1, 0] if waits else [0, 0]
            for _ in range(100):  # the next step of the decoder sees to it
                told = (await call(app, "/health")).json
                if [told["running"], told["waiting"]] == left:
                    break
                await asyncio.sleep(0.02)
            assert [told["running"], told["waiting"]] == left
            if first is not None:
                first.cancel()

    asyncio.run(main())
