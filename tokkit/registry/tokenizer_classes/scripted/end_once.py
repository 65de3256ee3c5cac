"""`EndOnce`: a template that does not add the end token to a text that ends with it already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from tokkit.errors import OptionError
from tokkit.postprocessors.layout import Layout
from tokkit.postprocessors.template import Piece, Template

if TYPE_CHECKING:
    from tokkit.encoding.encoding import Encoding
    from tokkit.postprocessors.batch import Flat


@dataclass(frozen=True, slots=True)
class EndOnce(Template):
    """Arranges texts as `Template` does, but after a text whose last token is that end, the end is left out.

    The end is the token right after each text.
    """

    def layout(self, *, pair: bool = False, add_special: bool = True) -> Layout:
        """Return the layout of texts that do not end with the token, which the core must not apply on its own."""
        made = Template.layout(self, pair=pair, add_special=add_special)
        if add_special:
            made.frame = None
        return made

    def check_batch(self, texts: Sequence[Flat]) -> None:
        """Raise OptionError if a text of a batch of arrays ends with the token: all rows have one layout."""
        ends = self._ends(pair=len(texts) == 2)
        for number, (ids, offsets) in enumerate(texts):
            for row, (start, end) in enumerate(pairwise(offsets.tolist())):
                if start < end and int(ids[end - 1]) == ends.get(number):
                    raise OptionError(
                        f"text {row} ends with the token {ids[end - 1]}, which is not added again; a batch of arrays "
                        "adds it to each text: encode this text with a call of the tokenizer"
                    )

    def layout_of(self, encodings: Sequence[Encoding], *, add_special: bool) -> Layout:
        """Return the layout without the end after each text that ends with it already."""
        pair = len(encodings) == 2
        used = self
        for number, end in self._ends(pair=pair).items() if add_special else ():
            if encodings[number].ids[-1:] == [end]:
                used = used.without_end(number, pair=pair)
        return used.layout(pair=pair, add_special=add_special)

    def _ends(self, *, pair: bool) -> dict[int, int]:
        """Return the number of each text with the id of the token after it."""
        ids = {token.id: token.ids[0] for token in self.special_tokens}
        places = self.pair if pair else self.single
        return {
            text.what: ids[end.what]
            for text, end in pairwise(places)
            if isinstance(text.what, int) and isinstance(end.what, str)
        }

    def without_end(self, number: int, *, pair: bool) -> EndOnce:
        """Return the template without the token after text `number`."""
        places: tuple[Piece, ...] = self.pair if pair else self.single
        at = next(i for i, place in enumerate(places) if place.what == number) + 1
        kept = (*places[:at], *places[at + 1 :])
        return EndOnce(self.single if pair else kept, kept if pair else self.pair, self.special_tokens)
