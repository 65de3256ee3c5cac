"""Words of other programs: MeCab by fugashi, Moses by sacremoses, jieba by rjieba; and romanized texts of uroman."""

from __future__ import annotations

import functools
import importlib
import os
import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokkit.decoders.base import Decoder
from tokkit.errors import OptionError
from tokkit.registry.tokenizer_classes.scripted.edits import Edit, edit, normalized, whole

if TYPE_CHECKING:
    from tokkit._core.align import AlignedText

_LOCK = threading.Lock()
_NOT_SPACE = re.compile("[^ ]+")
MAX_SKIPPED = 16
"""Number of characters after which a word of a program is no longer looked for in the text."""


def module(name: str, package: str = "") -> Any:
    """Return an imported module; OptionError, which says what to install, if it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = package or name
        raise OptionError(f"this class needs {package}; install it: pip install {package}") from None


# ---- MeCab


@dataclass(frozen=True, slots=True, kw_only=True)
class MecabWords:
    """Pretokenizer: the words of MeCab with a dictionary ("ipadic", "unidic_lite", "unidic", None), after NFKC."""

    dictionary: str | None = "unidic_lite"
    option: str = ""
    normalizes: bool = True
    lowercase: bool = False
    never_split: frozenset[str] = frozenset()

    def pretokenize(self, text: AlignedText) -> None:
        """Split each part of the text that is not an added token."""
        if self.normalizes:
            edit(text, lambda part: normalized(part, "NFKC"))
        tagger = mecab(self.dictionary, self.option)
        with _LOCK:
            text.cut(lambda part: list(_found(part, [word.surface for word in tagger(part)])))
        if self.lowercase:
            edit(text, lambda word: whole(word, word if word in self.never_split else word.lower()))


@functools.cache
def mecab(dictionary: str | None, option: str) -> Any:
    """Return MeCab with a dictionary; OptionError if fugashi or the dictionary is missing."""
    fugashi = module("fugashi")
    if dictionary is None:
        return fugashi.GenericTagger(option)
    if dictionary not in ("ipadic", "unidic_lite", "unidic"):
        raise OptionError(f"mecab_dic is {dictionary!r}; it must be 'ipadic', 'unidic_lite', 'unidic' or None")
    folder = module(dictionary, dictionary.replace("_", "-")).DICDIR
    return fugashi.GenericTagger(f'-d "{folder}" -r "{os.path.join(folder, "mecabrc")}" {option}')


def _found(part: str, words: Iterable[str]) -> Iterator[tuple[int, int]]:
    at = 0
    for word in words:
        start = part.find(word, at) if word else -1
        if start >= 0:
            at = start + len(word)
            yield start, at


# ---- jieba


@dataclass(frozen=True, slots=True)
class JiebaWords:
    """Pretokenizer: the words of jieba, and each of `tokens` as a word before that."""

    tokens: tuple[str, ...] = ()

    def pretokenize(self, text: AlignedText) -> None:
        """Split each part of the text that is not an added token."""
        jieba = module("rjieba")
        if self.tokens:
            pattern = re.compile("|".join(map(re.escape, self.tokens)))
            text.cut(lambda part: list(_with_gaps(part, pattern)))
        kept = frozenset(self.tokens)
        text.cut(lambda part: [(0, len(part))] if part in kept else list(_found(part, jieba.cut(part, False))))


def _with_gaps(part: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    at = 0
    for match in pattern.finditer(part):
        if at < match.start():
            yield at, match.start()
        yield match.span()
        at = match.end()
    if at < len(part):
        yield at, len(part)


# ---- uroman


@functools.cache
def uroman() -> Any:
    """Return the romanizer of uroman; OptionError if it is missing."""
    return module("uroman").Uroman()


def romanized(text: str) -> str:
    """Return a text in Latin letters."""
    with _LOCK:
        return str(uroman().romanize_string(text))


# ---- Moses


@functools.cache
def _moses(kind: str, language: str) -> Any:
    return getattr(module("sacremoses"), kind)(lang=language)


@dataclass(frozen=True, slots=True, kw_only=True)
class MosesWords:
    """Pretokenizer: the words of Moses for a language.

    `quotes` replaces ASCII quotes of two characters and applies NFC, `lowercase` comes next, then `cleans` replaces
    East Asian punctuation, normalizes punctuation and removes characters that are not printed. `escapes` writes markup
    characters as entities, and `splits_dashes` splits at dashes. `plain` makes words lower case without accents.
    """

    language: str
    quotes: bool = False
    lowercase: bool = False
    cleans: bool = True
    escapes: bool = False
    splits_dashes: bool = False
    plain: bool = False

    def pretokenize(self, text: AlignedText) -> None:
        """Split each part of the text that is not an added token."""
        edit(text, lambda part: _spread(part, self._words(part)))
        text.cut(lambda part: [match.span() for match in _NOT_SPACE.finditer(part)])

    def _words(self, part: str) -> list[str]:
        if self.quotes:
            part = unicodedata.normalize("NFC", part.replace("``", '"').replace("''", '"'))
        if self.lowercase:
            part = part.lower()
        if self.cleans:
            part = _moses("MosesPunctNormalizer", self.language).normalize(_ascii_punctuation(part))
            part = "".join(character for character in part if not unicodedata.category(character).startswith("C"))
        words: list[str] = _moses("MosesTokenizer", self.language).tokenize(
            part, aggressive_dash_splits=self.splits_dashes, return_str=False, escape=self.escapes
        )
        if self.plain:
            bare = unicodedata.normalize("NFD", " ".join(words).lower())
            kept = "".join(character for character in bare if unicodedata.category(character) != "Mn")
            words = kept.lower().split(" ")
        return [word for word in words if word]


_PUNCTUATION: dict[str, str | int | None] = {
    **dict(zip("，、：∶？！（）；～％━【】〈〉《》「」“”’", ",,::?!();~%-[]<>" + '"' * 6 + "'", strict=True)),
    **{chr(0xFF10 + digit): str(digit) for digit in range(10)},
    "…": "...",
}
_STOP = re.compile(r"[。．]\s*")


def _ascii_punctuation(text: str) -> str:
    return _STOP.sub(". ", text).translate(str.maketrans(_PUNCTUATION))


def _spread(part: str, words: list[str]) -> Iterator[Edit]:
    """Yield the edits from a part to words with spaces between them; words that stay are aligned with themselves."""
    at = 0
    for i, word in enumerate(words):
        space = " " if i else ""
        start = part.find(word, at, at + len(word) + MAX_SKIPPED)
        if start < 0:
            yield 0, space + word
            continue
        yield start - at, space
        yield from ((1, character) for character in word)
        at = start + len(word)
    yield len(part) - at, ""


@dataclass(frozen=True, slots=True)
class MosesText(Decoder):
    """Joins tokens to words, which end with "</w>", and words to a text as Moses does for a language.

    `renamed` are tokens that stand for others.
    """

    language: str
    renamed: Mapping[str, str] = field(default_factory=dict)

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the text as one token."""
        named = (self.renamed.get(token, token) for token in tokens)
        words = "".join(token.replace(" ", "").replace("</w>", " ") for token in named).split()
        return [_moses("MosesDetokenizer", self.language).detokenize(words)]
