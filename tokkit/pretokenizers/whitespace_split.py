"""A text in, what stands between white space out."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit._core import pretokenize
from tokkit._core.aligned import AlignedText
from tokkit.pretokenizers.behaviors import REMOVED


@dataclass(frozen=True, slots=True)
class WhitespaceSplit:
    r"""Drop white space.

    >>> text = AlignedText("Hi,  you!\n")
    >>> WhitespaceSplit().pretokenize(text)
    >>> text.pieces
    ['Hi,', 'you!']
    """

    def pretokenize(self, text: AlignedText) -> None:
        """Cut the pieces of a text further."""
        pretokenize.split_by_kind(text, "white", REMOVED)
