"""Finds added tokens in the original text and in the normalized text."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from tokkit._core.align import AlignedText
from tokkit._core.split import AddedMatcher
from tokkit.definition import AddedToken
from tokkit.errors import OptionError

Special = str | Collection[str]

MAX_COMPARED = 1 << 24
"""Maximum size of the parts of texts that `overlap` compares: all parts of some, and the prefixes of others."""


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
        alone = found_as_they_stand(self.tokens, normalizer)
        self._given = _Pass([token for token in self.tokens if not token.normalized], None, alone)
        self._normalized = _Pass([token for token in self.tokens if token.normalized], normalizer, alone)

    def cut(self, text: AlignedText, special: Special = "text") -> None:
        """Make the added tokens without `normalized` separate parts of a text.

        `special` decides which special tokens are found: "text" (none), "all", or a collection of contents. Other
        added tokens are always found, except within the text of a special one. A special token that is not found hides
        no other special token, as in tiktoken, if `found_as_they_stand`.
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
    """The tokens of one pass; with `alone`, those that are not wanted are not looked for."""

    def __init__(self, tokens: list[AddedToken], normalizer: Normalizer | None, alone: bool) -> None:
        self._tokens, self._normalizer, self._alone = tokens, normalizer, alone
        self._matcher = self._matcher_of(b"\1" * len(tokens))
        self._none = self._which(frozenset())
        self._has_special = 0 in self._none

    def cut(self, text: AlignedText, special: frozenset[str] | None) -> None:
        """Make the tokens separate parts of a text; of special tokens only those in the set (None: all)."""
        if not self._tokens:
            return
        if special is None or not self._has_special:
            self._matcher.cut(text, None)
        elif special and self._alone:
            self._matcher_of(self._which(special)).cut(text, None)
        else:
            self._matcher.cut(text, self._which(special) if special else self._none)

    def _matcher_of(self, wanted: bytes) -> AddedMatcher:
        return AddedMatcher(
            (content(token, self._normalizer).encode(), token.id, token.single_word, token.lstrip, token.rstrip)
            for token, is_wanted in zip(self._tokens, wanted, strict=True)
            if is_wanted
        )

    def _which(self, special: frozenset[str] | None) -> bytes:
        return bytes(not token.special or special is None or token.content in special for token in self._tokens)


def content(token: AddedToken, normalizer: Normalizer | None) -> str:
    """Return the text by which a token is found, which is also its decoded text."""
    if normalizer is None or not token.normalized:
        return token.content
    text = AlignedText(token.content)
    normalizer.normalize(text)
    return "".join(text.pieces)


def vanished(tokens: Iterable[AddedToken], normalizer: Normalizer | None) -> AddedToken | None:
    """Return the first token of which the normalizer leaves nothing, so that it is never found; None without one."""
    if normalizer is None:
        return None
    return next((token for token in tokens if token.normalized and not content(token, normalizer)), None)


def found_as_they_stand(tokens: Collection[AddedToken], normalizer: Normalizer | None) -> bool:
    """Return whether one pass for the tokens that a policy wants finds the same as tokenizers' two passes for all."""
    if normalizer is not None and any(token.normalized for token in tokens):
        return False
    if any(token.single_word or token.lstrip or token.rstrip for token in tokens):
        return False
    # tokenizers searches for the tokens with `normalized` in a second pass, even without a normalizer.
    first, second = ([t.content for t in tokens if t.normalized is flag] for flag in (False, True))
    if may_overlap(first, second) or may_overlap(second, first):
        return False
    # A special token hides the others within its text even where it is not allowed.
    special, others = ([t.content for t in tokens if t.special is flag] for flag in (True, False))
    return not (may_overlap(special, others) and overlap(special, others))


def may_overlap(some: list[str], others: list[str]) -> bool:
    """Return whether one of `others` may begin inside one of `some`, or is a prefix of one."""
    inside = {character for text in some for character in text[1:]}
    if any(text[0] in inside for text in others):
        return True
    sought, lengths = frozenset(others), {len(text) for text in others}
    return any(text[:n] in sought for text in some for n in lengths)


def overlap(some: list[str], others: list[str]) -> bool:
    """Return whether one of `others` begins inside one of `some`, or is a prefix of one; True if it is long to tell."""
    if sum(len(text) ** 3 for text in some) + sum(len(text) ** 2 for text in others) > MAX_COMPARED:
        return True
    tails = [text[start:] for text in some for start in range(len(text))]
    inside = {tail[:n] for tail in tails for n in range(1, len(tail) + 1)}
    ends = frozenset(tails)
    return any(text in inside or any(text[:n] in ends for n in range(1, len(text))) for text in others)
