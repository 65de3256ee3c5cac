"""Vocabularies in the forms that classes get and make: tables of a tokenizer.json, pieces with scores, token → id."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from tokkit.errors import FormatError
from tokkit.formats.tables import Table
from tokkit.registry.tokenizer_classes.row import Given, Scored, Vocabulary


def index_of(vocab: Vocabulary, token: str, *, score: float | None = None, start: int = 0) -> int | None:
    """Return the id of a token, if it has this score and is not before `start`; else None."""
    if isinstance(vocab, Table):
        number = vocab.find(token)
        fits = number >= start and (score is None or vocab.scores is None or vocab.scores[number] == score)
        return number if fits else None
    found = enumerate(scored(vocab))
    return next((i for i, (piece, has) in found if i >= start and piece == token and score in (None, has)), None)


def tokens_of(vocab: Vocabulary) -> list[str]:
    """Return the tokens of a vocabulary."""
    if isinstance(vocab, dict):
        return list(vocab)
    if not isinstance(vocab, Table):
        return [str(piece) for piece, _ in vocab]
    ends = pairwise(vocab.offsets.tolist())
    return [vocab.blob[start:end].decode("utf-8", "surrogatepass") for start, end in ends]


def scored(vocab: Vocabulary) -> Scored:
    """Return the pieces of Unigram with their scores, as a list."""
    if not isinstance(vocab, Table):
        pairs: Any = vocab
        return [(str(piece), float(score)) for piece, score in pairs]
    return list(zip(tokens_of(vocab), np.asarray(vocab.scores).tolist(), strict=True))


def start_of(given: Given, *roles: str) -> Scored:
    """Return the tokens of roles as pieces with the score 0."""
    return [(given.text(f"{role}_token"), 0.0) for role in roles]


def of_model(vocab: Vocabulary, model: str, name: str) -> Vocabulary:
    """Return a vocabulary for a type of model; FormatError if a class needs scores and the file has none."""
    has_scores = vocab.scores is not None if isinstance(vocab, Table) else not isinstance(vocab, dict)
    if model == "Unigram" and isinstance(vocab, list):
        return table_of([(str(piece), float(score)) for piece, score in vocab])
    if model == "Unigram" and not has_scores:
        raise FormatError(f"{name} needs the pieces and scores of a Unigram model, and this vocabulary has no scores")
    if model != "Unigram" and has_scores:
        if isinstance(vocab, Table):
            return replace(vocab, scores=None)
        return {piece: id_ for id_, (piece, _) in enumerate(vocab)}
    return vocab


def table_of(pieces: Scored) -> Table:
    """Return pieces as a packed table; FormatError for one that is given twice."""
    ids = {piece: id_ for id_, (piece, _) in enumerate(pieces)}
    if len(ids) < len(pieces):
        again = next(piece for id_, (piece, _) in enumerate(pieces) if ids[piece] != id_)
        raise FormatError(f"the piece {again!r} would be in the vocabulary twice")
    return Table.of(ids, [score for _, score in pieces])


def merges_of(vocab: dict[str, int], skipped: frozenset[str] = frozenset()) -> list[tuple[str, str]]:
    """Return the merges that a vocabulary implies: each pair of tokens whose text is a token, by the id of the result.

    Merges with one result are in the order of the lengths of their parts, then of their ids. `skipped` tokens take no
    part.
    """
    found: list[tuple[Any, ...]] = []
    for token, id_ in vocab.items():
        if token in skipped:
            continue
        for at in range(1, len(token)):
            left, right = token[:at], token[at:]
            if left in vocab and right in vocab and left not in skipped and right not in skipped:
                found.append((id_, at, len(token) - at, vocab[left], vocab[right], left, right))
    found.sort(key=lambda merge: merge[:5])
    return [(left, right) for *_, left, right in found]
