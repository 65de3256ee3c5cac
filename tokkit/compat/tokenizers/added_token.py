"""`AddedToken`: a text that always becomes one token, independent of the model."""

from __future__ import annotations

import operator
from typing import Any

from tokkit.compat.tokenizers import values
from tokkit.formats.table_text import FLAGS, Part, Style, added_tokens


class AddedToken:
    """A text and the rules by which it is found; `normalized` defaults to the opposite of `special`."""

    __slots__ = ("_content", "_normalized", "_special", "lstrip_", "rstrip_", "single_word_")

    def __init__(self, content: str | None = None, **options: Any) -> None:
        self._content = "" if content is None else values.text("content", content)
        values.ignored([name for name in options if name not in FLAGS])
        given = {name: values.flag(name, options[name]) for name in FLAGS if name in options}
        self.single_word_ = given.get("single_word", False)
        self.lstrip_ = given.get("lstrip", False)
        self.rstrip_ = given.get("rstrip", False)
        self._special = given.get("special", False)
        self._normalized = given.get("normalized")

    @property
    def content(self) -> str:
        """The text."""
        return self._content

    @content.setter
    def content(self, content: str) -> None:
        self._content = values.text("content", content)

    @property
    def special(self) -> bool:
        """Whether `decode` can leave it out."""
        return self._special

    @special.setter
    def special(self, special: bool) -> None:
        self._special = values.flag("special", special)

    @property
    def normalized(self) -> bool:
        """Whether it is searched for in the normalized text."""
        return not self._special if self._normalized is None else self._normalized

    @property
    def single_word(self) -> bool:
        """Whether it is found only if no word character is next to it."""
        return self.single_word_

    @property
    def lstrip(self) -> bool:
        """Whether it includes the white space before it."""
        return self.lstrip_

    @property
    def rstrip(self) -> bool:
        """Whether it includes the white space after it."""
        return self.rstrip_

    def fields(self) -> dict[str, Any]:
        """Return the text and the flags as in a tokenizer.json."""
        return {"content": self._content, **{name: getattr(self, name) for name in FLAGS}}

    def __str__(self) -> str:
        return self._content

    def __repr__(self) -> str:
        names = ("rstrip", "lstrip", "single_word", "normalized", "special")
        flags = ", ".join(f"{name}={getattr(self, name)}" for name in names)
        return f'AddedToken("{self._content}", {flags})'

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AddedToken):
            return NotImplemented
        return self.fields() == other.fields()

    def __hash__(self) -> int:
        return hash(self._content)

    def _never(self, other: object) -> bool:
        return False

    __lt__ = __le__ = __gt__ = __ge__ = _never

    def __getstate__(self) -> dict[str, Any]:
        return self.fields()

    def __setstate__(self, state: dict[str, Any]) -> None:
        AddedToken.__init__(self, **state)


class AddedTokens:
    """The added tokens of a tokenizer (content → id, id → token), numbered as in tokenizers."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}
        self.tokens: dict[int, AddedToken] = {}
        self.changes = 0
        """How often a token got other flags; tokens are never taken away."""
        self._after = 0
        """The highest id plus one."""

    def add(self, tokens: list[AddedToken], model: Any) -> int:
        """Add tokens, and return the number of those that are not empty and were not there before."""
        n, free = 0, max(model._size, self._after)
        for token in tokens:
            if not token.content or self.tokens.get(self.ids.get(token.content, -1)) == token:
                continue
            copied = AddedToken(**token.fields())
            id_ = self.ids.get(token.content)
            if id_ is None:
                id_ = model.token_to_id(token.content)
            if id_ is None:
                id_, free = free, free + 1
            self._put(copied, id_)
            n += 1
        return n

    def _put(self, token: AddedToken, id_: int) -> None:
        self.changes += id_ in self.tokens
        self.ids[token.content] = id_
        self.tokens[id_] = token
        self._after = max(self._after, id_ + 1)

    def read(self, listed: list[dict[str, Any]], model: Any) -> None:
        """Add the tokens of a file, whose ids are ignored, as in tokenizers."""
        for given in listed:
            values.token_id("id", given["id"])
        self.add([AddedToken(**{name: given[name] for name in given if name != "id"}) for given in listed], model)

    def json(self) -> list[dict[str, Any]]:
        """Return the tokens as in a tokenizer.json, sorted by id."""
        return [{"id": id_, **self.tokens[id_].fields()} for id_ in sorted(self.tokens)]

    def text(self, style: Style) -> Part:
        """Return the JSON of `json`."""
        ids = sorted(self.tokens)
        tokens = [self.tokens[id_] for id_ in ids]
        contents = [token.content for token in tokens]
        return added_tokens(ids, contents, map(operator.attrgetter(*FLAGS), tokens), style)


def _of(token: Any, special: bool) -> AddedToken | None:
    """Return a str or an AddedToken, also that of the package tokenizers, as one of ours; None for other objects."""
    made = AddedToken(token) if isinstance(token, str) else token
    theirs = type(made).__name__ == "AddedToken" and all(hasattr(made, name) for name in ("content", *FLAGS))
    if not theirs and not isinstance(made, AddedToken):
        return None
    if special:  # before the flags are read, because it decides `normalized` where that was not given
        made.special = True
    if isinstance(made, AddedToken):
        return made
    return AddedToken(made.content, **{name: getattr(made, name) for name in FLAGS})


def tokens_of(name: str, given: Any, *, special: bool = False) -> list[AddedToken]:
    """Return a list of str and AddedToken as AddedTokens; with `special`, all are made special, in place."""
    if not isinstance(given, list):
        raise values.wrong_type(name, given, "a list")
    made = []
    for token in given:
        one = _of(token, special)
        if one is None:
            raise values.wrong_type(f"a token of {name}", token, "a str or an AddedToken")
        made.append(one)
    return made
