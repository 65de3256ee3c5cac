"""Turns the options `regex`, `schema`, `choices` and `grammar` of a generation into a constraint."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokkit import grammars
from tokkit.errors import OptionError

if TYPE_CHECKING:
    from tokkit.grammars import CompiledGrammar, Grammar, TokenSpellings
    from tokkit.tokenizer import Tokenizer

KEPT = 8
"""Number of compiled grammars that are kept with a model: the most recently used ones."""
KINDS: dict[str, Callable[[Any], Grammar]] = {
    "regex": lambda value: grammars.Regex(value),
    "schema": lambda value: grammars.JsonSchema(value),
    "choices": lambda value: grammars.Choice(value),
}


class Constraints:
    """Creates constraints from options for one tokenizer, and caches the compiled grammars."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._kept: dict[object, CompiledGrammar] = {}

    @cached_property
    def tokens(self) -> TokenSpellings:
        """The bytes of the tokens."""
        return grammars.TokenSpellings(self._tokenizer)

    def of(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return options in which a constraint replaces `regex`, `schema`, `choices` or `grammar`."""
        made = dict(options)
        asked = {name: made.pop(name) for name in (*KINDS, "grammar") if name in made}
        asked = {name: value for name, value in asked.items() if value is not None}
        if not asked:
            return made
        names = sorted([*asked, *(["constraint"] if made.get("constraint") is not None else [])])
        if len(names) > 1:
            raise OptionError(f"{' and '.join(names)} each set the form of the text; give only one of them")
        [(name, value)] = asked.items()
        made["constraint"] = self._compiled(name, value).start()
        return made

    def _compiled(self, name: str, value: Any) -> CompiledGrammar:
        if isinstance(value, grammars.CompiledGrammar):
            if value.tokens.inside != self.tokens.inside:
                raise OptionError(
                    "grammar was compiled for another tokenizer; compile it for the tokenizer of the model"
                )
            return value
        if name == "grammar" and not isinstance(value, grammars.Grammar):
            raise OptionError(f"grammar is {value!r}; it must be a grammar of tokkit.grammars, compiled or not")
        key: object = value
        if name == "choices":
            key = tuple(value)
        elif name == "schema" and not isinstance(value, str):
            key = json.dumps(value, default=repr)
        found = self._kept.pop((name, key), None)
        if found is None:
            grammar = value if name == "grammar" else KINDS[name](value)
            found = grammar.compile(self.tokens)
        self._kept[name, key] = found
        while len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return found
