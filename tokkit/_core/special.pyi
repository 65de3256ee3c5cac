"""Types of `special.pyx`."""

from collections.abc import Mapping

class SpecialMatcher:
    def __init__(self, tokens: Mapping[bytes, int]) -> None: ...
    def find(self, text: bytes, start_at: int = 0) -> tuple[int, int, int] | None: ...
