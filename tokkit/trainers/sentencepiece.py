"""Prepares the training of SentencePiece models: options and steps that Unigram, BPE, word and char share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from tokkit import limits
from tokkit._core.charsmap import Normalizer
from tokkit._core.text import Grown
from tokkit._core.train.sp_train import PieceRules
from tokkit._core.train.unigram_train import LONGEST_PIECE
from tokkit._core.train.word_counts import WordCounts
from tokkit.corpus.readers import Corpus, Unit
from tokkit.definition import Definition, definition_of
from tokkit.errors import CorpusError, OptionError
from tokkit.models.sentencepiece import Kind
from tokkit.normalizers.charsmap_builder import compile_rules
from tokkit.normalizers.sentencepiece_rules import charsmap
from tokkit.trainers.counts import WORD_MEMORY, Counter, Reporter
from tokkit.trainers.options import checked_list, choice, flag, integer, number, text
from tokkit.trainers.sentencepiece_pieces import meta_pieces, model_of
from tokkit.trainers.sentencepiece_sample import SampledCorpus
from tokkit.trainers.sentencepiece_sentences import LeftOut, Reading, by_sentences
from tokkit.trainers.sentencepiece_text import SPACE_MARK, UNKNOWN_MARK, Cut, alphabet_of, normalized_words
from tokkit.trainers.state_file import StateFile
from tokkit.vocab import MAX_ID

_FLAGS = (
    *("add_dummy_prefix", "remove_extra_whitespaces", "split_by_unicode_script", "split_by_number", "split_digits"),
    *("split_by_whitespace", "treat_whitespace_as_suffix", "allow_whitespace_only_pieces", "byte_fallback"),
    *("hard_vocab_limit", "use_all_vocab", "shuffle_input_sentence", "train_extremely_large_corpus"),
    "allow_inconsistent_pretokenization",
)
_TEXTS = (
    *("required_chars", "unk_piece", "bos_piece", "eos_piece", "pad_piece", "unk_surface"),
    "pretokenization_delimiter",
)


Learner = Callable[[int], tuple[Sequence[str], Sequence[float]]]
"""Number of pieces → pieces in the order of their ids, and their scores."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The normalized words of a corpus, and its alphabet: characters and their counts, as from `alphabet_of`."""

    words: WordCounts
    alphabet: dict[str, int]
    folder: bytes | None = None  # for mapped files, if memory is limited


