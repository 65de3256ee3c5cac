"""Aggregates the labels of tokens to words and entities, as the pipeline of transformers does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Joined = Callable[[list[str]], str]
STRATEGIES = ("none", "simple", "first", "average", "max")
"""How labels of tokens are aggregated: not at all, neighbours of one label, or after each word gets one label."""


class Token(NamedTuple):
    """A token of a text: its form in the vocabulary, its probabilities, its span, and whether it continues a word."""

    number: int
    word: str
    scores: Floats
    start: int
    end: int
    goes_on: bool


class Entity(TypedDict, total=False):
    """An entity, or a token and its label.

    `entity_group` is the label of an entity without B- and I-, `entity` that of a token; `score` is its probability,
    the mean over tokens; `index` the index of a token; `word` the decoded text; `start` and `end` the span in the text,
    in characters.
    """

    entity: str
    entity_group: str
    score: float
    index: int
    word: str
    start: int
    end: int


class _Labelled(NamedTuple):
    label: str
    score: np.floating
    word: str
    start: int
    end: int


def joined(
    tokens: Sequence[Token], labels: Sequence[str], strategy: str, ignored: Sequence[str], to_text: Joined
) -> list[Entity]:
    """Return the entities in a text, or with the strategy "none" its tokens, without ignored labels.

    `to_text` decodes tokens to text.
    """
    if strategy == "none":
        return [_of_token(token, labels) for token in tokens if labels[int(token.scores.argmax())] not in ignored]
    if strategy == "simple":
        parts = [_labelled(token.scores, labels, token.word, (token, token)) for token in tokens]
    else:
        parts = [_of_word(word, labels, strategy, to_text) for word in _words(tokens)]
    found = [_of_group(group, to_text) for group in _groups(parts)]
    return [entity for entity in found if entity["entity_group"] not in ignored]


def without_overlaps(entities: Sequence[Entity]) -> list[Entity]:
    """Return the entities of overlapping windows, one for each place: the longest, then the most probable."""
    kept: list[Entity] = []
    for entity in sorted(entities, key=lambda entity: entity["start"]):
        if kept and kept[-1]["start"] <= entity["start"] < kept[-1]["end"]:
            if _weight(entity) > _weight(kept[-1]):
                kept[-1] = entity
        else:
            kept.append(entity)
    return kept


def _weight(entity: Entity) -> tuple[int, float]:
    return entity["end"] - entity["start"], entity["score"]


def _of_token(token: Token, labels: Sequence[str]) -> Entity:
    best = int(token.scores.argmax())
    return {"entity": labels[best], "score": float(token.scores[best]), "index": token.number, "word": token.word,
            "start": token.start, "end": token.end}  # fmt: skip


def _labelled(scores: Floats, labels: Sequence[str], word: str, span: tuple[Token, Token]) -> _Labelled:
    best = int(scores.argmax())
    return _Labelled(labels[best], scores[best], word, span[0].start, span[1].end)


def _words(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each word."""
    word: list[Token] = []
    for token in tokens:
        if word and not token.goes_on:
            yield word
            word = []
        word.append(token)
    if word:
        yield word


def _of_word(word: list[Token], labels: Sequence[str], strategy: str, to_text: Joined) -> _Labelled:
    """Return the label of a word: of its first token, its most certain token, or the mean of all probabilities."""
    if strategy == "first":
        scores = word[0].scores
    elif strategy == "max":
        scores = max(word, key=lambda token: token.scores.max()).scores
    else:
        scores = np.stack([token.scores for token in word]).mean(0)
    return _labelled(scores, labels, to_text([token.word for token in word]), (word[0], word[-1]))


def _tag(label: str) -> tuple[bool, str]:
    """Return whether a label begins an entity, and the label of the entity."""
    return label.startswith("B-"), label[2:] if label.startswith(("B-", "I-")) else label


def _groups(parts: Sequence[_Labelled]) -> Iterator[list[_Labelled]]:
    """Yield the parts of each entity: neighbours of one label, of which only the first may begin an entity."""
    group: list[_Labelled] = []
    for part in parts:
        begins, tag = _tag(part.label)
        if group and (begins or tag != _tag(group[-1].label)[1]):
            yield group
            group = []
        group.append(part)
    if group:
        yield group


def _of_group(group: list[_Labelled], to_text: Joined) -> Entity:
    return {
        # Everything before the first "-" is removed in any case, as in transformers.
        "entity_group": group[0].label.split("-", 1)[-1],
        "score": float(np.mean([part.score for part in group])),
        "word": to_text([part.word for part in group]), "start": group[0].start, "end": group[-1].end,
    }  # fmt: skip
