"""The protobuf messages of a segmented text, as in sentencepiece's module of this name; needs protobuf."""

from __future__ import annotations

from typing import Any

from tokkit.compat.sentencepiece import schema

_made = schema.make("sentencepiece.proto", schema.TEXT, __name__)

DESCRIPTOR: Any = _made["DESCRIPTOR"]
NBestSentencePieceText: Any = _made["NBestSentencePieceText"]
SentencePieceText: Any = _made["SentencePieceText"]
