"""A text in, its bytes as symbols out, in the pieces of GPT-2."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit._core import pretokenize
from tokkit._core.aligned import AlignedText
from tokkit.pretokenizers import patterns
from tokkit.pretokenizers.behaviors import ISOLATED


@dataclass(frozen=True, slots=True)
class ByteLevel:
    """Cut by GPT-2's pattern (`use_regex`), and put a symbol in the place of each byte (formats/byte_symbols.py).

    With `add_prefix_space`, each piece that does not start with a space gets one first. `trim_offsets` is read by the
    post-processor alone.

    >>> text = AlignedText("Où est")
    >>> ByteLevel(add_prefix_space=False).pretokenize(text)
    >>> text.pieces
    ['OÃ¹', 'Ġest']
    """

    add_prefix_space: bool = True
    trim_offsets: bool = True
    use_regex: bool = True

    def pretokenize(self, text: AlignedText) -> None:
        """Cut the pieces of a text further, and change what stands in them."""
        if self.add_prefix_space:
            pretokenize.prefix_space(text)
        if self.use_regex:
            pretokenize.split_by_pattern(text, patterns.SCANNERS[patterns.BYTE_LEVEL], ISOLATED, False)
        pretokenize.byte_symbols(text)
