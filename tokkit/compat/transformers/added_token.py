"""`AddedToken`: a token with the rules by which it is found in text, as in transformers."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from tokkit import definition


@dataclass(unsafe_hash=True)
class AddedToken:
    """A text that is always one token; `normalized` defaults to True, or False for special tokens.

    >>> AddedToken("<image>", special=True)
    AddedToken("<image>", rstrip=False, lstrip=False, single_word=False, normalized=False, special=True)
    """

    content: str = ""
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    special: bool = False
    normalized: bool | None = None

    def __post_init__(self) -> None:
        if self.normalized is None:
            self.normalized = not self.special

    def __str__(self) -> str:
        return self.content

    def __repr__(self) -> str:
        rules = ("rstrip", "lstrip", "single_word", "normalized", "special")
        return f'AddedToken("{self.content}", {", ".join(f"{rule}={getattr(self, rule)}" for rule in rules)})'

    @classmethod
    def of(cls, given: Any, *, special: bool | None = None) -> AddedToken:
        """Make an AddedToken from text, from a token of tokkit, tokenizers or transformers, or from a dict.

        `special` overrides the token's own value. TypeError for other types.
        """
        if isinstance(given, str):
            return cls(given, special=bool(special))
        if isinstance(given, dict):
            given = cls(**{field.name: given[field.name] for field in fields(cls) if field.name in given})
        if not hasattr(given, "content") or not hasattr(given, "lstrip"):
            raise TypeError(f"a token is {given!r:.80}; it must be a str or an AddedToken")
        values = {field.name: getattr(given, field.name) for field in fields(cls)}
        return cls(**(values if special is None else {**values, "special": special}))

    def with_id(self, id_: int) -> definition.AddedToken:
        """Return the token for a definition."""
        rules = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "content"}
        return definition.AddedToken(self.content, id_, **rules)

    def as_dict(self) -> dict[str, Any]:
        """Return the token as in tokenizer_config.json."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def is_token(given: object) -> bool:
    """Return whether a value is text or an added token of any library."""
    return isinstance(given, str) or (hasattr(given, "content") and hasattr(given, "lstrip"))
