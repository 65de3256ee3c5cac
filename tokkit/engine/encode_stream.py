"""Encodes unfinished text: ids that are final, and possible completions.

No token crosses the end of a pretoken, so only the last pretoken can still change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import numpy as np

from tokkit import limits
from tokkit._core.text import to_utf8
from tokkit.engine.byte_level import ByteLevelEngine
from tokkit.engine.engine import Engine
from tokkit.engine.special_tokens import Special
from tokkit.errors import CorpusError, OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokkit._core.text import Text
    from tokkit.definition import Definition
    from tokkit.vocab import Vocab

SPACES = frozenset(b" \n\t")
"""Tokens of only these bytes are held back together, because later text may join them to one token."""
LONG_WORD = 1 << 14
"""Number of held bytes after which a stream looks for a place to cut inside a word."""

WHITE_SPACE = frozenset("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000").union(
    map(chr, range(0x2000, 0x200B))
)
"""The characters of Unicode's White_Space; str.isspace() accepts four more."""


class EncodeStream:
    """Encodes text that arrives in parts. The ids of all calls and of `flush()` are those of the whole text.

    Text whose ids may still change is held back: the text after the last place where it may be cut, usually the last
    word, and an incomplete character. Byte-level BPE also cuts inside long words, where tokens cannot change. If no
    such place is known (components in Python, stages that need the whole text), `flush` returns all ids. The time is
    linear in the length of the text, for parts of any size. A stream encodes one text.

    >>> import tokkit
    >>> tok = tokkit.train(iter(["low lower lowest"]), vocab_size=260)
    >>> stream = tok.encode_stream()
    >>> stream.feed("low low"), stream.feed("er"), stream.flush()
    ([257], [], [259, 81])
    """

    def __init__(self, engine: Engine, special: Special) -> None:
        self._engine = engine
        self._special = special if isinstance(special, str) else frozenset(special)
        engine.last_cut(b"", 0, self._special)  # raises OptionError for an invalid policy
        self._held = bytearray()
        self._half = ""  # the first surrogate of a pair
        self._searched = 0
        self._patience = LONG_WORD
        self._continues = False

    def feed(self, text: Text) -> list[int]:
        """Take more text (bytes may end inside a character) and return the ids that later text cannot change."""
        held, before, half = self._held, len(self._held), self._half
        held += self._utf8(text)
        try:
            if not (end := self._cut()):
                if len(held) > (limit := limits.current().held_bytes):
                    what = f"the stream holds {len(held):,} bytes, more than {limit:,}, without a place to cut"
                    raise limits.exceeded("held_bytes", what, CorpusError)
                return []
            ids = self._engine.encode_part(bytes(held[:end]), self._special, continues=self._continues, goes_on=True)
        except BaseException:
            del held[before:]  # an error leaves the stream unchanged
            self._half = half
            self._searched = min(self._searched, before)
            raise
        del held[:end]
        self._searched, self._patience, self._continues = 0, LONG_WORD, True
        return ids

    def _utf8(self, text: Text) -> bytes | bytearray | memoryview:
        """Return the UTF-8 of more text; a str may end between two surrogates, as JavaScript's strings may."""
        half = self._half
        if isinstance(text, str):
            text = half + text
            self._half = text[-1:] if "\ud800" <= text[-1:] < "\udc00" else ""
            return to_utf8(text[: len(text) - len(self._half)])
        if not isinstance(text, (bytes, bytearray, memoryview)):
            return to_utf8(text)  # raises the error for other types
        self._half = ""
        return to_utf8(half) + bytes(text) if half else text

    def _cut(self) -> int:
        """Return where to cut the held text; 0 for nowhere."""
        n = len(self._held)
        end = self._engine.last_cut(self._held, n, self._special, self._searched)
        if end or n < self._patience:
            self._searched = n
            return end
        self._searched, self._patience = n, 2 * n  # twice as much each time, so that the total time is linear
        return self._engine.open_cut(self._held, n, self._special)

    def flush(self) -> list[int]:
        """Return the ids of the text that is held back, and start a new text."""
        held, continues = bytes(self._held) + to_utf8(self._half), self._continues
        self._half = ""
        self._held, self._searched, self._patience, self._continues = bytearray(), 0, LONG_WORD, False
        return self._engine.encode_part(held, self._special, continues=continues, goes_on=False)


# ---- completions


