"""Explains the tokens of a word: merges of BPE, paths of Unigram, matches of WordPiece, and the stages before."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tokkit.engine.sampling import Merges, has_merges
from tokkit.errors import OptionError
from tokkit.escaping import visible
from tokkit.models.names import name_of
from tokkit.models.sentencepiece import NORMAL, USER_DEFINED, SentencePieceModel
from tokkit.models.unigram import Unigram
from tokkit.models.wordpiece import WordPiece
from tokkit.view.stages import changed_by_stages

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

N_PATHS = 8
UNKNOWN_PENALTY = 10.0
"""Score of an unknown character, relative to the lowest score of a token, in SentencePiece and tokenizers."""
Tree = dict[str, Any]
"""A symbol: its text and, if it was merged, the number of the step, its rank and its two parts."""


def why(tok: Tokenizer, word: str, *, temperature: float = 1.0, merges: Merges | None = None) -> dict[str, Any]:
    """Explain the tokens of a word, or another short text, as an object for pages and JSON.

    "stages" has the text after each stage before the model, "tokens" the result. "kind" is "bpe", "unigram",
    "wordpiece" or "" for models that only look up. "words" has the model's work for each pretoken: for BPE the steps
    and trees of merges; for Unigram the best paths with scores and probabilities at the `temperature`, and all
    candidate pieces; for WordPiece the matches that were tried. `merges` can be passed for many words, because making
    them takes a moment. Time is quadratic in the word's length. OptionError for a temperature that is not above 0.

    >>> import tokkit
    >>> tok = tokkit.train({"low": 5, "lowest": 2, "newer": 3}, model="bpe", vocab_size=13)
    >>> [step["rank"] for step in why(tok, "lows")["words"][0]["steps"]]
    [0, 1]
    """
    if not 0 < temperature < math.inf:
        raise OptionError(f"temperature is {temperature!r}; it must be a number above 0")
    model = tok.definition.model
    encoding = tok(word, add_special=False, truncation=None, padding=None)
    stages = changed_by_stages(tok, word)
    tokens = list(zip(map(spelt, encoding.token_bytes), encoding.ids, strict=True))
    made: dict[str, Any] = {"word": word, "model": name_of(model), "stages": stages, "tokens": tokens}
    pieces = stages[-1]["pieces"] if stages else [word]
    if isinstance(model, Unigram) or (isinstance(model, SentencePieceModel) and model.kind == "unigram"):
        return made | {"kind": "unigram", "words": [_paths(tok, piece, temperature) for piece in pieces]}
    if isinstance(model, WordPiece):
        return made | {"kind": "wordpiece", "words": [_matches(tok, model, piece) for piece in pieces]}
    if isinstance(model, SentencePieceModel) and model.kind == "bpe":
        return made | {"kind": "bpe", "words": [_scored_merges(model, piece) for piece in pieces]}
    if has_merges(tok):
        words = [merges_of(symbols, steps) for symbols, steps in (merges or Merges(tok)).words(word)]
        return made | {"kind": "bpe", "words": words}
    return made | {"kind": "", "words": []}


def spelt(token: bytes) -> str:
    r"""Return a token as text, with \xhh for bytes that are no whole character, and controls escaped."""
    return visible(token.decode("utf-8", "surrogateescape"))


# ---- BPE


def merges_of(symbols: Sequence[bytes], steps: Sequence[Any]) -> dict[str, Any]:
    """Return the merge steps and the resulting trees, one for each token."""
    row: list[tuple[bytes, Tree]] = [(symbol, {"text": spelt(symbol)}) for symbol in symbols]
    told = []
    for number, step in enumerate(steps):
        # Equal pairs may occur several times; the symbols after the merge show which one was merged.
        at = next(
            i
            for i, (a, b) in enumerate(itertools.pairwise(symbol for symbol, _ in row))
            if (a, b) == (step.left, step.right) and _fits(step.symbols, row, i)
        )
        merged = step.symbols[at]
        parts = [row[at][1], row[at + 1][1]]
        row[at : at + 2] = [(merged, {"text": spelt(merged), "step": number, "rank": step.rank, "parts": parts})]
        told.append(
            {
                "rank": step.rank, "at": at, "left": spelt(step.left), "right": spelt(step.right),
                "symbols": [spelt(symbol) for symbol in step.symbols],
            }
        )  # fmt: skip
    return {"symbols": [spelt(symbol) for symbol in symbols], "steps": told, "trees": [tree for _, tree in row]}


def _fits(after: Sequence[bytes], row: Sequence[tuple[bytes, Tree]], at: int) -> bool:
    rest = [symbol for symbol, _ in row]
    return list(after[:at]) == rest[:at] and list(after[at + 1 :]) == rest[at + 2 :]


def _scored_merges(model: SentencePieceModel, text: str) -> dict[str, Any]:
    """Follow SentencePiece's BPE: among adjacent pairs that form a piece, the one with the highest score merges."""
    row: list[Tree] = [{"text": visible(c)} for c in text]
    raw = list(text)
    told: list[dict[str, Any]] = []
    usable = _usable(model)
    while True:
        found = [
            (-float(model.scores[id_]), i)
            for i, (a, b) in enumerate(itertools.pairwise(raw))
            if (id_ := model.pieces.get(a + b)) is not None and usable(id_)
        ]
        if not found:
            return {"symbols": [visible(c) for c in text], "steps": told, "trees": row}
        score, at = min(found)
        left, right = raw[at : at + 2]
        raw[at : at + 2] = [left + right]
        made = {"text": visible(left + right), "step": len(told), "rank": -score, "parts": row[at : at + 2]}
        row[at : at + 2] = [made]
        symbols = list(map(visible, raw))
        told.append({"rank": -score, "left": visible(left), "right": visible(right), "symbols": symbols})


