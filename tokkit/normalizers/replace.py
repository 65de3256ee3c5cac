"""Text in, the same with each match of a pattern replaced out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from tokkit._core import normalize
from tokkit._core.aligned import AlignedText
from tokkit.matching import checked_pattern, matches
from tokkit.normalizers.base import Normalizer, check_text

# One character that means itself, as often as it stands there: nothing that needs a regular expression.
_RUN = re.compile(r"(\\[!-/:-@\[-`{-~]|[^\\\[\](){}|*+?.^$])(?:\+|\{([1-9]\d{0,3}),\})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Replace(Normalizer):
    """Puts `content`, as it stands, for each match of `pattern`: {"String": text} or {"Regex": pattern}.

    A pattern is in syntax that Oniguruma and the `regex` package read alike (formats/oniguruma.py checks files).
    What is put in comes from where the last character of the match comes from.

    >>> Replace({"Regex": " {2,}"}, "▁").normalize_str("a  b c")
    'a▁b c'
    """

    pattern: Mapping[str, str] = field(hash=False)
    content: str

    def __post_init__(self) -> None:
        check_text("content", self.content)
        object.__setattr__(self, "pattern", checked_pattern(self.pattern))

    def normalize(self, text: AlignedText) -> None:
        """Replace the matches in each piece; PatternError where finding them takes too long."""
        content = self.content.encode()
        if self.pattern.get("String"):
            normalize.replace(text, self.pattern["String"].encode(), content)
        elif run := _RUN.fullmatch(self.pattern.get("Regex", "")):
            normalize.replace(text, run[1][-1].encode(), content, int(run[2] or 1))
        else:
            normalize.replace_matches(text, partial(matches, self.pattern.get("Regex", "")), content)
