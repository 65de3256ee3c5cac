"""The server of `tokkit play`: an ASGI application with one page and the requests that it sends."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tokkit.errors import ChatError, OptionError
from tokkit.view.play_page import play_page
from tokkit.view.token_spans import encoded
from tokkit.web.access import LOCAL, Access
from tokkit.web.application import Handler, application, dumped, json_response
from tokkit.web.errors import RequestError
from tokkit.web.play_results import Asked, Results, Tokenizers

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from tokkit.tokenizer import Tokenizer

MAX_BODY = 4 << 20
"""Maximum bytes of a text: about 0.2 s of encoding after each key press."""
MAX_TOKENIZERS = 8
MAX_WORD = 200
"""Characters of a word whose tokens are explained: the steps of longer ones fill screens."""
NUMBER = re.compile(rb"-?[0-9]{1,18}")
HEADERS = {
    "cache-control": "no-store", "referrer-policy": "no-referrer", "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}  # fmt: skip


def playground(
    tokenizers: Mapping[str, Callable[[], Tokenizer]], *, key: str, shown: Iterable[str] = (),
    template_of: Callable[[str], Any] | None = None, prices: Mapping[str, Any] | None = None, body: int = MAX_BODY,
) -> Access:  # fmt: skip
    """Return the playground as an ASGI application, for any ASGI server; `tokkit play` runs it.

    `tokenizers` are names and functions that load them, `shown` those that are shown at first (default: the first one).
    `key` must be in the page's address as `token=KEY`, and the page's requests send it; without it the response is 403.
    `template_of` returns the chat template for a name. `prices` is a table for the page: see `play_page`.
    """
    if not tokenizers:
        raise OptionError("a playground needs a tokenizer")
    names = list(tokenizers)
    begin = [name for name in shown if name in tokenizers] or names[:1]
    page = play_page(names, begin, body=body, prices=prices)
    server = _Server(Tokenizers(tokenizers), page.encode(), template_of, body)
    return Access(server.application(), key=key, in_query=True, refusal=403, hosts=LOCAL, body=body + 4096)


class _Server:
    def __init__(
        self, tokenizers: Tokenizers, page: bytes, template_of: Callable[[str], Any] | None, body: int
    ) -> None:
        self.results, self.page, self.template_of, self.body = Results(tokenizers), page, template_of, body
        # One thread, so that outdated texts are skipped when their turn comes.
        self.working = ThreadPoolExecutor(1, thread_name_prefix="tokkit-play")

    def application(self) -> Starlette:
        routes: dict[str, tuple[str, Handler]] = {
            "/": ("GET", self.index),
            "/health": ("GET", self.health),
            "/api/encode": ("POST", self.encode),
            "/api/chat": ("POST", self.chat),
            "/api/decode": ("POST", self.decode),
            "/api/range": ("POST", self.range),
            "/api/ids": ("POST", self.ids),
            "/api/why": ("POST", self.why),
        }
        return application(routes, lifespan=self._lifespan, headers=HEADERS)

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            self.working.shutdown(wait=False, cancel_futures=True)

    async def _run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self.working, functools.partial(function, *arguments))

    async def index(self, _: Request) -> Response:
        from starlette.responses import Response

        return Response(self.page, media_type="text/html; charset=utf-8", headers=HEADERS)

    async def health(self, _: Request) -> Response:
        return _json({"status": "ok"})

    async def encode(self, request: Request) -> Response:
        asked, query = _asked(request), request.query_params
        self.results.announce(asked)
        text = await request.body()
        if base := query.get("base"):
            text = self.results.edited(base, _count(query, "at", 0), _count(query, "removed", 0), text)
            if len(text) > self.body:
                raise RequestError(f"the text has {len(text)} bytes; it may have {self.body}", status=413)
        try:
            text.decode()
        except UnicodeDecodeError as error:
            raise RequestError(f"byte {error.start} of the text is not UTF-8") from None
        parts = [(text, asked.special)]
        return await self._answer(lambda _: parts, asked, _window(request.query_params))

    async def chat(self, request: Request) -> Response:
        asked = _asked(request)
        self.results.announce(asked)
        given = _object(await request.body())
        messages, template = given.get("messages"), given.get("template")
        if not isinstance(messages, list) or not all(isinstance(each, dict) for each in messages):
            raise RequestError("messages must be a list of objects with role and content", param="messages")
        if template is not None and not isinstance(template, str):
            raise RequestError("template must be the text of a Jinja template", param="template")
        rendered = await self._run(self._rendered, asked, messages, template, bool(given.get("prompt")))
        text = "".join(part for part, _ in rendered[asked.tokenizers[0]])
        encoded = {name: [(p.encode("utf-8", "replace"), own) for p, own in made] for name, made in rendered.items()}
        return await self._answer(encoded.__getitem__, asked, _window(request.query_params), text=text)

    async def decode(self, request: Request) -> Response:
        asked, window = _asked(request), _window(request.query_params)
        self.results.announce(asked)
        ids = [int(number) for number in NUMBER.findall(await request.body())]

        def work() -> bytes:
            key, result, text = self.results.decode(ids, asked)
            tok = self.results.tokenizers.get(asked.tokenizers[0])
            again = encoded(tok, text.decode("utf-8", "replace"), special="all").ids.tolist()
            made = {"key": key, "utf8": base64.b64encode(text).decode(), "same": again == ids}
            return dumped(made | {"sets": self.results.between(result, *window)})

        return _json(await self._run(work))

    def _rendered(
        self, asked: Asked, messages: list[Any], given: str | None, prompt: bool
    ) -> dict[str, list[tuple[str, bool]]]:
        from tokkit.chat import ChatTemplate

        if given:
            template = ChatTemplate(given)
        elif self.template_of is None:
            raise ChatError("none of the tokenizers has a chat template; write one")
        else:
            try:
                template = self.template_of(asked.tokenizers[0])
            except OSError as error:
                raise ChatError(str(error)) from None
        made = {}
        for name in asked.tokenizers:
            try:
                known = self.results.tokenizers.get(name).special_tokens
            except RequestError as error:
                if error.status == 404:
                    raise
                known = {}
            rendered = template.render_parts(messages, special_tokens=known, add_generation_prompt=prompt)
            made[name] = rendered.parts
        return made

    async def _answer(
        self, parts: Callable[[str], Any], asked: Asked, window: tuple[int, int, list[int | None]], **more: Any
    ) -> Response:
        def work() -> bytes:
            key, result = self.results.encode(parts, asked)
            sets = self.results.between(result, *window)
            return dumped({"key": key, "bytes": result.n_bytes, "number": asked.number, "sets": sets, **more})

        return _json(await self._run(work))

    async def range(self, request: Request) -> Response:
        result = self.results.kept(request.query_params.get("key", ""))
        window = _window(request.query_params)
        return _json({"sets": self.results.between(result, *window)})

    async def ids(self, request: Request) -> Response:
        result = self.results.kept(request.query_params.get("key", ""))
        name = request.query_params.get("tokenizer", "")
        spans = result.sets.get(name)
        if spans is None or isinstance(spans, str):
            raise RequestError(f"there are no tokens of {name!r} for this text", status=404, param="tokenizer")
        return _json({"ids": spans.ids.tolist()})

    async def why(self, request: Request) -> Response:
        from tokkit.view.reasons import why

        given = _object(await request.body())
        name, word = given.get("tokenizer"), given.get("word")
        if not isinstance(name, str) or not isinstance(word, str):
            raise RequestError("tokenizer and word must be texts", param="word")
        if len(word) > MAX_WORD:
            raise RequestError(f"word has {len(word)} characters; it may have {MAX_WORD}", param="word")
        temperature = given.get("temperature", 1.0)
        if isinstance(temperature, bool) or not isinstance(temperature, (int, float)) or not 0 < temperature <= 100:
            raise RequestError(f"temperature is {temperature!r}; it must be above 0, at most 100", param="temperature")

        def work() -> bytes:
            tokenizers = self.results.tokenizers
            made = why(tokenizers.get(name), word, temperature=float(temperature), merges=tokenizers.merges(name))
            return dumped(made)

        return _json(await self._run(work))


def _asked(request: Request) -> Asked:
    query = request.query_params
    names = query.getlist("tokenizer")
    if not 1 <= len(names) <= MAX_TOKENIZERS:
        raise RequestError(f"{len(names)} tokenizers were given; it must be 1 to {MAX_TOKENIZERS}", param="tokenizer")
    return Asked(
        tuple(names), query.get("special") == "1", query.get("add") == "1", query.get("client", "")[:64],
        _count(query, "number", 0),
    )  # fmt: skip


def _window(query: Mapping[str, str]) -> tuple[int, int, list[int | None]]:
    """Return the first and last byte that are requested, and the context of each tokenizer in tokens."""
    limits = [int(n) if n.isdecimal() and len(n) < 12 else None for n in query.get("limits", "").split(",")]
    return _count(query, "from", 0), _count(query, "to", 4096), limits


def _count(query: Mapping[str, str], name: str, default: int) -> int:
    given = query.get(name, str(default))
    if not given.isdecimal() or len(given) > 15:
        raise RequestError(f"{name} is {given!r}; it must be a number of at least 0", param=name)
    return int(given)


def _object(data: bytes) -> dict[str, Any]:
    try:
        made = json.loads(data)
    except (ValueError, RecursionError):
        made = None
    if not isinstance(made, dict):
        raise RequestError("the body of the request must be a JSON object")
    return made


def _json(value: Any) -> Response:
    return json_response(value, headers=HEADERS)
