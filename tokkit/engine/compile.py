"""Chooses the engine that runs a definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokkit.definition import Definition
from tokkit.engine.engine import Engine

if TYPE_CHECKING:
    from tokkit.engine.interpreter import Interpreter


def engine_of(definition: Definition) -> Engine:
    """Return the engine that runs a definition."""
    # Imported here, because each engine is needed only for some tokenizers.
    if definition.over_bytes is not None:
        from tokkit.engine.byte_level import ByteLevelEngine

        return ByteLevelEngine(definition, interpreter=_interpreter)
    from tokkit.models.sentencepiece import SentencePieceModel

    if isinstance(definition.model, SentencePieceModel):
        from tokkit.engine.sentencepiece import SentencePieceEngine

        return SentencePieceEngine(definition)
    from tokkit.engine.staged import StagedEngine

    return StagedEngine(definition)


def _interpreter(definition: Definition, grown_bytes: int) -> Interpreter:
    from tokkit.engine.interpreter import Interpreter

    return Interpreter(definition, grown_bytes=grown_bytes)
