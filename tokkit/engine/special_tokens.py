"""Added tokens: which of them a policy (`special=`) finds in the original and in the normalized text, and how."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from tokkit._core.align import AlignedText
from tokkit._core.encode.plan import Finder
from tokkit._core.split import AddedMatcher
from tokkit.definition import AddedToken
from tokkit.errors import OptionError, SpecialTokenError

Special = str | Collection[str]

MAX_POLICIES = 64
"""Maximum number of cached policies; callers that always use new ones are slow."""

MAX_COMPARED = 1 << 24
"""Maximum size of the parts of texts that `overlap` compares: all parts of some, and the prefixes of others."""

Pass = tuple[AddedMatcher, bytes | None]
"""A matcher, and marks of the tokens to find (None: all); the others are matched, but stay text."""
Key = TypeVar("Key")
Value = TypeVar("Value")


class Normalizer(Protocol):
    """A normalizer, or another rule that changes the characters of a text."""

    def normalize(self, text: AlignedText) -> None:
        """Change the parts of a text that are not added tokens."""


class AddedTokens:
    """The added tokens of one tokenizer, and what a policy finds: the leftmost match first, then the longest.

    A policy, `special`, decides which special tokens are found: "text" (none), "all", or a collection of contents;
    "raise" finds none, because the caller has refused texts that have one. Other added tokens are always found, except
    within the text of a special one. A special token that is not found hides no other special token, as in tiktoken,
    if `found_as_they_stand`. Immutable.

    `cut` finds tokens in the original text; `cut_normalized`, after the normalizer, finds those with `normalized`,
    whose contents are normalized too. If two normalized contents are equal, the first of `tokens` is found; an empty
    one is never found. `finder` is both for the core.

    >>> tokens = AddedTokens([AddedToken("<s>", 0, special=True), AddedToken("ice cream", 1)])
    >>> text = AlignedText("<s>ice cream")
    >>> tokens.cut(text, special="all")
    >>> tokens.cut_normalized(text, special="all")
    >>> text.ids
    [0, 1]
    """

    def __init__(self, tokens: Iterable[AddedToken], normalizer: Normalizer | None = None) -> None:
        self.tokens = tuple(tokens)
        self.ids = {token.content: token.id for token in self.tokens if token.special}
        self.as_they_stand = found_as_they_stand(self.tokens, normalizer)
        self._all = frozenset(self.ids)
        self._names = {id_: text for text, id_ in self.ids.items()}
        self._normalizes = normalizer is not None
        contents = [(token, content(token, normalizer)) for token in self.tokens]
        given = [(token, text) for token, text in contents if not token.normalized]
        normalized = [(token, text) for token, text in contents if token.normalized]
        self._contents = contents
        self._given, self._normalized = _Pass(given, self.as_they_stand), _Pass(normalized, self.as_they_stand)
        self._finders: dict[frozenset[str], Finder | None] = {}
        self._matchers: dict[frozenset[str], AddedMatcher] = {}

    def allowed(self, special: Special) -> frozenset[str]:
        """Return the special tokens that a policy allows; OptionError for one that is none."""
        if isinstance(special, str):
            if special == "all":
                return self._all
            if special not in ("text", "raise"):
                raise OptionError(
                    f'special is {special!r}; it must be "text", "raise", "all" or a set of special tokens'
                )
            return frozenset()
        allowed = frozenset(special)
        if unknown := allowed - self._all:
            raise OptionError(
                f"{sorted(unknown)[0]!r} is not a special token of this tokenizer; it has {sorted(self.ids)[:20]}"
            )
        return allowed

    def name(self, id_: int) -> str | None:
        """Return the text of a special token, None for another id."""
        return self._names.get(id_)

    def refuse(self, found: Iterable[tuple[int, int]]) -> None:
        """Raise SpecialTokenError if a special token is among the added tokens, (byte, id), of a text."""
        for start, id_ in found:
            if id_ in self._names:
                raise refusal("the text contains", self._names[id_], start)

    def cut(self, text: AlignedText, special: Special = "text") -> None:
        """Make the added tokens without `normalized` separate parts of a text."""
        self._given.cut(text, self.allowed(special))

    def cut_normalized(self, text: AlignedText, special: Special = "text") -> None:
        """Make the added tokens with `normalized` separate parts of a normalized text."""
        self._normalized.cut(text, self.allowed(special))

    def finder(self, allowed: frozenset[str]) -> Finder | None:
        """Return the finder of these special tokens and all other added tokens; None if there are none."""
        return cached(self._finders, allowed, lambda: self._finder(allowed))

    def in_normalized(self, allowed: frozenset[str]) -> bool:
        """Return whether any of those tokens is searched for in the normalized text instead of the original text."""
        return self._normalizes and self._normalized.found(allowed) is not None

    def first_of(self, texts: frozenset[str], utf8: bytes) -> str | None:
        """Return the first of any texts in another, the longest at its position; None if there is none."""
        matcher = cached(
            self._matchers, texts, lambda: AddedMatcher.plain({text.encode(): 0 for text in texts if text})
        )
        found = matcher.first(utf8)
        return None if found is None else utf8[found[0] : found[1]].decode()

    def _finder(self, allowed: frozenset[str]) -> Finder | None:
        if self.as_they_stand:
            found = self._together.found(allowed)
            return None if found is None else Finder(given=found, guard=found[0])
        given, normalized = self._given.found(allowed), self._normalized.found(allowed)
        if given is None and normalized is None:
            return None
        return Finder(given=given, normalized=normalized, guard=self._guard)

    @functools.cached_property
    def _together(self) -> _Pass:
        """Both passes as one."""
        return next((one for one in (self._given, self._normalized) if one.size == len(self.tokens)), None) or _Pass(
            self._contents, self.as_they_stand
        )

    @functools.cached_property
    def _guard(self) -> AddedMatcher | None:
        """The matcher of texts that must not be cut; None if a matcher cannot express this."""
        if any(token.single_word or token.lstrip or token.rstrip for token in self.tokens):
            return None
        if self._normalized.size and not all(text.isascii() for _, text in self._contents):
            return None
        return AddedMatcher.plain({text.encode(): token.id for token, text in self._contents if text})


class _Pass:
    """The tokens of one pass, with their contents; with `alone`, those that are not wanted are not looked for."""

    def __init__(self, tokens: Sequence[tuple[AddedToken, str]], alone: bool) -> None:
        self._tokens, self._alone, self.size = tokens, alone, len(tokens)
        self._passes: dict[frozenset[str], Pass | None] = {}

    def found(self, allowed: frozenset[str]) -> Pass | None:
        """Return what finds these special tokens and all other added tokens; None if there are none."""
        return cached(self._passes, allowed, lambda: self._pass(allowed))

    def cut(self, text: AlignedText, allowed: frozenset[str]) -> None:
        """Make those tokens separate parts of a text."""
        if (found := self.found(allowed)) is not None:
            found[0].cut(text, found[1])

    def _pass(self, allowed: frozenset[str]) -> Pass | None:
        marks = bytes(not token.special or token.content in allowed for token, _ in self._tokens)
        if not any(marks):
            return None
        if all(marks) or not self._alone:
            return self._whole, None if all(marks) else marks
        return _matcher(one for one, mark in zip(self._tokens, marks, strict=True) if mark), None

    @functools.cached_property
    def _whole(self) -> AddedMatcher:
        return _matcher(self._tokens)


def _matcher(tokens: Iterable[tuple[AddedToken, str]]) -> AddedMatcher:
    return AddedMatcher((text.encode(), t.id, t.single_word, t.lstrip, t.rstrip) for t, text in tokens)


def finder_of(tokens: Mapping[str, int]) -> Finder | None:
    """Return a finder of these texts in the original text, with their ids."""
    added = AddedTokens(AddedToken(text, id_, special=True) for text, id_ in tokens.items())
    return added.finder(frozenset(tokens))


def slices(finder: Finder | None, utf8: bytes) -> Iterator[tuple[int, bytes, int | None]]:
    """Yield (byte, text, None) and (byte, added token, id) in order, for a finder of tokens in the original text."""
    guard, at = None if finder is None else finder.guard, 0
    while guard is not None and (found := guard.first(utf8, at)) is not None:
        start, end, id_ = found
        if start > at:
            yield at, utf8[at:start], None
        yield start, utf8[start:end], id_
        at = end
    if at < len(utf8):
        yield at, utf8[at:], None


def refusal(subject: str, token: str, at: int) -> SpecialTokenError:
    """Return the error for a special token in a text for which `special` is "raise"; `subject` ends with a verb."""
    return SpecialTokenError(
        f"{subject} the special token {token!r} at byte {at}; "
        'pass special="text" to read it as text, or "all" or a set to allow it as a token'
    )


def cached(cache: dict[Key, Value], key: Key, make: Callable[[], Value]) -> Value:
    """Return the value of a policy, made once if there are not too many policies."""
    try:
        return cache[key]
    except KeyError:
        if len(cache) >= MAX_POLICIES:
            cache.clear()
        return cache.setdefault(key, make())


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
