"""Decoder that runs several decoders in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tokkit.decoders.base import Decoder
from tokkit.errors import OptionError
from tokkit.unicode_regex.cost_limits import PatternTime


@dataclass(frozen=True, slots=True)
class Sequence(Decoder):
    """Runs each decoder on the tokens of the one before.

    >>> from tokkit.decoders.byte_fallback import ByteFallback
    >>> from tokkit.decoders.replace import Replace
    >>> Sequence([Replace({"String": "▁"}, " "), ByteFallback()]).decode(["▁", "<0x41>"])
    ' A'
    """

    decoders: Iterable[Decoder]

    def __post_init__(self) -> None:
        object.__setattr__(self, "decoders", tuple(self.decoders))
        for decoder in self.decoders:
            if not isinstance(decoder, Decoder):
                raise OptionError(f"decoders has {decoder!r}; it must be a decoder of tokkit.decoders")

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the tokens after the last decoder."""
        tokens = list(tokens)
        with PatternTime(sum(map(len, tokens))):
            for decoder in self.decoders:
                tokens = decoder.decode_chain(tokens)
        return tokens


def flat(decoder: Decoder) -> Iterator[Decoder]:
    """Yield the decoders in the order in which they run, including those of nested sequences."""
    if isinstance(decoder, Sequence):
        for part in decoder.decoders:
            yield from flat(part)
    else:
        yield decoder
