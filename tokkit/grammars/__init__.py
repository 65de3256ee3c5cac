"""Grammars: regular expressions, JSON schemas and choices → the tokens that may come next in a text.

Begin with grammar.py, what a user makes, and compiled.py, what follows a text. network.py makes automata of rules, and
_core/csrc/grammars runs them along the bytes of all tokens.
"""

from typing import TYPE_CHECKING

from tokkit import lazy

if TYPE_CHECKING:
    from tokkit.grammars.compiled import CompiledGrammar as CompiledGrammar
    from tokkit.grammars.compiled import GrammarConstraint as GrammarConstraint
    from tokkit.grammars.grammar import Choice as Choice
    from tokkit.grammars.grammar import Grammar as Grammar
    from tokkit.grammars.grammar import Regex as Regex
    from tokkit.grammars.json_schema import Json as Json
    from tokkit.grammars.json_schema import JsonSchema as JsonSchema
    from tokkit.grammars.tokens import TokenSpellings as TokenSpellings

_MODULES = {
    "Choice": "tokkit.grammars.grammar",
    "CompiledGrammar": "tokkit.grammars.compiled",
    "Grammar": "tokkit.grammars.grammar",
    "GrammarConstraint": "tokkit.grammars.compiled",
    "Json": "tokkit.grammars.json_schema",
    "JsonSchema": "tokkit.grammars.json_schema",
    "Regex": "tokkit.grammars.grammar",
    "TokenSpellings": "tokkit.grammars.tokens",
}
__all__ = sorted(_MODULES)
__getattr__ = lazy.names(__name__, _MODULES)
__dir__ = __all__.copy
