"""Trains tokenizers of whole words, and of single characters or bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tokkit._core.train.word_counts import WordCounts
from tokkit.corpus.readers import Unit
from tokkit.decoders.fuse import Fuse
from tokkit.definition import Definition, Split
from tokkit.errors import OptionError
from tokkit.models.bpe import BPE
from tokkit.models.wordlevel import WordLevel
from tokkit.normalizers.lowercase import Lowercase
from tokkit.pretokenizers import patterns
from tokkit.pretokenizers.bert import Bert
from tokkit.pretokenizers.fixed_length import FixedLength
from tokkit.pretokenizers.split import Split as SplitComponent
from tokkit.pretokenizers.whitespace_split import WhitespaceSplit
from tokkit.trainers.bpe import ALPHABET, check_special_tokens
from tokkit.trainers.counts import Counter, Reporter, by_components, by_words
from tokkit.trainers.options import checked_list, choice, flag, integer, text, with_unknown
from tokkit.trainers.special_texts import WithBoundaries, WithForbidden, cut_at
from tokkit.trainers.word_cuts import between_characters
from tokkit.vocab import MAX_ID, Vocab

SPLITS: dict[str, Any] = {"punctuation": Bert, "whitespace": WhitespaceSplit}
"""Names for `pattern`: splitting at white space and punctuation characters, or only at white space."""


def most_frequent(
    counts: WordCounts,
    special_tokens: Sequence[str],
    size: int,
    minimum: int,
    allows: Callable[[bytes], bool] = lambda word: True,
) -> Vocab:
    """Return the special tokens and the most frequent words, `size` in all; ties go to the smaller text."""
    tokens = [token.encode() for token in special_tokens]
    special = set(tokens)
    # Items are sorted by their bytes, which is the order of code points; stable sorting keeps it among equal counts.
    by_count = sorted(counts.items(), key=lambda item: -item[1])
    words = [word for word, count in by_count if count >= minimum and word not in special and allows(word)]
    return Vocab.from_list(tokens + words[: size - len(tokens)])


def check_sizes(sizes: Sequence[int], given: object, n_special: int) -> None:
    """Raise OptionError for sizes without room for a word, or above the maximum."""
    if not sizes or min(sizes) <= n_special or max(sizes) > MAX_ID + 1:
        raise OptionError(
            f"vocab_size is {given}; it must be at least {n_special + 1}, for {n_special} special tokens and one more, "
            f"and at most {MAX_ID + 1}"
        )


@dataclass(frozen=True, kw_only=True)
class WordTraining(WithBoundaries, WithForbidden):
    """The options of a vocabulary of words.

    `pattern` is "punctuation" (splits at white space, and each punctuation character is a word), "whitespace", or a
    pattern that matches the words; decoding joins words with spaces. The published patterns (gpt2, cl100k, …) match all
    text, so words are joined without spaces. Ids: special tokens, then the most frequent words with a count of at least
    `min_frequency`; ties go to the smaller text, as in tokenizers' WordLevelTrainer.

    `WithBoundaries` has `special`, and `WithForbidden` has `forbidden_tokens`.
    """

    pattern: str | None = "punctuation"
    special_tokens: Sequence[str] = ("[UNK]",)
    unk_token: str = "[UNK]"
    min_frequency: int = 1
    lowercase: bool = False

    as_text = True

    def __post_init__(self) -> None:
        tokens = checked_list("special_tokens", "special token", self.special_tokens)
        with_unknown(tokens, text("unk_token", self.unk_token))
        object.__setattr__(self, "special_tokens", tuple(tokens))
        self.check_words()

    def check_words(self) -> None:
        """Check the options that define words and their minimum count."""
        object.__setattr__(self, "min_frequency", integer("min_frequency", self.min_frequency, minimum=0))
        flag("lowercase", self.lowercase)
        self.check_special()
        self.check_forbidden()
        self.pretokenizer()  # an invalid pattern is an error before anything is read

    def pretokenizer(self) -> Any:
        """Return the pretokenizer."""
        if isinstance(self.pattern, str) and self.pattern in SPLITS:
            return SPLITS[self.pattern]()
        if not isinstance(self.pattern, str) or patterns.resolve(self.pattern) is None:
            raise OptionError(f'pattern is {self.pattern!r}; it must be "punctuation", "whitespace" or a pattern')
        return SplitComponent({"Regex": patterns.resolve(self.pattern) or ""}, "Removed", invert=True)

    @property
    def unit(self) -> Unit:
        """What a document of a text file is: words of a pattern may hold line ends, other words never do."""
        return "line" if self.pattern in SPLITS else "file"

    @property
    def keeps_spaces(self) -> bool:
        """Whether white space is part of the words, so that they are joined without spaces."""
        if self.pattern is None or self.pattern in SPLITS:
            return False
        return patterns.resolve(self.pattern) in patterns.NAMES.values()

    def check_sizes(self, sizes: Sequence[int], given: object) -> None:
        """Raise OptionError for sizes without room for a word; `given` is the user's argument."""
        check_sizes(sizes, given, len(self.special_tokens))

    def counter(self) -> Counter:
        """Return what counts the words of a corpus."""
        by = by_words if self.pattern in SPLITS else by_components
        return cut_at(by(Lowercase() if self.lowercase else None, self.pretokenizer()), self.boundaries)

    def counting(self) -> dict[str, object]:
        """Return the definition of words."""
        pattern = self.pattern if self.pattern in SPLITS else patterns.resolve(self.pattern)
        return self.with_boundaries({"words": "whole", "pattern": pattern, "lowercase": self.lowercase})

    def definitions(
        self, counts: WordCounts, sizes: Sequence[int], report: Reporter, threads: int = 1
    ) -> list[Definition]:
        """Keep the most frequent words, and return a definition of each size."""
        return [
            Definition(
                vocab=most_frequent(counts, self.special_tokens, size, self.min_frequency, self.allows()),
                model=WordLevel(unk_token=self.unk_token),
                normalizer=Lowercase() if self.lowercase else None,
                pretokenizer=self.pretokenizer(),
                decoder=Fuse() if self.keeps_spaces else None,
                special_tokens={token: id_ for id_, token in enumerate(self.special_tokens)},
            )
            for size in sizes
        ]


