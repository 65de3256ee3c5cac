"""Trains the BPE of Sennrich, Haddow and Birch (2016), from words counted in the order of the text.

Words begin as characters; their end, "</w>", is a separate symbol or part of the last character. The most frequent pair
is merged; ties go to the pair that is first in the text as it is split at that step, so that this is the only model
that depends on the order of its input.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tokkit._core.train import ClassicTrainer, WordCounts
from tokkit.decoders.bpe import BPE as BPEDecoder
from tokkit.definition import AddedToken, Definition
from tokkit.errors import CorpusError, OptionError
from tokkit.models.char_bpe import CharBPE
from tokkit.normalizers.lowercase import Lowercase
from tokkit.pretokenizers.bert import Bert
from tokkit.pretokenizers.whitespace_split import WhitespaceSplit
from tokkit.trainers.counts import Counter, Reporter, by_words
from tokkit.trainers.options import Step, checked_list, choice, flag, integer, text, with_unknown
from tokkit.trainers.wordlevel import check_sizes
from tokkit.vocab import Vocab

SPLITS: dict[str, Any] = {"whitespace": WhitespaceSplit, "punctuation": Bert}
MAX_CHARACTERS = 1 << 16
"""Maximum characters of a word: each merge in it takes as many steps as it has symbols."""

logger = logging.getLogger("tokkit")


@dataclass(frozen=True, kw_only=True)
class ClassicBPE:
    """The options of classic BPE.

    `pattern` is "whitespace" (words are between white space) or "punctuation" (punctuation characters are words too).
    With `word_end` "apart", `suffix` is a separate symbol, as in the paper; with "attached" it is part of each word's
    last character, as in its later code and openai-gpt; with "none" there is none. `glossaries` are texts that always
    become one token. `dropout` is the probability with which `tokkit.sampling.subwords.Dropout` skips a merge. Without
    `unk_token`, characters that are not in the corpus get no id. Ids: special tokens, glossaries, the alphabet in the
    order of its text, then tokens in the order of their merges.
    """

    pattern: str = "whitespace"
    special_tokens: Sequence[str] = ()
    unk_token: str | None = None
    min_frequency: int = 0
    lowercase: bool = False
    suffix: str = "</w>"
    word_end: str = "apart"
    dropout: float | None = None
    glossaries: Sequence[str] = ()
    explain: Callable[[Step], object] | None = None

    as_text = True
    in_order = True

    def __post_init__(self) -> None:
        choice("pattern", self.pattern, *SPLITS)
        choice("word_end", self.word_end, "apart", "attached", "none")
        object.__setattr__(
            self, "special_tokens", tuple(checked_list("special_tokens", "special token", self.special_tokens))
        )
        object.__setattr__(self, "glossaries", tuple(checked_list("glossaries", "glossary", self.glossaries)))
        if both := set(self.glossaries) & set(self.special_tokens):
            raise OptionError(f"{min(both)!r} is both a special token and a glossary")
        if self.unk_token is not None:
            with_unknown(self.special_tokens, text("unk_token", self.unk_token))
        object.__setattr__(self, "min_frequency", integer("min_frequency", self.min_frequency, minimum=0))
        flag("lowercase", self.lowercase)
        if not text("suffix", self.suffix):
            raise OptionError('suffix is empty; use word_end="none" for no suffix')
        if self.explain is not None and not callable(self.explain):
            raise OptionError(f"explain is {self.explain!r}; it must be a function, or None")

    @property
    def _normalizer(self) -> Lowercase | None:
        return Lowercase() if self.lowercase else None

    def check_sizes(self, sizes: Sequence[int], given: object) -> None:
        """Raise OptionError for sizes without room for a character; `given` is what the user wrote."""
        check_sizes(sizes, given, len(self.special_tokens) + len(self.glossaries))

    def counter(self) -> Counter:
        """Return what counts the words of a corpus."""
        return by_words(self._normalizer, SPLITS[self.pattern]())

    def counting(self) -> None:
        """Return nothing: merges depend on the order of the text, which counts do not keep."""

    def definitions(
        self, counts: WordCounts, sizes: Sequence[int], report: Reporter, threads: int = 1
    ) -> list[Definition]:
        """Train to the largest size, and cut a definition of each from it."""
        first = [*self.special_tokens, *self.glossaries]
        words, times = _in_order(counts)
        if (longest := max(map(len, words))) > MAX_CHARACTERS:
            raise CorpusError(
                f"a word of the corpus has {longest:,} characters; {MAX_CHARACTERS:,} is the maximum that "
                'classic BPE trains on: for text without spaces use another model, such as "bbpe"'
            )
        spelt = [self._spell(word) for word in words]
        own = set(first)
        alphabet = sorted({symbol for word in spelt for symbol in word})
        tokens = [*first, *(symbol for symbol in alphabet if symbol not in own)]
        largest = max(sizes)
        if largest < len(tokens):
            logger.warning(
                "the corpus has %d characters and special tokens: more than the vocab_size of %d, so nothing is merged "
                "and the vocabulary has all of them",
                *(len(tokens), largest),
            )
        steps = self._merge(tokens, spelt, times, largest, report)
        if len(tokens) + len(steps) and max(len(tokens), _n_tokens(tokens, steps)) < largest:
            logger.warning(
                "the corpus yields %d tokens, fewer than the vocab_size of %d asked for",
                *(_n_tokens(tokens, steps), largest),
            )
        return [self._definition(tokens, steps, size) for size in sizes]

    def _spell(self, word: str) -> list[str]:
        if self.word_end == "apart":
            return [*word, self.suffix]
        return [*word[:-1], word[-1] + self.suffix] if self.word_end == "attached" else [*word]

    def _merge(
        self, tokens: Sequence[str], spelt: Sequence[Sequence[str]], times: Sequence[int], size: int, report: Reporter
    ) -> list[tuple[str, str]]:
        """Return the pairs that are merged, in order, until there are `size` tokens."""
        names = list(tokens)
        ids = {name: id_ for id_, name in enumerate(names)}
        bare = len(self.suffix.encode()) if self.word_end != "none" else 0
        lengths = [len(name.encode()) for name in names]
        if bare:
            lengths = [n - bare * name.endswith(self.suffix) for n, name in zip(lengths, names, strict=True)]
        symbols = np.array([ids[symbol] for word in spelt for symbol in word], dtype=np.int32)
        ends = np.cumsum([len(word) for word in spelt], dtype=np.int64)
        try:
            trainer = ClassicTrainer(symbols, ends, np.array(times, np.int64), np.maximum(lengths, 0).astype(np.uint32))
        except OverflowError as error:
            raise CorpusError(f"the corpus is too large to train from at once: {error}") from None
        steps: dict[tuple[str, str], None] = {}
        n_first = len(names)
        report("merge", 0, size - n_first, always=True)
        while len(names) < size and (best := trainer.best()) is not None:
            left, right, count = best
            if count < self.min_frequency:
                break
            name = names[left] + names[right]
            if self.explain is not None:
                self.explain(Step(names[left], names[right], name, float(count), count, None, None, None))
            # Of a pair that is merged twice, as its parts were made anew, the first place counts.
            steps.setdefault((names[left], names[right]))
            result = ids.setdefault(name, len(names))
            if result == len(names):
                names.append(name)
            trainer.merge(left, right, result)
            report("merge", len(names) - n_first, size - n_first)
        report("merge", len(names) - n_first, size - n_first, always=True)
        return list(steps)

    def _definition(self, tokens: Sequence[str], steps: Sequence[tuple[str, str]], size: int) -> Definition:
        ids = {token: id_ for id_, token in enumerate(tokens)}
        merges = []
        for left, right in steps:
            if len(ids) >= size:
                break
            merges.append((ids[left], ids[right], ids.setdefault(left + right, len(ids))))
        suffix = None if self.word_end == "none" else self.suffix
        special = {token: id_ for id_, token in enumerate(self.special_tokens)}
        added = [AddedToken(token, id_, special=True) for token, id_ in special.items()]
        added += [AddedToken(token, ids[token], normalized=False) for token in self.glossaries]
        return Definition(
            vocab=Vocab.from_list(token.encode() for token in ids),
            model=CharBPE(
                merges=np.array(merges, dtype=np.uint32).reshape(-1, 3),
                dropout=self.dropout,
                unk_token=self.unk_token,
                end_of_word_suffix=suffix,
                suffix_apart=self.word_end == "apart",
            ),
            normalizer=self._normalizer,
            pretokenizer=SPLITS[self.pattern](),
            decoder=BPEDecoder(suffix) if suffix else None,
            special_tokens=special,
            added_tokens=tuple(added),
        )


def _n_tokens(tokens: Sequence[str], steps: Sequence[tuple[str, str]]) -> int:
    return len({*tokens, *(left + right for left, right in steps)})


def _in_order(counts: WordCounts) -> tuple[list[str], list[int]]:
    """Return the words as they come first in the text, and their counts."""
    blob, packed_ends, packed_counts = counts.packed()
    ends = np.frombuffer(packed_ends, dtype=np.int64).tolist()
    words = [blob[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)]
    return words, np.frombuffer(packed_counts, dtype=np.int64).tolist()
