"""Runs an ASGI application at a port of this machine until Ctrl-C."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from typing import Any

from tokkit.errors import OptionError

QUEUE = 128
"""Connections that may wait to be taken."""


def is_local(host: str) -> bool:
    """Return whether only this machine can reach the address of a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens at a port, or at any free one for 0; OptionError if it cannot."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "no such name can be"
        raise OptionError(f"host is {host!r}; it must be a name or an address of this machine ({reason})") from None
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(QUEUE)
    except OSError as error:
        made.close()
        raise OptionError(
            f"port {port} of {host}: {error.strerror}; choose another port, or 0 for any that is free"
        ) from None
    return made


def run(app: Any, at: socket.socket, *, started: Callable[[], None] | None = None) -> None:
    """Serve an application at a socket until SIGINT or SIGTERM, then call its `stop`, if it has one."""
    try:
        import uvicorn
    except ImportError:
        raise OptionError("servers need starlette and uvicorn: pip install 'pytokkit[web]'") from None

    config = uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="on", timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=64 << 10,
    )  # fmt: skip
    server = uvicorn.Server(config)
    start, shut = server.startup, server.shutdown

    async def startup(sockets: list[socket.socket] | None = None) -> None:
        await start(sockets=sockets)
        if started is not None:
            started()

    async def shutdown(sockets: list[socket.socket] | None = None) -> None:
        if stop := getattr(app, "stop", None):
            await asyncio.to_thread(stop)  # it waits for the step of the decoder that is under way
        await shut(sockets=sockets)

    server.startup, server.shutdown = startup, shutdown
    server.run(sockets=[at])