class Completions:
    """Finds the possible tokens at the end of an unfinished text, for a byte-level engine; same sets as tiktoken."""

    def __init__(self, engine: ByteLevelEngine, vocab: Vocab, added: Collection[int]) -> None:
        """`added` are the ids of added tokens."""
        self._engine, self._vocab, self._added = engine, vocab, frozenset(added)
        own = sorted((token, id_) for token, id_ in vocab.items() if id_ not in self._added)
        self._tokens, self._ids = [token for token, _ in own], [id_ for _, id_ in own]
        self._lengths = np.diff(vocab.offsets)

    def of(self, text: Text, special: Special) -> tuple[list[int], list[list[int]]]:
        """Return (stable ids, completions) of a text.

        A completion is a sequence of ids whose bytes begin with the text after the stable ids. However the text
        continues, one of the completions follows the stable ids.
        """
        stable, rest = stable_part(self._engine, self._vocab, self._added, to_utf8(text), special)
        if not rest:
            return stable, []
        begin = self._beginning_with(rest)
        alone = self._ids[begin.start : begin.stop]
        several = {*self._straddling(rest), *self._last_space_apart(rest)}.difference(zip(alone))
        return stable, [*([id_] for id_ in alone), *map(list, sorted(several))]

    def _beginning_with(self, start: bytes) -> range:
        """Return the range of the sorted tokens that begin with these bytes."""
        low = bisect_left(self._tokens, start)
        bound = start.rstrip(b"\xff")  # the smallest bytes that are greater than all with this prefix
        high = bisect_left(self._tokens, bound[:-1] + bytes([bound[-1] + 1]), low) if bound else len(self._tokens)
        return range(low, high)

    def _straddling(self, rest: bytes) -> Iterator[tuple[int, ...]]:
        """Yield the sequences whose last token begins inside the rest and ends at its end or later."""
        tokens = self._tokens
        texts = [rest[:i] + tokens[k] for i in range(1, len(rest)) for k in self._beginning_with(rest[i:])]
        whole, broken = [], []
        for text in texts:
            try:
                text.decode()
            except UnicodeDecodeError:
                broken.append(text)
            else:
                whole.append(text)
        ids, offsets = self._engine.encode_batch(whole, "text", 1)
        yield from self._cut(ids, offsets, len(rest))
        if broken:
            # Invalid UTF-8 is one pretoken, whatever the pattern.
            ends = np.cumsum([len(text) for text in broken], dtype=np.int64)
            ids = self._engine.merge_only(b"".join(broken), ends)
            after = np.searchsorted(np.cumsum(self._lengths[ids]), ends, side="left") + 1
            yield from self._cut(ids, np.append(0, after), len(rest))

    def _cut(self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], n_bytes: int) -> Iterator[tuple[int, ...]]:
        """Yield each sequence up to the token with which it reaches `n_bytes`."""
        lengths = self._lengths[ids]
        before = np.append(0, np.cumsum(lengths))
        starts = np.repeat(before[offsets[:-1]], np.diff(offsets))
        enough = np.append(0, np.cumsum(before[:-1] - starts < n_bytes))  # in order, from the first of each sequence
        sequences = ids.tolist()
        for start, n in zip(offsets[:-1].tolist(), np.diff(enough[offsets]).tolist(), strict=True):
            yield tuple(sequences[start : start + n])

    def _last_space_apart(self, rest: bytes) -> Iterator[tuple[int, ...]]:
        """Yield the rest with its last white-space character as a separate pretoken, as patterns may split it."""
        text = rest.decode("utf-8", "replace")
        last = text[-1].encode()
        if len(rest) > len(last) and text[-1] in WHITE_SPACE:
            ends = np.array([len(rest) - len(last), len(rest)], dtype=np.int64)
            yield tuple(self._engine.merge_only(rest, ends).tolist())


def stable_part(
    engine: ByteLevelEngine, vocab: Vocab, added: Collection[int], utf8: bytes, special: Special
) -> tuple[list[int], bytes]:
    """Return the ids of a text without its last pretoken, and the bytes of the rest, with all white space at its end.

    The bytes are empty if the text ends with an added token.
    """

    def is_space(id_: int) -> bool:
        return id_ not in added and SPACES.issuperset(vocab[id_])

    at = engine.last_cut(utf8, len(utf8), special)
    first = engine.encode(utf8[:at], special) if at else []
    _, last, _, words = engine.aligned(utf8[at:], special)
    ids = first + last.tolist()
    if not len(last) or ids[-1] in added:
        return ids, b""
    numbers = words() if callable(words) else words
    n = int(np.count_nonzero(numbers == numbers[-1]))
    if is_space(ids[-n]):
        while n < len(ids) and is_space(ids[-n - 1]):
            n += 1
    return ids[:-n], b"".join(vocab[id_] for id_ in ids[-n:])


def completions_of(definition: Definition, engine: Engine) -> Completions:
    """Return a `Completions`; OptionError for a tokenizer that is not byte-level BPE."""
    if not isinstance(engine, ByteLevelEngine) or engine.in_stages:
        raise OptionError("completions need byte-level BPE; this tokenizer is a pipeline of components")
    return Completions(engine, definition.vocab, definition.added_vocab.values())
