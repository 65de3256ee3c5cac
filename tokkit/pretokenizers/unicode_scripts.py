"""A text in, runs of one script out."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit._core import pretokenize
from tokkit._core.aligned import AlignedText


@dataclass(frozen=True, slots=True)
class UnicodeScripts:
    """Cut where the script changes, kana being Han, by the Unicode that tokenizers has for it.

    Spaces and what is not assigned belong to the run before them; before the first run they are dropped.

    >>> text = AlignedText("どこで go")
    >>> UnicodeScripts().pretokenize(text)
    >>> text.pieces
    ['どこで ', 'go']
    """

    def pretokenize(self, text: AlignedText) -> None:
        """Cut the pieces of a text further."""
        pretokenize.split_scripts(text)
