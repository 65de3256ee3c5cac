"""The engine of component pipelines: the core runs the components on units that are not in its cache."""

from __future__ import annotations

from tokkit._core.encode.plan import Encoder
from tokkit.definition import Definition
from tokkit.engine.engine import Engine
from tokkit.engine.interpreter import Interpreter, Models
from tokkit.engine.plan import staged_encoder
from tokkit.models.base import CompiledModel


class StagedEngine(Engine):
    """Runs the components of one definition, and any model of tokenizer.json after them."""

    def __init__(self, definition: Definition, interpreter: Interpreter, like: StagedEngine | None = None) -> None:
        if like is not None:
            interpreter.models = like._models
        self._models: Models = interpreter.models
        self._encoders: dict[tuple[int, bool], Encoder | None] = {} if like is None else like._encoders
        super().__init__(definition, interpreter)
        self.encoder = self.plain_text[0]

    def encoder_for(self, *, as_stated: bool, normalized_first: bool) -> Encoder | None:
        """Return the core's encoder, None if a component is in Python."""
        model = self._models(as_stated=as_stated)
        if not isinstance(model, CompiledModel):
            return None
        key = id(model), normalized_first
        if key not in self._encoders:
            made = staged_encoder(self._definition, model, normalized_first=normalized_first)
            if made is not None:
                made.bound(self._grown_bytes)
            self._encoders[key] = made
        return self._encoders[key]
