"""Types of `pretokenize.pyx`."""

from collections.abc import Callable, Iterable

from tokkit._core.aligned import AlignedText

def split_by_matches(
    text: AlignedText, find: Callable[[str], Iterable[tuple[int, int]]], behavior: int, invert: bool
) -> None: ...
