"""`train_new_from_iterator`: trains a new vocabulary for the components of a tokenizer, with tokenizers' trainers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tokkit.compat.tokenizers import Tokenizer
from tokkit.compat.tokenizers.added_token import AddedToken
from tokkit.compat.tokenizers.pre_tokenizers import ByteLevel
from tokkit.compat.tokenizers.trainers import BpeTrainer, Trainer, UnigramTrainer, WordLevelTrainer, WordPieceTrainer
from tokkit.definition import Definition
from tokkit.errors import OptionError
from tokkit.formats import tokenizer_json
from tokkit.registry.tokenizer_classes import tokens as added_token

TRAINERS: dict[str, type[Trainer]] = {
    "BPE": BpeTrainer,
    "Unigram": UnigramTrainer,
    "WordLevel": WordLevelTrainer,
    "WordPiece": WordPieceTrainer,
}
"""Type of a model in a tokenizer.json → its trainer."""
_OF_ADDED = ("content", "single_word", "lstrip", "rstrip", "normalized")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The request: the size with special tokens, their new names, new ones, and options of the trainer."""

    vocab_size: int
    renamed: dict[str, str]
    new: Sequence[Any]
    options: dict[str, Any]


def retrained(definition: Definition, texts: Iterable[Any], wanted: Wanted) -> Definition:
    """Return a definition with the same components and a newly trained model; OptionError for other models.

    Special tokens get the first ids. Added tokens that are not special are kept only by Unigram.
    """
    file = json.loads(tokenizer_json.write(definition, added_apart=True))
    added, around = file.pop("added_tokens"), file.pop("post_processor")
    kind, options = file["model"]["type"], dict(wanted.options)
    if kind not in TRAINERS:
        raise OptionError(f"the model is {kind}; train_new_from_iterator trains {', '.join(TRAINERS)}")
    _empty(file["model"], wanted.renamed, options)
    if _has_byte_level(file["pre_tokenizer"]):
        options["initial_alphabet"] = ByteLevel.alphabet()
    tokens = [_renamed(token, wanted.renamed) for token in added if kind == "Unigram" or token["special"]]
    tokenizer = Tokenizer.from_str(json.dumps({**file, "added_tokens": [], "post_processor": None}))
    trainer = TRAINERS[kind](
        vocab_size=wanted.vocab_size, special_tokens=[*tokens, *map(_added, wanted.new)], **options
    )
    tokenizer.train_from_iterator(texts, trainer=trainer)
    if around is None:
        return tokenizer_json.read(tokenizer.to_str().encode())
    _renumber(around, tokenizer, wanted.renamed)
    made = {**json.loads(tokenizer.to_str()), "post_processor": around}
    return tokenizer_json.from_json(made)


def _empty(model: dict[str, Any], renamed: dict[str, str], options: dict[str, Any]) -> None:
    """Take the vocabulary out of a model's JSON, and add what the trainer needs to know about the model."""
    unknown = model.get("unk_token")
    if unknown in renamed:
        model["unk_token"] = renamed[unknown]
    if model["type"] == "Unigram":
        if model["unk_id"] is not None:
            unknown = model["vocab"][model["unk_id"]][0]
            options["unk_token"] = renamed.get(unknown, unknown)
            model |= {"unk_id": 0, "vocab": [[options["unk_token"], 0.0]]}
        return
    model["vocab"] = {}
    if model["type"] == "BPE":
        model["merges"] = []
        for name in ("continuing_subword_prefix", "end_of_word_suffix"):
            if model.get(name) is not None:
                options.setdefault(name, model[name])


def _has_byte_level(stage: Any) -> bool:
    if not isinstance(stage, dict):
        return False
    return stage["type"] == "ByteLevel" or any(map(_has_byte_level, stage.get("pretokenizers") or ()))


def _renamed(token: dict[str, Any], renamed: dict[str, str]) -> AddedToken:
    fields = {name: token[name] for name in _OF_ADDED}
    return AddedToken(**{**fields, "content": renamed.get(token["content"], token["content"])})


def _added(token: Any) -> Any:
    """Return a new special token for a trainer, which takes text or its own AddedToken."""
    if isinstance(token, str):
        return token
    made = added_token.AddedToken.of(token)
    return AddedToken(**{name: getattr(made, name) for name in _OF_ADDED})


def _renumber(stage: Any, tokenizer: Tokenizer, renamed: dict[str, str]) -> None:
    """Replace names and ids of the special tokens in a postprocessor's JSON."""
    for inner in stage.get("processors") or ():
        _renumber(inner, tokenizer, renamed)
    for token in (stage.get("special_tokens") or {}).values():
        token["tokens"] = [renamed.get(text, text) for text in token["tokens"]]
        token["ids"] = [_id_in(tokenizer, text) for text in token["tokens"]]
    for end in ("cls", "sep"):
        if end in stage:
            text = renamed.get(stage[end][0], stage[end][0])
            stage[end] = [text, _id_in(tokenizer, text)]


def _id_in(tokenizer: Tokenizer, text: str) -> int:
    id_ = tokenizer.token_to_id(text)
    if id_ is None:
        raise OptionError(
            f"the postprocessor adds {text!r}, which is not among the special tokens of the new tokenizer"
        )
    return int(id_)
