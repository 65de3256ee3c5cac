"""Access control of the server: who may send requests, and how many."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from asgi import Reply, call
from tokkit.web.access import Access
from tokkit.web.errors import RequestError


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers with what it was sent."""
    had, more = b"", True
    while more:
        message = await receive()
        had, more = had + message["body"], message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": had})


def ask(app: Any, path: str = "/", **options: Any) -> Reply:
    return asyncio.run(call(app, path, **options))


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({}, "/", 401),
        ({"authorization": "Bearer key"}, "/", 200),
        ({"authorization": "bearer  key"}, "/", 200),
        ({"authorization": "Bearer kex"}, "/", 401),
        ({"authorization": "Bearer "}, "/", 401),
        ({"authorization": "Basic key"}, "/", 401),
        ({"authorization": "Bearer k\u00e9y"}, "/", 401),
        ({}, "/?token=key", 200),
        ({}, "/?token=other", 401),
        ({}, "/health", 200),
    ],
)
def test_a_key_is_needed(headers: dict[str, str], path: str, status: int) -> None:
    reply = ask(Access(echo, key="key", in_query=True), path, headers=headers)
    assert reply.status == status
    if status == 401:
        assert reply.json["error"]["code"] == "invalid_api_key"
        assert "Bearer" in reply.json["error"]["message"]


def test_a_key_in_the_query_is_for_servers_that_take_it_there() -> None:
    assert ask(Access(echo, key="key"), "/?token=key").status == 401


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8000", 200), ("localhost", 200), ("[::1]:80", 200), ("LOCALHOST:1", 200), ("evil.example", 403),
        ("127.0.0.1.evil.example", 403), ("", 403), ("[bad", 403),
    ],
)  # fmt: skip
def test_a_foreign_name_of_this_machine_is_refused(host: str, status: int) -> None:
    assert ask(Access(echo), headers={"host": host}).status == status
    assert ask(Access(echo, hosts=None), headers={"host": host}).status == 200


def test_pages_of_other_sites_may_not_call() -> None:
    app = Access(echo, origins=["https://ours.example"])
    assert ask(app, headers={"origin": "https://evil.example"}).status == 403
    assert ask(app, headers={"origin": "null"}).status == 403
    assert ask(app, headers={"origin": "http://127.0.0.1:8000"}).status == 200
    reply = ask(app, headers={"origin": "https://ours.example"})
    assert (reply.status, reply.headers["access-control-allow-origin"]) == (200, "https://ours.example")


def test_a_browser_may_ask_first_without_the_key() -> None:
    app = Access(echo, origins=["https://ours.example"], key="key")
    reply = ask(app, method="OPTIONS", headers={"origin": "https://ours.example"})
    assert (reply.status, reply.headers["access-control-allow-headers"]) == (204, "authorization, content-type")
    refused = ask(app, headers={"origin": "https://ours.example"})  # the page may read why
    assert (refused.status, refused.headers["access-control-allow-origin"]) == (401, "https://ours.example")


def test_a_body_has_a_limit_stated_or_not() -> None:
    app = Access(echo, body=10)
    assert ask(app, body=b"0123456789").data == b"0123456789"
    reply = ask(app, body=b"", headers={"content-length": "11"})
    assert (reply.status, "10 bytes" in reply.json["error"]["message"]) == (413, True)
    with pytest.raises(RequestError) as caught:  # which the application answers
        ask(app, parts=[b"012345", b"678901", b"not kept"])
    assert caught.value.status == 413


@pytest.mark.parametrize("stated", [True, False])
@pytest.mark.parametrize("length", [100, 160, 400])
def test_a_body_is_read_to_its_end_before_the_answer_unless_it_is_far_too_large(length: int, stated: bool) -> None:
    parts, sent = [b"0123456789"] * (length // 10), []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": parts.pop(), "more_body": bool(parts)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), *([(b"content-length", str(length).encode())] if stated else [])]
    scope = {"type": "http", "scheme": "http", "method": "POST", "path": "/", "query_string": b"", "headers": headers}
    with contextlib.suppress(RequestError):  # which the application answers
        asyncio.run(Access(echo, body=10)(scope, receive, send))
        assert sent[0]["status"] == 413
    far = length > 160
    assert len(parts) == ((length if stated else length - 160) // 10 if far else 0)
