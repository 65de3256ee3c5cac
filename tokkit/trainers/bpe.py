"""Trains byte-level BPE, with the same merges as tokenizers' BpeTrainer."""

from __future__ import annotations

import codecs
import logging
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tokkit._core.split import AddedMatcher
from tokkit._core.train.bpe_train import BPETrainer
from tokkit._core.train.word_counts import WordCounts
from tokkit.byte_symbols import SYMBOLS, is_symbols, to_bytes
from tokkit.definition import Definition, Split
from tokkit.errors import CorpusError, OptionError
from tokkit.models.bpe import BPE
from tokkit.pretokenizers import patterns
from tokkit.pretokenizers.choice import choose
from tokkit.trainers.counts import Counter, Reporter, by_pattern
from tokkit.trainers.options import Step, checked_list, integer
from tokkit.trainers.resumable import Resumable, run_merges
from tokkit.trainers.special_texts import WithBoundaries, WithForbidden, cut_at
from tokkit.trainers.state_file import StateFile
from tokkit.vocab import Vocab

MEMORY_A_BYTE = 8
"""Bytes of memory per byte of a distinct word in a training: a cell, and a position in the list of a pair."""

logger = logging.getLogger("tokkit")

ALPHABET = [bytes([b]) for b in sorted(range(256), key=SYMBOLS.__getitem__)]
"""The 256 bytes in the order of their ids: by the code points of their characters."""


@dataclass(frozen=True, kw_only=True)
class ByteBPE(WithBoundaries, WithForbidden, Resumable):
    """The options of byte-level BPE; `pattern` is a pattern or its name, and `explain` is called with each merge.

    `WithBoundaries` has `special` and `special_tokens`, `WithForbidden` has `forbidden_tokens`, and `Resumable` has the
    options that save the training and limit its memory.
    """

    pattern: str | None = "gpt2"
    min_frequency: int = 0
    max_token_length: int | None = None
    explain: Callable[[Step], object] | None = None

    as_text = False
    unit = "file"
    model_name: ClassVar[str] = "bbpe"

    def __post_init__(self) -> None:
        self.check_resumable()
        self.check_special()
        self.check_forbidden()
        object.__setattr__(self, "special_tokens", check_special_tokens(self.special_tokens))
        object.__setattr__(self, "min_frequency", integer("min_frequency", self.min_frequency, minimum=0))
        if self.max_token_length is not None:
            object.__setattr__(self, "max_token_length", integer("max_token_length", self.max_token_length))
        if self.pattern is not None and not isinstance(self.pattern, str):
            raise OptionError(f"pattern is {type(self.pattern).__name__}; it must be str or None")
        if self.explain is not None and not callable(self.explain):
            raise OptionError(f"explain is {self.explain!r}; it must be a function that takes a Step")
        object.__setattr__(self, "pattern", patterns.resolve(self.pattern))
        choose(self.pattern, keep_unmatched=True)  # an invalid pattern is an error before anything is read

    def check_sizes(self, sizes: Sequence[int], given: object) -> None:
        """Raise OptionError for impossible sizes; `given` is the user's argument."""
        minimum = 256 + len(self.special_tokens)
        if not sizes or min(sizes) < minimum:
            raise OptionError(
                f"vocab_size is {given}; it must be at least {minimum}: 256 bytes and "
                f"{len(self.special_tokens)} special tokens"
            )

    def counter(self) -> Counter:
        """Return the counter of the corpus's pretokens."""
        return cut_at(by_pattern(self.pattern), self.boundaries)

    def counting(self) -> dict[str, object]:
        """Return the options that define which words are counted."""
        return self.with_boundaries({"words": "of a pattern", "pattern": self.pattern})

    def definitions(
        self, counts: WordCounts, sizes: Sequence[int], report: Reporter, threads: int = 1
    ) -> list[Definition]:
        """Train, and return a definition of each size."""
        return train_bpe(
            counts,
            sizes,
            pattern=self.pattern,
            special_tokens=self.special_tokens,
            min_frequency=self.min_frequency,
            max_token_length=self.max_token_length,
            forbidden=self.forbidden,
            explain=self.explain,
            report=report,
            state=self.state_file(),
            folder_for=self.folder,
        )


