"""`RequestError`: an error of a request as an HTTP status and the JSON object of OpenAI's API."""

from __future__ import annotations

import json
from typing import Any

KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error", 503: "overloaded_error"}
"""Status → the `type` of an error; others below 500 are of the request, from 500 on of the server."""


class RequestError(Exception):
    """An error that answers a request: its `status`, a message, and the parameter that is wrong."""

    def __init__(
        self, message: str, *, status: int = 400, param: str | None = None, code: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.message, self.status, self.param, self.code = message, status, param, code
        self.headers = headers or {}

    def body(self) -> dict[str, Any]:
        """Return the error in the form of OpenAI's API."""
        kind = KINDS.get(self.status, "invalid_request_error" if self.status < 500 else "server_error")
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}

    def data(self) -> bytes:
        """Return the body as JSON."""
        return json.dumps(self.body(), ensure_ascii=False).encode("utf-8", "replace")
