"""Chooses the engine that runs a definition."""

from __future__ import annotations

from tokkit.definition import Definition
from tokkit.engine.engine import Engine
from tokkit.engine.interpreter import Interpreter


def engine_of(definition: Definition) -> Engine:
    """Return the engine that runs a definition."""
    # Imported here, because each engine is needed only for some tokenizers.
    if definition.over_bytes is not None:
        from tokkit.engine.byte_level import ByteLevelEngine

        return ByteLevelEngine(definition, interpreter=Interpreter(definition))
    from tokkit.models.sentencepiece import SentencePieceModel

    if isinstance(definition.model, SentencePieceModel):
        from tokkit.engine.sentencepiece import SentencePieceEngine

        return SentencePieceEngine(definition)
    from tokkit.engine.staged import StagedEngine

    return StagedEngine(definition, Interpreter(definition))
