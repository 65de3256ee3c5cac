"""Chooses the engine that runs a definition."""

from __future__ import annotations

from tokkit import limits
from tokkit.definition import Definition
from tokkit.engine.engine import Engine
from tokkit.engine.interpreter import Interpreter

MAX_NARROW = 1 << 16
"""Number of ids that fit in uint16: an encoder knows whether those of its tokenizer do."""


def engine_of(definition: Definition, like: Engine | None = None) -> Engine:
    """Return the engine that runs a definition; it shares encoders and caches with `like` if it only adds tokens."""
    if like is not None and not _can_share(definition, like):
        like = None
    # Imported here, because each engine is needed only for some tokenizers.
    if definition.over_bytes is not None:
        from tokkit.engine.byte_level import ByteLevelEngine

        shared = like if isinstance(like, ByteLevelEngine) else None
        return ByteLevelEngine(definition, interpreter=Interpreter(definition), like=shared)
    from tokkit.models.sentencepiece import SentencePieceModel

    if isinstance(definition.model, SentencePieceModel):
        from tokkit.engine.sentencepiece import SentencePieceEngine

        return SentencePieceEngine(definition)
    from tokkit.engine.staged import StagedEngine

    # A model in Python may count the tokens, so that only what runs in the core is shared.
    staged = like if isinstance(like, StagedEngine) and like.encoder is not None else None
    return StagedEngine(definition, Interpreter(definition), staged)


def _can_share(definition: Definition, like: Engine) -> bool:
    narrow = [each.vocab.n_ids <= MAX_NARROW for each in (definition, like.definition)]
    same_limit = like.grown_bytes == limits.current().grown_bytes
    return narrow[0] == narrow[1] and same_limit and definition.only_adds_to(like.definition)
