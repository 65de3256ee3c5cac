"""Builds the decoding of a definition: ids to bytes or text."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, TypeVar

from tokkit._core import lists
from tokkit._core.decode import Detokenizer
from tokkit.definition import Definition
from tokkit.errors import OptionError, VocabError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokkit.decoders.base import Decoder
    from tokkit.decoders.table import Table
    from tokkit.models.sentencepiece import SentencePieceModel
    from tokkit.postprocessors.batch import Flat


T = TypeVar("T")


def decoding_of(definition: Definition) -> Decoding | SentencePieceDecoding:
    """Return the decoding of a definition's ids."""
    if definition.tokens_are_bytes:
        return Decoding(definition)
    from tokkit.models.sentencepiece import SentencePieceModel

    if isinstance(definition.model, SentencePieceModel):
        return SentencePieceDecoding(definition, definition.model)
    return Decoding(definition)


def sequences_of(batch: Iterable[Iterable[int]] | Flat) -> Iterable[Iterable[int]]:
    """Return the sequences of ids of a batch, which may be the (ids, offsets) that `encode_batch` returns.

    Two arrays count as such a pair if they have the types that `encode_batch` returns, uint32 and int64.
    """
    if not isinstance(batch, tuple) or [str(getattr(part, "dtype", "")) for part in batch] != ["uint32", "int64"]:
        return batch
    ids, offsets = batch
    places = offsets.tolist()
    if places[:1] != [0] or places[-1] != len(ids) or any(start > end for start, end in pairwise(places)):
        raise OptionError(f"offsets must be ascending, from 0 to the number of ids, {len(ids)}; see encode_batch")
    return [ids[start:end] for start, end in pairwise(places)]


def without(ids: Iterable[int], special_ids: Collection[int]) -> list[int]:
    """Return the ids that are not special; scalars of numpy and torch are ids too, and what is no id stays.

    >>> without(range(3), {1})
    [0, 2]
    """
    if (
        type(ids) is list
        and isinstance(special_ids, frozenset)
        and (made := lists.without(ids, special_ids)) is not None
    ):
        return made
    return [id_ for id_ in ids if (id_ if type(id_) is int else _as_int(id_)) not in special_ids]


def _as_int(id_: int) -> int:
    try:
        return operator.index(id_)  # a torch scalar is equal to an int, but has another hash
    except TypeError:
        return -1


class Stream(Protocol):
    """Decodes a stream of ids: the concatenated results, with that of `flush()`, equal `decode` of all ids.

    Except that `decode` may change characters before an invalid byte in a run of byte tokens (`ChainStream`).
    """

    def step(self, id_: int) -> str:
        """Take one id and return the text that is now complete."""

    def flush(self) -> str:
        """Return the text that is held back, and start a new sequence."""


