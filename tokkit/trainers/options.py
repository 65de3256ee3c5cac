"""Checks options that trainers share, and lists the names of all options."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypedDict

from tokkit._core.train.word_counts import WordCounts
from tokkit.checks import check_flag, is_text
from tokkit.corpus.readers import Unit
from tokkit.definition import Definition
from tokkit.errors import OptionError
from tokkit.trainers.counts import Counter, Reporter


@dataclass(frozen=True, slots=True)
class Step:
    """One merge in the training of BPE or WordPiece, with the numbers by which it was chosen.

    Tokens are bytes in byte-level BPE, where they may end inside a character, and str otherwise. Counts are those at
    that step; `total` is the count of all tokens. `score` is the gain in log-likelihood, in nats; for "pmi" the ratio
    count · total / (left_count · right_count); for frequency the count, and then the other counts are None.
    """

    left: str | bytes
    right: str | bytes
    token: str | bytes
    score: float
    count: int
    left_count: int | None
    right_count: int | None
    total: int | None


@dataclass(frozen=True, slots=True)
class Round:
    """One round of a Unigram training.

    `log_likelihood`, in nats, is that of the text over all segmentations, without unknown characters, under the
    probabilities at the start of the last step; `tokens` is the expected number of tokens. `pruned` are some of the
    pieces that were removed before the round: those with the highest loss.
    """

    number: int
    pieces_before: int
    pieces: int
    log_likelihood: float
    tokens: float
    pruned: tuple[str, ...]


class Options(TypedDict, total=False):
    """All options that depend on the model; see `train`."""

    pattern: str | None
    special_tokens: Sequence[str]
    special: Literal["boundary", "text"]
    forbidden_tokens: Sequence[str]
    unk_token: str | None
    min_frequency: int | None
    max_token_length: int | None
    score: Literal["frequency", "likelihood", "pmi"]
    limit_alphabet: int | None
    initial_alphabet: Sequence[str]
    prefix: str
    lowercase: bool
    strip_accents: bool | None
    handle_chinese_chars: bool
    max_input_chars_per_word: int
    explain: Callable[[Step], object] | Callable[[Round], object] | None
    level: Literal["characters", "bytes"]
    word_end: Literal["apart", "attached", "none"]
    suffix: str
    dropout: float | None
    glossaries: Sequence[str]
    fallback: Literal["char", "byte"]
    character_coverage: float
    normalization_rule_name: str
    normalization_rules: Mapping[str, str] | None
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool
    split_by_unicode_script: bool
    split_by_number: bool
    split_digits: bool
    split_by_whitespace: bool
    treat_whitespace_as_suffix: bool
    allow_whitespace_only_pieces: bool
    pretokenizer: Callable[[str], Iterable[str]] | None
    allow_inconsistent_pretokenization: bool
    pretokenization_delimiter: str
    input_format: Literal["text", "tsv"]
    max_sentencepiece_length: int
    max_sentence_length: int | None
    input_sentence_size: int
    shuffle_input_sentence: bool
    random_seed: int
    train_extremely_large_corpus: bool
    user_defined_symbols: Sequence[str]
    control_symbols: Sequence[str]
    required_chars: str
    byte_fallback: bool
    hard_vocab_limit: bool
    use_all_vocab: bool
    unk_id: int
    bos_id: int
    eos_id: int
    pad_id: int
    unk_piece: str
    bos_piece: str
    eos_piece: str
    pad_piece: str
    unk_surface: str
    seed_sentencepiece_size: int
    seed_sentencepieces_file: str | None
    shrinking_factor: float
    num_sub_iterations: int
    m_step: Literal["digamma", "counts"]
    state: str | os.PathLike[str] | None
    state_every: int
    resume: bool
    max_memory: int | None
    token_cost: float


class Training(Protocol):
    """The checked options of one model, which also trains it."""

    as_text: bool
    """Whether words must be valid text, not arbitrary bytes."""

    @property
    def unit(self) -> Unit:
        """What a document of a text file is by default: a "file" where words may hold line ends, else a "line"."""

    @property
    def special_tokens(self) -> Sequence[str]:
        """The special tokens, in the order of their ids."""

    def check_sizes(self, sizes: Sequence[int], given: object) -> None:
        """Raise OptionError for impossible sizes; `given` is the user's argument."""

    def counter(self) -> Counter | None:
        """Return the counter of the corpus's words; None if nothing needs to be counted."""

    def counting(self) -> dict[str, object] | None:
        """Return the definition of the words that `counter` counts; None if counts cannot replace the text."""

    def definitions(
        self, counts: WordCounts, sizes: Sequence[int], report: Reporter, threads: int = 1
    ) -> list[Definition]:
        """Train with up to `threads` threads, and return a definition of each size."""


def integer(name: str, value: object, *, minimum: int | None = None) -> int:
    """Return an option as int; OptionError if it is not an int (numpy's included) of at least `minimum`."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise OptionError(f"{name} is {value!r}; it must be an int") from None
    if minimum is not None and number < minimum:
        raise OptionError(f"{name} is {number}; it must be at least {minimum}")
    return number


def number(name: str, value: object, minimum: float, maximum: float, *, above: bool = False) -> float:
    """Return an option that must be a number from `minimum` (or `above` it) to `maximum`, and not NaN."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise OptionError(f"{name} is {value!r}; it must be a number")
    if not (minimum < value if above else minimum <= value) or not value <= maximum:
        raise OptionError(f"{name} is {value!r}; it must be {'above' if above else 'from'} {minimum:g} to {maximum:g}")
    return float(value)


def flag(name: str, value: object) -> bool:
    """Return an option that must be True or False."""
    check_flag(name, value)
    return bool(value)


def choice(name: str, value: object, *choices: str) -> str:
    """Return an option that must be one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise OptionError(f"{name} is {value!r}; it must be one of {', '.join(choices)}")
    return value


def text(name: str, value: object) -> str:
    """Return an option that must be a str without lone surrogates."""
    if not isinstance(value, str):
        raise OptionError(f"{name} is {value!r}; it must be str")
    if not is_text(value):
        raise OptionError(f"{name} is {value!r}; it has a lone surrogate, which UTF-8 lacks")
    return value


def checked_list(name: str, what: str, tokens: object) -> list[str]:
    """Return a list of distinct non-empty texts; `what` names them in messages."""
    if isinstance(tokens, (str, bytes)) or not isinstance(tokens, Sequence):
        raise OptionError(f"{name} is {tokens!r}; it must be a list of str")
    found: list[str] = []
    for token in tokens:
        if not isinstance(token, str):
            raise OptionError(f"the {what} {token!r} is {type(token).__name__}; it must be str")
        if not token:
            raise OptionError(f"a {what} is empty; it must have at least one character")
        if token in found:
            raise OptionError(f"the {what} {token!r} is given twice")
        if not is_text(token):
            raise OptionError(f"the {what} {token!r} has a lone surrogate, which UTF-8 lacks")
        found.append(token)
    return found


def with_unknown(tokens: Sequence[str], unk_token: str) -> None:
    """Raise OptionError unless the unknown token is one of the special tokens."""
    if unk_token not in tokens:
        raise OptionError(
            f"the unknown token {unk_token!r} is not among the special tokens ({', '.join(tokens) or 'none'}); "
            "add it there, or choose another unk_token"
        )
