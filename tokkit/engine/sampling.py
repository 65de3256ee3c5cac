"""Shows how BPE splits words: merge by merge, with dropout, or as text with "@@".

For inspection, teaching, and training with BPE-dropout (Provilkov et al. 2020). Encoding itself is in the core.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokkit._core.align import AlignedText
from tokkit.errors import OptionError
from tokkit.models.char_bpe import CharBPE
from tokkit.models.names import described

if TYPE_CHECKING:
    from tokkit.engine.special_tokens import Special
    from tokkit.tokenizer import Tokenizer

MAX_WORDS = 1 << 18
Priorities = dict[tuple[int, int], tuple[int, int]]
"""Ids (left, right) → (priority, id of the result); the lowest priority merges first."""


@dataclass(frozen=True, slots=True)
class MergeStep:
    """One merge in a word: its index in the list of merges, the two tokens, and the symbols after it."""

    rank: int
    left: bytes
    right: bytes
    symbols: tuple[bytes, ...]


def has_merges(tok: Tokenizer) -> bool:
    """Return whether a tokenizer has `Merges`."""
    return isinstance(tok.definition.model, CharBPE) or tok.definition.over_bytes is not None


def merge_table(tok: Tokenizer) -> NDArray[np.uint32]:
    """Return the merges of a tokenizer (n, 3): ids of left, right and result, the first merge first.

    OptionError if the model is not BPE.
    """
    definition = tok.definition
    model: Any = definition.model
    if definition.over_bytes is not None:
        return np.asarray(tok.engine.merges(), dtype=np.uint32).reshape(-1, 3)
    if isinstance(model, CharBPE):
        return np.asarray(model.merges, dtype=np.uint32).reshape(-1, 3)
    raise OptionError(f"the model is {described(model)}; only BPE models have merges")


class Merges:
    """Runs the merges of a tokenizer step by step.

    >>> import tokkit
    >>> tok = tokkit.train({"low": 5, "lowest": 2, "newer": 3}, model="bpe", vocab_size=13)
    >>> for symbols, steps in Merges(tok).words("lows"):
    ...     print(symbols, [(step.rank, step.left + step.right) for step in steps])
    (b'l', b'o', b'w', b's', b'</w>') [(0, b'lo'), (1, b'low')]
    """

    def __init__(self, tok: Tokenizer) -> None:
        """OptionError if the model is not BPE."""
        self._tok = tok
        definition = tok.definition
        merges = merge_table(tok)
        if definition.over_bytes is None:
            model: Any = definition.model
            empty = replace(model, merges=np.empty((0, 3), dtype=np.uint32), ignore_merges=False)
            self._bare = empty.encoder(definition.vocab, added_ids=definition.added_ids)
        self._priorities: Priorities = {(a, b): (rank, result) for rank, (a, b, result) in enumerate(merges.tolist())}
        self._whole = getattr(definition.model, "whole_piece", False) or getattr(
            definition.model, "ignore_merges", False
        )

    def words(self, text: str, *, special: Special = "text") -> Iterator[tuple[tuple[bytes, ...], list[MergeStep]]]:
        """Yield (initial symbols, merges in order) for each word of a text."""
        vocab = self._tok.vocab
        for ids in self._symbols(text, special):
            steps: list[MergeStep] = []

            def note(rank: int, left: int, right: int, behind: list[int], steps: list[MergeStep] = steps) -> None:
                steps.append(MergeStep(rank, vocab[left], vocab[right], tuple(vocab[id_] for id_ in behind)))

            merge(ids, self._priorities, note)
            yield tuple(vocab[id_] for id_ in ids), steps

    def _symbols(self, text: str, special: Special) -> Iterator[list[int]]:
        """Yield the ids of each word before the first merge; an added token is a word."""
        vocab, definition = self._tok.vocab, self._tok.definition
        added = set(definition.added_vocab.values())
        if definition.over_bytes is None:
            *_, (_, prepared) = self._tok.stages(text, special=special)
            ids, _, words = self._bare.encode(prepared)
            for number in range(int(words[-1]) + 1 if len(words) else 0):
                yield ids[words == number].tolist()
            return
        byte_ids = {token[0]: id_ for token, id_ in vocab.items() if len(token) == 1 and id_ not in added}
        encoding = self._tok(text, special=special, add_special=False, truncation=None, padding=None)
        pieces: dict[int | None, list[int]] = {}
        for word, id_ in zip(encoding.word_ids, encoding.ids, strict=True):
            pieces.setdefault(word, []).append(id_)
        for tokens in pieces.values():
            alone = len(tokens) == 1 and (tokens[0] in added or (self._whole and not self._merged(tokens[0], byte_ids)))
            yield tokens if alone else [byte_ids[byte] for id_ in tokens for byte in vocab[id_]]

    def _merged(self, id_: int, byte_ids: dict[int, int]) -> bool:
        """Return whether merges make this token; some tokens are only used for a whole pretoken."""
        return merge([byte_ids[byte] for byte in self._tok.vocab[id_]], self._priorities) == [id_]


def merge(
    ids: list[int],
    priorities: Priorities,
    note: Callable[[int, int, int, list[int]], object] | None = None,
    drops: Callable[[], bool] | None = None,
) -> list[int]:
    """Merge ids, the pair with the lowest priority first, then the leftmost; quadratic time, for single words.

    `note` is called with each merge. `drops` returns, for each pair at each step, whether dropout skips it.
    """
    ids = list(ids)
    while True:
        found = [(*priorities[pair], i) for i, pair in enumerate(itertools.pairwise(ids)) if pair in priorities]
        if drops is not None:
            found = [pair for pair in found if not drops()]
        if not found:
            return ids
        rank, result, i = min(found, key=lambda pair: (pair[0], pair[2]))
        left, right = ids[i : i + 2]
        ids[i : i + 2] = [result]
        if note is not None:
            note(rank, left, right, ids)


class Dropout:
    """BPE-dropout: each merge is skipped with a probability, so that a word gets different segmentations.

    BPE over characters runs in the core, byte-level BPE in Python. The same seed gives the same ids.

    >>> import tokkit
    >>> tok = tokkit.train({"low": 5, "lowest": 2}, model="bpe", vocab_size=10)
    >>> len(Dropout(tok, 1.0).encode("low", seed=1)), Dropout(tok, 0.0).encode("low", seed=1) == tok.encode("low")
    (4, True)
    """

    def __init__(self, tok: Tokenizer, dropout: float = 0.1) -> None:
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise OptionError(f"dropout is {dropout!r}; it must be a probability from 0 to 1")
        self._tok, self._dropout = tok, dropout
        self._merges = Merges(tok)
        model = tok.definition.model
        if isinstance(model, CharBPE):
            self._model = replace(model, dropout=float(dropout)).encoder(tok.vocab, added_ids=tok.definition.added_ids)

    def encode(self, text: str, *, seed: int, special: Special = "text") -> list[int]:
        """Return ids; `seed` is from 0 to 2^64 - 1."""
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 64:
            raise OptionError(f"a seed is {seed!r}; it must be an int from 0 to 2^64 - 1")
        if self._tok.definition.over_bytes is None:
            prepared: AlignedText
            *_, (_, prepared) = self._tok.stages(text, special=special)
            ids: list[int] = self._model.encode(prepared, seed=seed)[0].tolist()
            return ids
        rng = random.Random(seed)
        merges = self._merges
        found: list[int] = []
        for symbols in merges._symbols(text, special):
            found += merge(symbols, merges._priorities, drops=lambda: rng.random() < self._dropout)
        return found


class Segmenter:
    """Writes the tokens of a text separated by spaces, with a separator after each that does not end its word.

    This is the output of subword-nmt, for classic BPE over characters; `restore` reverses it. Characters without a
    token are kept, and so are glossaries. Up to `MAX_WORDS` words are cached; do not share it between threads.

    >>> import tokkit
    >>> tok = tokkit.train({"low": 5, "lowest": 2, "newer": 3}, model="bpe", vocab_size=13)
    >>> Segmenter(tok).segment("lowest new"), restore("low@@ e@@ s@@ t n@@ e@@ w")
    ('low@@ e@@ s@@ t ne@@ w', 'lowest new')
    """

    def __init__(self, tok: Tokenizer, separator: str = "@@") -> None:
        model = tok.definition.model
        if not isinstance(model, CharBPE):
            raise OptionError(f"the model is {described(model)}; this needs BPE over characters")
        if not separator:
            raise OptionError("separator is empty; it must be a text that marks tokens inside a word")
        self._tok, self._separator = tok, separator
        self._suffix, self._apart = model.end_of_word_suffix or "", model.suffix_apart
        # Separate numbers, because a character without a token is a symbol too.
        self._numbers: dict[str, int] = {}
        tokens = {id_: token.decode() for token, id_ in tok.vocab.items()}
        number = self._numbers.setdefault
        self._priorities: Priorities = {}
        for rank, merged in enumerate(model.merges.tolist()):
            left, right, result = (number(tokens[id_], len(self._numbers)) for id_ in merged)
            self._priorities[left, right] = rank, result
        self._names = list(self._numbers)
        self._known: dict[str, str] = {}

    def segment(self, text: str, *, special: Special = "text") -> str:
        """Return the text with its tokens separated; runs of white space become one space."""
        *_, (_, prepared) = self._tok.stages(text, special=special)
        out: list[str] = []
        behind = None
        for piece, id_, (start, end) in zip(
            prepared.pieces, prepared.ids, prepared.piece_spans().tolist(), strict=True
        ):
            if out:
                out.append(f"{self._separator} " if start == behind else " ")
            out.append(piece.strip() if id_ is not None else self._word(piece))
            behind = end
        return "".join(out)

    def _word(self, word: str) -> str:
        if (known := self._known.get(word)) is not None:
            return known
        suffix = [self._suffix] if self._apart else []
        symbols = [*word, *suffix] if self._apart else [*word[:-1], word[-1] + self._suffix]
        for symbol in symbols:
            if symbol not in self._numbers:
                self._numbers[symbol] = len(self._names)
                self._names.append(symbol)
        names = [self._names[k] for k in merge([self._numbers[symbol] for symbol in symbols], self._priorities)]
        if self._suffix:
            names[-1] = names[-1].removesuffix(self._suffix)
        made = f"{self._separator} ".join(name for name in names if name)
        if len(self._known) < MAX_WORDS:
            self._known[word] = made
        return made


def restore(text: str, separator: str = "@@") -> str:
    """Return the text that `segment` wrote with separators, restored."""
    if not separator:
        raise OptionError("separator is empty; it must be a text that marks tokens inside a word")
    joined = text.replace(f"{separator} ", "")
    return joined.removesuffix(separator)
