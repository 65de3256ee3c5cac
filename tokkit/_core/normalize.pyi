"""Types of `normalize.pyx`."""

from collections.abc import Callable, Iterable

from tokkit._core.aligned import AlignedText

def replace_matches(text: AlignedText, find: Callable[[str], Iterable[tuple[int, int]]], content: bytes) -> None: ...
