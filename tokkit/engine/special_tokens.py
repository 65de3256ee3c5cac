"""Policies for special tokens in user text, and the finder of added tokens for each policy."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from tokkit._core.encode import Finder
from tokkit._core.split import AddedMatcher, SpecialMatcher
from tokkit.engine.added_tokens import content, found_as_they_stand
from tokkit.errors import OptionError

if TYPE_CHECKING:
    from tokkit.definition import AddedToken, Definition

Special = str | Collection[str]

MAX_POLICIES = 64
"""Maximum number of cached policies; callers that always use new ones are slow."""


class SpecialTokens:
    """The added tokens of one definition, and the finder of each policy: "text", "all", "raise", or a collection."""

    def __init__(self, definition: Definition) -> None:
        self.ids = dict(definition.special_tokens)
        self._all = frozenset(self.ids)
        self._tokens = definition.added_tokens
        self._names = {id_: text for text, id_ in self.ids.items()}
        normalizer = definition.normalizer
        self.as_they_stand = found_as_they_stand(self._tokens, normalizer)
        self._given = [token for token in self._tokens if self.as_they_stand or not token.normalized]
        self._later = [token for token in self._tokens if not self.as_they_stand and token.normalized]
        self._normalizes = normalizer is not None
        self._contents = {token.content: content(token, normalizer) for token in self._later}
        self._matchers: dict[bool, AddedMatcher] = {}
        self._finders: dict[frozenset[str], Finder | None] = {}

    def name(self, id_: int) -> str | None:
        """Return the text of a special token, None for another id."""
        return self._names.get(id_)

    def allowed(self, special: Special) -> frozenset[str]:
        """Return the special tokens that a policy allows; "raise" allows none."""
        if isinstance(special, str):
            if special == "all":
                return self._all
            if special not in ("text", "raise"):
                raise OptionError(
                    f'special is {special!r}; it must be "text", "raise", "all" or a set of special tokens'
                )
            return frozenset()
        allowed = frozenset(special)
        if unknown := allowed.difference(self.ids):
            raise OptionError(
                f"{sorted(unknown)[0]!r} is not a special token of this tokenizer; it has {sorted(self.ids)[:20]}"
            )
        return allowed

    def finder(self, allowed: frozenset[str]) -> Finder | None:
        """Return the finder of these special tokens and all other added tokens; None if there are none."""
        try:
            return self._finders[allowed]
        except KeyError:
            if len(self._finders) >= MAX_POLICIES:
                self._finders.clear()
            return self._finders.setdefault(allowed, self._finder(allowed))

    def in_normalized(self, allowed: frozenset[str]) -> bool:
        """Return whether any of those tokens is searched for in the normalized text instead of the original text."""
        return self._normalizes and any(not token.special or token.content in allowed for token in self._later)

    def _finder(self, allowed: frozenset[str]) -> Finder | None:
        wanted = [token for token in self._tokens if not token.special or token.content in allowed]
        if not wanted:
            return None
        if self.as_they_stand:
            return finder_of({token.content: token.id for token in wanted})
        return Finder(
            given=self._pass(self._given, allowed, later=False),
            normalized=self._pass(self._later, allowed, later=True),
            guard=self._guard(),
        )

    def _pass(
        self, tokens: list[AddedToken], allowed: frozenset[str], *, later: bool
    ) -> tuple[AddedMatcher, bytes | None] | None:
        """Return the matcher of one pass, and marks of the tokens to find; the others are matched, but stay text."""
        marks = bytes(not token.special or token.content in allowed for token in tokens)
        if not any(marks):
            return None
        if later not in self._matchers:
            self._matchers[later] = AddedMatcher(
                (
                    self._contents.get(token.content, token.content).encode(),
                    token.id,
                    token.single_word,
                    token.lstrip,
                    token.rstrip,
                )
                for token in tokens
            )
        return self._matchers[later], None if all(marks) else marks

    def _guard(self) -> SpecialMatcher | None:
        """Return the matcher of texts that must not be cut; None if a matcher cannot express this."""
        texts = [self._contents.get(token.content, token.content) for token in self._tokens]
        if any(token.single_word or token.lstrip or token.rstrip for token in self._tokens):
            return None
        if self._later and not all(text.isascii() for text in texts):
            return None
        return SpecialMatcher({text.encode(): 0 for text in texts if text})


def finder_of(tokens: Mapping[str, int]) -> Finder:
    """Return a finder of these texts in the original text, with their ids."""
    matcher = AddedMatcher((text.encode(), id_, False, False, False) for text, id_ in tokens.items())
    return Finder(given=(matcher, None), guard=SpecialMatcher({text.encode(): id_ for text, id_ in tokens.items()}))
