"""`TokenSpellings`: the bytes that each token of a tokenizer adds to a text, as the tries that grammars walk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tokkit._core.decode import TokenTries
from tokkit.engines.decoding import decoding_of
from tokkit.errors import GrammarError
from tokkit.unicode_regex.code_points import CodePoints

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

LEADS = range(0xC2, 0xF5)
CONTINUATIONS = range(0x80, 0xC0)


class TokenSpellings:
    """What grammars need of a tokenizer, made once for all of them; grammars take it in place of the tokenizer.

    Bytes are those that decoding adds in the middle of a text, and for the first token of a text those that it begins
    with: SentencePiece drops a space there. Special tokens are never allowed, and neither are tokens without bytes.
    GrammarError for a tokenizer whose decoder makes a token's text depend on what comes after it.
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
        """The characters that tokens can spell one by one; None if they are all of Unicode's."""
        known = set(self.inside)
        if all(bytes([byte]) in known for byte in (*range(0x80), *CONTINUATIONS, *LEADS)):
            return None
        single = {text for text in known if 0 < len(text) <= 4}
        code_points = []
        for encoded in single:
            try:
                character = encoded.decode()
            except UnicodeDecodeError:
                continue
            if len(character) == 1:
                code_points.append(ord(character))
        bounds: list[int] = []
        for point in sorted(code_points):
            if bounds and bounds[-1] == point:
                bounds[-1] = point + 1
            else:
                bounds += [point, point + 1]
        return CodePoints(np.array(bounds, dtype=np.int64))