def train_bpe(
    counts: WordCounts,
    vocab_sizes: Sequence[int],
    *,
    pattern: str | None,
    special_tokens: Sequence[str] = (),
    min_frequency: int = 0,
    max_token_length: int | None = None,
    forbidden: AddedMatcher | None = None,
    explain: Callable[[Step], object] | None = None,
    report: Reporter | None = None,
    state: StateFile | None = None,
    folder_for: Callable[[int], bytes | None] = lambda needed: None,
) -> list[Definition]:
    """Train once to the largest of `vocab_sizes` and cut a definition of each size from it.

    Ids: special tokens, the 256 bytes in the order of `ALPHABET`, then tokens in the order of their merges. The most
    frequent pair is merged next; ties go to the smaller (left id, right id). Training ends at the size, or when the
    most frequent pair occurs less than `min_frequency` times (or not at all). A token has at most `max_token_length`
    bytes (tokenizers counts one more: its max_token_length=N + 1 is N here). A merge whose bytes are already a token
    gets that token's id; for a pair that is merged twice, the last position in the list counts.
    """
    report = report or Reporter(None)
    specials = check_special_tokens(special_tokens)
    minimum = 256 + len(specials)
    for size in vocab_sizes:
        if size < minimum:
            raise OptionError(
                f"vocab_size is {size}; it must be at least {minimum}: 256 bytes and {len(specials)} special tokens"
            )
        if size >= 1 << 31:
            raise OptionError(f"vocab_size is {size}; it must be below 2**31")
    if max_token_length is not None and max_token_length < 2:
        raise OptionError(f"max_token_length is {max_token_length}; a merge makes at least 2 bytes")
    largest = max(vocab_sizes)
    tokens = [(text.encode(), len(text) * _is_ascii_graph(text)) for text in specials]
    tokens += [(byte, 1) for byte in ALPHABET]
    longest = min(max_token_length or sys.maxsize, sys.maxsize)
    least = min(min_frequency, (1 << 63) - 1)

    def make(given: WordCounts | None, needed: int) -> BPETrainer:
        return BPETrainer(given, tokens, largest, least, longest, folder=folder_for(needed), forbidden=forbidden)

    try:
        if state is not None and state.resumes:
            trainer, _ = state.load(lambda _: make(None, os.path.getsize(state.path)))
        else:
            trainer = make(counts, MEMORY_A_BYTE * (counts.n_bytes + len(counts)))
    except OverflowError as error:
        raise CorpusError(f"the corpus is too large to train from at once: {error}") from None
    run_merges(trainer, lambda: trainer.n_ids - minimum, largest - minimum, report, state)
    reached = trainer.n_ids
    if reached < largest:
        logger.warning("the corpus yields only %d tokens, fewer than the vocab_size of %d", reached, largest)
    merges = np.frombuffer(trainer.merges(), dtype=np.uint32).reshape(-1, 3)
    blob, packed = trainer.tokens()
    offsets = np.concatenate(([0], np.frombuffer(packed, dtype=np.uint64).astype(np.int64)))
    if explain is not None:
        tell_merges(trainer, Vocab(blob, offsets).__getitem__, explain)
    special_ids = {text: id_ for id_, text in enumerate(specials)}
    return [
        Definition(
            vocab=Vocab(blob[: offsets[min(size, reached)]], offsets[: min(size, reached) + 1]),
            model=BPE(merges=merges_of_size(merges, size, minimum), whole_piece=False),
            pretokenizer=Split(pattern, keep_unmatched=True),
            special_tokens=special_ids,
        )
        for size in vocab_sizes
    ]


def merges_of_size(merges: NDArray[np.uint32], size: int, n_first: int) -> NDArray[np.uint32]:
    """Return the merges, shape (n, 3), of a training to `size` ids; each pair keeps its last place.

    Training stops when the vocabulary has its size, so merges into known tokens after that do not count.
    """
    if not len(merges) or size <= n_first:
        return np.empty((0, 3), dtype=np.uint32)
    n_ids = np.maximum(np.maximum.accumulate(merges[:, 2].astype(np.int64)) + 1, n_first)
    made = merges[: int(np.searchsorted(n_ids, size)) + 1]
    pairs = made[:, 0].astype(np.uint64) << np.uint64(32) | made[:, 1]
    _, from_the_end = np.unique(pairs[::-1], return_index=True)
    return np.ascontiguousarray(made[np.sort(len(made) - 1 - from_the_end)])


def tell_merges(trainer: BPETrainer, token: Callable[[int], Any], tell: Callable[[Step], object]) -> None:
    """Call `explain` with each merge in the order of training; `token` returns the token of an id."""
    merges = np.frombuffer(trainer.merges(), dtype=np.uint32).reshape(-1, 3)
    counts = np.frombuffer(trainer.merge_counts(), dtype=np.int64)
    for pair, count in zip(merges.tolist(), counts.tolist(), strict=True):
        left, right, made = map(token, pair)
        tell(Step(left, right, made, float(count), count, None, None, None))


def check_special_tokens(tokens: Sequence[str]) -> list[str]:
    """Return the special tokens as a list; OptionError for one that conflicts with the bytes or merges."""
    found = checked_list("special_tokens", "special token", tokens)
    for token in found:
        if len(token) == 1 and (token.isascii() or is_symbols(token)):
            raise OptionError(f"the special token {token!r} is also the symbol of a single byte; make it longer")
        if _is_written_token(token):
            raise OptionError(f"the special token {token!r} stands for other text in files; choose another one")
    return found


def _is_ascii_graph(text: str) -> bool:
    """Return whether text is the same in the byte alphabet, so that a merge can make the same token."""
    return all("!" <= c <= "~" for c in text)


def _is_written_token(token: str) -> bool:
    """Return whether files write other bytes, which can occur in text, as `token`: for example "Ġthe"."""
    if _is_ascii_graph(token) or not is_symbols(token):
        return False
    written = to_bytes(token)
    cut = next((i for i, b in enumerate(written) if b & 0xC0 != 0x80), len(written))
    try:
        codecs.getincrementaldecoder("utf-8")().decode(written[cut:])
    except UnicodeDecodeError:
        return False
    return cut <= 3
