"""Types of `calls.pyx`."""

from collections.abc import Collection
from typing import Any

from tokkit._core.encode.plan import Encoder, Finder
from tokkit._core.split import AddedMatcher
from tokkit._core.text import Text

Special = str | Collection[str]

class TextCalls:
    def __init__(self, engine: Any, encoder: Encoder | None, finder: Finder | None) -> None: ...
    def encode(self, text: Text, *, special: Special = "text") -> list[int]: ...
    def encode_ordinary(self, text: Text) -> list[int]: ...
    def count(self, text: Text, *, special: Special = "text") -> int: ...

class EncodingCalls:
    def set_calls(
        self,
        encoder: Encoder | None,
        special: AddedMatcher | None,
        finder: Finder | None,
        special_ids: frozenset[int],
    ) -> None: ...
    def encode_ordinary(self, text: str) -> list[int]: ...
    def encode(self, text: str, *, allowed_special: Any = ..., disallowed_special: Any = ...) -> list[int]: ...
    def is_special_token(self, token: int) -> bool: ...
