"""GPT-NeoX Japanese: marks for spaces and emoji, then words of up to three characters with the lowest id."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokkit.registry.tokenizer_classes.scripted.edits import edit, normalized, replaced
from tokkit.registry.tokenizer_classes.scripted.pieces import Encoder, Tokens, no_token

if TYPE_CHECKING:
    from tokkit._core.align import AlignedText
    from tokkit.vocab import Vocab

_MARKS = {
    **dict.fromkeys((" ", "\u3000"), "<SP>"), **dict.fromkeys(("\r\n", "\n", "\r"), "<BR>"), "\t": "<TAB>",
    **dict.fromkeys(("\u2014", "\u2212"), "\u30fc"),
}  # fmt: skip
_MARKED = re.compile("\r\n|[ \u3000\n\r\t\u2014\u2212]")
_SYMBOLS = ((0xA1, 0xBF), (0x1C0, 0x1C3), (0x2B9, 0x362))
"""Ranges of characters that are "<KIGOU>"."""


@dataclass(frozen=True, slots=True)
class Marked:
    """Normalizer: marks for white space, dashes as long vowels, and the names of emoji, in their order."""

    emoji: Mapping[str, str]

    def normalize(self, text: AlignedText) -> None:
        """Change each part of the text that is not an added token."""
        edit(text, lambda part: replaced(part, _MARKED, lambda match: _MARKS[match.group()]))
        for emoji, name in self.emoji.items():
            if emoji and any(emoji in part for part in text.pieces):
                pattern = re.compile(re.escape(emoji))
                edit(text, lambda part: replaced(part, pattern, lambda match: name))  # noqa: B023


@dataclass(frozen=True, slots=True, eq=False)
class ShortWords:
    """Model: at each position, of the words of up to three characters that `ids` has, the one with the lowest id.

    A word in angle brackets may be longer, and comes first. Other characters are a mark for symbols, or bytes.
    """

    ids: Mapping[str, int]
    unk_token: str

    def encoder(self, vocab: Vocab, *, added_ids: Collection[int] = ()) -> Encoder:
        """Return the encoder."""
        hidden = frozenset(added_ids)
        ids = {word: id_ for word, id_ in self.ids.items() if id_ not in hidden and word}
        unknown, longest = ids.get(self.unk_token), max(map(len, ids), default=0)

        def tokens(part: str) -> Tokens:
            at = 0
            while at < len(part):
                end = min(len(part), at + (longest + 1 if part[at] == "<" else 3))
                found = _word(ids, part, at, end)
                if found is not None:
                    yield ids[found], len(found)
                    at += len(found)
                    continue
                names = list(_spelt(part[at]))
                for i, name in enumerate(names):
                    id_ = ids.get(name, unknown)
                    if id_ is None:
                        raise no_token(name)
                    yield id_, int(i == len(names) - 1)
                at += 1

        return Encoder(tokens)


def _word(ids: Mapping[str, int], part: str, at: int, end: int) -> str | None:
    found: str | None = None
    for stop in range(end, at, -1):
        word = part[at:stop]
        if word in ids:
            if word[0] == "<" and len(word) > 2:
                return word
            if found is None or ids[word] < ids[found]:
                found = word
    return found


def _spelt(character: str) -> Iterator[str]:
    """Yield the names of the tokens of a character that is in no word."""
    code = ord(character)
    if any(first <= code <= last for first, last in _SYMBOLS):
        yield "<KIGOU>"
    elif 0x2000 <= code <= 0x2BFF:
        yield "<U2000U2BFF>"
    else:
        yield from (f"<|byte{byte}|>" for byte in character.encode())


def decoded(word: str, emoji: Mapping[str, str]) -> str:
    """Return the text that a word of the vocabulary stands for; a byte above 127 alone is invalid."""
    if word.startswith("<|byte") and word.endswith("|>"):
        return bytes([int(word[6:-2])]).decode("utf-8", "replace")
    if word.startswith("<|emoji") and word.endswith("|>"):
        return emoji[word]
    signs = {
        "<SP>": " ",
        "<BR>": "\n",
        "<TAB>": "\t",
        "<BLOCK>": "\u2580",
        "<KIGOU>": "\u01c0",
        "<U2000U2BFF>": "\u2016",
    }
    return signs.get(word, word)


@dataclass(frozen=True, slots=True)
class Compatible:
    """Normalizer: NFKC, as Python's unicodedata does it."""

    def normalize(self, text: AlignedText) -> None:
        """Change each part of the text that is not an added token."""
        edit(text, lambda part: normalized(part, "NFKC"))
