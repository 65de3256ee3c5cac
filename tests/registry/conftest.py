"""Fixtures: a server on this machine that sends what a test asks for, valid or broken."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from servers import Handler


@pytest.fixture
def serve() -> Iterator[Callable[[Handler], str]]:
    """(what answers a request) → the server's address."""
    servers = []

    def start(answer: Handler) -> str:
        class Answering(BaseHTTPRequestHandler):
            do_GET = do_HEAD = lambda self: answer(self)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(autouse=True)
def _alone(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file of this machine, and no setting of its user, decides what a test sees."""
    for name in ("TOKKIT_DATA_DIR", "TIKTOKEN_CACHE_DIR", "TOKKIT_OFFLINE", "TOKKIT_MIRROR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TOKKIT_CACHE_DIR", str(tmp_path_factory.mktemp("cache") / "tokkit"))
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
