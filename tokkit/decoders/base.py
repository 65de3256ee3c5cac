"""The base class of all decoders."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable

from tokkit import limits
from tokkit.errors import OptionError

_MARK = "\0"


class Decoder(abc.ABC):
    """Turns the tokens of one sequence into text. Immutable; its fields are those of tokenizer.json."""

    __slots__ = ()

    @abc.abstractmethod
    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the tokens for the next decoder of a sequence."""

    def decode(self, tokens: Iterable[str]) -> str:
        """Return the text of the tokens."""
        return "".join(self.decode_chain(tokens))


def change_each(tokens: Iterable[str], change: Callable[[str], str]) -> list[str]:
    """Apply `change` to all tokens in one call, joined by NUL; it must not change or make NUL, or match across it.

    One call for the list costs much less than one call per token.
    """
    tokens = tokens if isinstance(tokens, list) else list(tokens)
    joined = _MARK.join(tokens)
    if not tokens or joined.count(_MARK) != len(tokens) - 1:
        return [change(token) for token in tokens]
    return change(joined).split(_MARK)


def replace_each(tokens: Iterable[str], old: str, new: str) -> list[str]:
    """Replace each occurrence of `old` within a token."""
    tokens = tokens if isinstance(tokens, list) else list(tokens)
    if len(new) > len(old):
        check_replaced("".join(tokens), old, new)
    if _MARK in old or _MARK in new:
        return [token.replace(old, new) for token in tokens]
    return change_each(tokens, lambda text: text.replace(old, new))


def check_replaced(text: str, old: str, new: str) -> None:
    """Raise CorpusError if replacing makes a text longer than the limit grown_bytes allows."""
    if len(new) > 1:
        limits.check_grown(len(text) + text.count(old) * (len(new) - len(old)), len(text), "the decoder Replace")


def check_text(name: str, value: object) -> None:
    """Raise OptionError if a field is not text."""
    if not isinstance(value, str):
        raise OptionError(f"{name} is {value!r}; it must be text")


def check_character(name: str, value: object) -> None:
    """Raise OptionError if a field is not one character."""
    if not isinstance(value, str) or len(value) != 1:
        raise OptionError(f"{name} is {value!r}; it must be one character")
