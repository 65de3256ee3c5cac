"""Servers that answer a request with given data: whole, cut short, or slowly."""

from __future__ import annotations

import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

Handler = Callable[[BaseHTTPRequestHandler], None]


def sends(data: bytes, *, stated: int | None = None, seconds: float = 0.0, step: int = 1 << 16) -> Handler:
    """An answer that sends `data`, in steps with a rest between them, and states its length or another."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(data) if stated is None else stated))
        request.end_headers()
        for at in range(0, len(data), step):
            try:
                request.wfile.write(data[at : at + step])
                request.wfile.flush()
            except OSError:  # the client has given us up
                return
            time.sleep(seconds)

    return answer
