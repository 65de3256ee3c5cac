"""Trains WordPiece: merges by frequency, by gain in likelihood, or by pointwise mutual information."""

from __future__ import annotations

import logging
import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tokkit._core.train.bpe_train import BPETrainer
from tokkit._core.train.training import Spelling
from tokkit._core.train.word_counts import WordCounts
from tokkit._core.train.wordpiece_train import WordPieceTrainer
from tokkit.decoders.wordpiece import WordPiece as Decoder
from tokkit.definition import Definition
from tokkit.errors import CorpusError, OptionError
from tokkit.models.wordpiece import WordPiece
from tokkit.normalizers.bert import Bert as Normalizer
from tokkit.postprocessors.template import Template
from tokkit.pretokenizers.bert import Bert as Pretokenizer
from tokkit.trainers.bpe import MEMORY_A_BYTE, tell_merges
from tokkit.trainers.counts import MAX_WORD_BYTES, Counter, Reporter, by_words
from tokkit.trainers.options import Step, checked_list, choice, flag, integer, text, with_unknown
from tokkit.trainers.resumable import Resumable, run_merges
from tokkit.trainers.special_texts import WithBoundaries, WithForbidden, cut_at
from tokkit.vocab import Vocab

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SCORES = ("frequency", "likelihood", "pmi")
MAX_COUNT = (1 << 63) - 1
SCORED_MEMORY_A_BYTE = 24
"""Bytes of memory per byte of a distinct word with scores: a cell, and two positions of pairs. By frequency: as BPE."""

logger = logging.getLogger("tokkit")


