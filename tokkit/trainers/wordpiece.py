"""Trains WordPiece, by likelihood as in the papers or by frequency as in tokenizers."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tokkit._core.train import BPETrainer, Spelling, WordCounts, WordPieceTrainer
from tokkit.decoders.wordpiece import WordPiece as Decoder
from tokkit.definition import Definition
from tokkit.errors import CorpusError, OptionError
from tokkit.models.wordpiece import WordPiece
from tokkit.normalizers.bert import Bert as Normalizer
from tokkit.postprocessors.template import Template
from tokkit.pretokenizers.bert import Bert as Pretokenizer
from tokkit.trainers.bpe import tell_merges
from tokkit.trainers.counts import MAX_WORD_BYTES, Counter, Reporter, by_words
from tokkit.trainers.options import Step, checked_list, choice, flag, integer, text, with_unknown
from tokkit.vocab import Vocab

VISITS_A_SLICE = 1 << 20
"""Pairs visited between two looks for Ctrl-C: 10 to 50 ms of work."""
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
MIN_COUNT = {"likelihood": 2, "frequency": 0}
MAX_COUNT = (1 << 63) - 1

logger = logging.getLogger("tokkit")


@dataclass(frozen=True, kw_only=True)
class WordPieceTraining:
    """The options of WordPiece, and its training.

    Ids: special tokens; the characters, by code point; with the prefix, the characters that occur inside words, first
    those at most places of distinct words, ties by code point; then tokens in the order of their merges. If there are
    more characters than `limit_alphabet` (None: no limit), the most frequent are kept, ties to smaller code points, and
    those of `initial_alphabet` always; other characters are removed from their words, as in tokenizers.

    By "likelihood" the pair (x, y) with the greatest count(xy) · N / (count(x) · count(y)) is merged next, where N is
    the number of all tokens; ties go to the more frequent pair, then to the smaller (left id, right id). By "frequency"
    it is the most frequent pair, ties to the smaller ids, as in tokenizers' trainer; but there the ids of characters
    with the prefix depend on a random walk over the words, here they are those of a likely walk. Pairs that occur less
    than `min_frequency` times (None: 2 by likelihood, 0 by frequency), or not at all, are not merged.
    """

    score: str = "likelihood"
    special_tokens: Sequence[str] = SPECIAL_TOKENS
    unk_token: str = "[UNK]"
    min_frequency: int | None = None
    limit_alphabet: int | None = None
    initial_alphabet: Sequence[str] = ()
    prefix: str = "##"
    lowercase: bool = True
    strip_accents: bool | None = None
    handle_chinese_chars: bool = True
    max_input_chars_per_word: int = 100
    explain: Callable[[Step], object] | None = None

    as_text = True

    def __post_init__(self) -> None:
        choice("score", self.score, *MIN_COUNT)
        tokens = checked_list("special_tokens", "special token", self.special_tokens)
        with_unknown(tokens, text("unk_token", self.unk_token))
        minimum = MIN_COUNT[self.score] if self.min_frequency is None else self.min_frequency
        given = self.initial_alphabet
        alphabet = checked_list("initial_alphabet", "character", list(given) if isinstance(given, str) else given)
        if long := [c for c in alphabet if len(c) > 1]:
            raise OptionError(f"initial_alphabet has {long[0]!r}; it must be single characters")
        text("prefix", self.prefix)
        flag("lowercase", self.lowercase)
        flag("handle_chinese_chars", self.handle_chinese_chars)
        if self.strip_accents is not None:
            flag("strip_accents", self.strip_accents)
        if self.explain is not None and not callable(self.explain):
            raise OptionError(f"explain is {self.explain!r}; it must be a function that takes a Step")
        if self.limit_alphabet is not None:
            object.__setattr__(self, "limit_alphabet", integer("limit_alphabet", self.limit_alphabet, minimum=0))
        object.__setattr__(self, "special_tokens", tuple(tokens))
        object.__setattr__(self, "min_frequency", integer("min_frequency", minimum, minimum=0))
        object.__setattr__(self, "initial_alphabet", tuple(alphabet))
        self.model()  # which checks what is its own

    def model(self) -> WordPiece:
        """Return the model that is trained for."""
        return WordPiece(
            unk_token=self.unk_token,
            continuing_subword_prefix=self.prefix,
            max_input_chars_per_word=self.max_input_chars_per_word,
        )

    def normalizer(self) -> Normalizer:
        """Return the normalizer."""
        return Normalizer(
            handle_chinese_chars=self.handle_chinese_chars, strip_accents=self.strip_accents, lowercase=self.lowercase
        )

    def check_sizes(self, sizes: Sequence[int], given: object) -> None:
        """Raise OptionError for sizes that no corpus could give; `given` is what the user wrote."""
        minimum = len(self.special_tokens) + 1
        if not sizes or min(sizes) < minimum or max(sizes) >= 1 << 31:
            raise OptionError(
                f"vocab_size is {given}; it must be at least {minimum}, for {minimum - 1} special tokens and a "
                "character, and below 2**31"
            )

    def counter(self) -> Counter:
        """Return what counts the words of a corpus."""
        return by_words(self.normalizer(), Pretokenizer(), longest=MAX_WORD_BYTES)

    def definitions(
        self, counts: WordCounts, sizes: Sequence[int], report: Reporter, threads: int = 1
    ) -> list[Definition]:
        """Train, and return a definition of each size."""
        tokens, spelling = self._symbols(counts)
        minimum = len(tokens)
        if min(sizes) < minimum:
            raise OptionError(
                f"vocab_size is {min(sizes)}; this corpus needs at least {minimum}: {len(self.special_tokens)} special "
                f"tokens, and its characters with and without {self.prefix!r}, which a smaller limit_alphabet would "
                "make fewer"
            )
        trainer = self._run(counts, tokens, spelling, max(sizes), report)
        blob, packed = trainer.tokens()
        offsets = np.concatenate(([0], np.frombuffer(packed, dtype=np.uint64).astype(np.int64)))
        if self.explain is not None:
            self._explain(trainer, Vocab(blob, offsets))
        if (reached := trainer.n_ids) < max(sizes):
            logger.warning(
                "the corpus yields %d tokens, fewer than the vocab_size of %d asked for", reached, max(sizes)
            )
        special = {token: id_ for id_, token in enumerate(self.special_tokens)}
        template = None
        if "[CLS]" in special and "[SEP]" in special:
            ends = {token: special[token] for token in ("[CLS]", "[SEP]")}
            template = Template.parse("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ends)
        return [
            Definition(
                vocab=Vocab(blob[: offsets[min(size, reached)]], offsets[: min(size, reached) + 1]),
                model=self.model(),
                normalizer=self.normalizer(),
                pretokenizer=Pretokenizer(),
                postprocessor=template,
                decoder=Decoder(prefix=self.prefix),
                special_tokens=special,
            )
            for size in sizes
        ]

    def _symbols(self, counts: WordCounts) -> tuple[list[tuple[bytes, int]], Spelling]:
        """Return the initial tokens, each with the number of its symbols, and the spelling of words in them."""
        found = {chr(c): (times, inside) for c, times, inside in counts.characters()}
        always = set(self.initial_alphabet)
        by_count = sorted(found.keys() - always, key=lambda c: (-found[c][0], c))
        if self.limit_alphabet is not None:
            by_count = by_count[: max(0, self.limit_alphabet - len(always))]
        alphabet = sorted(always.union(by_count))
        ids = {token: id_ for id_, token in enumerate(self.special_tokens)}
        for c in alphabet:
            ids.setdefault(c, len(ids))
        for c in sorted((c for c in alphabet if c in found and found[c][1]), key=lambda c: (-found[c][1], c)):
            ids.setdefault(self.prefix + c, len(ids))
        spelt = [(c, ids[c], ids.get(self.prefix + c)) for c in alphabet if c in found]
        tokens = [(token.encode(), len(token.removeprefix(self.prefix)) or len(token)) for token in ids]
        return tokens, Spelling(spelt, self.prefix.encode())

    def _run(
        self, counts: WordCounts, tokens: list[tuple[bytes, int]], spelling: Spelling, size: int, report: Reporter
    ) -> BPETrainer | WordPieceTrainer:
        minimum = min(self.min_frequency or 0, MAX_COUNT)
        trainer: BPETrainer | WordPieceTrainer
        try:
            if self.score == "frequency":
                trainer = BPETrainer(counts, tokens, size, minimum, sys.maxsize, spelling)
            else:
                trainer = WordPieceTrainer(counts, tokens, size, max(minimum, 1), spelling)
        except OverflowError as error:
            raise CorpusError(f"the corpus is too large to train from at once: {error}") from None
        total = size - len(tokens)
        report("merge", 0, total, always=True)
        while not trainer.run(VISITS_A_SLICE):
            report("merge", trainer.n_ids - len(tokens), total)
        report("merge", trainer.n_ids - len(tokens), total, always=True)
        return trainer

    def _explain(self, trainer: BPETrainer | WordPieceTrainer, vocab: Vocab) -> None:
        """Call `explain` with each merge, in order."""
        tell: Any = self.explain
        if isinstance(trainer, BPETrainer):
            tell_merges(trainer, lambda id_: vocab[id_].decode(), tell)
            return
        for row in np.frombuffer(trainer.merges(), dtype=np.int64).reshape(-1, 7).tolist():
            left, right, token = (vocab[id_].decode() for id_ in row[:3])
            count, left_count, right_count, total = row[3:]
            score = count * total / (left_count * right_count)
            tell(Step(left, right, token, score, count, left_count, right_count, total))