def _usable(model: SentencePieceModel) -> Callable[[int], bool]:
    types = model.types
    return lambda id_: bool(types[id_] in (NORMAL, USER_DEFINED))


# ---- Unigram


def _paths(tok: Tokenizer, text: str, temperature: float) -> dict[str, Any]:
    """Return the candidate pieces of a text, and its best segmentations."""
    pieces = _edges(tok, text)
    n = len(text)
    ends: list[list[tuple[int, int, float]]] = [[] for _ in range(n + 1)]
    for number, (start, end, _, score) in enumerate(pieces):
        ends[end].append((number, start, score))
    # The best paths to each position, as (score, piece, index of the path before it).
    ways: list[list[tuple[float, int, int]]] = [[] for _ in range(n + 1)]
    ways[0] = [(0.0, -1, -1)]
    total = np.full(n + 1, -np.inf)
    total[0] = 0.0
    for end in range(1, n + 1):
        found = [
            (way[0] + score, number, k)
            for number, start, score in ends[end]
            for k, way in enumerate(ways[start])
        ]  # fmt: skip
        ways[end] = sorted(found, key=lambda way: -way[0])[:N_PATHS]
        for _, start, score in ends[end]:
            total[end] = np.logaddexp(total[end], total[start] + score / temperature)
    best = []
    for score, number, k in ways[n]:
        path, at = [], (number, k)
        while at[0] >= 0:
            path.append(at[0])
            _, *rest = ways[pieces[at[0]][0]][at[1]]
            at = rest[0], rest[1]
        chance = math.exp(min(0.0, score / temperature - float(total[n])))
        best.append({"pieces": path[::-1], "score": round(score, 4), "chance": chance})
    told = [
        {"start": a, "end": b, "text": visible(text[a:b]), "id": id_, "score": round(score, 4)}
        for a, b, id_, score in pieces
    ]
    return {"text": visible(text), "n": n, "pieces": told, "best": best}


def _edges(tok: Tokenizer, text: str) -> list[tuple[int, int, int | None, float]]:
    """Return (start, end, id, score) of all tokens in a text; for a character without a token, the id is None."""
    model: Any = tok.definition.model
    vocab = tok.vocab
    if isinstance(model, SentencePieceModel):
        usable, longest = _usable(model), float(model.scores.max())
        least = float(model.scores[model.types == NORMAL].min())

        def score_of(id_: int, length: int) -> float:
            # SentencePiece: a user-defined symbol excludes all other pieces inside it.
            return length * longest - 0.1 if model.types[id_] == USER_DEFINED else float(model.scores[id_])
    else:
        own = {model.unk_id, *tok.special_tokens.values()}
        least = float(model.scores.min())

        def usable(id_: int) -> bool:
            return id_ < len(model.scores) and id_ not in own

        def score_of(id_: int, length: int) -> float:
            return float(model.scores[id_])

    longest_token = int(np.diff(vocab.offsets).max())
    made: list[tuple[int, int, int | None, float]] = []
    for a in range(len(text)):
        single = False
        for b in range(a + 1, min(len(text), a + longest_token) + 1):
            id_ = vocab.get(text[a:b])
            if id_ is not None and usable(id_):
                made.append((a, b, id_, score_of(id_, b - a)))
                single = single or b == a + 1
        if not single:
            made.append((a, a + 1, None, least - UNKNOWN_PENALTY))
    return made


# ---- WordPiece


def _matches(tok: Tokenizer, model: WordPiece, word: str) -> dict[str, Any]:
    """Return the candidates that were looked up at each position, the longest first, until one was found."""
    rounds: list[dict[str, Any]] = []
    start, n = 0, len(word)
    if n > model.max_input_chars_per_word:
        return {"text": visible(word), "rounds": [], "unknown": model.unk_token}
    while start < n:
        prefix = model.continuing_subword_prefix if start else ""
        tried = [prefix + word[start:end] for end in range(n, start, -1)]
        at = next((k for k, one in enumerate(tried) if one in tok.vocab), None)
        shown = [visible(one) for one in tried[: None if at is None else at + 1]]
        rounds.append({"start": start, "tried": shown, "found": at is not None})
        if at is None:
            return {"text": visible(word), "rounds": rounds, "unknown": model.unk_token}
        start = n - at
    return {"text": visible(word), "rounds": rounds, "unknown": None}
