"""Calls an ASGI application in this process, as a server would."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Reply:
    """What came back."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    chunks: list[bytes] = field(default_factory=list)

    @property
    def data(self) -> bytes:
        return b"".join(self.chunks)

    @property
    def json(self) -> Any:
        return json.loads(self.data)

    @property
    def events(self) -> list[Any]:
        """The objects of server-sent events, the last of which says that it is done."""
        *made, last, end = self.data.decode().split("\n\n")
        assert (last, end) == ("data: [DONE]", "")
        return [json.loads(event.removeprefix("data: ")) for event in made]


async def call(
    app: Any, path: str, body: Any = None, *, method: str | None = None, headers: dict[str, str] | None = None,
    parts: Sequence[bytes] | None = None, leave_after: int | None = None,
) -> Reply:  # fmt: skip
    """Send a request, POST if it has a body; the client goes away after `leave_after` chunks, 0 at once."""
    if parts is None:
        parts = [b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()]
    path, _, query = path.partition("?")
    named = {"host": "127.0.0.1:8000", **(headers or {})}
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "path": path,
        "method": method or ("GET" if body is None and parts == [b""] else "POST"), "raw_path": path.encode(),
        "query_string": query.encode(), "root_path": "", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000),
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
    }  # fmt: skip
    left = asyncio.Event()
    reply, rest = Reply(), list(parts)

    async def receive() -> dict[str, Any]:
        if rest:
            return {"type": "http.request", "body": rest.pop(0), "more_body": bool(rest)}
        if leave_after != 0:
            await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            reply.status = message["status"]
            reply.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            return
        reply.chunks.append(message.get("body", b""))
        if not message.get("more_body") or len(reply.chunks) == leave_after:
            left.set()

    await app(scope, receive, send)
    return reply


@asynccontextmanager
async def running(app: Any) -> AsyncIterator[Any]:
    """Start an application, and end it."""
    orders: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    told: asyncio.Queue[str] = asyncio.Queue()

    async def send(message: dict[str, Any]) -> None:
        await told.put(message["type"])

    task = asyncio.create_task(app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, orders.get, send))
    await orders.put({"type": "lifespan.startup"})
    assert await told.get() == "lifespan.startup.complete"
    try:
        yield app
    finally:
        await orders.put({"type": "lifespan.shutdown"})
        assert await told.get() == "lifespan.shutdown.complete"
        await task
