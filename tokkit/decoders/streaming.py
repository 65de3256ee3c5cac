"""Ids in one at a time, text out as soon as its characters are whole."""

from __future__ import annotations

import codecs
from collections.abc import Callable


class DecodeStream:
    """Decodes a stream of ids. The parts joined, `flush()` included, equal `decode` of all the ids.

    An incomplete character is held back until the ids that complete it have come; `flush` gives what is left,
    as `errors` says. One stream serves one sequence; start another for the next.
    """

    def __init__(self, token_bytes: Callable[[int], bytes], errors: str = "replace") -> None:
        self._token_bytes = token_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)

    def step(self, id_: int) -> str:
        """Take one id; return the text that is now complete, often "" in the middle of a character."""
        return self._decoder.decode(self._token_bytes(id_))

    def flush(self) -> str:
        """Return what is held back, and begin anew."""
        try:
            return self._decoder.decode(b"", final=True)
        finally:
            self._decoder.reset()
