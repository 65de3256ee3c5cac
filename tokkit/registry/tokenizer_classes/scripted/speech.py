"""Texts and tokens of speech models: characters with a word delimiter, phones, blanks between characters."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from tokkit.decoders.base import Decoder
from tokkit.registry.tokenizer_classes.scripted.edits import Edit, edit, whole
from tokkit.registry.tokenizer_classes.scripted.other_programs import romanized
from tokkit.registry.tokenizer_classes.scripted.pieces import Encoder, Tokens, no_token, own_ids

if TYPE_CHECKING:
    from tokkit._core.align import AlignedText
    from tokkit.vocab import Vocab


@dataclass(frozen=True, slots=True)
class Delimited:
    """Normalizer: the delimiter of words instead of spaces, and capitals with `uppercase`."""

    delimiter: str
    uppercase: bool = False

    def normalize(self, text: AlignedText) -> None:
        """Change each part of the text that is not an added token."""
        edit(text, self._edits)

    def _edits(self, part: str) -> list[Edit] | None:
        made = [(1, self._of(character)) for character in part]
        return None if "".join(new for _, new in made) == part else made

    def _of(self, character: str) -> str:
        if character == " ":
            return self.delimiter
        return character.upper() if self.uppercase else character


@dataclass(frozen=True, slots=True)
class Phones:
    """Pretokenizer: what spaces separate, except white space, after the white space at both ends is removed."""

    def pretokenize(self, text: AlignedText) -> None:
        """Split each part of the text that is not an added token."""
        text.cut(_phones)


def _phones(part: str) -> Iterator[tuple[int, int]]:
    start, end = len(part) - len(part.lstrip()), len(part.rstrip())
    for match in _NOT_SPACE.finditer(part, start, max(start, end)):
        if match.group().strip():
            yield match.span()


_NOT_SPACE = re.compile("[^ ]+")


@dataclass(frozen=True, slots=True)
class Grouped(Decoder):
    """Keeps one of each run of equal tokens, leaves out `left_out`, joins with `between` and strips white space.

    The token `delimiter` becomes `space`; with `lowercase`, the text is in lower case.
    """

    left_out: frozenset[str]
    between: str = ""
    delimiter: str | None = None
    space: str = " "
    lowercase: bool = False

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the text as one token."""
        kept = [token for token, _ in groupby(tokens) if token not in self.left_out]
        text = self.between.join(self.space if token == self.delimiter else token for token in kept).strip()
        return [text.lower() if self.lowercase else text]


@dataclass(frozen=True, slots=True)
class SpokenText:
    """Normalizer of VITS: lower case but for `words`, then only the characters of the vocabulary, without outer space.

    `words` are compared in their order at each position. `characters` are None if nothing is left out. With
    `romanizes`, a text with other characters than ASCII is romanized before characters are left out.
    """

    words: tuple[str, ...]
    characters: frozenset[str] | None
    is_romanian: bool = False
    romanizes: bool = False

    def normalize(self, text: AlignedText) -> None:
        """Change each part of the text that is not an added token."""
        if self.characters is not None:
            edit(text, self._lowered)
        if self.is_romanian:
            edit(text, lambda part: ((1, "\u0163" if character == "\u021b" else character) for character in part))
        if self.romanizes:
            edit(text, lambda part: None if part.isascii() else whole(part, romanized(part)))
        if self.characters is not None:
            edit(text, self._kept)

    def _lowered(self, part: str) -> Iterator[Edit]:
        at = 0
        while at < len(part):
            word = next((word for word in self.words if part.startswith(word, at)), None)
            if word:
                yield from ((1, character) for character in word)
                at += len(word)
            else:
                yield 1, part[at].lower()
                at += 1

    def _kept(self, part: str) -> Iterator[Edit]:
        kept = [character if character in (self.characters or ()) else "" for character in part]
        text = "".join(kept)
        lead, n = len(text) - len(text.lstrip()), len(text.strip())
        at = 0
        for character in kept:
            yield 1, character if lead <= at < lead + n else ""
            at += len(character)


@dataclass(frozen=True, slots=True)
class Blanks:
    """Model: each character is a token; with `blank`, that token is before each character and after the last."""

    unk_token: str
    blank: str | None

    def encoder(self, vocab: Vocab, *, added_ids: Collection[int] = ()) -> Encoder:
        """Return the encoder."""
        ids, unknown = own_ids(vocab, added_ids), vocab.get(self.unk_token)
        blank = None if self.blank is None else vocab[self.blank]

        def tokens(part: str) -> Tokens:
            for character in part:
                id_ = ids.get(character, unknown)
                if id_ is None:
                    raise no_token(character)
                if blank is not None:
                    yield blank, 0
                yield id_, 1
            if blank is not None:
                yield blank, 0

        return Encoder(tokens)


class BetweenBlanks(Decoder):
    """Joins every other token, from the second; a single token stays."""

    __slots__ = ()

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the text as one token."""
        found = list(tokens)
        return ["".join(found[1::2] if len(found) > 1 else found)]
