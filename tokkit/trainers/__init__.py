"""A corpus in, a `Tokenizer` out: `train` checks the options, counts the words and runs the model's trainer."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import overload

from tokkit.corpus.readers import Corpus, InputErrors, Unit
from tokkit.engine import thread_count
from tokkit.errors import CorpusError, OptionError
from tokkit.pretokenizers import patterns
from tokkit.pretokenizers.choice import choose
from tokkit.tokenizer import Tokenizer
from tokkit.trainers.bpe import check_special_tokens, train_bpe
from tokkit.trainers.counts import Progress, Reporter, count_words, words_of

MODELS = ("bbpe",)


@overload
def train(
    source: object,
    *,
    model: str = ...,
    vocab_size: int = ...,
    pattern: str | None = ...,
    special_tokens: Sequence[str] = ...,
    min_frequency: int = ...,
    max_token_length: int | None = ...,
    unit: Unit = ...,
    field: str = ...,
    threads: int | None = ...,
    progress: Progress | None = ...,
    input_errors: InputErrors = ...,
) -> Tokenizer: ...
@overload
def train(
    source: object,
    *,
    model: str = ...,
    vocab_size: Sequence[int],
    pattern: str | None = ...,
    special_tokens: Sequence[str] = ...,
    min_frequency: int = ...,
    max_token_length: int | None = ...,
    unit: Unit = ...,
    field: str = ...,
    threads: int | None = ...,
    progress: Progress | None = ...,
    input_errors: InputErrors = ...,
) -> list[Tokenizer]: ...
def train(
    source: object,
    *,
    model: str = "bbpe",
    vocab_size: int | Sequence[int] = 32000,
    pattern: str | None = "gpt2",
    special_tokens: Sequence[str] = (),
    min_frequency: int = 0,
    max_token_length: int | None = None,
    unit: Unit = "line",
    field: str = "text",
    threads: int | None = None,
    progress: Progress | None = None,
    input_errors: InputErrors = "strict",
) -> Tokenizer | list[Tokenizer]:
    """Train a tokenizer; the same text gives the same tokenizer for any order of files and number of threads.

    `source` is a path, a list of paths (`tokkit.corpus.readers.Corpus` says which files), an iterator of texts, each
    a document of its own, or a mapping word → count (words as the pattern would cut them). In files, documents are
    lines with their ends, or as `unit` says; `field` is what .jsonl holds them in.

    `vocab_size` counts the special tokens and the 256 bytes; a list of sizes trains once and returns a tokenizer of
    each. A corpus too small for it gives fewer tokens, with a warning of the logger "tokkit". `pattern` names a split
    pattern or is one in the syntax of `regex`; None does not split. `threads=None` uses all CPUs of this process, or
    TOKKIT_NUM_THREADS. `progress(stage, done, total)` is called for the stages "count" (bytes of files, 0 where
    unknown) and "merge" (tokens). Raises OptionError, PatternError, and CorpusError for text that cannot be used.

    >>> tok = train(iter(["low lower lowest", "low low"]), vocab_size=258)
    >>> [tok.vocab[id_] for id_ in (256, 257)]
    [b'lo', b'low']
    """
    if model not in MODELS:
        raise OptionError(f"model is {model!r}; it must be one of {', '.join(MODELS)}")
    given = vocab_size if isinstance(vocab_size, Sequence) and not isinstance(vocab_size, str) else None
    sizes = [_integer("vocab_size", size) for size in ([vocab_size] if given is None else given)]
    specials = check_special_tokens(special_tokens)
    least = 256 + len(specials)
    if not sizes or min(sizes) < least:
        raise OptionError(
            f"vocab_size is {vocab_size}; it must be at least {least}: 256 bytes and {len(specials)} special tokens"
        )
    if (least_count := _integer("min_frequency", min_frequency)) < 0:
        raise OptionError(f"min_frequency is {least_count}; it must be at least 0")
    longest = None if max_token_length is None else _integer("max_token_length", max_token_length)
    if pattern is not None and not isinstance(pattern, str):
        raise OptionError(f"pattern is {type(pattern).__name__}; it must be str or None")
    split = patterns.resolve(pattern)
    choose(split, keep_unmatched=True)  # PatternError comes before anything is read
    workers, report = thread_count(threads), Reporter(progress)
    if isinstance(source, Mapping):
        counts = words_of(source)
    else:
        corpus = Corpus(source, unit=unit, field=field, errors=input_errors)
        try:
            counts = count_words(corpus, split, threads=workers, report=report)
        except OverflowError as error:
            raise CorpusError(f"the corpus is too large to train from at once: {error}") from None
    definitions = train_bpe(
        counts,
        sizes,
        pattern=split,
        special_tokens=specials,
        min_frequency=least_count,
        max_token_length=longest,
        report=report,
    )
    made = [Tokenizer(definition) for definition in definitions]
    return made[0] if given is None else made


def _integer(name: str, value: object) -> int:
    """Return an option that must be an int (or numpy's) as one."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise OptionError(f"{name} is {value!r}; it must be an int") from None