@dataclass(frozen=True, kw_only=True)
class SentencePieceTraining:
    """The options that all SentencePiece models share, with sentencepiece's names and defaults.

    `character_coverage` is the share of the text's characters that the vocabulary must cover: `required_chars`, and
    then the most frequent characters until it is reached, are pieces; others are unknown, or bytes with
    `byte_fallback`. Text is normalized by `normalization_rule_name` ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf",
    "identity") or by `normalization_rules`, a mapping of text to its replacement. No piece is longer than
    `max_sentencepiece_length` characters, has letters of two scripts (`split_by_unicode_script`), digits and letters
    (`split_by_number`), several digits (`split_digits`), or a space but at its beginning (`split_by_whitespace`; at its
    end with `treat_whitespace_as_suffix`); spaces alone may be a piece with `allow_whitespace_only_pieces`. Only a
    space divides text: where the normalization keeps tabs and line ends, as "identity" does, they are characters like
    any other.

    A sentence is a line of a file, without its end, or any other document (a text of an iterator, a record, a
    paragraph) without the line ends at its end. Sentences of more than `max_sentence_length` bytes are left out (None:
    no limit), and those with U+2585. U+001F is a boundary in the text that no piece crosses.

    With `input_sentence_size` (0: all), only that many sentences are used: the first ones or, with
    `shuffle_input_sentence`, a random sample by `random_seed`. The sample depends only on the sentences, their order
    and the seed, but differs from sentencepiece's. `train_extremely_large_corpus` has no effect.

    `pretokenizer` (only "unigram" and "sp-bpe") splits a normalized sentence, with U+2581 for spaces, into parts that
    no piece crosses; the joined parts must be the sentence, unless `allow_inconsistent_pretokenization`. It is only
    used in training. With `pretokenization_delimiter` instead, each occurrence of that text in a normalized sentence is
    such a boundary, and is left out.

    With `input_format` "tsv", a sentence is "text<tab>count": it counts as often as the integer says.

    Ids: <unk>, <s>, </s> and <pad> have the ids of their options, -1 for none; then come `special_tokens` and
    `control_symbols`, which are never encoded from text, `user_defined_symbols`, which are never split, and 256 bytes;
    then the other pieces. `hard_vocab_limit=False` allows a smaller vocabulary than requested. With `use_all_vocab`,
    all characters are pieces, and in models of words and characters all words or characters, whatever the size.
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
    pretokenization_delimiter: str = ""
    input_format: str = "text"
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
    unit: ClassVar[Unit] = "line"
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
        choice("input_format", self.input_format, "text", "tsv")
        self._check_pretokenization()
        if wrong := {" ", UNKNOWN_MARK} & set(self.required_chars):
            raise OptionError(f"required_chars has {min(wrong)!r}, which is never a piece; write U+2581 for a space")
        rules = self.normalization_rules
        try:
            compiled = charsmap(self.normalization_rule_name) if rules is None else compile_rules(rules)
        except ValueError as error:
            raise OptionError(f"normalization_rules: {error}") from None
        object.__setattr__(self, "charsmap", compiled)
        object.__setattr__(self, "rule_name", self.normalization_rule_name if rules is None else "user_defined")
        object.__setattr__(self, "meta", meta_pieces(self))

    def _check_pretokenization(self) -> None:
        by_function = self.pretokenizer is not None
        if by_function and not callable(self.pretokenizer):
            raise OptionError(f"pretokenizer is {self.pretokenizer!r:.80}; it must be a function")
        if by_function and self.pretokenization_delimiter:
            raise OptionError("pretokenizer and pretokenization_delimiter are both given; give one of them")
        if (by_function or self.pretokenization_delimiter) and self.kind in ("word", "char"):
            name = "pretokenizer" if by_function else "pretokenization_delimiter"
            raise OptionError(f'{name} is given for a model of the type {self.kind}; it is for "unigram" and "bpe"')

    def _integer(self, name: str, minimum: int, maximum: int) -> None:
        value = integer(name, getattr(self, name), minimum=minimum)
        if value > maximum:
            raise OptionError(f"{name} is {value}; it must be at most {maximum}")
        object.__setattr__(self, name, value)

    def smallest(self) -> Definition:
        """Return the definition of an untrained model."""
        n = max(self.meta) + 1
        private = [chr(0xF0000 + k) for k in range(n - len(self.meta))]  # if an id leaves smaller ones unused
        return definition_of(model_of(self, private, [0.0] * len(private)))

    def check_sizes(self, sizes: Sequence[int], given: object) -> None:
        """Raise OptionError for impossible sizes; `given` is the user's argument."""
        if not sizes or min(sizes) <= len(self.meta) or max(sizes) > MAX_ID + 1:
            raise OptionError(
                f"vocab_size is {given}; it must be at least {len(self.meta) + 1}, for {len(self.meta)} fixed pieces "
                f"and one more, and at most {MAX_ID + 1}"
            )
        if max(self.meta) >= min(sizes):
            last = max(self.meta)
            raise OptionError(f"the id of {self.meta[last][0]!r} is {last}; it must be less than vocab_size, {given}")

    def symbols(self) -> list[str]:
        """Return the pieces that no other piece overlaps, which are found in normalized text, as in sentencepiece."""
        return [piece for piece, _ in self.meta.values()]

    @property
    def forbidden_pieces(self) -> list[str]:
        """The texts that no piece of several characters has in it."""
        forbidden: Sequence[str] = getattr(self, "forbidden_tokens", ())
        return [text.replace(" ", SPACE_MARK) for text in forbidden]

    @property
    def _counts_lines(self) -> bool:
        """Whether whole sentences must be counted, not words."""
        keys = [*(self.normalization_rules or ()), *(symbol.replace(SPACE_MARK, " ") for symbol in self.symbols())]
        by_words = self.add_dummy_prefix and self.remove_extra_whitespaces and self.split_by_whitespace
        # A word that normalization deletes would get a space after it.
        by_words = by_words and not self.treat_whitespace_as_suffix
        return not by_words or any(" " in key for key in keys) or self._cut is not None

    @property
    def _cut(self) -> Cut | None:
        """The additional boundaries in sentences."""
        if self.pretokenizer is not None:
            return Cut(self.pretokenizer, not self.allow_inconsistent_pretokenization)
        delimiter = self.pretokenization_delimiter
        return Cut(lambda sentence: sentence.split(delimiter), consistent=False) if delimiter else None

    def counter(self) -> Counter:
        """Return the counter of words, or of whole sentences if words would be normalized differently alone."""
        return by_sentences(self._reading, whole=self._counts_lines)

    @property
    def _reading(self) -> Reading:
        """How documents are read as sentences."""
        return Reading(self.max_sentence_length, self.weighted, self.left_out)

    @property
    def weighted(self) -> bool:
        """Whether each sentence has a count."""
        return self.input_format == "tsv"

    def counting(self) -> dict[str, object]:
        """Return the definition of the texts that are counted; they are normalized later, in training."""
        return {"words": "lines" if self._counts_lines else "between spaces", "longest": self.max_sentence_length}

    def sampled(self, corpus: Corpus) -> Corpus | SampledCorpus:
        """Return the corpus, or a sample of `input_sentence_size` sentences."""
        if not self.input_sentence_size:
            return corpus
        return SampledCorpus(
            corpus,
            self.input_sentence_size,
            shuffle=self.shuffle_input_sentence,
            seed=self.random_seed,
            reading=self._reading,
        )

    def rules(self, alphabet: str | None = None) -> PieceRules:
        """Return the rules for valid pieces."""
        return PieceRules(
            self.max_sentencepiece_length,
            split_scripts=self.split_by_unicode_script,
            split_numbers=self.split_by_number,
            split_digits=self.split_digits,
            split_spaces=self.split_by_whitespace,
            space_last=self.treat_whitespace_as_suffix,
            pieces_of_spaces=self.allow_whitespace_only_pieces,
            alphabet=alphabet,
            forbidden=self.forbidden_pieces,
        )

    def folder(self, needed: int) -> bytes | None:
        """Return None: there is no limit of memory."""
        return None

    def state_file(self, **more: object) -> StateFile | None:
        """Return a state that saves nothing."""
        return None

    def definitions(
        self, counts: WordCounts, sizes: Sequence[int], report: Reporter, threads: int = 1
    ) -> list[Definition]:
        """Train, and return a definition of each size."""
        state = self.state_file()
        if state is not None and state.resumes:
            learn = self.resumed(state, sizes, report, threads)
        else:
            learn = self.learner(self._prepared(counts), sizes, report, threads)
        return [self._definition(learn, size) for size in sizes]

    def _prepared(self, counts: WordCounts) -> Prepared:
        """Return the words of counted texts, and close these."""
        self.left_out.tell(self.max_sentence_length)
        if not len(counts):
            raise CorpusError("the corpus has no text to train on")
        normalizer = Normalizer(
            self.charsmap,
            [],
            add_prefix=self.add_dummy_prefix,
            remove_extra=self.remove_extra_whitespaces,
            escape=True,
            suffix=self.treat_whitespace_as_suffix,
        )
        rules = PieceRules(self.max_sentencepiece_length) if self.kind == "word" else self.rules()
        normalizer.most = limits.current().grown_bytes
        folder = self.folder(WORD_MEMORY * len(counts) + counts.n_bytes)
        counts.freeze()
        try:
            words = normalized_words(counts, rules, normalizer, self.symbols(), self._cut, folder)
        except Grown as error:
            raise limits.grown(error) from None
        counts.close()
        words.freeze()
        coverage = math.inf if self.use_all_vocab else self.character_coverage
        alphabet = alphabet_of(words, coverage, self.required_chars)
        for piece, _ in self.meta.values():
            alphabet.pop(piece, None)
        return Prepared(words, alphabet, folder)

    def check_alphabet(self, sizes: Sequence[int], n_characters: int) -> None:
        """Raise OptionError for sizes that are too small for the characters of the corpus."""
        n_meta = len(self.meta)
        if min(sizes) < n_meta + n_characters:
            raise OptionError(
                f"vocab_size is {min(sizes)}; this corpus needs at least {n_meta + n_characters}: {n_characters} "
                f"characters (a smaller character_coverage reduces these) and {n_meta} other pieces"
            )

    def _definition(self, learn: Learner, size: int) -> Definition:
        n_meta = len(self.meta)
        pieces, scores = learn(size - n_meta)
        is_hard = self.hard_vocab_limit and not self.use_all_vocab and self.kind != "char"
        if len(pieces) < size - n_meta and is_hard:
            raise OptionError(
                f"vocab_size is {size}; this corpus yields at most {len(pieces) + n_meta}: use that size, or allow "
                "fewer with hard_vocab_limit=False (--no-hard-vocab-limit)"
            )
        return definition_of(model_of(self, pieces, scores))

    def learner(self, found: Prepared, sizes: Sequence[int], report: Reporter, threads: int) -> Learner:
        """Return a function that trains to a number of pieces, and returns the pieces and their scores."""
        raise OptionError("a kind of model must be chosen")

    def resumed(self, state: StateFile, sizes: Sequence[int], report: Reporter, threads: int) -> Learner:
        """Return the same function, continuing from a saved state."""
        raise OptionError("this model is not trained in steps, and has no state")
