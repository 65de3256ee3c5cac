"""The protobuf messages of a .model file, as in sentencepiece's module of this name; needs protobuf."""

from __future__ import annotations

from typing import Any

from tokkit.compat.sentencepiece import schema

_made = schema.make("sentencepiece_model.proto", schema.MODEL, __name__)

DESCRIPTOR: Any = _made["DESCRIPTOR"]
ModelProto: Any = _made["ModelProto"]
NormalizerSpec: Any = _made["NormalizerSpec"]
TrainerSpec: Any = _made["TrainerSpec"]
