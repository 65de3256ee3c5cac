"""`Grammar`, the form that a text must have, and two of its kinds: `Regex` and `Choice`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tokkit.errors import GrammarError
from tokkit.grammars.nodes import Rules, Texts
from tokkit.grammars.regular import regular

if TYPE_CHECKING:
    from tokkit.grammars.compiled import CompiledGrammar
    from tokkit.grammars.tokens import TokenSpellings
    from tokkit.tokenizer import Tokenizer


class Grammar(ABC):
    """The form that a text must have. Compile it for a tokenizer to use it."""

    @abstractmethod
    def rules(self) -> Rules:
        """Return the grammar's rules."""

    def compile(self, tokens: Tokenizer | TokenSpellings) -> CompiledGrammar:
        """Return the grammar over the tokens of a tokenizer, or of its `TokenSpellings`, which are made once for many.

        GrammarError if no text satisfies the grammar, or none that the vocabulary can spell.
        """
        from tokkit.grammars.compiled import CompiledGrammar
        from tokkit.grammars.tokens import TokenSpellings

        return CompiledGrammar(self.rules(), tokens if isinstance(tokens, TokenSpellings) else TokenSpellings(tokens))


class Regex(Grammar):
    r"""Text that a regular expression matches as a whole.

    The syntax is that of the `regex` package, so far as it is regular: no look-around, back-references or word
    boundaries; `^` and `$` are the ends of the text. GrammarError names what is not supported.

    >>> Regex(r"[a-z]+@[a-z]+\.(com|org)")
    Regex('[a-z]+@[a-z]+\\.(com|org)')
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._node = regular(pattern)

    def rules(self) -> Rules:
        """Return the grammar's rules."""
        return Rules({"": self._node}, "", {"": f"the pattern {self.pattern!r}"})

    def __repr__(self) -> str:
        return f"Regex({self.pattern!r})"


class Choice(Grammar):
    """One of several given texts.

    >>> Choice(["yes", "no"])
    Choice(['yes', 'no'])
    """

    def __init__(self, choices: Sequence[str]) -> None:
        if isinstance(choices, str) or not choices or not all(isinstance(each, str) and each for each in choices):
            raise GrammarError(f"choices is {choices!r}; it must contain at least one str, and no empty one")
        self.choices = list(choices)

    def rules(self) -> Rules:
        """Return the grammar's rules."""
        return Rules({"": Texts(tuple(self.choices))}, "", {"": "the choices"})

    def __repr__(self) -> str:
        return f"Choice({self.choices!r})"
