"""BPE over the characters of words, whose last symbol ends with "</w>" in the merges, and the splits before it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from tokkit.byte_symbols import to_symbols
from tokkit.decoders.base import Decoder
from tokkit.decoders.byte_level import bytes_of
from tokkit.registry.tokenizer_classes.scripted.edits import edit, replaced, whole
from tokkit.registry.tokenizer_classes.scripted.pieces import Encoder, Tokens, no_token, own_ids

if TYPE_CHECKING:
    from tokkit._core.align import AlignedText
    from tokkit.vocab import Vocab

END = "</w>"
WHITE = "[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
"""White space of the `regex` package; that of Python's `re` has U+001C to U+001F too."""
WORDS = r"\S+\n?"
WORDS_OF_REGEX = f"[^{WHITE[1:-1]}]+\n?"


def merged(symbols: list[str], ranks: Mapping[tuple[str, ...], int]) -> list[str]:
    """Return symbols after all merges: the pair of the lowest rank first, at all its places."""
    while len(symbols) > 1:
        pairs = set(pairwise(symbols))
        found = min((pair for pair in pairs if pair in ranks), key=ranks.__getitem__, default=None)
        if found is None:
            break
        made: list[str] = []
        at = 0
        while at < len(symbols):
            fits = symbols[at] == found[0] and at + 1 < len(symbols) and symbols[at + 1] == found[1]
            made.append("".join(found) if fits else symbols[at])
            at += 1 + fits
        symbols = made
    return symbols


@dataclass(frozen=True, slots=True, eq=False)
class WordBPE:
    """Model: the symbols of a word after all merges; all tokens but the last end with `continuing`.

    `ranks` are pairs with their order. A symbol that is not in the vocabulary is the unknown token. With `keeps_end`,
    the last token ends with "</w>".
    """

    ranks: Mapping[tuple[str, ...], int]
    unk_token: str
    continuing: str = "@@"
    keeps_end: bool = False

    def encoder(self, vocab: Vocab, *, added_ids: Collection[int] = ()) -> Encoder:
        """Return the encoder; VocabError, when it encodes, for an unknown symbol if there is no unknown token."""
        ids = own_ids(vocab, added_ids)
        unknown = ids.get(self.unk_token)

        def tokens(word: str) -> Tokens:
            symbols = merged([*word[:-1], word[-1] + END], self.ranks)
            symbols[-1] = symbols[-1][: -len(END)]
            last = len(symbols) - 1
            for i, symbol in enumerate(symbols):
                name = symbol + (self.continuing if i < last else END if self.keeps_end else "")
                id_ = ids.get(name, unknown)
                if id_ is None:
                    raise no_token(symbol)
                yield id_, len(symbol)

        return Encoder(tokens)


@dataclass(frozen=True, slots=True, eq=False)
class SymbolBPE:
    """Model: the byte symbols of an ASCII word after all merges; the symbol of a space alone is the token `space`."""

    ranks: Mapping[tuple[str, ...], int]
    unk_token: str
    space: str

    def encoder(self, vocab: Vocab, *, added_ids: Collection[int] = ()) -> Encoder:
        """Return the encoder; VocabError, when it encodes, for an unknown symbol if there is no unknown token."""
        ids = own_ids(vocab, added_ids)
        unknown = ids.get(self.unk_token)

        def tokens(word: str) -> Tokens:
            for symbol in merged(list(to_symbols(word.encode())), self.ranks):
                id_ = ids.get(self.space) if symbol == _SPACE else None
                id_ = ids.get(symbol, unknown) if id_ is None else id_
                if id_ is None:
                    raise no_token(symbol)
                yield id_, len(symbol)

        return Encoder(tokens)


_SPACE = to_symbols(b" ")


@dataclass(frozen=True, slots=True)
class SymbolBytes(Decoder):
    """Turns byte symbols into bytes, and the bytes into text; `errors` says what becomes of invalid UTF-8."""

    errors: str

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the text as one token."""
        return [bytes_of("".join(tokens)).decode("utf-8", self.errors)]


@dataclass(frozen=True, slots=True)
class ChatWords:
    """Pretokenizer of Blenderbot's small model: lower-case words, apart from punctuation, and line ends as a word."""

    newline: str = "__newln__"

    def pretokenize(self, text: AlignedText) -> None:
        """Split each part of the text that is not an added token."""
        text.cut(lambda part: [match.span() for match in _CHAT_WORD.finditer(part)])
        edit(text, lambda word: replaced(word, _PUNCTUATION, lambda match: f" {match.group()}"))
        edit(text, lambda word: replaced(word, _APOSTROPHE, lambda match: " ' "))
        edit(text, lambda word: replaced(word, _SPACES, lambda match: " "))
        edit(text, lambda word: replaced(word, _NEWLINE, lambda match: f" {self.newline}"))
        text.cut(lambda word: [match.span() for match in _NOT_SPACE.finditer(word)])
        edit(text, lambda word: whole(word, word.lower()))


_CHAT_WORD = re.compile(WORDS_OF_REGEX)
_PUNCTUATION, _APOSTROPHE = re.compile(r"[.,!?()]"), re.compile("'")
_SPACES, _NEWLINE, _NOT_SPACE = re.compile(WHITE + "{2,}"), re.compile("\n"), re.compile("[^ ]+")


@dataclass(frozen=True, slots=True)
class TokensAndWords:
    """Pretokenizer: each of `tokens` is a pretoken, the longest first, and so is each word between them."""

    tokens: tuple[str, ...]

    def pretokenize(self, text: AlignedText) -> None:
        """Split each part of the text that is not an added token."""
        find = re.compile("|".join(map(re.escape, sorted(self.tokens, key=len, reverse=True)))).finditer
        text.cut(lambda part: list(_between(part, find(part) if self.tokens else ())))


def _between(part: str, matches: object) -> Iterator[tuple[int, int]]:
    at = 0
    for match in matches:  # type: ignore[attr-defined]
        yield from _words(part, at, match.start())
        yield from _words(part, *match.span())
        at = match.end()
    yield from _words(part, at, len(part))


def _words(part: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    return (match.span() for match in _WORD.finditer(part, start, end))


_WORD = re.compile(r"\S+")
