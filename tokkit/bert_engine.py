"""A BERT definition in, an engine out: normalizer, pretokenizer and WordPiece in one pass of the C core."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tokkit._core.bert import BertEncoder
from tokkit._core.bert_batch import BertBatch
from tokkit._core.special import SpecialMatcher
from tokkit._core.text import to_utf8
from tokkit.definition import AddedToken, Definition
from tokkit.engine import Special, may_overlap
from tokkit.errors import OptionError
from tokkit.interpreter import Interpreter
from tokkit.models.wordpiece import WordPiece
from tokkit.normalizers.bert import Bert as BertNormalizer
from tokkit.pretokenizers.bert import Bert as BertPretokenizer
from tokkit.threads import CHARACTERS_A_THREAD, together

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokkit._core.text import Text

CACHE_WORDS = 1 << 17
"""Words, of 32 bytes each, that one thread's cache holds."""

CACHE_LONG_WORDS = 1 << 16
"""Words of up to 31 bytes, of 64 bytes each, that are too long for the other or have more than three tokens."""


def runs(definition: Definition) -> bool:
    """Tell whether this engine runs a definition: BERT's components, and added tokens that are found as they stand."""
    kinds = type(definition.normalizer), type(definition.pretokenizer), type(definition.model)
    if kinds != (BertNormalizer, BertPretokenizer, WordPiece):
        return False
    if not all(token.plain for token in definition.added_tokens):
        return False
    # A word holds no punctuation, so that plain text cannot spell what has some; see interpreter.py for what can be.
    if any(set(text).isdisjoint(string.punctuation) for text in definition.special_tokens):
        return False
    special, others = ([t.content for t in definition.added_tokens if t.special is flag] for flag in (True, False))
    return not (may_overlap(special, others) or may_overlap(others, special))


class BertEngine(Interpreter):
    """Runs one definition in the core. Safe to share between threads.

    A text that its tables cannot decide goes through the components; both give equal results.
    """

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition)
        normalizer = definition.normalizer
        if not runs(definition) or not isinstance(normalizer, BertNormalizer):
            raise OptionError("this engine is for the components of BERT and added tokens that are found as they stand")
        self._encoder = BertEncoder(
            self._model.core,
            clean=normalizer.clean_text,
            chinese=normalizer.handle_chinese_chars,
            strip=normalizer.strips_accents,
            lower=normalizer.lowercase,
            cache_words=CACHE_WORDS,
            cache_long_words=CACHE_LONG_WORDS,
        )
        tokens = definition.added_tokens
        self._all = _matcher(tokens)
        self._always = _matcher([token for token in tokens if not token.special])

    def _fast(self, special: Special, text: Text | None = None) -> tuple[bool, SpecialMatcher | None]:
        """Return whether the core reads special tokens as `special` says, and what finds added tokens then."""
        if special == "text":
            return True, self._always
        if special == "all":
            return True, self._all
        if special == "raise":
            if text is not None:
                self._refuse(text)
            return True, self._always
        return False, None

    def encode(self, text: Text, special: Special = "text") -> list[int]:
        """Return ids as a list."""
        fast, matcher = self._fast(special, text)
        ids = self._encoder.encode(text, matcher) if fast else None
        return super().encode(text, special) if ids is None else ids

    def encode_array(self, text: Text, special: Special = "text", threads: int = 1) -> NDArray[np.uint32]:
        """Return ids as a uint32 array."""
        fast, matcher = self._fast(special, text)
        ids = self._encoder.encode_array(text, matcher) if fast else None
        return super().encode_array(text, special) if ids is None else ids

    def count(self, text: Text, special: Special = "text") -> int:
        """Return the number of ids."""
        fast, matcher = self._fast(special, text)
        count = self._encoder.count(text, matcher) if fast else None
        return super().count(text, special) if count is None else count

    def encode_batch(
        self, texts: Sequence[Text], special: Special, threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the ids of all texts in one array, and the int64 offsets where each text's begin and end."""
        if special == "raise":
            for text in texts:
                self._refuse(text)
            special = "text"
        fast, matcher = self._fast(special)
        if not fast:
            return super().encode_batch(texts, special, threads)
        batch = BertBatch(self._encoder, list(texts), matcher)
        try:
            threads = min(threads, 1 + batch.units // CHARACTERS_A_THREAD)
            together(batch.run, threads, batch.stop)
            batch.make_room({k: super(BertEngine, self).encode_array(texts[k], special) for k in batch.odd()})
            together(batch.move, threads, batch.stop)
            return batch.result()
        finally:
            batch.close()

    def aligned(
        self, text: Text, special: Special
    ) -> tuple[bytes, NDArray[np.uint32], NDArray[np.int64], NDArray[np.int32] | Callable[[], NDArray[np.int32]]]:
        """Return (utf8, ids, byte spans (n, 2), words) for a text."""
        fast, matcher = self._fast(special, text)
        utf8 = to_utf8(text)
        made = self._encoder.aligned(utf8, matcher) if fast else None
        return super().aligned(text, special) if made is None else (utf8, *made)

    def cache_info(self) -> dict[str, int]:
        """Return sizes and counts of the caches of words."""
        return self._encoder.cache_info()


def _matcher(tokens: Sequence[AddedToken]) -> SpecialMatcher | None:
    return SpecialMatcher({token.content.encode(): token.id for token in tokens}) if tokens else None
