"""User-defined pieces of a Unigram model in a tokenizer.json: whether a split at them gives the same ids.

sentencepiece keeps their text from its normalizer, and gives them a high score, but pieces that overlap them compete.
A tokenizer.json normalizes the text and splits it at the pieces. Both do the same if no rule changes their text, they
do not overlap one another, and no overlapping pieces can win, which is checked for each.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import inf

import numpy as np

from tokkit.formats import charsmap_steps
from tokkit.models.sentencepiece import NORMAL, SPACE, USER_DEFINED, SentencePieceModel

MARGIN = 0.25
"""Minimum by which a user-defined piece must win: more than what float32 rounds off in the few sums around it."""
SYMBOL_SCORE = 0.1
"""Score of a user-defined piece in sentencepiece 0.2.3, for each byte but the first."""


def why_not_split(model: SentencePieceModel, unknown: float) -> str | None:
    """Return why a split at user-defined pieces could give other ids, None if it cannot.

    `unknown` is the score of a character without a piece.
    """
    symbols = [model.pieces[id_].decode() for id_ in model.ids_of(USER_DEFINED)]
    if spaced := next((symbol for symbol in symbols if SPACE.decode() in symbol or " " in symbol), None):
        return f"{spaced!r} has a space"
    others = [
        piece.decode() for id_, piece in enumerate(model.pieces) if model.types[id_] not in (NORMAL, USER_DEFINED)
    ]
    if pair := _overlapping(symbols, [*symbols, *others]):
        return f"{pair[0]!r} and {pair[1]!r} can overlap"
    charsmap = model.normalizer.charsmap
    if reason := _changed(symbols, charsmap_steps.rules_in(charsmap)):
        return reason
    if (joined := guarded(symbols, charsmap)) and charsmap_steps.steps_around(charsmap, tuple(joined)) is None:
        return f"a rule of the normalization joins {joined[0]!r} and what follows"
    normal = {model.pieces[id_].decode(): float(model.scores[id_]) for id_ in model.ids_of(NORMAL)}
    return _beaten(symbols, normal, unknown)


def guarded(symbols: Sequence[str], charsmap: bytes) -> list[str]:
    """Return the symbols whose last character begins a rule of several characters."""
    begins = {key[0] for key in charsmap_steps.rules_in(charsmap) if len(key) > 1}
    return [symbol for symbol in symbols if symbol[-1] in begins]


def _overlapping(symbols: Sequence[str], others: Sequence[str]) -> tuple[str, str] | None:
    """Return a symbol and another text that can share characters of a text, None if there are none."""
    ends, beginnings = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for texts, parts in ((symbols, "own"), (others, "other")):
        for text in texts:
            for at in range(1, len(text)):
                if parts == "own":
                    ends[text[at:]].add(text)
                    beginnings[text[:at]].add(text)
    for other in others:
        for at in range(1, len(other)):
            for found in (ends.get(other[:at]), beginnings.get(other[at:])):
                if found:
                    return min(found), other
        if inside := next(
            (symbol for symbol in symbols if symbol != other and (symbol in other or other in symbol)), None
        ):
            return inside, other
    return None


def _changed(symbols: Sequence[str], rules: Mapping[str, str]) -> str | None:
    """Return a reason if a rule may change a symbol, or take a part of it."""
    if not rules:
        return None
    several = [key for key in rules if len(key) > 1]
    longer, inside = defaultdict[str, list[str]](list), {c for key in several for c in key[1:]}
    for key in several:
        longer[key[0]].append(key)
    for symbol in symbols:
        parts = (symbol[i:j] for i in range(len(symbol)) for j in range(i + 1, len(symbol) + 1))
        crossing = (key for i, c in enumerate(symbol[:-1]) for key in longer[c] if key.startswith(symbol[i:]))
        if any(part in rules for part in parts) or next(crossing, None) or symbol[0] in inside:
            return f"a rule of the normalization changes {symbol!r}"
    return None


def _beaten(symbols: Sequence[str], normal: Mapping[str, float], unknown: float) -> str | None:
    """Return a reason if other pieces can cover a symbol with a score that is too good."""
    longest = max(map(len, normal), default=1)

    def step(text: str, start: int, end: int) -> float:
        return normal.get(text[start:end], unknown if end == start + 1 else -inf)

    @functools.lru_cache(maxsize=1 << 16)
    def best(text: str) -> float:
        """Return the score of the best pieces of a text."""
        scores = [0.0] + [-inf] * len(text)
        for end in range(1, len(text) + 1):
            starts = range(max(0, end - longest), end)
            scores[end] = max(scores[start] + step(text, start, end) for start in starts)
        return scores[-1]

    left, right, around = _crossing(symbols, normal, best)
    for symbol in symbols:
        n = len(symbol)
        scores = [0.0, *(left[symbol, at] for at in range(1, n + 1))]
        for end in range(1, n + 1):
            ways = (scores[start] + step(symbol, start, end) for start in range(max(0, end - longest), end))
            scores[end] = max(scores[end], *ways)
        other = max(scores[n], around[symbol], *(scores[at] + right[symbol, at] for at in range(n)))
        if float(np.float32(SYMBOL_SCORE * (len(symbol.encode()) - 1))) < other + MARGIN:
            return f"other pieces can win against {symbol!r}"
    return None


def _crossing(
    symbols: Sequence[str], normal: Mapping[str, float], best: functools._lru_cache_wrapper[float]
) -> tuple[dict[tuple[str, int], float], dict[tuple[str, int], float], dict[str, float]]:
    """Return the gains of pieces over the best pieces outside a symbol: those that end in it, begin in it, hold it.

    The first two are by symbol and by the offset in it.
    """
    begins, ends, whole = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list), set(symbols)
    for symbol in symbols:
        for at in range(1, len(symbol) + 1):
            begins[symbol[:at]].append(symbol)
            ends[symbol[-at:]].append(symbol)
    lengths = {len(symbol) for symbol in symbols}
    left: dict[tuple[str, int], float] = defaultdict(lambda: -inf)
    right: dict[tuple[str, int], float] = defaultdict(lambda: -inf)
    around: dict[str, float] = defaultdict(lambda: -inf)
    for piece, score in normal.items():
        for at in range(1, len(piece)):
            before, after = piece[:at], piece[at:]
            for symbol in begins.get(after, ()):
                left[symbol, len(after)] = max(left[symbol, len(after)], score - best(before))
            for symbol in ends.get(before, ()):
                place = symbol, len(symbol) - at
                right[place] = max(right[place], score - best(after))
            for symbol in _begun(after, lengths, whole):
                around[symbol] = max(around[symbol], score - best(before) - best(after[len(symbol) :]))
    return left, right, around


def _begun(text: str, lengths: Iterable[int], whole: set[str]) -> Iterable[str]:
    """Yield the symbols that a text begins with and is longer than."""
    return (text[:n] for n in lengths if n < len(text) and text[:n] in whole)
