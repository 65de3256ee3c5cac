"""Checks requests before they reach a server: key, host, origin, and the size of the body.

A page of another site can make a browser send requests to 127.0.0.1. Such requests name their origin, which must be
allowed. Requests to a server for this machine alone must also name this machine as their host, because the page's own
domain may resolve to 127.0.0.1 (DNS rebinding).
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tokkit.web.errors import RequestError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
LOCAL = ("localhost", "127.0.0.1", "::1")
"""Hosts that are this machine."""
TOO_LARGE = 413
DISCARDED = 16
"""Bodies of so many times the limit are read to their end, so that the client, which sends first, gets the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one request: bytes of its body, tokens that it generates, seconds until it ends."""

    body: int = 4 << 20
    new_tokens: int = 4096
    seconds: float = 600.0


class Access:
    """An ASGI application around another one, which answers 401, 403 and 413 itself.

    Requests must send `key` as `Authorization: Bearer KEY`, or with `in_query` as `token=KEY` in the query; None allows
    all. `hosts` are the host names that requests may have, None for any. Pages of `origins` may call the server from a
    browser, besides its own. `open_paths` need no key. `refusal` is the status of a wrong key. `stop` is called before
    the server ends, and ends answers under way.
    """

    def __init__(
        self, app: App, *, key: str | None = None, in_query: bool = False, hosts: Sequence[str] | None = LOCAL,
        origins: Sequence[str] = (), body: int = Limits().body, open_paths: Sequence[str] = ("/health",),
        refusal: int = 401, stop: Callable[[], None] | None = None,
    ) -> None:  # fmt: skip
        self.stop = stop
        self._app, self._key, self._in_query = app, key, in_query
        self._hosts, self._origins = None if hosts is None else frozenset(hosts), frozenset(origins)
        self._body, self._open, self._refusal = body, frozenset(open_paths), refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it to the application."""
        if scope["type"] == "websocket":
            raise RequestError("this server has no websockets", status=404)
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        origin = headers.get("origin")
        shared = origin if origin in self._origins else None
        try:
            self._check_host(headers.get("host", ""))
            self._check_origin(origin, headers.get("host", ""), scope["scheme"])
            if shared is not None and scope["method"] == "OPTIONS":
                await _answer(send, 204, b"", _shared(shared, preflight=True))
                return
            self._check_key(scope, headers.get("authorization", ""))
            self._check_length(headers.get("content-length"))
        except RequestError as error:
            if error.status == TOO_LARGE and int(headers["content-length"]) <= DISCARDED * self._body:
                await _discard(receive, DISCARDED * self._body)
            more = {**error.headers, **(_shared(shared) if shared else {})}
            await _answer(send, error.status, error.data(), {"content-type": "application/json", **more})
            return

        async def sending(message: Message) -> None:
            if shared is not None and message["type"] == "http.response.start":
                own = [(name.encode(), value.encode("latin-1")) for name, value in _shared(shared).items()]
                message = {**message, "headers": [*message.get("headers", ()), *own]}
            await send(message)

        await self._app(scope, self._counted(receive), sending)

    def _check_host(self, host: str) -> None:
        if self._hosts is None:
            return
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            name = None
        if name not in self._hosts:
            raise RequestError(
                f"the Host header is {host!r}; this server accepts only requests from this machine", status=403
            )

    def _check_origin(self, origin: str | None, host: str, scheme: str) -> None:
        if origin is None or origin in self._origins or origin == f"{scheme}://{host}":
            return
        raise RequestError(
            f"pages of {origin!r} may not call this server; it must be allowed when it starts", status=403
        )

    def _check_key(self, scope: Scope, authorization: str) -> None:
        if self._key is None or scope["path"] in self._open:
            return
        kind, _, given = authorization.partition(" ")
        found = given.strip() if kind.lower() == "bearer" else ""
        if not found and self._in_query:
            found = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not hmac.compare_digest(found.encode("utf-8", "replace"), self._key.encode("utf-8", "replace")):
            what = "the key is wrong" if found else "a key is needed"
            how = "open the address that the server printed, or " if self._in_query else ""
            raise RequestError(
                f"{what}; {how}send it as 'Authorization: Bearer KEY'", status=self._refusal, code="invalid_api_key",
                headers={"www-authenticate": "Bearer"} if self._refusal == 401 else {},
            )  # fmt: skip

    def _check_length(self, stated: str | None) -> None:
        if stated is not None and stated.isdecimal() and int(stated) > self._body:
            raise _too_large(self._body)

    def _counted(self, receive: Receive) -> Receive:
        """Return `receive` that fails once more bytes have come than a body may have."""
        had = 0

        async def counted() -> Message:
            nonlocal had
            message = await receive()
            had += len(message.get("body", b""))
            if had > self._body:
                if message.get("more_body", False):
                    await _discard(receive, DISCARDED * self._body - had)
                raise _too_large(self._body)
            return message

        return counted


async def _discard(receive: Receive, most: int) -> None:
    """Read a body to its end, or somewhat over `most` bytes of it."""
    while most > 0:
        message = await receive()
        most -= len(message.get("body", b""))
        if not message.get("more_body", False):
            return


def _too_large(limit: int) -> RequestError:
    return RequestError(f"the body of the request is too large; it may have {limit} bytes", status=TOO_LARGE)


def _shared(origin: str, *, preflight: bool = False) -> dict[str, str]:
    made = {"access-control-allow-origin": origin, "vary": "origin"}
    if preflight:
        made |= {
            "access-control-allow-methods": "GET, POST",
            "access-control-allow-headers": "authorization, content-type",
        }
        made["access-control-max-age"] = "600"
    return made


async def _answer(send: Send, status: int, body: bytes, headers: dict[str, str]) -> None:
    listed = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    listed.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": listed})
    await send({"type": "http.response.body", "body": body})
