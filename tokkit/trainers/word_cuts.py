"""Finds where a text may be cut while its words are counted: the cuts with which the engines encode files."""

from __future__ import annotations

import functools

import numpy as np

from tokkit.corpus.stream_blocks import NOWHERE, Cut
from tokkit.definition import Definition, Normalizer, Pretokenizer, Split
from tokkit.engine.compile import engine_of
from tokkit.models.bpe import BPE
from tokkit.models.wordlevel import WordLevel
from tokkit.vocab import Vocab

_BYTES = [bytes([byte]) for byte in range(256)]


def of_pattern(pattern: str | None, longest: int) -> Cut:
    """Return the cut of the pretokens of a pattern, which are counted in chunks of `longest` bytes.

    Without a pattern, a text is one pretoken, and is cut between its chunks. A pattern that only the `regex` package
    can run has no known cuts: the text is held back, up to a 32nd of the limit held_bytes.
    """
    if pattern is None:
        return functools.partial(_between_chunks, longest)
    model = BPE(merges=np.empty((0, 3), dtype=np.uint32), whole_piece=False)
    return _of_engine(Definition(Vocab.from_list(_BYTES), model, pretokenizer=Split(pattern, keep_unmatched=True)))


def of_components(normalizer: Normalizer | None, pretokenizer: Pretokenizer) -> Cut:
    """Return the cut of the pretokens that components make."""
    model = WordLevel(unk_token="?")
    return _of_engine(Definition(Vocab.from_list([b"?"]), model, normalizer=normalizer, pretokenizer=pretokenizer))


def at_white_space(text: bytearray, n: int, searched: int) -> int:
    """Return the place after the last white space of ASCII, for words that never cross it; 0 for none."""
    return max(text.rfind(space, searched, n) for space in (b" ", b"\n", b"\t", b"\r")) + 1


def between_characters(text: bytearray, n: int, searched: int) -> int:
    """Return where the last character begins, for words of one character."""
    at = n - 1
    while at > 0 and text[at] & 0xC0 == 0x80:
        at -= 1
    return max(at, 0)


def _of_engine(definition: Definition) -> Cut:
    engine = functools.cache(lambda: engine_of(definition))  # most corpora need no cut

    def cut(text: bytearray, n: int, searched: int) -> int:
        made = engine()
        return made.pretoken_cut(text, n, searched) if made.runs_in_core("text") else NOWHERE

    return cut


def _between_chunks(longest: int, text: bytearray, n: int, searched: int) -> int:
    """Return where the last whole chunk of a text ends, as the core makes them: characters stay whole."""
    at = 0
    while n - at > longest:
        end = at + longest
        while end > at + longest - 3 and text[end] & 0xC0 == 0x80:
            end -= 1
        at = end
    return at
