"""Trains SentencePiece models by sentencepiece's options: Unigram, BPE, word and char."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from tokkit import limits
from tokkit._core.text import Grown, Normalizer
from tokkit._core.train import LONGEST_PIECE, PieceRules, SentencePieceBPETrainer, WordCounts
from tokkit.corpus.readers import Corpus
from tokkit.definition import Definition
from tokkit.errors import CorpusError, OptionError
from tokkit.normalizers.charsmap_builder import compile_rules
from tokkit.normalizers.sentencepiece_rules import charsmap
from tokkit.sentencepiece_model import Kind, definition_of
from tokkit.trainers.counts import Counter, Reporter
from tokkit.trainers.options import Round, checked_list, choice, flag, integer, number, text
from tokkit.trainers.sentencepiece_pieces import meta_pieces, model_of
from tokkit.trainers.sentencepiece_sample import SampledCorpus
from tokkit.trainers.sentencepiece_text import SPACE_MARK, Cut, LeftOut, alphabet_of, by_lines, normalized_words
from tokkit.trainers.unigram import Rounds, train_unigram
from tokkit.vocab import MAX_ID

VISITS_A_SLICE = 1 << 20
"""Pairs visited between two looks for Ctrl-C: 10 to 50 ms of work."""
STEP_BELOW = 1e-4
SCORE_STEPS = 8
"""Scores of Unigram are multiples of 1/8 nat, so that their sums are exact in single precision too, and a .model and a
tokenizer.json agree (formats/sentencepiece_rules.py). At 8,000 pieces that costs held-out English 0.0002 % of its
likelihood; 1/4 costs 0.002 %."""
_FLAGS = (
    *("add_dummy_prefix", "remove_extra_whitespaces", "split_by_unicode_script", "split_by_number", "split_digits"),
    *("split_by_whitespace", "treat_whitespace_as_suffix", "allow_whitespace_only_pieces", "byte_fallback"),
    *("hard_vocab_limit", "use_all_vocab", "shuffle_input_sentence", "train_extremely_large_corpus"),
    "allow_inconsistent_pretokenization",
)
_TEXTS = ("required_chars", "unk_piece", "bos_piece", "eos_piece", "pad_piece", "unk_surface")


@dataclass(frozen=True, kw_only=True)
class SentencePieceTraining:
    """The options that all SentencePiece models share, by sentencepiece's names and with its defaults.

    `character_coverage` is the share of the text's characters that must be known: the most frequent ones that reach it
    are pieces, with `required_chars`; the others are unknown, or bytes with `byte_fallback`. Text is normalized by
    `normalization_rule_name` ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity") or by `normalization_rules`,
    a mapping of text to its replacement. No piece is longer than `max_sentencepiece_length` characters, has letters of
    two scripts (`split_by_unicode_script`), digits and letters (`split_by_number`), several digits (`split_digits`), or
    a space but at its beginning (`split_by_whitespace`; at its end with `treat_whitespace_as_suffix`); spaces alone may
    be a piece with `allow_whitespace_only_pieces`. Lines of more than `max_sentence_length` bytes are left out (None:
    none are).

    With `input_sentence_size` (0: all) only that many lines are used, the first ones, or with `shuffle_input_sentence`
    a random sample by `random_seed`. The sample depends only on the lines, their order and the seed, but differs from
    sentencepiece's. `train_extremely_large_corpus` has no effect.

    `pretokenizer`, of "unigram" and "sp-bpe", returns the parts of a normalized line, with U+2581 for spaces, that no
    piece crosses; joined they are the line, unless `allow_inconsistent_pretokenization`. Only training calls it.

    Ids: <unk>, <s>, </s> and <pad> have those of their options, -1 for none; then come `special_tokens` and
    `control_symbols`, which text never has, `user_defined_symbols`, which it always keeps whole, and 256 bytes; then
    the pieces. `hard_vocab_limit=False` allows a smaller vocabulary than requested. With `use_all_vocab` all
    characters, and of the models of words and characters all they find, are pieces, whatever the size.
    """

    character_coverage: float = 0.9995
    normalization_rule_name: str = "nmt_nfkc"
    normalization_rules: Mapping[str, str] | None = None
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    split_by_unicode_script: bool = True
    split_by_number: bool = True
    split_digits: bool = False
    split_by_whitespace: bool = True
    treat_whitespace_as_suffix: bool = False
    allow_whitespace_only_pieces: bool = False
    max_sentencepiece_length: int = 16
    max_sentence_length: int | None = 4192
    input_sentence_size: int = 0
    shuffle_input_sentence: bool = True
    random_seed: int = 0
    train_extremely_large_corpus: bool = False
    pretokenizer: Callable[[str], Iterable[str]] | None = None
    allow_inconsistent_pretokenization: bool = False
    special_tokens: Sequence[str] = ()
    control_symbols: Sequence[str] = ()
    user_defined_symbols: Sequence[str] = ()
    required_chars: str = ""
    byte_fallback: bool = False
    hard_vocab_limit: bool = True
    use_all_vocab: bool = False
    unk_id: int = 0
    bos_id: int = 1
    eos_id: int = 2
    pad_id: int = -1
    unk_piece: str = "<unk>"
    bos_piece: str = "<s>"
    eos_piece: str = "</s>"
    pad_piece: str = "<pad>"
    unk_surface: str = " \u2047 "

    as_text: ClassVar[bool] = True
    kind: ClassVar[Kind]
    charsmap: bytes = field(init=False, repr=False, default=b"")
    rule_name: str = field(init=False, repr=False, default="")
    meta: dict[int, tuple[str, int]] = field(init=False, repr=False, default_factory=dict)
    left_out: LeftOut = field(init=False, repr=False, compare=False, default_factory=LeftOut)

    def __post_init__(self) -> None:
        for name in _FLAGS:
            flag(name, getattr(self, name))
        for name in _TEXTS:
            text(name, getattr(self, name))
        number("character_coverage", self.character_coverage, 0, 1, above=True)
        self._integer("max_sentencepiece_length", 1, LONGEST_PIECE)
        if self.max_sentence_length is not None:
            self._integer("max_sentence_length", 1, (1 << 31) - 1)
        self._integer("input_sentence_size", 0, (1 << 63) - 1)
        self._integer("random_seed", 0, (1 << 64) - 1)
        self._integer("unk_id", 0, MAX_ID)
        for name in ("bos_id", "eos_id", "pad_id"):
            self._integer(name, -1, MAX_ID)
        for name, what in (
            ("special_tokens", "special token"),
            ("control_symbols", "control symbol"),
            ("user_defined_symbols", "user-defined symbol"),
        ):
            object.__setattr__(self, name, tuple(checked_list(name, what, getattr(self, name))))
        for name in ("unk_piece", "bos_piece", "eos_piece", "pad_piece"):
            if not getattr(self, name):
                raise OptionError(f"{name} is empty; give it at least one character")
        if self.pretokenizer is not None and (not callable(self.pretokenizer) or self.kind in ("word", "char")):
            raise OptionError(
                f"pretokenizer is {self.pretokenizer!r:.80}, of a model of the type {self.kind}; it must be a "
                'function, and is for "unigram" and "bpe"'
            )
        rules = self.normalization_rules
        try:
            compiled = charsmap(self.normalization_rule_name) if rules is None else compile_rules(rules)
        except ValueError as error:
            raise OptionError(f"normalization_rules: {error}") from None
        object.__setattr__(self, "charsmap", compiled)
        object.__setattr__(self, "rule_name", self.normalization_rule_name if rules is None else "user_defined")
        object.__setattr__(self, "meta", meta_pieces(self))

    def _integer(self, name: str, minimum: int, maximum: int) -> None:
        value = integer(name, getattr(self, name), minimum=minimum)
        if value > maximum:
            raise OptionError(f"{name} is {value}; it must be at most {maximum}")
        object.__setattr__(self, name, value)

    def smallest(self) -> Definition:
        """Return the definition of a model that has learnt nothing."""
        n = max(self.meta) + 1
        private = [chr(0xF0000 + k) for k in range(n - len(self.meta))]  # where an id leaves others before it free
        return definition_of(model_of(self, private, [0.0] * len(private), n))

    def check_sizes(self, sizes: Sequence[int], given: object) -> None:
        """Raise OptionError for sizes that no corpus could give; `given` is what the user wrote."""
        if not sizes or min(sizes) <= len(self.meta) or max(sizes) > MAX_ID + 1:
            raise OptionError(
                f"vocab_size is {given}; it must be at least {len(self.meta) + 1}, for {len(self.meta)} pieces that "
                f"are not learnt and one more, and at most {MAX_ID + 1}"
            )
        if max(self.meta) >= min(sizes):
            last = max(self.meta)
            raise OptionError(f"the id of {self.meta[last][0]!r} is {last}; it must be less than vocab_size, {given}")

    def symbols(self) -> list[str]:
        """Return the pieces that normalizing keeps whole and that no other piece has a part of."""
        return [piece for piece, _ in self.meta.values()]

    @property
    def _counts_lines(self) -> bool:
        """Whether lines must be counted, and not the words that spaces cut them into."""
        keys = [*(self.normalization_rules or ()), *(symbol.replace(SPACE_MARK, " ") for symbol in self.symbols())]
        by_words = self.add_dummy_prefix and self.remove_extra_whitespaces and self.split_by_whitespace
        by_words = by_words and not (self.kind == "word" and self.treat_whitespace_as_suffix)
        return not by_words or any(" " in key for key in keys) or self.pretokenizer is not None

    def counter(self) -> Counter:
        """Return what counts the texts of a corpus: words, where they are normalized as in their lines, or lines."""
        return by_lines(whole=self._counts_lines, longest=self.max_sentence_length, left_out=self.left_out)

    def counting(self) -> dict[str, object]:
        """Return what says which texts are counted; they are normalized when they are trained on."""
        return {"words": "lines" if self._counts_lines else "between spaces", "longest": self.max_sentence_length}

    def sampled(self, corpus: Corpus) -> Corpus | SampledCorpus:
        """Return the corpus, or as many of its lines as `input_sentence_size` says."""
        if not self.input_sentence_size:
            return corpus
        return SampledCorpus(
            corpus,
            self.input_sentence_size,
            shuffle=self.shuffle_input_sentence,
            seed=self.random_seed,
            longest=self.max_sentence_length,
            left_out=self.left_out,
        )

    def rules(self, alphabet: str | None = None) -> PieceRules:
        """Return what may be a piece."""
        return PieceRules(
            self.max_sentencepiece_length,
            split_scripts=self.split_by_unicode_script,
            split_numbers=self.split_by_number,
            split_digits=self.split_digits,
            split_spaces=self.split_by_whitespace,
            space_last=self.treat_whitespace_as_suffix,
            pieces_of_spaces=self.allow_whitespace_only_pieces,
            alphabet=alphabet,
        )

    def definitions(
        self, counts: WordCounts, sizes: Sequence[int], report: Reporter, threads: int = 1
    ) -> list[Definition]:
        """Train, and return a definition of each size."""
        if self.max_sentence_length is not None:
            self.left_out.tell(self.max_sentence_length)
        if not len(counts):
            raise CorpusError("the corpus has no text to train on")
        normalizer = Normalizer(
            self.charsmap,
            [symbol.encode() for symbol in self.symbols()],
            add_prefix=self.add_dummy_prefix,
            remove_extra=self.remove_extra_whitespaces,
            escape=True,
            suffix=self.treat_whitespace_as_suffix,
        )
        rules = PieceRules(self.max_sentencepiece_length) if self.kind == "word" else self.rules()
        normalizer.most = limits.current().grown_bytes
        try:
            cut = self.pretokenizer and Cut(self.pretokenizer, not self.allow_inconsistent_pretokenization)
            words = normalized_words(counts, rules, normalizer, self.symbols(), cut)
        except Grown as error:
            raise limits.grown(error) from None
        coverage = math.inf if self.use_all_vocab else self.character_coverage
        alphabet = alphabet_of(words, coverage, self.required_chars)
        for piece, _ in self.meta.values():
            alphabet.pop(piece, None)
        learn = self.learner(words, alphabet, report, threads)
        return [self._definition(learn, size, len(alphabet)) for size in sizes]

    def _definition(self, learn: Learner, size: int, n_characters: int) -> Definition:
        n_meta = len(self.meta)
        if size < n_meta + n_characters and self.kind in ("unigram", "bpe"):
            raise OptionError(
                f"vocab_size is {size}; this corpus needs at least {n_meta + n_characters}: {n_characters} characters, "
                f"which a smaller character_coverage would make fewer, and {n_meta} other pieces"
            )
        pieces, scores = learn(size - n_meta)
        is_hard = self.hard_vocab_limit and not self.use_all_vocab and self.kind != "char"
        if len(pieces) < size - n_meta and is_hard:
            raise OptionError(
                f"vocab_size is {size}; this corpus yields {len(pieces) + n_meta} at most: use that size, or allow "
                "fewer by hard_vocab_limit=False (--no-hard-vocab-limit)"
            )
        return definition_of(model_of(self, pieces, scores, size))

    def learner(self, words: WordCounts, alphabet: dict[str, int], report: Reporter, threads: int) -> Learner:
        """Return what learns so many pieces, and says which and their scores."""
        raise OptionError("a kind of model must be chosen")


Learner = Callable[[int], tuple[Sequence[str], Sequence[float]]]
"""How many pieces → pieces in the order of their ids, and their scores."""


@dataclass(frozen=True, kw_only=True)
class UnigramTraining(SentencePieceTraining):
    """The options of a Unigram model: log-probabilities of pieces, found by expectation maximisation.

    It begins with the `seed_sentencepiece_size` substrings whose occurrences cover most characters. Each round runs
    `num_sub_iterations` steps and then keeps the share `shrinking_factor` of the pieces: those whose removal would cost
    the most likelihood, plus `token_cost` nats for each additional token. `m_step` sets probabilities from expected
    counts by "digamma", as in sentencepiece, which lowers rare pieces, or by the "counts" themselves. `explain` is
    called with each round, a `Round`.

    Pieces and scores are not those of sentencepiece: its last pruning selects pieces by score, this one always by loss,
    and scores here are multiples of 1/8, whose sums are exact, so that a tokenizer.json gives the ids of the .model.
    """

    seed_sentencepiece_size: int = 1_000_000
    shrinking_factor: float = 0.75
    num_sub_iterations: int = 2
    m_step: str = "digamma"
    token_cost: float = 6.0
    explain: Callable[[Round], object] | None = None

    kind: ClassVar[Kind] = "unigram"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._integer("seed_sentencepiece_size", 1, MAX_ID)
        self._integer("num_sub_iterations", 1, 1000)
        number("shrinking_factor", self.shrinking_factor, 0, 0.99, above=True)
        number("token_cost", self.token_cost, 0, 1000)
        choice("m_step", self.m_step, "digamma", "counts")
        if self.explain is not None and not callable(self.explain):
            raise OptionError(f"explain is {self.explain!r}; it must be a function that takes a Round")

    def learner(self, words: WordCounts, alphabet: dict[str, int], report: Reporter, threads: int) -> Learner:
        """Return what learns so many pieces, and says which and their scores."""
        rules = self.rules("".join(alphabet))
        units = _units(rules, words)
        rounds = Rounds(
            n_seeds=self.seed_sentencepiece_size,
            shrinking_factor=self.shrinking_factor,
            n_steps=self.num_sub_iterations,
            m_step=self.m_step,
            token_cost=self.token_cost,
            threads=threads,
            explain=self.explain,
        )

        present = {chr(code) for code, _, _ in words.characters()}
        absent = [c for c in alphabet if c not in present]

        def learn(size: int) -> tuple[Sequence[str], Sequence[float]]:
            pieces, scores = train_unigram(units, rules, size - len(absent), rounds, report)
            # Required characters that the text lacks are the least likely, each a little less than the one before.
            below = scores.min() - STEP_BELOW * np.arange(1, len(absent) + 1)
            exact = np.rint(np.concatenate([scores, below]) * SCORE_STEPS) / SCORE_STEPS
            return [*pieces, *absent], exact.tolist()

        return learn


@dataclass(frozen=True, kw_only=True)
class BPETraining(SentencePieceTraining):
    """The options of a BPE model: what merges in their order, then the characters, as sentencepiece trains it."""

    kind: ClassVar[Kind] = "bpe"

    def learner(self, words: WordCounts, alphabet: dict[str, int], report: Reporter, threads: int) -> Learner:
        """Return what learns so many pieces, and says which and their scores."""
        rules = self.rules("".join(alphabet))
        units = _units(rules, words)

        def learn(size: int) -> tuple[Sequence[str], Sequence[float]]:
            n_merges = size - len(alphabet)
            trainer = SentencePieceBPETrainer(units, "".join(alphabet), n_merges, rules)
            report("merge", 0, n_merges, always=True)
            while not trainer.run(VISITS_A_SLICE):
                report("merge", trainer.n_merges, n_merges)
            report("merge", trainer.n_merges, n_merges, always=True)
            pieces = [*(piece.decode() for piece in trainer.pieces()), *alphabet]
            return pieces, [-float(rank) for rank in range(len(pieces))]

        return learn


@dataclass(frozen=True, kw_only=True)
class CharacterTraining(SentencePieceTraining):
    """The options of a model of characters: those that occur most."""

    kind: ClassVar[Kind] = "char"

    def learner(self, words: WordCounts, alphabet: dict[str, int], report: Reporter, threads: int) -> Learner:
        """Return what learns so many pieces, and says which and their scores."""
        total = sum(alphabet.values())
        return lambda size: _by_frequency(list(alphabet.items()), total, None if self.use_all_vocab else size)


@dataclass(frozen=True, kw_only=True)
class WordTraining(SentencePieceTraining):
    """The options of a model of words, each with the space before it: those that occur most."""

    kind: ClassVar[Kind] = "word"

    def learner(self, words: WordCounts, alphabet: dict[str, int], report: Reporter, threads: int) -> Learner:
        """Return what learns so many pieces, and says which and their scores."""
        known = set(alphabet)
        counts = [(word.decode(), count) for word, count in words.items()]
        total = sum(count for _, count in counts)
        found = [(word, count) for word, count in counts if known.issuperset(word)]
        found.sort(key=lambda item: (-item[1], item[0]))
        return lambda size: _by_frequency(found, total, None if self.use_all_vocab else size)


def _by_frequency(
    counts: Sequence[tuple[str, int]], total: int, size: int | None
) -> tuple[Sequence[str], Sequence[float]]:
    """Return the first pieces with the logarithms of their relative frequencies."""
    kept = counts[:size]
    # What is required and never occurs is less likely than what occurs once.
    return [piece for piece, _ in kept], [math.log(max(count, 0.5) / max(total, 1)) for _, count in kept]


def _units(rules: PieceRules, words: WordCounts) -> WordCounts:
    units = rules.units(words)
    if not len(units):
        raise CorpusError("the corpus has no text of known characters to train on")
    return units
