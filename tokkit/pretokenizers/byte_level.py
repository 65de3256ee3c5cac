"""GPT-2's pretokenizer: splits by its pattern, and writes bytes in the byte alphabet."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.pretokenizers import patterns
from tokkit.pretokenizers.base import Pretokenizer, Specs
from tokkit.pretokenizers.behaviors import ISOLATED
from tokkit.unicode_regex.atoms import (
    AT_START,
    BLANK,
    HAN,
    LEADS,
    OTHER,
    WHITE,
    CutRule,
    atoms_where,
    everywhere,
    images,
    nowhere,
)
from tokkit.unicode_regex.boundaries import split_rule


@dataclass(frozen=True, slots=True)
class ByteLevel(Pretokenizer):
    """Splits by GPT-2's pattern (`use_regex`), and writes each byte as a symbol (byte_symbols.py).

    With `add_prefix_space`, each pretoken that does not start with a space gets one. `trim_offsets` only affects the
    postprocessor.

    >>> from tokkit._core.align import AlignedText
    >>> text = AlignedText("Où est")
    >>> ByteLevel(add_prefix_space=False).pretokenize(text)
    >>> text.pieces
    ['OÃ¹', 'Ġest']
    """

    add_prefix_space: bool = True
    trim_offsets: bool = True
    use_regex: bool = True

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        prefix = (("prefix_space_first",),) if self.add_prefix_space else ()
        scanner = patterns.SCANNERS[patterns.BYTE_LEVEL]
        split = (("split_pattern", scanner, ISOLATED, False),) if self.use_regex else ()
        return (*prefix, *split, ("byte_symbols",))

    def cut_rules(self) -> list[CutRule]:
        """Return where the text before each of `stages` may be cut."""
        space = atoms_where(lambda character: character == " ")
        prefix = CutRule(everywhere(), nowhere(), edges=AT_START, as_inside=(space, None))
        rules = [prefix] if self.add_prefix_space else []
        if self.use_regex:
            rules.append(split_rule(patterns.BYTE_LEVEL, ISOLATED, invert=False))
        others = {key: [OTHER] for key in [*range(33), 127, WHITE, BLANK, LEADS, HAN]}
        return [*rules, CutRule(everywhere(), nowhere(), images(others), images(others))]
