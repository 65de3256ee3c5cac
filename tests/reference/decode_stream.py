"""The text of a stream of ids, naively: decoding at once, but with the characters that a stream had returned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

import tokkit
from tokkit.decoders.base import Decoder
from tokkit.decoders.bpe import BPE
from tokkit.decoders.byte_fallback import ByteFallback, byte_of
from tokkit.decoders.byte_level import ByteLevel
from tokkit.decoders.fuse import Fuse
from tokkit.decoders.metaspace import Metaspace
from tokkit.decoders.replace import Replace
from tokkit.decoders.sequence import Sequence as InTurn
from tokkit.decoders.sequence import flat
from tokkit.decoders.spaced import Spaced
from tokkit.decoders.strip import Strip
from tokkit.decoders.wordpiece import WordPiece
from tokkit.models.sentencepiece import SentencePieceModel


class Characters(Decoder):
    """ByteFallback, except that an invalid run keeps the characters before its first invalid byte."""

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        out: list[str] = []
        for is_run, group in groupby(tokens, lambda token: byte_of(token) is not None):
            if not is_run:
                out += group
                continue
            run = bytes(byte_of(token) or 0 for token in group)
            try:
                out.append(run.decode())
            except UnicodeDecodeError as error:
                out += [run[: error.start].decode(), *["\ufffd"] * (len(run) - error.start)]
        return out


def text_of_stream(decoder: Decoder, tokens: Sequence[str]) -> str:
    """The joined text of a stream of tokens."""
    parts = list(flat(decoder))
    for i, part in enumerate(parts):
        if isinstance(part, (Fuse, ByteLevel)):
            break
        if isinstance(part, ByteFallback) and _at_once(parts[i + 1 :]):
            parts[i] = Characters()
            break
    return InTurn(parts).decode(tokens)


def _at_once(rest: list[Decoder]) -> bool:
    """Whether nothing after ByteFallback looks at tokens, or needs the whole text."""
    if not rest:
        return True
    return isinstance(rest[0], Fuse) and all(
        isinstance(part, (Fuse, Strip, Metaspace, Spaced))
        or (isinstance(part, Replace) and bool(part.literal))
        or isinstance(part, BPE)
        or (isinstance(part, WordPiece) and not part.cleanup)
        for part in rest
    )


def text_of_ids(tok: tokkit.Tokenizer, ids: Sequence[int]) -> str:
    """The joined text of a tokenizer's stream of ids."""
    if tok.definition.over_bytes is not None or isinstance(tok.definition.model, (tokkit.BPE, SentencePieceModel)):
        return tok.decode(ids)
    decoding = tok._decoding
    return text_of_stream(decoding.chain, [decoding._tokens[id_] or "" for id_ in ids])  # type: ignore[union-attr]
