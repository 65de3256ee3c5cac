"""Trains the BPE of Sennrich, Haddow and Birch (2016), on words counted in the order of the text.

Words begin as characters; the end-of-word mark "</w>" is a separate symbol or part of the last character. The most
frequent pair is merged; ties go to the pair that comes first in the text as it is split at that step, so this is the
only model that depends on the order of its input.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tokkit._core.train.bpe_train import ClassicTrainer
from tokkit._core.train.word_counts import WordCounts
from tokkit.decoders.bpe import BPE as BPEDecoder
from tokkit.definition import AddedToken, Definition
from tokkit.errors import CorpusError, OptionError
from tokkit.models.char_bpe import CharBPE
from tokkit.normalizers.lowercase import Lowercase
from tokkit.pretokenizers.bert import Bert
from tokkit.pretokenizers.whitespace_split import WhitespaceSplit
from tokkit.trainers.counts import MAX_TOTAL, Counter, Reporter, by_words
from tokkit.trainers.options import Step, checked_list, choice, flag, integer, text, with_unknown
from tokkit.trainers.resumable import Resumable
from tokkit.trainers.special_texts import WithBoundaries, WithForbidden, cut_at
from tokkit.trainers.state_file import Read, Sink, StateFile, read_arrays, write_arrays
from tokkit.trainers.wordlevel import check_sizes
from tokkit.vocab import Vocab

SPLITS: dict[str, Any] = {"whitespace": WhitespaceSplit, "punctuation": Bert}
MAX_CHARACTERS = 1 << 16
"""Maximum characters of a word: without it, a long line without spaces would become tokens of half its length."""

MEMORY_A_BYTE = 60
MEMORY_A_WORD = 250
"""Bytes of memory per byte of a distinct word, and per word: strings, symbols, and lists of the words of each pair."""

logger = logging.getLogger("tokkit")


class Run:
    """A training: the tokens by id, and the merges (left, right, count) in order."""

    def __init__(self, first: Sequence[str], bare: str) -> None:
        self.names, self.n_first = list(first), len(first)
        self.ids = {name: id_ for id_, name in enumerate(self.names)}
        self.steps: list[tuple[int, int, int]] = []
        self._bare = bare
        self.trainer: ClassicTrainer

    def begin(self, symbols: NDArray[np.int32], ends: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Set the words in their current segmentation."""
        try:
            self.trainer = ClassicTrainer(symbols, ends, counts, len(self.names))
        except OverflowError as error:
            raise CorpusError(f"the corpus is too large to train from at once: {error}") from None

    def name(self, left: int, right: int) -> int:
        """Return the id of the token that a pair makes, which may be new."""
        made = self.names[left] + self.names[right]
        result = self.ids.setdefault(made, len(self.names))
        if result == len(self.names):
            self.names.append(made)
        return result

    def text_of(self, left: int, right: int) -> str:
        """Return the text of the token that a pair makes, without the end-of-word mark."""
        return (self.names[left] + self.names[right]).removesuffix(self._bare)

    def merge(self, left: int, right: int, count: int) -> None:
        """Merge all occurrences of a pair."""
        self.steps.append((left, right, count))
        self.trainer.merge(left, right, self.name(left, right))

    def step(self, number: int) -> Step:
        """Return a merge for `explain`."""
        left, right, count = self.steps[number]
        a, b = self.names[left], self.names[right]
        return Step(a, b, a + b, float(count), count, None, None, None)

    def told(self) -> Iterator[Step]:
        """Return the merges so far."""
        return map(self.step, range(len(self.steps)))

    def save(self, file: Sink) -> None:
        """Write the words in their current segmentation, and the merges."""
        write_arrays(file, *self.trainer.words(), np.array(self.steps, dtype=np.int64).reshape(-1))

    def load(self, read: Read, size: int) -> None:
        """Restore what was written; ValueError if it is inconsistent."""
        symbols, ends, counts, steps = read_arrays(read, size, np.int32, np.int64, np.int64, np.int64)
        for left, right, count in steps.reshape(-1, 3).tolist():
            if not (0 <= left < len(self.names) and 0 <= right < len(self.names)):
                raise ValueError("a merge has a token that does not exist; it must be made before")
            self.steps.append((left, right, count))
            self.name(left, right)
        if len(counts) != len(ends):
            raise ValueError("there must be a count for each word")
        total = np.dot(counts.astype(np.float64), np.diff(ends, prepend=0).astype(np.float64))
        if len(counts) and (counts.min() < 1 or not total <= MAX_TOTAL):
            raise ValueError("the counts are out of range")
        self.begin(symbols, ends, counts)


