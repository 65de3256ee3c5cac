"""Finds added tokens in the original text and in the normalized text."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from tokkit._core.align import AlignedText
from tokkit._core.split import AddedMatcher
from tokkit.definition import AddedToken
from tokkit.errors import OptionError

Special = str | Collection[str]


class Normalizer(Protocol):
    """A normalizer, or another rule that changes the characters of a text."""

    def normalize(self, text: AlignedText) -> None:
        """Change the parts of a text that are not added tokens."""


class AddedTokens:
    """Finds the added tokens of one tokenizer: the leftmost match first, then the longest. Immutable.

    `cut` finds tokens in the original text; `cut_normalized`, after the normalizer, finds those with `normalized`,
    whose contents are normalized too. If two normalized contents are equal, the first of `tokens` is found; an empty
    one is never found.

    >>> tokens = AddedTokens([AddedToken("<s>", 0, special=True), AddedToken("ice cream", 1)])
    >>> text = AlignedText("<s>ice cream")
    >>> tokens.cut(text, special="all")
    >>> tokens.cut_normalized(text, special="all")
    >>> text.ids
    [0, 1]
    """

    def __init__(self, tokens: Iterable[AddedToken], normalizer: Normalizer | None = None) -> None:
        self.tokens = tuple(tokens)
        self._special = frozenset(token.content for token in self.tokens if token.special)
        self._given = _Pass([token for token in self.tokens if not token.normalized], None)
        self._normalized = _Pass([token for token in self.tokens if token.normalized], normalizer)

    def cut(self, text: AlignedText, special: Special = "text") -> None:
        """Make the added tokens without `normalized` separate parts of a text.

        `special` decides which special tokens are found: "text" (none), "all", or a collection of contents. Other
        added tokens are always found, except within the text of a special one.
        """
        self._given.cut(text, self._checked(special))

    def cut_normalized(self, text: AlignedText, special: Special = "text") -> None:
        """Make the added tokens with `normalized` separate parts of a normalized text, like `cut`."""
        self._normalized.cut(text, self._checked(special))

    def _checked(self, special: Special) -> frozenset[str] | None:
        if isinstance(special, str):
            if special not in ("text", "all"):
                raise OptionError(f'special is {special!r}; it must be "text", "all" or a set of special tokens')
            return None if special == "all" else frozenset()
        allowed = frozenset(special)
        if unknown := allowed - self._special:
            raise OptionError(
                f"{sorted(unknown)[0]!r} is not a special token of this tokenizer; it has {sorted(self._special)[:20]}"
            )
        return allowed


class _Pass:
    """The tokens of one pass."""

    def __init__(self, tokens: list[AddedToken], normalizer: Normalizer | None) -> None:
        self._tokens = tokens
        self._matcher = AddedMatcher(
            (content(token, normalizer).encode(), token.id, token.single_word, token.lstrip, token.rstrip)
            for token in tokens
        )
        self._none = self._which(frozenset())
        self._has_special = 0 in self._none

    def cut(self, text: AlignedText, special: frozenset[str] | None) -> None:
        """Make the tokens separate parts of a text; of special tokens only those in the set (None: all)."""
        if not self._tokens:
            return
        every = special is None or not self._has_special
        self._matcher.cut(text, None if every else self._which(special) if special else self._none)

    def _which(self, special: frozenset[str] | None) -> bytes:
        return bytes(not token.special or special is None or token.content in special for token in self._tokens)


def content(token: AddedToken, normalizer: Normalizer | None) -> str:
    """Return the text by which a token is found, which is also its decoded text."""
    if normalizer is None or not token.normalized:
        return token.content
    text = AlignedText(token.content)
    normalizer.normalize(text)
    return "".join(text.pieces)
