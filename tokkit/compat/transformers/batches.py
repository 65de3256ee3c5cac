"""Reads the input of a call: one text, a pair, or a batch of texts, pairs or both; texts may be lists of words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tokkit.compat.tokenizers import inputs
from tokkit.errors import OptionError

if TYPE_CHECKING:
    from tokkit.encoding.length_rules import Padding, Truncation

MAX_DEPTH = 3
"""A batch of pairs of lists of words."""


class Request(NamedTuple):
    """A batch of texts and how they are encoded.

    `pairs` is None if there are only single texts; a text without a pair has None there. `cuts` maps whether a text has
    a pair to its truncation.
    """

    texts: list[Any]
    pairs: list[Any] | None
    words: bool
    special: Any
    add_special: bool
    cuts: Mapping[bool, Truncation | None]
    padding: Padding | None

    @property
    def is_mixed(self) -> bool:
        """Whether there are both single texts and pairs."""
        return self.pairs is not None and any(pair is None for pair in self.pairs)

    @property
    def cut(self) -> Truncation | None:
        """The truncation of a batch that is not mixed."""
        return self.cuts[self.pairs is not None]

    @property
    def n_sequences(self) -> int:
        """1 if the first item is a text, 2 if it is a pair."""
        return 1 if self.pairs is None or self.pairs[0] is None else 2

    def of_kind(self, *, pair: bool) -> Request:
        """Return the single texts, or the pairs, of a mixed batch, without padding."""
        rows = [row for row in zip(self.texts, self.pairs or (), strict=True) if (row[1] is not None) is pair]
        texts, pairs = [text for text, _ in rows], [second for _, second in rows] if pair else None
        return self._replace(texts=texts, pairs=pairs, padding=None)


def batch_of(text: Any, pair: Any, *, words: bool) -> tuple[list[Any], list[Any] | None, bool]:
    """Return (texts, pairs, whether it was one text); TypeError, ValueError or IndexError for other input.

    A pair that is empty counts as none, as in transformers, unless the input is a batch.
    """
    for name, value in (("text", text), ("text_pair", pair)):
        if not (_is_text(value) or (value is None and name == "text_pair")):
            raise OptionError(
                f"{name} is {value!r:.80}; it must be a str, a list of str, or with is_split_into_words a list of "
                "words or a list of such lists"
            )
    if isinstance(text, (list, tuple)) and (not words or (len(text) and isinstance(text[0], (list, tuple)))):
        if isinstance(pair, str):
            raise TypeError("text is a batch and text_pair is str; it must be a list of the same length")
        if pair is not None and len(pair) != len(text):
            raise OptionError(
                f"there are {len(text)} texts and {len(pair)} pairs; there must be one pair for each text"
            )
        if not text:
            raise IndexError("the batch is empty; it must have at least one text")
        return *inputs.batch(text if pair is None else list(zip(text, pair, strict=True)), words), False
    return *inputs.batch([(text, pair) if pair else text], words), True


def _is_text(value: Any) -> bool:
    """Return whether a value is a str, or nested lists whose first item is a str."""
    for _ in range(MAX_DEPTH):
        if isinstance(value, str) or not isinstance(value, (list, tuple)):
            return isinstance(value, str)
        if not value:
            return True
        value = value[0]
    return isinstance(value, str)
