"""A decoder of a tokenizer.json, tokens and ids: the decoder, its table and its stream give one text."""

from __future__ import annotations

import json

from mutate_json import CHANGE
from reference.decode_stream import text_of_stream
from tokkit.checks import is_text
from tokkit.decoders import table
from tokkit.decoders.spaced import Spaced
from tokkit.decoders.streaming import ChainStream
from tokkit.errors import TokkitError
from tokkit.formats import components

__all__ = ["CHANGE", "check"]

DICTIONARIES = ("pattern",)


def check(data: bytes) -> None:
    try:
        value = json.loads(data)
        tokens = [token for token in value["tokens"] if is_text(token)]
        ids = [id_ % len(tokens) for id_ in value["ids"] if type(id_) is int]
        described = value["decoder"]
    except (ValueError, TypeError, KeyError, ZeroDivisionError, RecursionError):
        return
    try:
        decoder = components.read(described, "decoder", components.DECODERS) or Spaced()
        text = decoder.decode([tokens[id_] for id_ in ids])
    except TokkitError:
        return
    made = table.build(decoder, tokens)
    if made is not None:
        assert made.decode(ids) == text, (text, made.decode(ids))
    stream = ChainStream(decoder, tokens.__getitem__)
    for _ in "again":  # a stream that is flushed begins anew
        parts = [stream.step(id_) for id_ in ids]
        joined = "".join(parts) + stream.flush()
        assert joined == text_of_stream(decoder, [tokens[id_] for id_ in ids]), (text, parts)
        assert joined == text or "\ufffd" in joined, (text, parts)
    if described is not None:
        written = components.write(decoder, components.DECODERS)
        assert components.read(written, "decoder", components.DECODERS) == decoder
