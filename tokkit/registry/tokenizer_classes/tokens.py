"""`AddedToken`: a text that is always one token, with the rules by which it is found, as in transformers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokkit import definition

RULES = ("single_word", "lstrip", "rstrip", "normalized", "special")


class AddedToken:
    """A text that is always one token; `normalized` is the opposite of `special` unless it is given.

    >>> AddedToken("<image>", special=True)
    AddedToken("<image>", rstrip=False, lstrip=False, single_word=False, normalized=False, special=True)
    """

    __slots__ = ("_normalized", "content", "lstrip", "rstrip", "single_word", "special")

    def __init__(
        self,
        content: str = "",
        single_word: bool = False,
        lstrip: bool = False,
        rstrip: bool = False,
        special: bool = False,
        normalized: bool | None = None,
    ) -> None:
        self.content, self.single_word, self.lstrip, self.rstrip = content, single_word, lstrip, rstrip
        self.special, self._normalized = special, normalized

    @property
    def normalized(self) -> bool:
        """Whether the token is searched for in the normalized text."""
        return not self.special if self._normalized is None else self._normalized

    def __str__(self) -> str:
        return self.content

    def __repr__(self) -> str:
        rules = ("rstrip", "lstrip", "single_word", "normalized", "special")
        return f'AddedToken("{self.content}", {", ".join(f"{rule}={getattr(self, rule)}" for rule in rules)})'

    def __eq__(self, other: object) -> bool:
        return self.as_dict() == other.as_dict() if isinstance(other, AddedToken) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.content)

    def __reduce__(self) -> tuple[Any, ...]:
        rules = self.single_word, self.lstrip, self.rstrip, self.special, self._normalized
        return type(self), (self.content, *rules)

    @classmethod
    def of(cls, given: Any, *, special: bool | None = None) -> AddedToken:
        """Make an AddedToken from text, from a token of tokkit, tokenizers or transformers, or from a dict.

        `special` overrides the token's own value; a token that becomes special is searched for in the original text
        if its `normalized` was never given. TypeError for other types.
        """
        if isinstance(given, str):
            return cls(given, special=bool(special))
        if isinstance(given, AddedToken):
            made = cls(*given.__reduce__()[1])
        else:
            if not isinstance(given, Mapping):
                if not hasattr(given, "content") or not hasattr(given, "lstrip"):
                    raise TypeError(f"a token is {given!r:.80}; it must be a str or an AddedToken")
                unset = getattr(given, "_normalized", ...) is None or _follows_special(given)
                names = [rule for rule in RULES if not (unset and rule == "normalized")]
                given = {"content": given.content, **{rule: getattr(given, rule) for rule in names}}
            made = cls(**{name: given[name] for name in ("content", *RULES) if name in given})
        if special is not None:
            made.special = special
        return made

    def with_id(self, id_: int) -> definition.AddedToken:
        """Return the token for a definition."""
        return definition.AddedToken(self.content, id_, **{rule: getattr(self, rule) for rule in RULES})

    def as_dict(self) -> dict[str, Any]:
        """Return the token as in tokenizer_config.json."""
        return {name: getattr(self, name) for name in ("content", *RULES)}


def _follows_special(token: Any) -> bool:
    """Return whether a token of another library changes `normalized` with `special`, since it was never given."""
    try:
        before, special = token.normalized, token.special
        token.special = not special
        after, token.special = token.normalized, special
    except AttributeError:  # immutable tokens state both
        return False
    return bool(after != before)


def is_token(given: object) -> bool:
    """Return whether a value is text or an added token of any library."""
    return isinstance(given, str) or (hasattr(given, "content") and hasattr(given, "lstrip"))
