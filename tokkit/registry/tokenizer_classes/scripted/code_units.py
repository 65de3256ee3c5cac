"""Models without a learned vocabulary: an id for each character, or for each byte that rules have rewritten."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokkit.decoders.base import Decoder
from tokkit.registry.tokenizer_classes.scripted.pieces import Encoder, Found, Tokens
from tokkit.vocab import Vocab

if TYPE_CHECKING:
    from tokkit._core.align import AlignedText

N_CHARACTERS = 0x110000


class CodePoints:
    """Model: the id of a character is its code point."""

    __slots__ = ()

    def encoder(self, vocab: Vocab, *, added_ids: Collection[int] = ()) -> Encoder:
        """Return the encoder."""
        return Encoder(_code_points)


def _code_points(pretoken: str) -> Tokens:
    return [(ord(character), 1) for character in pretoken]


def character_vocab() -> Vocab:
    """Return the vocabulary of all code points; surrogates, which no text has, are spelt as escapes."""
    before, surrogates, after = range(0xD800), range(0xD800, 0xE000), range(0xE000, N_CHARACTERS)
    escapes = "".join(f"\\u{code:04x}" for code in surrogates)
    lengths = np.full(N_CHARACTERS, 4)
    for end, n in ((0x10000, 3), (0x800, 2), (0x80, 1)):
        lengths[:end] = n
    lengths[0xD800:0xE000] = 6
    blob = "".join(map(chr, before)) + escapes + "".join(map(chr, after))
    return Vocab(blob.encode(), np.append(0, np.cumsum(lengths)))


# ---- bytes that are rewritten


Rules = Mapping[tuple[str, ...], tuple[str, ...]]
"""Bytes, each as two hexadecimal digits → the bytes that replace them."""


def rewritten(symbols: list[str], rules: Rules, longest: int) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield (number of symbols, what replaces them), the longest rule at each position first; others stay."""
    at = 0
    while at < len(symbols):
        for n in range(min(longest, len(symbols) - at), 0, -1):
            new = rules.get(tuple(symbols[at : at + n]))
            if new is not None or n == 1:
                yield n, (symbols[at],) if new is None else new
                at += n
                break


def _longest(rules: Rules) -> int:
    return max(map(len, rules), default=1)


@dataclass(frozen=True, slots=True)
class RewrittenBytes:
    """Model: the bytes of a text are rewritten by `decomposed`, then by `merged`; the id is the value plus 3."""

    decomposed: Rules
    merged: Rules

    def encoder(self, vocab: Vocab, *, added_ids: Collection[int] = ()) -> _RewritingEncoder:
        """Return the encoder."""
        return _RewritingEncoder(self)


class _RewritingEncoder:
    def __init__(self, model: RewrittenBytes) -> None:
        self._passes = [(rules, _longest(rules)) for rules in (model.decomposed, model.merged)]

    def encode(self, text: AlignedText) -> Found:
        """Return (ids, spans, words) of a text that no stage has changed."""
        utf8 = text.utf8
        ids: list[int] = []
        spans: list[tuple[int, int]] = []
        words: list[int] = []
        for number, ((start, end), added) in enumerate(zip(text.bounds.tolist(), text.ids, strict=True)):
            made = [(added, start, end)] if added is not None else self._bytes(utf8[start:end], start)
            for id_, first, last in made:
                ids.append(id_)
                spans.append((first, last))
                words.append(number)
        places = np.array(spans, dtype=np.int64).reshape(-1, 2)
        return np.array(ids, dtype=np.uint32), places, np.array(words, dtype=np.int32)

    def _bytes(self, part: bytes, start: int) -> Iterator[tuple[int, int, int]]:
        symbols = [f"{byte:02x}" for byte in part]
        places = [(i, i + 1) for i in range(start, start + len(part))]
        for rules, longest in self._passes:
            made: list[str] = []
            at_each: list[tuple[int, int]] = []
            at = 0
            for n, new in rewritten(symbols, rules, longest):
                made += new
                at_each += [(places[at][0], places[at + n - 1][1])] * len(new)
                at += n
            symbols, places = made, at_each
        for symbol, (first, last) in zip(symbols, places, strict=True):
            yield int(symbol, 16) + 3, first, last


@dataclass(frozen=True, slots=True)
class RewrittenBytesDecoder(Decoder):
    """Undoes the rules of `RewrittenBytes`, and leaves invalid UTF-8 out of the text."""

    split: Rules
    composed: Rules

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the text as one token."""
        symbols = list(tokens)
        for rules in (self.split, self.composed):
            symbols = [symbol for _, new in rewritten(symbols, rules, _longest(rules)) for symbol in new]
        parts = (bytes.fromhex(symbol) if _is_byte(symbol) else symbol.encode() for symbol in symbols)
        return [b"".join(parts).decode("utf-8", "ignore")]


def _is_byte(symbol: str) -> bool:
    return len(symbol) == 2 and all(digit in "0123456789abcdef" for digit in symbol)
