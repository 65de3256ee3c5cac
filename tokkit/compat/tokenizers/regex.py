"""`Regex`: a pattern in the syntax of Oniguruma, checked when it is made."""

from __future__ import annotations

import functools

from tokkit.compat.tokenizers.values import text
from tokkit.formats import split_patterns
from tokkit.formats.split_patterns import ONIGURUMA


class Regex:
    """A pattern, for components that take a str or a Regex; PatternError for syntax that tokkit does not support."""

    __slots__ = ("pattern",)

    def __init__(self, s: str) -> None:
        self.pattern = text("s", s)
        _checked(s)

    def __reduce__(self) -> tuple[type[Regex], tuple[str]]:
        return Regex, (self.pattern,)


@functools.lru_cache(maxsize=64)
def _checked(pattern: str) -> None:
    from tokkit.pretokenizers.split import Split

    Split({"Regex": split_patterns.read(pattern, ONIGURUMA)}, "Isolated", False)
