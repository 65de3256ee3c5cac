"""Builds a tokkit tokenizer from components."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tokkit.compat.tokenizers.component import is_custom, run
from tokkit.compat.tokenizers.encoding import Encoding
from tokkit.definition import Definition
from tokkit.formats import tokenizer_json
from tokkit.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokkit._core.encode.columns import TextColumns
    from tokkit.compat.tokenizers.inputs import Batch
    from tokkit.compat.tokenizers.models import Model
    from tokkit.encoding.encoding import Encoding as Made
    from tokkit.encoding.length_rules import Truncation
    from tokkit.engine.assembly import Assembler

logger = logging.getLogger("tokkit")

STAGES = {
    "normalizer": "normalizer",
    "pre_tokenizer": "pretokenizer",
    "post_processor": "postprocessor",
    "decoder": "decoder",
}
"""Key in a tokenizer.json → field of a definition."""
State = dict[str, Any]


def of(model: State, stages: dict[str, State | None], added: list[State]) -> Tokenizer:
    """Return the tokenizer for a model, its stages by their keys, and added tokens, all as JSON."""
    if model.get("dropout"):
        logger.warning(
            "dropout is %s, but encode does not apply it; use tokkit.engine.sampling, with a seed", model["dropout"]
        )
    return Tokenizer(definition_of(model, stages, added))


class Maker:
    """Makes the encodings of texts and pairs, with or without special tokens, truncated or not."""

    def __init__(self, make: Assembler, words: bool, add_special: bool, truncation: Truncation | None) -> None:
        self._make, self._words = make, words
        self._add, self._truncation = add_special, truncation
        # With truncation, the encoding is made at once, so that errors of the length are raised here.
        self._style = None if truncation is not None else make.style(add_special)

    def of(self, text: Any, pair: Any = None) -> Encoding:
        """Return the encoding of a text or a pair."""
        if self._style is not None and pair is None:
            found = self._make.engine.columns_of_batch([text], "all", self._style, words=self._words)[0]
            if found is not None:
                return Encoding.of_found(self, found)
        options: dict[str, Any] = {"add_special": self._add, "truncation": self._truncation}
        return Encoding.of(self._make.encoding(text, pair, "all", pretokenized=self._words, **options))

    def of_batch(self, given: Batch) -> list[Encoding]:
        """Return the encodings of texts, or of pairs of them."""
        texts, pairs = given
        if pairs is not None:
            return [self.of(text, pair) for text, pair in zip(texts, pairs, strict=True)]
        if self._style is None:
            options: dict[str, Any] = {"add_special": self._add, "truncation": self._truncation, "padding": None}
            return list(map(Encoding.of, self._make.encodings(texts, None, "all", pretokenized=self._words, **options)))
        found = self._make.engine.columns_of_batch(texts, "all", self._style, words=self._words)
        make = Encoding.of_found
        return [self.of(text) if one is None else make(self, one) for text, one in zip(texts, found, strict=True)]

    def encoding(self, found: TextColumns) -> Made:
        """Return tokkit's encoding of the columns of a text."""
        return self._make.framed(found, "all", self._add, self._truncation)


def definition_of(model: State, stages: dict[str, State | None], added: list[State]) -> Definition:
    """Return the definition of a tokenizer.json with these parts; components in Python are inserted afterwards."""
    custom = {key: state for key, state in stages.items() if state is not None and is_custom(state)}
    file = {"version": "1.0", "added_tokens": added, **stages, **dict.fromkeys(custom), "model": model}
    made = tokenizer_json.from_json(file, keep_ids=True)
    if custom:
        made = replace(made, **{STAGES[key]: run(key, state) for key, state in custom.items()})
    return made


def of_model(model: Model) -> Tokenizer:
    """Return a tokenizer of only a model, for single words."""
    key = model._key()
    if model._alone is None or model._alone[0] != key:
        model._alone = key, of(model._state, dict.fromkeys(STAGES), [])
    made: Tokenizer = model._alone[1]
    return made


def without_special(tok: Tokenizer) -> Tokenizer:
    """Return a tokenizer that encodes special tokens as text; its model may return the same tokens for it."""
    definition = tok.definition
    added = tuple(token for token in definition.added_tokens if not token.special)
    return Tokenizer(replace(definition, special_tokens={}, added_tokens=added))