@dataclass(frozen=True, kw_only=True)
class ClassicBPE(WithBoundaries, WithForbidden, Resumable):
    """The options of classic BPE.

    `pattern` is "whitespace" (words are between white space) or "punctuation" (punctuation characters are words too).
    With `word_end` "apart", `suffix` is a separate symbol, as in the paper; with "attached", it is part of each word's
    last character, as in subword-nmt 0.2 and openai-gpt; with "none", there is none. `glossaries` are texts that always
    become one token. `dropout` is the probability with which `tokkit.engine.sampling.Dropout` skips a merge. Without
    `unk_token`, characters that are not in the corpus get no id. Ids: special tokens, glossaries, the alphabet in the
    order of its text, then tokens in the order of their merges.

    `WithBoundaries` has `special` and `special_tokens`, `WithForbidden` has `forbidden_tokens`, and `Resumable` has the
    options that save the training. Its words are kept in memory, in the order of the text; if they
    need more than `max_memory`, CorpusError says how much.
    """

    pattern: str = "whitespace"
    unk_token: str | None = None
    min_frequency: int = 0
    lowercase: bool = False
    suffix: str = "</w>"
    word_end: str = "apart"
    dropout: float | None = None
    glossaries: Sequence[str] = ()
    explain: Callable[[Step], object] | None = None

    as_text = True
    unit = "line"
    in_order = True
    model_name: ClassVar[str] = "bpe"

    def __post_init__(self) -> None:
        self.check_resumable()
        self.check_special()
        self.check_forbidden()
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
        """Raise OptionError for sizes without room for a character; `given` is the user's argument."""
        check_sizes(sizes, given, len(self.special_tokens) + len(self.glossaries))

    def counter(self) -> Counter:
        """Return what counts the words of a corpus."""
        return cut_at(by_words(self._normalizer, SPLITS[self.pattern]()), self.boundaries)

    def counting(self) -> None:
        """Return None, because merges depend on the order of the text, which counts do not keep."""

    def definitions(
        self, counts: WordCounts, sizes: Sequence[int], report: Reporter, threads: int = 1
    ) -> list[Definition]:
        """Train to the largest size, and cut a definition of each from it."""
        state = self.state_file()
        if state is not None and state.resumes:
            run, _ = state.load(self._restored)
        else:
            run = self._begun(counts)
        largest, n_first = max(sizes), run.n_first
        if largest < n_first:
            logger.warning(
                "the corpus has %d characters and special tokens, more than the vocab_size of %d; the vocabulary has "
                "all of them and no merges",
                *(n_first, largest),
            )
        self._merge(run, largest, report, state)
        if n_first + len(run.steps) and max(n_first, len(run.names)) < largest:
            logger.warning("the corpus yields only %d tokens, fewer than the vocab_size of %d", len(run.names), largest)
        return [self._definition(run, size) for size in sizes]

    def _begun(self, counts: WordCounts) -> Run:
        """Return the training of the words, before its first merge."""
        needed = MEMORY_A_BYTE * counts.n_bytes + MEMORY_A_WORD * len(counts)
        if self.folder(needed) is not None:
            raise CorpusError(
                f"the words of the corpus need about {needed / 1e6:,.0f} MB, more than max_memory allows: classic BPE "
                'keeps them in memory; use another model, such as "bbpe" or "sp-bpe", or allow as much'
            )
        words, times = _in_order(counts)
        if (longest := max(map(len, words))) > MAX_CHARACTERS:
            raise CorpusError(
                f"a word of the corpus has {longest:,} characters; {MAX_CHARACTERS:,} is the maximum that "
                'classic BPE trains on: for text without spaces use another model, such as "bbpe"'
            )
        first = [*self.special_tokens, *self.glossaries]
        spelt = [self._spell(word) for word in words]
        own = set(first)
        alphabet = sorted({symbol for word in spelt for symbol in word})
        run = Run([*first, *(symbol for symbol in alphabet if symbol not in own)], self._bare)
        ids = run.ids
        symbols = np.array([ids[symbol] for word in spelt for symbol in word], dtype=np.int32)
        ends = np.cumsum([len(word) for word in spelt], dtype=np.int64)
        run.begin(symbols, ends, np.array(times, np.int64))
        return run

    def _restored(self, first: Any) -> Run:
        """Return a training with these initial tokens and no words."""
        return Run([str(token) for token in first], self._bare)

    @property
    def _bare(self) -> str:
        """The end of a token that covers no text."""
        return self.suffix if self.word_end != "none" else ""

    def _spell(self, word: str) -> list[str]:
        if self.word_end == "apart":
            return [*word, self.suffix]
        return [*word[:-1], word[-1] + self.suffix] if self.word_end == "attached" else [*word]

    def _merge(self, run: Run, size: int, report: Reporter, state: StateFile | None) -> None:
        """Merge until there are `size` tokens."""
        n_first = run.n_first
        if self.explain is not None:
            for step in run.told():
                self.explain(step)
        report("merge", len(run.names) - n_first, size - n_first, always=True)
        kept = run.names[:n_first]
        if state is not None and not state.resumes:
            state.save(run, kept)
        saved, allows = len(run.steps), self.allows()
        while len(run.names) < size and (best := run.trainer.best()) is not None:
            if best[2] < self.min_frequency:
                break
            if not allows(run.text_of(*best[:2]).encode()):
                run.trainer.forbid(*best[:2])
                continue
            run.merge(*best)
            if self.explain is not None:
                self.explain(run.step(-1))
            report("merge", len(run.names) - n_first, size - n_first)
            if state is not None and len(run.steps) - saved >= state.every:
                state.save(run, kept)
                saved = len(run.steps)
        if state is not None:
            state.save(run, kept)
        report("merge", len(run.names) - n_first, size - n_first, always=True)

    def _definition(self, run: Run, size: int) -> Definition:
        ids = {token: id_ for id_, token in enumerate(run.names[: run.n_first])}
        merges: dict[tuple[int, int], int] = {}
        for left, right, _ in run.steps:
            if len(ids) >= size:
                break
            # If a pair is merged twice, because its parts were made again later, the first position counts.
            merges.setdefault((left, right), ids.setdefault(run.names[left] + run.names[right], len(ids)))
        suffix = None if self.word_end == "none" else self.suffix
        special = {token: id_ for id_, token in enumerate(self.special_tokens)}
        added = [AddedToken(token, id_, special=True) for token, id_ in special.items()]
        added += [AddedToken(token, ids[token], normalized=False) for token in self.glossaries]
        return Definition(
            vocab=Vocab.from_list(token.encode() for token in ids),
            model=CharBPE(
                merges=np.array([(*pair, made) for pair, made in merges.items()], dtype=np.uint32).reshape(-1, 3),
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


def _in_order(counts: WordCounts) -> tuple[list[str], list[int]]:
    """Return the words in the order of their first occurrence, and their counts."""
    blob, packed_ends, packed_counts = counts.packed()
    ends = np.frombuffer(packed_ends, dtype=np.int64).tolist()
    words = [blob[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)]
    return words, np.frombuffer(packed_counts, dtype=np.int64).tolist()
