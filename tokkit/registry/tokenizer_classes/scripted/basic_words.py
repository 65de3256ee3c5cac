"""BERT's words as the classes in Python make them: clean text, Chinese characters, case, accents, punctuation."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokkit.registry.tokenizer_classes.scripted.edits import Edit, edit, normalized, segments, whole, words_of

if TYPE_CHECKING:
    from tokkit._core.align import AlignedText

_CHINESE = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F)),
    *((0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)


def is_chinese(character: str) -> bool:
    """Return whether a character is in one of the blocks of Chinese characters that BERT sets apart."""
    return any(first <= ord(character) <= last for first, last in _CHINESE)


def is_punctuation(character: str) -> bool:
    """Return whether a character is punctuation: also all ASCII characters that are not letters, digits or spaces."""
    if character.isascii():
        return "!" <= character <= "~" and not character.isalnum()
    return unicodedata.category(character).startswith("P")


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicWords:
    """Pretokenizer: cleans a text and splits it into words and punctuation marks.

    `strip_accents=None` strips accents if `lowercase` is set. Words in `never_split` stay as they are.
    """

    lowercase: bool = True
    chinese: bool = True
    strip_accents: bool | None = None
    never_split: frozenset[str] = frozenset()

    def pretokenize(self, text: AlignedText) -> None:
        """Split each part of the text that is not an added token."""
        edit(text, self._cleaned)
        edit(text, lambda part: normalized(part, "NFC"))
        text.cut(words_of)
        if self.lowercase:
            edit(text, lambda word: whole(word, word if word in self.never_split else word.lower()))
        if self.strip_accents or (self.strip_accents is None and self.lowercase):
            edit(text, lambda word: None if word in self.never_split else _without_accents(word))
        text.cut(self._at_punctuation)

    def _cleaned(self, part: str) -> list[Edit] | None:
        made = [(1, _clean(character, self.chinese)) for character in part]
        return None if "".join(new for _, new in made) == part else made

    def _at_punctuation(self, word: str) -> Iterator[tuple[int, int]]:
        if word.isalnum() or word in self.never_split:
            yield 0, len(word)
            return
        start = 0
        for i, character in enumerate(word):
            if is_punctuation(character):
                if start < i:
                    yield start, i
                yield i, i + 1
                start = i + 1
        if start < len(word):
            yield start, len(word)


@dataclass(frozen=True, slots=True)
class EmptyTexts:
    """Normalizer of TAPAS: a part without letters or digits, or one like "n/a", becomes the token of empty texts."""

    token: str

    def normalize(self, text: AlignedText) -> None:
        """Replace such parts."""
        edit(text, lambda part: whole(part, self.token if _is_empty(part) else part))


def _is_empty(part: str) -> bool:
    text = part.lower().strip()
    return text in ("n/a", "?", "nan") or not any(character.isalnum() for character in text)


def _without_accents(word: str) -> list[Edit] | None:
    if word.isascii():
        return None
    made = [(n_old, "".join(filter(_is_kept, new))) for n_old, new in segments(word, "NFD")]
    return None if "".join(new for _, new in made) == word else made


def _is_kept(character: str) -> bool:
    return unicodedata.category(character) != "Mn"


@functools.lru_cache(1 << 16)
def _clean(character: str, chinese: bool) -> str:
    """Return what becomes of a character: a space, nothing, or itself, set apart if it is Chinese."""
    category = unicodedata.category(character)
    if character in " \t\n\r" or category == "Zs":
        return " "
    if character in "\0\ufffd" or category.startswith("C"):
        return ""
    return f" {character} " if chinese and is_chinese(character) else character