class Decoding:
    """Decodes ids of one definition: joins their bytes, or runs the decoder on their tokens.

    Raises KeyError(id) for an id without a token; streams raise the VocabError of `unknown`.
    """

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._by_bytes = definition.tokens_are_bytes
        self.detokenizer = Detokenizer(*self._spelt())
        """What joins the bytes of tokens."""
        self.decode: Callable[..., str] = self.detokenizer.decode if self._by_bytes else self._decode_tokens
        """Return the text of ids; invalid UTF-8 is handled as by bytes.decode with these `errors`."""

    def _spelt(self) -> tuple[bytes, NDArray[np.int64], NDArray[np.uint8] | None]:
        """Return the decoded tokens joined, the span of each, and which ids have a token.

        An added token that is searched for in normalized text decodes to its normalized content. With the decoder
        ByteLevel, it decodes to the bytes of its symbols, if all its characters are byte symbols; for ASCII both are
        the same.
        """
        vocab, normalizer, added = self._definition.vocab, self._definition.normalizer, self._definition.added_tokens
        normalizes = normalizer is not None and any(token.normalized for token in added)
        symbols = self._by_bytes and self._definition.decoder is not None
        symbols = symbols and not all(token.content.isascii() for token in added)
        if not normalizes and not symbols and vocab.empty is None:
            return vocab.blob, vocab.offsets, None
        import numpy as np

        from tokkit.decoders.byte_level import bytes_of
        from tokkit.engine.special_tokens import content

        to_bytes = bytes_of if self._by_bytes and self._definition.decoder is not None else str.encode
        found = {token.id: to_bytes(content(token, normalizer)) for token in added if normalizes or symbols}
        lengths = np.diff(vocab.offsets)
        present = (lengths > 0).astype(np.uint8)
        if vocab.empty is not None:
            present[vocab.empty] = 1
        parts, done = [], 0
        for id_, token in sorted(found.items()):
            parts += [vocab.blob[done : vocab.offsets[id_]], token]
            done = int(vocab.offsets[id_ + 1])
            lengths[id_] = len(token)
        parts.append(vocab.blob[done:])
        return b"".join(parts), np.append(0, np.cumsum(lengths)), present

    @functools.cached_property
    def chain(self) -> Decoder:
        """The decoder of the definition, or the default one."""
        from tokkit.decoders.spaced import Spaced

        return self._definition.decoder or Spaced()

    @functools.cached_property
    def _tokens(self) -> list[str | None]:
        blob, offsets, present = self._spelt()
        ends = offsets.tolist()
        there = [b > a for a, b in pairwise(ends)] if present is None else present.tolist()
        slices = zip(there, ends[:-1], ends[1:], strict=True)
        return [blob[a:b].decode() if is_there else None for is_there, a, b in slices]

    @functools.cached_property
    def _table(self) -> Table | None:
        from tokkit.decoders import table

        return table.build(self.chain, self._tokens)

    def _token(self, id_: int) -> str:
        self.detokenizer.decode_bytes([id_])  # checks the id
        return self._tokens[id_] or ""

    def _decode_tokens(self, ids: Iterable[int], errors: str = "replace") -> str:
        if self._table is not None:
            return self._table.decode(ids)
        ids = list(ids)
        self.detokenizer.decode_bytes(ids)  # checks the ids
        return self.chain.decode([self._tokens[id_] or "" for id_ in ids])

    def token_bytes(self, id_: int) -> bytes:
        """Return the bytes of one token from the vocabulary."""
        self.detokenizer.decode_bytes([id_])
        return self._definition.vocab[int(id_)]

    def spellings(self) -> tuple[list[bytes], dict[int, bytes]] | None:
        """Return the bytes that each id adds to a text, and those for ids that add different bytes at its start.

        An id without a token has b"". None if the bytes of a token depend on what comes after it.
        """
        if self._by_bytes:
            blob, offsets, _ = self._spelt()
            return [blob[a:b] for a, b in pairwise(offsets.tolist())], {}
        return None if self._table is None else self._table.spellings()

    def unknown(self, id_: object) -> VocabError:
        """Return the error for an id without a token."""
        return VocabError(f"no token has the id {id_}; ids run from 0 to {self._definition.vocab.n_ids - 1}")

    @functools.cached_property
    def special_ids(self) -> frozenset[int]:
        """The ids that skip_special leaves out: as in tokenizers, all that decode to a special token's text."""
        from tokkit.engine.special_tokens import content

        special, normalizer = self._definition.special_tokens, self._definition.normalizer
        return frozenset(t.id for t in self._definition.added_tokens if content(t, normalizer) in special)

    def _or_unknown(self, of_id: Callable[[int], T]) -> Callable[[int], T]:
        def known(id_: int) -> T:
            try:
                return of_id(id_)
            except KeyError as error:
                raise self.unknown(error.args[0]) from None

        return known

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """Return the bytes of ids: the joined bytes of the tokens, or the UTF-8 of the decoded text."""
        return self.detokenizer.decode_bytes(ids) if self._by_bytes else self._decode_tokens(ids).encode()

    def stream(self, errors: str) -> Stream:
        """Return a new stream that decodes id by id."""
        from tokkit.decoders.streaming import ChainStream, DecodeStream

        if not self._by_bytes:
            return ChainStream(self.chain, self._or_unknown(self._token))
        return DecodeStream(self._or_unknown(lambda id_: self.detokenizer.decode_bytes([id_])), errors)


class SentencePieceDecoding:
    """Decodes ids of a definition with a SentencePiece model; errors are those of `Decoding`."""

    def __init__(self, definition: Definition, model: SentencePieceModel) -> None:
        from tokkit.decoders.sentencepiece import SentencePiece

        self._vocab = definition.vocab
        self._decoder = SentencePiece(model, definition.vocab.n_ids)
        self.decode, self.decode_bytes = self._decoder.decode, self._decoder.decode_bytes
        self.special_ids = frozenset(definition.special_tokens.values())
        self.spellings = self._decoder.spellings

    def token_bytes(self, id_: int) -> bytes:
        """Return the bytes of one token from the vocabulary."""
        self.decode_bytes([id_])
        return self._vocab[int(id_)]

    def unknown(self, id_: object) -> VocabError:
        """Return the error for an id without a token."""
        return VocabError(f"no token has the id {id_}; ids run from 0 to {self._vocab.n_ids - 1}")

    def stream(self, errors: str) -> Stream:
        """Return a new stream that decodes id by id."""
        from tokkit.decoders.sentencepiece import SentencePieceStream

        return SentencePieceStream(self._decoder, errors, self.unknown)
