"""Decoder for WordPiece: "em", "##bed" → "embed", words separated by spaces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tokkit.checks import check_flag
from tokkit.decoders.base import Decoder, change_each, check_text

# Replacements of the clean-up; the order matters, because one may create or break a match of the next.
_CLEANED = (
    *((" " + mark, mark) for mark in ".?!,"),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
)


def clean(text: str) -> str:
    """Return English text without the spaces before punctuation and contractions that tokenization added.

    >>> clean("it 's fine , is n't it ?")
    "it's fine, isn't it?"
    """
    for old, new in _CLEANED:
        text = text.replace(old, new)
    return text


@dataclass(frozen=True, slots=True)
class WordPiece(Decoder):
    """Joins tokens with `prefix` to the token before, and puts a space before all others except the first.

    `cleanup` removes the spaces before English punctuation again, token by token.

    >>> WordPiece().decode(["em", "##bed", "##ding", "##s", "."])
    'embeddings.'
    """

    prefix: str = "##"
    cleanup: bool = True

    def __post_init__(self) -> None:
        check_text("prefix", self.prefix)
        check_flag("cleanup", self.cleanup)

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the tokens without the prefix; other tokens except the first get a space before them."""
        prefix, n = self.prefix, len(self.prefix)
        tokens = list(tokens)
        words = tokens[:1] + [token[n:] if token.startswith(prefix) else " " + token for token in tokens[1:]]
        return change_each(words, clean) if self.cleanup else words
