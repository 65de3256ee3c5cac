"""Trains word-level tokenizers that encode out-of-vocabulary words as characters or bytes.

The model is BPE without merges: a pretoken that is a token becomes this token (`ignore_merges`), and any other is split
into characters, with a prefix on those after the first. This is a valid tokenizer.json, which tokenizers can run.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tokkit._core.train.word_counts import WordCounts
from tokkit.byte_symbols import to_symbols
from tokkit.decoders.byte_level import ByteLevel as BytesDecoder
from tokkit.decoders.byte_level import bytes_of
from tokkit.decoders.fuse import Fuse
from tokkit.decoders.replace import Replace
from tokkit.decoders.sequence import Sequence as Decoders
from tokkit.decoders.wordpiece import WordPiece as Decoder
from tokkit.definition import Definition, Split
from tokkit.errors import OptionError
from tokkit.models.bpe import BPE
from tokkit.models.char_bpe import CharBPE
from tokkit.normalizers.lowercase import Lowercase
from tokkit.pretokenizers import patterns
from tokkit.pretokenizers.byte_level import ByteLevel
from tokkit.pretokenizers.sequence import Sequence as Pretokenizers
from tokkit.pretokenizers.split import Split as Component
from tokkit.trainers.bpe import ALPHABET, check_special_tokens
from tokkit.trainers.counts import Reporter
from tokkit.trainers.options import checked_list, choice, integer, text, with_unknown
from tokkit.trainers.wordlevel import WordTraining, check_sizes
from tokkit.vocab import Vocab

FALLBACKS = ("char", "byte")


def _is_printable_ascii(token: str) -> bool:
    return all("!" <= c <= "~" for c in token)


@dataclass(frozen=True, kw_only=True)
class HybridTraining(WordTraining):
    """The options of a vocabulary of words with a fallback to characters or bytes.

    A word that is not a token becomes its characters, or the bytes of its UTF-8 as byte-level BPE writes them: the
    first unchanged, the others with `prefix`. A character that is not a token becomes `unk_token`; with bytes nothing
    is unknown, and there is no such token. Ids: special tokens; the characters, by code point, or the 256 bytes, in the
    order of byte-level BPE; the same with the prefix; then words as `WordTraining` takes them, without those that begin
    with the prefix. If there are more characters than `limit_alphabet` (None: no limit), the most frequent ones are
    kept; ties go to smaller code points.

    Decoding puts one space between words; with the pattern "punctuation", none before . , ! and ?. Other white space is
    lost, and so is text that your own pattern drops. With the two named patterns, encoding the decoded text gives the
    same ids, if none was unknown. The prefix in a text is a separate word, so that nothing in a text can look like a
    part of a word.

    With a published pattern (gpt2, cl100k, …), words keep their white space and are joined unchanged, so no prefix is
    needed: a text without unknown characters is decoded exactly. With bytes, this is byte-level BPE without merges, and
    the byte-level engine runs it.
    """

    fallback: str = "char"
    special_tokens: Sequence[str] = None  # type: ignore[assignment]
    unk_token: str | None = None  # type: ignore[assignment]
    limit_alphabet: int | None = None
    prefix: str | None = None

    def __post_init__(self) -> None:
        choice("fallback", self.fallback, *FALLBACKS)
        self.check_words()
        self._check_prefix()
        if self.in_bytes:
            for name in ("unk_token", "limit_alphabet"):
                if (given := getattr(self, name)) is not None:
                    raise OptionError(f'{name} is {given!r}, but with fallback="byte" nothing is unknown')
            special = self._tokens_beside_bytes()
        else:
            unknown = text("unk_token", "[UNK]" if self.unk_token is None else self.unk_token)
            given = [unknown] if self.special_tokens is None else self.special_tokens
            special = checked_list("special_tokens", "special token", given)
            with_unknown(special, unknown)
            object.__setattr__(self, "unk_token", unknown)
            if self.limit_alphabet is not None:
                limit = integer("limit_alphabet", self.limit_alphabet, minimum=0)
                object.__setattr__(self, "limit_alphabet", limit)
        if self.prefix and (prefixed := [token for token in special if self.prefix in token]):
            raise OptionError(f"the special token {prefixed[0]!r} has the prefix {self.prefix!r} in it; change one")
        object.__setattr__(self, "special_tokens", tuple(special))

    def _check_prefix(self) -> None:
        if self.prefix is None:
            object.__setattr__(self, "prefix", "" if self.keeps_spaces else "##")
            return
        text("prefix", self.prefix)
        if self.keeps_spaces:
            raise OptionError(f"prefix is {self.prefix!r}; with a pattern that keeps spaces there is no prefix")
        if len(self.prefix) < 2:
            raise OptionError(f"prefix is {self.prefix!r}; it must have at least two characters")
        if self.in_bytes and not _is_printable_ascii(self.prefix):
            raise OptionError(f'prefix is {self.prefix!r}; it must be printable ASCII with fallback="byte"')

    @property
    def in_bytes(self) -> bool:
        """Whether unknown words become bytes."""
        return self.fallback == "byte"

    def _tokens_beside_bytes(self) -> list[str]:
        special = check_special_tokens(self.special_tokens or ())
        for token in special:
            # Decoding reads tokens as byte symbols; other characters would appear unchanged in the text.
            if not self.keeps_spaces and not _is_printable_ascii(token):
                raise OptionError(f'the special token {token!r} must be printable ASCII with fallback="byte"')
        return special

    def pretokenizer(self) -> Any:
        """Return the pretokenizer."""
        words, prefix = super().pretokenizer(), self.prefix or ""
        if not prefix or (self.pattern == "punctuation" and all(c in string.punctuation for c in prefix)):
            return words  # each such character is already a word
        return Pretokenizers([words, Component({"String": prefix}, "Isolated")])

    def counting(self) -> dict[str, object]:
        """Return the definition of words: that of whole words, unless the prefix is a separate word."""
        own = {"prefix": self.prefix} if isinstance(self.pretokenizer(), Pretokenizers) else {}
        return {**super().counting(), **own}

    def check_sizes(self, sizes: Sequence[int], given: object) -> None:
        """Raise OptionError for impossible sizes; `given` is the user's argument."""
        n_special = len(self.special_tokens)
        if not self.in_bytes:
            check_sizes(sizes, given, n_special)
        elif not sizes or min(sizes) < (minimum := n_special + (512 if self.prefix else 256)):
            raise OptionError(
                f"vocab_size is {given}; it must be at least {minimum}: 256 bytes{self._twice}, and "
                f"{n_special} special tokens"
            )

    @property
    def _twice(self) -> str:
        return f" with and without {self.prefix!r}" if self.prefix else ""

    def definitions(
        self, counts: WordCounts, sizes: Sequence[int], report: Reporter, threads: int = 1
    ) -> list[Definition]:
        """Keep the characters and the most frequent words, and return a definition of each size."""
        tokens, words = self._tokens(counts)
        if min(sizes) < len(tokens):
            raise OptionError(
                f"vocab_size is {min(sizes)}; this corpus needs at least {len(tokens)}: {len(self.special_tokens)} "
                f"special tokens, and its characters{self._twice}; a smaller limit_alphabet reduces these"
            )
        return [self._definition(tokens + words[: size - len(tokens)]) for size in sizes]

    def _tokens(self, counts: WordCounts) -> tuple[list[str], list[str]]:
        """Return the tokens in a vocabulary of any size, and the words, the most frequent first."""
        prefix = self.prefix or ""
        alphabet = [*map(to_symbols, ALPHABET)] if self.in_bytes else self._alphabet(counts)
        tokens = [*self.special_tokens, *alphabet, *(prefix + c for c in alphabet)]
        tokens = list(
            dict.fromkeys(tokens)
        )  # without a prefix, all occur twice; and a special token may be a character
        known, words, allows = set(tokens), [], self.allows()
        # Items are sorted by their bytes; stable sorting keeps this order among equal counts.
        for word, count in sorted(counts.items(), key=lambda item: -item[1]):
            spelt = to_symbols(word) if self.in_bytes else word.decode()
            if count < self.min_frequency or spelt in known or not allows(word):
                continue
            if not (prefix and spelt.startswith(prefix)):
                words.append(spelt)
        return tokens, words

    def _alphabet(self, counts: WordCounts) -> list[str]:
        found = {chr(code): times for code, times, _ in counts.characters()}
        return sorted(sorted(found, key=lambda c: (-found[c], c))[: self.limit_alphabet])

    def _definition(self, tokens: list[str]) -> Definition:
        vocab, no_merges = [token.encode() for token in tokens], np.empty((0, 3), dtype=np.uint32)
        common: dict[str, Any] = {
            "normalizer": Lowercase() if self.lowercase else None,
            "special_tokens": {token: id_ for id_, token in enumerate(self.special_tokens)},
        }
        if self.in_bytes and self.keeps_spaces:
            n_special = len(self.special_tokens)
            over_bytes = Vocab.from_list(vocab[:n_special] + [bytes_of(token) for token in tokens[n_special:]])
            split = Split(patterns.resolve(self.pattern), keep_unmatched=True)
            return Definition(over_bytes, BPE(merges=no_merges, whole_piece=True), split, **common)
        pretokenizer: Any = self.pretokenizer()
        decoder: Any = Fuse() if self.keeps_spaces else Decoder(self.prefix or "", self.pattern == "punctuation")
        if self.in_bytes:
            pretokenizer = Pretokenizers([pretokenizer, ByteLevel(add_prefix_space=False, use_regex=False)])
            decoder = Decoders([decoder, Replace({"String": " "}, to_symbols(b" ")), BytesDecoder()])
        model = CharBPE(
            merges=no_merges,
            unk_token=self.unk_token,
            continuing_subword_prefix=self.prefix or None,
            ignore_merges=True,
        )
        return Definition(Vocab.from_list(vocab), model, pretokenizer, decoder=decoder, **common)