@dataclass(frozen=True, kw_only=True)
class WordPieceTraining(WithBoundaries, WithForbidden, Resumable):
    """The options of WordPiece, and its training.

    Ids: special tokens; the characters, by code point; with the prefix, the characters that occur inside words, sorted
    by their number of positions in distinct words (most first), then by code point; then tokens in the order of their
    merges. If there are more characters than `limit_alphabet` (None: no limit), the most frequent ones are kept (ties
    go to smaller code points), and `initial_alphabet` always; other characters are removed from words, as in
    tokenizers.

    `score` says which pair (x, y) is merged next; n is count(xy), N the number of all tokens:

    - "frequency": the highest n, ties go to the smaller (left id, right id), as in tokenizers' trainer; but there, the
    ids of characters with the prefix depend on a random order of the words; here they are fixed.
    - "likelihood": the greatest gain in log-likelihood of the corpus (Schuster and Nakajima 2012), by a unigram model
      of the tokens. With the most likely probabilities, p(t) = count(t) / N, the corpus has the log-likelihood
      Σ count(t)·log(count(t) / N) = Σ h(count(t)) - h(N), where h(m) = m·log m. The merge makes n of xy, takes n from
      x, from y and from N, and leaves all other counts alone, so it gains
      h(n) + [h(count(x) - n) - h(count(x))] + [h(count(y) - n) - h(count(y))] + [h(N) - h(N - n)].
      If x is y, it takes 2n from x, or all there are where occurrences overlap. Gains are compared to 32 bits.
    - "pmi": the greatest n·N / (count(x)·count(y)), the pointwise mutual information without its logarithm, compared
      exactly. Courses teach this ratio as the score of WordPiece. It is high for rare pairs, whatever they bring to the
      corpus: at 8,000 tokens English gets more than twice as many tokens a text as by the others.

    Ties by the last two go to the more frequent pair, then to the smaller (left id, right id). Pairs that occur less
    than `min_frequency` times, or not at all, are not merged. `WithBoundaries` has `special`, and `WithForbidden` has
    `forbidden_tokens`.
    """

    score: str = "frequency"
    special_tokens: Sequence[str] = SPECIAL_TOKENS
    unk_token: str = "[UNK]"
    min_frequency: int = 2
    limit_alphabet: int | None = None
    initial_alphabet: Sequence[str] = ()
    prefix: str = "##"
    lowercase: bool = True
    strip_accents: bool | None = None
    handle_chinese_chars: bool = True
    max_input_chars_per_word: int = 100
    explain: Callable[[Step], object] | None = None

    as_text = True
    unit = "line"
    model_name: ClassVar[str] = "wordpiece"

    def __post_init__(self) -> None:
        self.check_resumable()
        self.check_special()
        self.check_forbidden()
        choice("score", self.score, *SCORES)
        tokens = checked_list("special_tokens", "special token", self.special_tokens)
        with_unknown(tokens, text("unk_token", self.unk_token))
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
        object.__setattr__(self, "min_frequency", integer("min_frequency", self.min_frequency, minimum=0))
        object.__setattr__(self, "initial_alphabet", tuple(alphabet))
        self.model()  # checks the model's own options

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
        """Raise OptionError for impossible sizes; `given` is the user's argument."""
        minimum = len(self.special_tokens) + 1
        if not sizes or min(sizes) < minimum or max(sizes) >= 1 << 31:
            raise OptionError(
                f"vocab_size is {given}; it must be at least {minimum}, for {minimum - 1} special tokens and a "
                "character, and below 2**31"
            )

    def counter(self) -> Counter:
        """Return what counts the words of a corpus."""
        return cut_at(by_words(self.normalizer(), Pretokenizer(), longest=MAX_WORD_BYTES), self.boundaries)

    def counting(self) -> dict[str, object]:
        """Return the definition of words."""
        strips = self.lowercase if self.strip_accents is None else self.strip_accents
        options = {"lowercase": self.lowercase, "strip_accents": strips}
        made = {"words": "of BERT", **options, "handle_chinese_chars": self.handle_chinese_chars}
        return self.with_boundaries(made)

    def definitions(
        self, counts: WordCounts, sizes: Sequence[int], report: Reporter, threads: int = 1
    ) -> list[Definition]:
        """Train, and return a definition of each size."""
        trainer = self._run(counts, sizes, report)
        blob, packed = trainer.tokens()
        offsets = np.concatenate(([0], np.frombuffer(packed, dtype=np.uint64).astype(np.int64)))
        if self.explain is not None:
            self._explain(trainer, Vocab(blob, offsets))
        if (reached := trainer.n_ids) < max(sizes):
            logger.warning("the corpus yields only %d tokens, fewer than the vocab_size of %d", reached, max(sizes))
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

    def _run(self, counts: WordCounts, sizes: Sequence[int], report: Reporter) -> BPETrainer | WordPieceTrainer:
        """Return the finished trainer, from the words or from the state."""
        state = self.state_file()
        try:
            if state is not None and state.resumes:
                prefix = self.prefix.encode()
                trainer, kept = state.load(lambda kept: self._trainer(None, _tokens(kept), Spelling([], prefix), sizes))
                tokens = _tokens(kept)
            else:
                tokens, spelling = self._symbols(counts)
                trainer = self._trainer(counts, tokens, spelling, sizes)
        except OverflowError as error:
            raise CorpusError(f"the corpus is too large to train from at once: {error}") from None
        kept = [[token.decode(), width] for token, width in tokens]
        n_first = len(tokens)
        run_merges(trainer, lambda: trainer.n_ids - n_first, max(sizes) - n_first, report, state, kept)
        return trainer

    def _trainer(
        self, counts: WordCounts | None, tokens: list[tuple[bytes, int]], spelling: Spelling, sizes: Sequence[int]
    ) -> BPETrainer | WordPieceTrainer:
        """Return a trainer for the words, or an empty one without words."""
        if min(sizes) < len(tokens):
            raise OptionError(
                f"vocab_size is {min(sizes)}; this corpus needs at least {len(tokens)}: {len(self.special_tokens)} "
                f"special tokens, and its characters with and without {self.prefix!r}; a smaller limit_alphabet "
                "reduces these"
            )
        minimum = min(self.min_frequency, MAX_COUNT)
        by_frequency = self.score == "frequency"
        if counts is None:
            needed = os.path.getsize(self.state or "")
        else:
            needed = (MEMORY_A_BYTE if by_frequency else SCORED_MEMORY_A_BYTE) * (counts.n_bytes + len(counts))
        folder = self.folder(needed)
        if by_frequency:
            return BPETrainer(counts, tokens, max(sizes), minimum, sys.maxsize, spelling, folder, self.forbidden)
        by_gain = self.score == "likelihood"
        return WordPieceTrainer(counts, tokens, max(sizes), max(minimum, 1), spelling, by_gain, folder, self.forbidden)

    def _explain(self, trainer: BPETrainer | WordPieceTrainer, vocab: Vocab) -> None:
        """Call `explain` with each merge, in order."""
        tell: Any = self.explain
        if isinstance(trainer, BPETrainer):
            tell_merges(trainer, lambda id_: vocab[id_].decode(), tell)
            return
        score = gain if self.score == "likelihood" else information
        for row in np.frombuffer(trainer.merges(), dtype=np.int64).reshape(-1, 7).tolist():
            left, right, token = (vocab[id_].decode() for id_ in row[:3])
            count, left_count, right_count, total = row[3:]
            value = score(count, left_count, right_count, total, row[0] == row[1])
            tell(Step(left, right, token, value, count, left_count, right_count, total))


def _tokens(kept: Any) -> list[tuple[bytes, int]]:
    """Return the initial tokens, each with its number of symbols, from a state."""
    return [(token.encode(), width) for token, width in kept]


def gain(count: int, left_count: int, right_count: int, total: int, same: bool) -> float:
    """Return the gain in log-likelihood, in nats, of merging all `count` pairs; see `WordPieceTraining`.

    >>> round(gain(3, 3, 3, 79, same=False), 3)
    12.755
    """

    def lost(tokens: int, merged: int) -> float:
        """Return the part of the change of m·log(m) that log(m) of the other terms does not cancel."""
        return (tokens - merged) * math.log1p(-merged / tokens) if tokens > merged else 0.0

    if same:
        kept = max(left_count - 2 * count, 0)
        change = (kept * math.log(kept) if kept else 0.0) - left_count * math.log(left_count)
        return count * (math.log(count) + math.log(total)) + change - lost(total, count)
    logs = math.log(count) + math.log(total) - (math.log(left_count) + math.log(right_count))
    return count * logs + (lost(left_count, count) + lost(right_count, count)) - lost(total, count)


def information(count: int, left_count: int, right_count: int, total: int, same: bool) -> float:
    """Return count · total / (left_count · right_count), the ratio of the score "pmi"."""
    return count * total / (left_count * right_count)
