"""Makes protobuf's messages of the results of a processor, where protobuf is installed."""

from __future__ import annotations

import functools
from typing import Any

from tokkit.compat.sentencepiece.text import NBestSentencePieceText, SentencePieceText


@functools.cache
def _texts() -> Any:
    """Return the module of the messages of a text; None without protobuf."""
    try:
        from tokkit.compat.sentencepiece import sentencepiece_pb2
    except ImportError:
        return None
    return sentencepiece_pb2


def parsed(name: str, data: bytes) -> Any:
    """Return a message of protobuf by its serialized form; None where protobuf is not installed."""
    module = _texts()
    return None if module is None else getattr(module, name).FromString(data)


def message(made: SentencePieceText | NBestSentencePieceText) -> Any:
    """Return a text as the message of protobuf, where it is installed; else as it is."""
    return made if _texts() is None else parsed(type(made).__name__, made.SerializeToString())
