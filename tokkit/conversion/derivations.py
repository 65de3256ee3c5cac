"""Finds the merges that make each token of a BPE vocabulary, in the order in which they happen.

The merges inside a token are the same as when it is encoded alone, whatever the context. So a vocabulary that keeps a
token, its intermediate tokens and their merges still makes the token wherever it was made before; removing other tokens
can only make fewer merges happen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit.definition import Definition
from tokkit.models.bpe import BPE, possible_merges
from tokkit.models.char_bpe import CharBPE
from tokkit.models.sentencepiece import NORMAL, UNUSED, SentencePieceModel

Pair = tuple[int, int]
Ranks = Mapping[Pair, tuple[Any, int]]
"""Pair of ids → its priority (the lowest merges first) and the resulting id."""


def merged(ids: Iterable[int], ranks: Ranks) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Return the ids after merging a sequence, and the merges in order."""
    run = list(ids)
    done: list[tuple[int, int, int]] = []
    while True:
        found = [(*ranks[pair], at) for at, pair in enumerate(pairwise(run)) if pair in ranks]
        if not found:
            return run, done
        _, result, at = min(found, key=lambda merge: (merge[0], merge[2]))
        done.append((run[at], run[at + 1], result))
        run[at : at + 2] = [result]


def ranks_of(merges: NDArray[np.uint32]) -> dict[Pair, tuple[int, int]]:
    """Return the merges by pair; for a repeated pair, the last one counts."""
    return {(left, right): (rank, result) for rank, (left, right, result) in enumerate(merges.tolist())}


class Derivations:
    """How the tokens of a definition are made, prepared for many look-ups."""

    def __init__(self, definition: Definition) -> None:
        model = definition.model
        self._listed: NDArray[np.uint32] | None = None
        """The merges of the model that can happen; None if it has no list of merges."""
        self._made: Callable[[int], Collection[int]] = lambda _: ()
        """Token → the intermediate tokens that its merges make."""
        if isinstance(model, BPE):
            merges, _ = possible_merges(definition.vocab, model, definition.added_vocab.values())
            self._listed = None if model.merges is None else merges
            parts = {result: (left, right) for left, right, result in merges.tolist()}
            self._made = lambda id_: _closed(id_, parts)
        elif isinstance(model, CharBPE):
            merges = _merges_that_happen(model)
            self._listed = merges
            by_list = {result: (left, right) for left, right, result in merges.tolist()}
            self._made = lambda id_: _closed(id_, by_list)
        elif isinstance(model, SentencePieceModel) and model.kind == "bpe":
            known = {model.pieces[id_].decode(): id_ for id_ in model.ids_of(NORMAL, UNUSED)}
            scores = model.scores.tolist()
            self._made = lambda id_: _pieces_on_the_way(model, id_, known, scores)

    def needed(self, ids: Iterable[int]) -> set[int]:
        """Return `ids` and all intermediate tokens that their merges make."""
        found = set(ids)
        for id_ in list(found):
            found.update(self._made(id_))
        return found

    def merges(self, ids: Collection[int]) -> NDArray[np.uint32] | None:
        """Return the merges that make the tokens `ids`, uint32 (n, 3); None if the model has no list of merges."""
        if self._listed is None:
            return None
        kept = np.zeros(int(self._listed.max(initial=0)) + 1, dtype=bool)
        kept[[id_ for id_ in ids if id_ < len(kept)]] = True
        return self._listed[kept[self._listed].all(axis=1)]


def _closed(id_: int, parts: Mapping[int, Pair]) -> set[int]:
    """Return the parts of a token, recursively; every token has one merge here."""
    found: set[int] = set()
    waiting = [id_]
    while waiting:
        for part in parts.get(waiting.pop(), ()):
            if part not in found:
                found.add(part)
                waiting.append(part)
    return found


def _merges_that_happen(model: CharBPE) -> NDArray[np.uint32]:
    """Return the final merge of each token that merging can make, in the order of the list."""
    ranks = ranks_of(model.merges)
    parts = {result: (left, right) for left, right, result in model.merges.tolist()}
    found: set[Pair] = set()
    for id_ in parts:
        waiting, symbols = [id_], []
        while waiting:  # any merge into a token leads back to its initial symbols
            if (one := waiting.pop()) in parts:
                waiting += reversed(parts[one])
            else:
                symbols.append(one)
        run, done = merged(symbols, ranks)
        if run == [id_]:
            found.add(done[-1][:2])
    rows = [(*pair, ranks[pair][1]) for pair in sorted(found, key=lambda pair: ranks[pair][0])]
    return np.array(rows, dtype=np.uint32).reshape(-1, 3)


def _pieces_on_the_way(
    model: SentencePieceModel, id_: int, known: Mapping[str, int], scores: Sequence[float]
) -> list[int]:
    """Return the intermediate pieces that merging makes for a piece: by scores, ties go to the leftmost."""
    run = list(model.pieces[id_].decode()) if model.types[id_] in (NORMAL, UNUSED) else []
    found = []
    while len(run) > 1:
        joined = [(a + b, at) for at, (a, b) in enumerate(pairwise(run)) if a + b in known]
        if not joined:
            break
        text, at = min(joined, key=lambda one: (-scores[known[one[0]]], one[1]))
        found.append(known[text])
        run[at : at + 2] = [text]
    return found