@dataclass(frozen=True, kw_only=True)
class CharacterTraining(WithBoundaries):
    """The options of a vocabulary of characters (code points), or of bytes.

    Ids of characters are assigned as those of words (see `WordTraining`). With bytes, all 256 are tokens, independent
    of the corpus, in the order of byte-level BPE; they need no unknown token and no counting.
    `WithBoundaries` has `special`.
    """

    level: str = "characters"
    special_tokens: Sequence[str] = None  # type: ignore[assignment]
    unk_token: str | None = None
    min_frequency: int | None = None

    as_text = True
    unit = "line"

    def __post_init__(self) -> None:
        self.check_special()
        choice("level", self.level, "characters", "bytes")
        if self.level == "bytes":
            for name in ("unk_token", "min_frequency"):
                if getattr(self, name) is not None:
                    given = getattr(self, name)
                    raise OptionError(f'{name} is {given!r}, but with level="bytes" every byte is a token')
            object.__setattr__(self, "special_tokens", tuple(check_special_tokens(self.special_tokens or ())))
            return
        unknown = text("unk_token", "[UNK]" if self.unk_token is None else self.unk_token)
        given = [unknown] if self.special_tokens is None else self.special_tokens
        tokens = checked_list("special_tokens", "special token", given)
        with_unknown(tokens, unknown)
        minimum = 1 if self.min_frequency is None else self.min_frequency
        object.__setattr__(self, "unk_token", unknown)
        object.__setattr__(self, "special_tokens", tuple(tokens))
        object.__setattr__(self, "min_frequency", integer("min_frequency", minimum, minimum=0))

    def check_sizes(self, sizes: Sequence[int], given: object) -> None:
        """Raise OptionError for sizes without room for a character or all bytes; `given` is the user's argument."""
        n_special = len(self.special_tokens or ())
        if self.level == "characters":
            check_sizes(sizes, given, n_special)
        elif not sizes or min(sizes) < 256 + n_special:
            raise OptionError(
                f"vocab_size is {given}; it must be at least {256 + n_special}: 256 bytes and {n_special} special "
                "tokens"
            )

    def counter(self) -> Counter | None:
        """Return the counter of characters, None for bytes."""
        if self.level == "bytes":
            return None
        counter = replace(by_components(None, FixedLength(1)), cut=between_characters)
        return cut_at(counter, self.boundaries)

    def counting(self) -> dict[str, object] | None:
        """Return the definition of what is counted; None for bytes."""
        return self.with_boundaries({"words": "characters"}) if self.level == "characters" else None

    def definitions(
        self, counts: WordCounts, sizes: Sequence[int], report: Reporter, threads: int = 1
    ) -> list[Definition]:
        """Keep the most frequent characters, or all bytes, and return a definition of each size."""
        special = {token: id_ for id_, token in enumerate(self.special_tokens or ())}
        if self.level == "bytes":
            made = Definition(
                vocab=Vocab.from_list([*(token.encode() for token in special), *ALPHABET]),
                model=BPE(merges=np.empty((0, 3), dtype=np.uint32), whole_piece=False),
                pretokenizer=Split(None, keep_unmatched=True),
                special_tokens=special,
            )
            return [made for _ in sizes]
        return [
            Definition(
                vocab=most_frequent(counts, list(special), size, self.min_frequency or 0),
                model=WordLevel(unk_token=self.unk_token or ""),
                pretokenizer=FixedLength(1),
                decoder=Fuse(),
                special_tokens=special,
            )
            for size in sizes
        ]
