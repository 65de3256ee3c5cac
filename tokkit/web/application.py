"""Makes an ASGI application from a handler for each path; exceptions become answers in JSON."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from tokkit.errors import OptionError, TokkitError
from tokkit.web.errors import RequestError

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

Handler = Callable[["Request"], Awaitable["Response"]]
Lifespan = Callable[["Starlette"], AbstractAsyncContextManager[None]]
CLOSED = 499
"""The status of an answer that nobody reads: its client has gone away."""


def application(
    routes: Mapping[str, tuple[str, Handler]], *, lifespan: Lifespan, headers: Mapping[str, str] | None = None
) -> Starlette:
    """Return an application for path → (method, handler); OptionError if starlette is not installed.

    A RequestError is answered by its own status, other errors of tokkit by 400, an unknown path by 404, and any other
    exception by 500 with the name of its class. All answers to errors have `headers` too.
    """
    try:
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.requests import ClientDisconnect
        from starlette.routing import Route
    except ImportError:
        raise OptionError("servers need starlette and uvicorn: pip install 'pytokkit[web]'") from None

    def answer(error: RequestError) -> Response:
        return json_response(error.body(), error.status, {**(headers or {}), **error.headers})

    async def requested(_: Request, error: Any) -> Response:
        return answer(error)

    async def refused(_: Request, error: Any) -> Response:
        return answer(RequestError(str(error)))

    async def no_such(request: Request, error: Any) -> Response:
        message = f"{request.method} {request.url.path}: {error.detail}"
        return answer(RequestError(message, status=error.status_code, headers=dict(error.headers or {})))

    async def left(_: Request, __: Exception) -> Response:
        return json_response({}, CLOSED)

    async def failed(_: Request, error: Exception) -> Response:
        return answer(RequestError(f"the server failed: {type(error).__name__}", status=500))

    return Starlette(
        routes=[Route(path, endpoint, methods=[method]) for path, (method, endpoint) in routes.items()],
        exception_handlers={
            RequestError: requested,
            TokkitError: refused,
            HTTPException: no_such,
            ClientDisconnect: left,
            Exception: failed,
        },
        lifespan=lifespan,
    )


def dumped(value: Any) -> bytes:
    """Return a value as JSON without spaces; lone surrogates become question marks."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer whose body is a value as JSON, or bytes that are JSON already."""
    from starlette.responses import Response

    body = value if isinstance(value, bytes) else dumped(value)
    return Response(body, status, media_type="application/json", headers=dict(headers or {}))
