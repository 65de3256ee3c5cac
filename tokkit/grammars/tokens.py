"""`TokenSpellings`: the bytes that each token of a tokenizer adds to a text, as the tries that grammars walk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tokkit._core.grammars import TokenTries
from tokkit.engine.decoding import decoding_of
from tokkit.errors import GrammarError
from tokkit.unicode_regex.code_points import LIMIT, CodePoints

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

LENGTHS = ((0, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, LIMIT - 1))
"""The first and the last code point whose UTF-8 has 1, 2, 3, and 4 bytes."""


class TokenSpellings:
    """The bytes of each token of a tokenizer, in the form that grammars use.

    `Grammar.compile` takes it in place of the tokenizer; make it once for many grammars. The bytes are those that
    decoding adds. Of the first token of a text these may differ: SentencePiece drops a space there. Special tokens and
    tokens without bytes are never allowed. GrammarError for a tokenizer whose decoder makes the text of a token depend
    on the next one.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        decoding = decoding_of(tokenizer.definition)
        found = decoding.spellings()
        if found is None:
            raise GrammarError(
                f"{tokenizer!r} decodes a token by what comes after it, and grammars need the bytes of each; "
                "byte-level BPE, and SentencePiece without a denormalizer, have them"
            )
        spelt, first = found
        hidden = decoding.special_ids.union(tokenizer.special_tokens.values())
        self.inside: Sequence[bytes] = [b"" if id_ in hidden else text for id_, text in enumerate(spelt)]
        """The bytes of each id, b"" if it is never allowed."""
        self.first: Mapping[int, bytes] = {id_: text for id_, text in first.items() if id_ not in hidden}
        """The bytes of ids that differ at the start of a text."""
        self.n_words = -(-len(spelt) // 32)
        self.tries = self._tries(self.inside)
        at_start = [self.first.get(id_, text) for id_, text in enumerate(self.inside)]
        self.first_tries = self._tries(at_start) if self.first else None

    def _tries(self, texts: Sequence[bytes]) -> TokenTries:
        ids = sorted((id_ for id_, text in enumerate(texts) if text), key=texts.__getitem__)
        return TokenTries([texts[id_] for id_ in ids], np.array(ids, dtype=np.uint32), self.n_words)

    @cached_property
    def alphabet(self) -> CodePoints | None:
        """The characters that tokens can spell one by one, whole or byte by byte; None if they are all of Unicode's."""
        known = set(self.inside)
        has = np.array([bytes([byte]) in known for byte in range(256)])
        points = np.arange(LIMIT)
        spelt = (points < 0xD800) | (points > 0xDFFF)
        for k, (first, last) in enumerate(LENGTHS):
            some = points[first : last + 1]
            every = has[((0, 0xC0, 0xE0, 0xF0)[k] | some >> 6 * k) & 0xFF]
            for shift in range(k):
                every = every & has[0x80 | some >> 6 * shift & 0x3F]
            spelt[first : last + 1] &= every
        for text in known:
            if 1 < len(text) <= 4 and (text[0] & 0xC0) == 0xC0:
                character = text.decode("utf-8", "replace")
                if len(character) == 1 and character != "\ufffd":
                    spelt[ord(character)] = True
        if spelt.sum() == LIMIT - 0x800:
            return None
        return CodePoints(np.flatnonzero(np.diff(spelt.astype(np.int8), prepend=0, append=0)))
