"""A definition in, what turns its ids into text out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from tokkit._core.detokenize import Detokenizer
from tokkit.definition import BPE, Definition

if TYPE_CHECKING:
    from tokkit.decoders.base import Decoder
    from tokkit.decoders.table import Table


class Stream(Protocol):
    """Decodes a stream of ids: the parts joined, `flush()` included, equal `decode` of all of them."""

    def step(self, id_: int) -> str:
        """Take one id; return the text that is complete now."""

    def flush(self) -> str:
        """Return what is held back, and begin anew."""


class Decoding:
    """Decodes ids of one definition: joins their bytes, or gives the tokens of components to their decoder.

    KeyError(id) for an id that no token has.
    """

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._by_bytes = isinstance(definition.model, BPE)
        self._detokenizer = Detokenizer(definition.vocab.blob, definition.vocab.offsets)
        self.decode: Callable[..., str] = self._detokenizer.decode if self._by_bytes else self._decode_tokens
        """Return the text of ids; bytes that are no UTF-8 are treated as bytes.decode does with `errors`."""

    @functools.cached_property
    def chain(self) -> Decoder:
        """The decoder of the definition, or what stands for none."""
        from tokkit.decoders.spaced import Spaced

        return self._definition.decoder or Spaced()

    @functools.cached_property
    def _tokens(self) -> list[str | None]:
        vocab = self._definition.vocab
        return [vocab.blob[a:b].decode() if b > a else None for a, b in pairwise(vocab.offsets.tolist())]

    @functools.cached_property
    def _table(self) -> Table | None:
        from tokkit.decoders import table

        return table.build(self.chain, self._tokens)

    def _token(self, id_: int) -> str:
        token = self._tokens[id_] if 0 <= id_ < len(self._tokens) else None
        if token is None:
            raise KeyError(id_)
        return token

    def _decode_tokens(self, ids: Iterable[int], errors: str = "replace") -> str:
        if self._table is not None:
            return self._table.decode(ids)
        return self.chain.decode([self._token(int(id_)) for id_ in ids])

    def token_bytes(self, id_: int) -> bytes:
        """Return the bytes of one token, as the vocabulary has them."""
        return self._detokenizer.decode_bytes([id_])

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """Return the bytes of ids: of their tokens, joined, or of their text."""
        return self._detokenizer.decode_bytes(ids) if self._by_bytes else self._decode_tokens(ids).encode()

    def stream(self, errors: str) -> Stream:
        """Return what decodes id by id."""
        from tokkit.decoders.streaming import ChainStream, DecodeStream

        return DecodeStream(self.token_bytes, errors) if self._by_bytes else ChainStream(self.chain, self._token)
