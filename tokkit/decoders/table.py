"""Decodes with a table of each token's text, for decoders that treat tokens one by one.

Most chains decode a token in the same way at each position, except the first or the last of a sequence, so the bytes of
every token are computed once. This is exact in these cases:

- Replace, Strip, Metaspace, WordPiece, BPE and Spaced look at one token, and at most at whether it is the first or
  the last. Any number of them may come, in any order, before the first other decoder.
- ByteLevel joins bytes and decodes them with U+FFFD for what is invalid, and so does the table.
- ByteFallback decodes runs of byte tokens. Text tokens are whole characters, so the joined bytes are valid UTF-8 if and
only if each run is; if they are not, the chain itself decodes. An empty text token would end a run without a trace in
the bytes, so its bytes are 0xFF here, which is never valid. ByteFallback must be the last decoder, or followed by Fuse.
- Fuse and ByteLevel leave one token; the decoders after them run on the text.

Any other chain (CTC, or tokens looked at after ByteFallback) has no table: `build` returns None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

import numpy as np

from tokkit._core.decode import Detokenizer
from tokkit.decoders.base import Decoder
from tokkit.decoders.bpe import BPE
from tokkit.decoders.byte_fallback import ByteFallback, byte_of
from tokkit.decoders.byte_level import ByteLevel, bytes_of
from tokkit.decoders.fuse import Fuse
from tokkit.decoders.metaspace import Metaspace
from tokkit.decoders.replace import Replace
from tokkit.decoders.sequence import flat
from tokkit.decoders.spaced import Spaced
from tokkit.decoders.strip import Strip
from tokkit.decoders.wordpiece import WordPiece

BY_TOKEN = (Replace, Strip, Metaspace, WordPiece, BPE, Spaced)
FIRST_DIFFERS = (Metaspace, WordPiece, Spaced)
LAST_DIFFERS = (BPE,)
NEVER = b"\xff"


def build(decoder: Decoder, tokens: Sequence[str | None]) -> Table | None:
    """Return the table of a decoder, None if it has none; `tokens` has the token of each id, or None.

    >>> table = build(Metaspace(), ["▁a", "▁b", None, "c"])
    >>> table.decode([0, 1, 3])
    'a bc'
    """
    parts = list(flat(decoder))
    n = next((i for i, part in enumerate(parts) if type(part) not in BY_TOKEN), len(parts))
    head, rest = parts[:n], parts[n:]
    to_bytes: Callable[[str], bytes] = str.encode
    if rest and isinstance(rest[0], ByteFallback):
        to_bytes, rest = _fallback_bytes, rest[1:]
    elif rest and isinstance(rest[0], ByteLevel):
        to_bytes, rest = bytes_of, [Fuse(), *rest[1:]]
    if rest and not isinstance(rest[0], Fuse):
        return None
    return Table(decoder, tokens, head, to_bytes, rest[1:])


def _fallback_bytes(token: str) -> bytes:
    byte = byte_of(token) if token.startswith("<0x") else None
    return bytes([byte]) if byte is not None else token.encode() or NEVER


class Table:
    """Decodes ids as `decoder.decode` decodes their tokens. Immutable, except for cached first and last tokens.

    KeyError(id) for an id without a token, TypeError for an id that is not an int.
    """

    def __init__(
        self,
        decoder: Decoder,
        tokens: Sequence[str | None],
        head: list[Decoder],
        to_bytes: Callable[[str], bytes],
        tail: list[Decoder],
    ) -> None:
        self._decoder, self._tokens, self._head, self._to_bytes, self._tail = decoder, tokens, head, to_bytes, tail
        self._errors = "replace" if to_bytes is bytes_of else "strict"
        self._first: dict[int, bytes] | None = {} if any(isinstance(part, FIRST_DIFFERS) for part in head) else None
        self._last: dict[int, bytes] | None = {} if any(isinstance(part, LAST_DIFFERS) for part in head) else None
        # Each token with other tokens on both sides.
        texts = self._texts(["", *("" if token is None else token for token in tokens), ""])[1:-1]
        self.token_bytes = [b"" if token is None else to_bytes(text) for token, text in zip(tokens, texts, strict=True)]
        """The bytes of each token that is neither the first nor the last of a sequence."""
        present = np.fromiter((token is not None for token in tokens), dtype=np.uint8, count=len(tokens))
        offsets = np.fromiter(accumulate(map(len, self.token_bytes), initial=0), dtype=np.int64, count=len(tokens) + 1)
        self._detokenizer = Detokenizer(b"".join(self.token_bytes), offsets, present)

    def _texts(self, tokens: list[str]) -> list[str]:
        for part in self._head:
            tokens = part.decode_chain(tokens)
        return tokens

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of `ids`, a list or an array for speed."""
        if self._first is None and self._last is None and self._errors == "replace":
            return self._behind(self._detokenizer.decode(ids))
        ids = ids if isinstance(ids, (list, tuple, np.ndarray)) else list(ids)
        data = self._detokenizer.decode_bytes(ids)  # checks them too
        if len(ids) < 2:  # the only token is both first and last
            return self._by_chain(ids)
        if self._first is not None:
            id_ = int(ids[0])
            data = self._form(self._first, id_, 0) + data[len(self.token_bytes[id_]) :]
        if self._last is not None:
            id_ = int(ids[len(ids) - 1])
            data = data[: len(data) - len(self.token_bytes[id_])] + self._form(self._last, id_, 1)
        try:
            text = data.decode("utf-8", self._errors)
        except UnicodeDecodeError:
            return self._by_chain(ids)
        return self._behind(text)

    def spellings(self) -> tuple[list[bytes], dict[int, bytes]] | None:
        """Return the bytes that each id adds to a text, and those for ids that add different bytes at its start.

        None if tokens decode differently at the end of a text, or if the joined text is changed, except for one
        character that is removed from its start.
        """
        strip = self._tail[0] if len(self._tail) == 1 and isinstance(self._tail[0], Strip) else None
        if self._last is not None or (self._tail and (strip is None or strip.start > 1 or strip.stop)):
            return None
        first = {}
        for id_, inside in enumerate(self.token_bytes):
            form = inside if self._first is None or self._tokens[id_] is None else self._form(self._first, id_, 0)
            if strip is not None and strip.start:
                form = form.removeprefix(strip.content.encode())
            if form != inside:
                first[id_] = form
        return self.token_bytes, first

    def _form(self, forms: dict[int, bytes], id_: int, place: int) -> bytes:
        """Return the bytes of a token that is the first (place 0) or the last (1) of several."""
        form = forms.get(id_)
        if form is None:
            token = self._tokens[id_] or ""
            text = self._texts([token, ""] if place == 0 else ["", token])[place]
            form = forms[id_] = self._to_bytes(text)
        return form

    def _by_chain(self, ids: Iterable[int]) -> str:
        return self._decoder.decode([self._tokens[int(id_)] or "" for id_ in ids])

    def _behind(self, text: str) -> str:
        """Run the decoders that change the joined text."""
        if not self._tail:
            return text
        tokens = [text]
        for part in self._tail:
            tokens = part.decode_chain(tokens)
        return "".join(tokens)
