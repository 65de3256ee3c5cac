"""The server of `tokkit serve`: OpenAI's API with a decoder and an encoder, as an ASGI application."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tokkit.errors import ChatError, OptionError, VocabError
from tokkit.grammars import JsonSchema
from tokkit.pipeline.prompt_cache import MAX_BYTES, PromptCache
from tokkit.web import answers, requests, tools
from tokkit.web.access import LOCAL, Access, Limits
from tokkit.web.application import CLOSED, Handler, application, json_response
from tokkit.web.errors import RequestError
from tokkit.web.requests import Asked
from tokkit.web.scheduler import Job, Part, Scheduler

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from tokkit.pipeline import SentenceEncoder, StaticEncoder, TextGenerator
    from tokkit.pipeline.generation_options import GenerationOptions

    Encoder = SentenceEncoder | StaticEncoder

PAUSE = 0.5
"""Seconds after which the server looks again whether the client that an answer is for is still there."""


def model_server(
    generator: TextGenerator | None = None, encoder: Encoder | None = None, *, key: str | None = None,
    hosts: Sequence[str] | None = LOCAL, origins: Sequence[str] = (), limits: Limits | None = None,
    max_sequences: int = 8, max_waiting: int = 64, max_cache: int = MAX_BYTES, threads: int | None = None,
) -> Access:  # fmt: skip
    """Return an ASGI application with a decoder, an encoder or both, for any ASGI server; `tokkit serve` runs it.

    It has /v1/completions, /v1/chat/completions, /v1/embeddings, /v1/models, /tokenize, /detokenize and /health. Up to
    `max_sequences` texts are generated side by side, and up to `max_waiting` requests wait for a place; further ones
    are answered by 429. Keys and values of finished texts are kept in up to `max_cache` bytes. If a new prompt begins
    like one of them, as in a chat that continues, only the rest is read. `key`, `hosts` and `origins` restrict access:
    see `Access`.
    """
    if generator is None and encoder is None:
        raise OptionError("a server needs a model: a decoder, an encoder or both")
    chosen = Limits() if limits is None else limits
    server = _Server(generator, encoder, chosen, max_sequences, max_waiting, max_cache, threads)
    return Access(server.application(), key=key, hosts=hosts, origins=origins, body=chosen.body, stop=server.stop)


def name_of(model: TextGenerator | Encoder) -> str:
    """Return the name by which clients ask for a model: that of its folder."""
    return "model" if model.folder is None else model.folder.name


class _Server:
    def __init__(
        self, generator: TextGenerator | None, encoder: Encoder | None, limits: Limits, max_sequences: int,
        max_waiting: int, max_cache: int, threads: int | None,
    ) -> None:  # fmt: skip
        self.generator, self.encoder, self.limits = generator, encoder, limits
        self.threads, self.created = threads, int(time.time())
        self.scheduler: Scheduler | None = None
        if generator is not None:
            self.scheduler = Scheduler(
                generator, max_sequences=max_sequences, max_waiting=max_waiting, threads=threads,
                held_caches=PromptCache(generator, max_bytes=max_cache) if max_cache else None,
            )  # fmt: skip
        # One thread each, so that texts come to the encoder, and schemas to a grammar, one request after another.
        self.encoding = ThreadPoolExecutor(1, thread_name_prefix="tokkit-encoder")
        self.preparing = ThreadPoolExecutor(1, thread_name_prefix="tokkit-requests")

    def application(self) -> Starlette:
        routes: dict[str, tuple[str, Handler]] = {
            "/health": ("GET", self.health),
            "/v1/models": ("GET", self.models),
            "/v1/models/{name:path}": ("GET", self.model),
            "/v1/completions": ("POST", functools.partial(self.generate, requests.completion)),
            "/v1/chat/completions": ("POST", functools.partial(self.generate, requests.chat)),
            "/v1/embeddings": ("POST", self.embeddings),
            "/tokenize": ("POST", self.tokenize),
            "/detokenize": ("POST", self.detokenize),
        }
        return application(routes, lifespan=self._lifespan)

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        if self.scheduler is not None:
            self.scheduler.start()
        try:
            yield
        finally:
            if self.scheduler is not None:
                self.scheduler.close()
            for executor in (self.encoding, self.preparing):
                executor.shutdown(wait=True, cancel_futures=True)

    def stop(self) -> None:
        """End all texts with an error, so that no client waits for the rest of one."""
        if self.scheduler is not None:
            self.scheduler.close()

    # ---- which models there are

    def _names(self) -> list[str]:
        return [name_of(each) for each in (self.generator, self.encoder) if each is not None]

    def _entry(self, name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": self.created, "owned_by": "tokkit"}

    async def health(self, _: Request) -> Response:
        running, waiting = (0, 0) if self.scheduler is None else self.scheduler.load()
        return json_response({"status": "ok", "models": self._names(), "running": running, "waiting": waiting})

    async def models(self, _: Request) -> Response:
        return json_response({"object": "list", "data": [self._entry(name) for name in self._names()]})

    async def model(self, request: Request) -> Response:
        name = request.path_params["name"]
        self._check(name, self._names())
        return json_response(self._entry(name))

    def _check(self, name: str, served: Sequence[str]) -> None:
        if name and name not in served:
            raise RequestError(
                f"there is no model {name!r} here for this; there is {', '.join(served)}", status=404, param="model",
                code="model_not_found",
            )  # fmt: skip

    def _decoder(self, name: str) -> tuple[TextGenerator, Scheduler]:
        if self.generator is None or self.scheduler is None:
            raise RequestError("this server has no model that generates text", status=404, code="model_not_found")
        self._check(name, [self.generator.folder.name])
        return self.generator, self.scheduler

    # ---- texts

    async def generate(self, read: requests.Reader, request: Request) -> Response:
        from starlette.responses import StreamingResponse

        asked = read(await request.body(), self.limits)
        generator, scheduler = self._decoder(asked.model)
        loop = asyncio.get_running_loop()
        parts = _Parts(request)

        def emit(part: Part) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(parts.put, part)

        prompts, options = await loop.run_in_executor(self.preparing, self._prepared, generator, asked)
        until = time.monotonic() + self.limits.seconds
        jobs = [
            Job(prompt=prompt, options=options, first=i * asked.n, until=until, emit=emit)
            for i, prompt in enumerate(prompts)
        ]
        answer = answers.Answer(
            generator.folder.name, chat=bool(asked.messages), logprobs=asked.logprobs, spell=_speller(generator),
            tools=[tool["function"]["name"] for tool in asked.tools],
        )  # fmt: skip
        scheduler.submit(jobs)
        n = len(prompts) * asked.n
        if asked.stream:
            try:
                first = await parts.next()  # an error is then an answer with a status of its own
                if first is not None:
                    _raise(first)
            except BaseException:
                scheduler.cancel(jobs)
                raise
            if first is None:
                scheduler.cancel(jobs)
                return json_response({}, CLOSED)
            events = _events(answer, asked, n, jobs, first, parts, functools.partial(scheduler.cancel, jobs))
            return StreamingResponse(events, media_type="text/event-stream", headers={"cache-control": "no-cache"})
        texts = [answers.Whole() for _ in range(n)]
        try:
            while any(text.reason is None for text in texts):
                part = await parts.next()
                if part is None:
                    return json_response({}, CLOSED)
                _raise(part)
                texts[part.number].add(part)
        finally:
            scheduler.cancel(jobs)
        return json_response(answer.whole(texts, _usage(jobs, texts)))

    def _prepared(self, generator: TextGenerator, asked: Asked) -> tuple[list[list[int]], GenerationOptions]:
        """Return the ids of the prompts, and how they are continued."""
        limit = self.limits.new_tokens if asked.max_new_tokens is None else asked.max_new_tokens
        options: dict[str, Any] = {
            "max_new_tokens": limit, "n": asked.n, "stop": asked.stop, "seed": asked.seed, "logprobs": asked.logprobs,
            "top_logprobs": asked.alternatives, "sampling": asked.sampling,
        }  # fmt: skip
        schema = tools.call_schema(asked.tools, asked.must_call) if asked.must_call else asked.schema
        if schema is not None:
            # White space without a bound would let a model write nothing else.
            options["grammar"] = JsonSchema(schema, whitespace="spaced")
        return _prompts(generator, asked), generator.options_of(options)

    # ---- vectors and tokens

    async def embeddings(self, request: Request) -> Response:
        if self.encoder is None:
            raise RequestError("this server has no encoder; start it with the folder of one", status=404)
        encoder = self.encoder
        asked = requests.embeddings(await request.body(), encoder.dimension)
        self._check(asked.model, [name_of(encoder)])
        loop = asyncio.get_running_loop()
        made, n_tokens = await loop.run_in_executor(self.encoding, _vectors, encoder, asked.texts, self.threads)
        return json_response(answers.vectors(name_of(encoder), made, n_tokens, as_base64=asked.base64))

    def _of_tokens(self, name: str) -> TextGenerator | Encoder:
        served = [each for each in (self.generator, self.encoder) if each is not None]
        self._check(name, self._names())
        return next((each for each in served if name_of(each) == name), served[0])

    async def tokenize(self, request: Request) -> Response:
        asked = requests.tokenize(await request.body())
        model = self._of_tokens(asked.model)
        found = await asyncio.to_thread(_tokens, model, asked)
        return json_response({"tokens": found, "count": len(found), "max_model_len": model.max_length})

    async def detokenize(self, request: Request) -> Response:
        asked = requests.detokenize(await request.body())
        text = await asyncio.to_thread(self._of_tokens(asked.model).tokenizer.decode, list(asked.ids))
        return json_response({"prompt": text, "content": text})


# ---- what is done in threads, beside the loop


def _prompts(generator: TextGenerator, asked: Asked) -> list[list[int]]:
    if asked.messages:
        try:
            made = [generator.chat_ids(asked.messages, tools=asked.tools or None)]
        except ChatError as error:
            raise RequestError(str(error), param="messages") from None
    else:
        made = [generator.ids(each).tolist() if isinstance(each, str) else each for each in asked.prompts]
    for prompt in made:
        if not prompt:
            raise RequestError("the prompt has no tokens, and a model needs one to begin with", param="prompt")
        if max(prompt) >= generator.decoder.config.vocab_size:
            raise RequestError(f"there is no token {max(prompt)} in the vocabulary", param="prompt")
        if len(prompt) >= generator.max_length:
            raise RequestError(
                f"the prompt has {len(prompt)} tokens, and the model has positions for {generator.max_length}, those "
                "of the answer included", code="context_length_exceeded",
            )  # fmt: skip
    return made


def _vectors(encoder: Encoder, texts: list[str], threads: int | None) -> tuple[Any, int]:
    n_tokens = sum(min(len(_ids(encoder, text)), encoder.max_length) for text in texts)
    return encoder.encode(texts, threads=threads), n_tokens


def _tokens(model: TextGenerator | Encoder, asked: requests.AskedTokens) -> list[int]:
    if asked.messages:
        if not hasattr(model, "chat_ids"):
            raise RequestError("this model has no chat template", param="messages")
        return list(model.chat_ids(asked.messages))
    text = asked.text or ""
    return _ids(model, text) if asked.special else model.tokenizer.encode(text, special="all")


def _ids(model: TextGenerator | Encoder, text: str) -> list[int]:
    """Return the ids of a text with the tokens that the tokenizer adds."""
    return list(model.tokenizer(text, special="all", truncation=None, padding=None).ids)


def _speller(generator: TextGenerator) -> Callable[[int], bytes]:
    def spell(id_: int) -> bytes:
        try:
            return generator.tokenizer.decode_bytes([id_])
        except VocabError:  # a row of the table that belongs to no token
            return b""

    return spell


# ---- answers


class _Parts:
    """The parts of an answer in their order, as long as its client waits for them."""

    def __init__(self, request: Request) -> None:
        self._request, self._queue, self._looked = request, asyncio.Queue[Part](), time.monotonic()
        self.put = self._queue.put_nowait

    async def next(self) -> Part | None:
        """Return the next part, or None if the client has gone away, which is checked every `PAUSE` seconds."""
        while True:
            if time.monotonic() - self._looked >= PAUSE:
                self._looked = time.monotonic()
                if await self._request.is_disconnected():
                    return None
            with contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(self._queue.get(), PAUSE)


async def _events(
    answer: answers.Answer, asked: Asked, n: int, jobs: Sequence[Job], first: Part, parts: _Parts,
    cancel: Callable[[], None],
) -> AsyncIterator[bytes]:  # fmt: skip
    """Yield the events of a stream; a client that goes away ends it, and what is generated for it."""
    texts = [answers.Whole() for _ in range(n)]
    try:
        if asked.messages:
            for index in range(n):
                yield answers.event(answer.first(index))
        part = first
        while True:
            texts[part.number].add(part)
            if part.text or part.scored or part.reason is not None:
                yield answers.event(answer.part(part))
            if all(text.reason is not None for text in texts):
                break
            following = await parts.next()
            if following is None:
                return
            part = following
            if part.error is not None:
                yield answers.event(_of(part.error).body())
                return
        if asked.include_usage:
            yield answers.event(answer.usage(_usage(jobs, texts)))
        yield answers.DONE
    finally:
        cancel()


def _usage(jobs: Sequence[Job], texts: Sequence[answers.Whole]) -> dict[str, Any]:
    return answers.usage(sum(len(job.prompt) for job in jobs), texts, sum(job.n_cached for job in jobs))


def _of(error: Exception) -> RequestError:
    if isinstance(error, RequestError):
        return error
    if isinstance(error, OptionError):
        return RequestError(str(error))
    return RequestError(f"the model failed: {error}", status=500)


def _raise(part: Part) -> None:
    if part.error is not None:
        raise _of(part.error)
