"""Runs normalizers, pre-tokenizers and decoders written in Python in tokkit's interpreter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tokkit._core.align import AlignedText
from tokkit.compat.tokenizers.component import failed
from tokkit.compat.tokenizers.normalized_string import NormalizedString, Span
from tokkit.compat.tokenizers.pre_tokenized_string import PreTokenizedString
from tokkit.decoders.base import Decoder as DecoderBase
from tokkit.errors import TokkitError

Rewritten = tuple[str, list[Span]]
"""A text, and the span of each character in the part that it was made from."""


@dataclass(frozen=True, slots=True)
class Normalizer:
    """A normalizer whose `normalize` changes a `NormalizedString`."""

    object: Any

    def normalize(self, text: AlignedText) -> None:
        """Change each part of a text."""
        from tokkit.compat.tokenizers.normalizers import Normalizer as Face

        custom = Face.custom(self.object.part)

        def made(piece: str) -> list[Rewritten]:
            part = NormalizedString(piece)
            custom.normalize(part)
            return [(part.normalized, part.spans)]

        rewrite(text, made)


@dataclass(frozen=True, slots=True)
class PreTokenizer:
    """A pre-tokenizer whose `pre_tokenize` splits each part of a text, as a `PreTokenizedString`."""

    object: Any

    def pretokenize(self, text: AlignedText) -> None:
        """Split each part of a text."""
        from tokkit.compat.tokenizers.pre_tokenizers import PreTokenizer as Face

        custom = Face.custom(self.object.part)

        def made(piece: str) -> list[Rewritten]:
            whole = PreTokenizedString(piece)
            custom.pre_tokenize(whole)
            return [(part.normalized, [(a + part.at, b + part.at) for a, b in part.spans]) for part in whole.parts]

        rewrite(text, made)


@dataclass(frozen=True, slots=True)
class Decoder(DecoderBase):
    """A decoder whose `decode_chain` maps tokens to other strings."""

    object: Any

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the tokens for the next decoder of a sequence."""
        try:
            return list(self.object.part.decode_chain(list(tokens)))
        except TokkitError:
            raise
        except Exception as error:
            raise failed(error) from error


def rewrite(text: AlignedText, function: Any) -> None:
    """Replace each part by the parts that a function makes of it, with the spans of their characters."""
    cuts: list[list[Span]] = []

    def characters(piece: str) -> Iterator[tuple[str, int]]:
        parts: list[Rewritten] = function(piece)
        flat = [(c, span) for part, spans in parts for c, span in zip(part, spans, strict=True)]
        dropped = flat[0][1][0] if flat else 0  # characters before the first kept one: cut off afterwards
        ends, at = [], dropped
        for part, _ in parts:
            ends.append((at, at + len(part)))
            at += len(part)
        if at:
            cuts.append(ends)
        yield from ((c, 0) for c in piece[:dropped])
        done = dropped
        for i, (c, (start, _)) in enumerate(flat):
            if start < done:
                yield c, 1
                continue
            after = i + 1
            while after < len(flat) and flat[after][1][0] <= start:
                after += 1
            done = flat[after][1][0] if after < len(flat) else len(piece)
            yield c, start + 1 - done

    text.rewrite(characters)
    in_turn = iter(cuts)
    text.cut(lambda piece: next(in_turn) if piece else [])
