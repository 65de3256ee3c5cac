"""A byte-level definition in, an engine out: text → ids in the C core, with the split that the definition asks for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tokkit._core.batch import Batch
from tokkit._core.blocks import BlockEncoder
from tokkit._core.spans import of_lengths as spans_of_lengths
from tokkit._core.special import SpecialMatcher
from tokkit._core.text import scan, to_utf8
from tokkit.definition import BPE, Definition
from tokkit.errors import OptionError, SpecialTokenError
from tokkit.models import bpe
from tokkit.pretokenizers import patterns, regex_split
from tokkit.pretokenizers.choice import choose
from tokkit.threads import CHARACTERS_A_THREAD, together

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokkit._core.bpe import BPEEncoder
    from tokkit._core.text import Text
    from tokkit.interpreter import Interpreter
    from tokkit.sentencepiece_engine import SentencePieceEngine

AnyEngine: TypeAlias = "Engine | Interpreter | SentencePieceEngine"
Special = str | Collection[str]

_LASTING = (str, bytes)  # what nobody changes while threads read it


def engine_of(definition: Definition) -> AnyEngine:
    """Return the fastest engine that runs a definition exactly."""
    if isinstance(definition.model, BPE) and definition.normalizer is None and _found_as_they_stand(definition):
        return Engine(definition)
    from tokkit.models.wordpiece import WordPiece  # most tokenizers do without what follows
    from tokkit.sentencepiece_model import SentencePieceModel

    if isinstance(definition.model, SentencePieceModel):
        from tokkit.sentencepiece_engine import SentencePieceEngine

        return SentencePieceEngine(definition)
    if isinstance(definition.model, WordPiece):
        from tokkit import bert_engine

        if bert_engine.runs(definition):
            return bert_engine.BertEngine(definition)
    from tokkit.interpreter import Interpreter

    return Interpreter(definition)


def _found_as_they_stand(definition: Definition) -> bool:
    """Tell whether one look for added tokens finds what tokenizers finds in two, first those not `normalized`."""
    added = definition.added_tokens
    if any(token.single_word or token.lstrip or token.rstrip for token in added):
        return False
    first, second = ([t.content for t in added if t.normalized is flag] for flag in (False, True))
    return not (may_overlap(first, second) or may_overlap(second, first))


def may_overlap(some: list[str], others: list[str]) -> bool:
    """Tell whether one of `others` may begin in one of `some`: behind its first character, or as the start of it."""
    inside = {character for text in some for character in text[1:]}
    starts = {text[:n] for text in some for n in range(len(text) + 1)}
    return any(text[0] in inside or text in starts for text in others)


class Engine:
    """Runs one definition in the core; where its pattern is not regular, the `regex` package cuts the text."""

    def __init__(self, definition: Definition, *, foreign: Collection[int] = ()) -> None:
        """Build the tables; `foreign` ids are, like added tokens, not the model's own."""
        if definition.over_bytes is None:
            raise OptionError(f"this engine is for BPE over bytes, not for {type(definition.model).__name__}")
        self._model, split = definition.over_bytes
        self._definition = definition
        self._split = split
        self._chosen = choose(split.pattern, keep_unmatched=split.keep_unmatched)
        self._in_core = self._chosen.split is not None
        self.cuts = split.pattern in patterns.CUTTABLE
        """Whether text may be cut at split points (csrc/split_points.h), for threads and blocks."""
        self._special_ids = dict(definition.special_tokens)
        self._always = {token.content: token.id for token in definition.added_tokens if not token.special}
        self._foreign = [*foreign, *(token.id for token in definition.added_tokens)]
        by = patterns.WHOLE if self._chosen.split is None else self._chosen.split
        self._encoder = bpe.encoder(definition.vocab, self._model, self._foreign, by)
        self._matchers: dict[frozenset[str], SpecialMatcher] = {}
        self._all = self._matcher(frozenset(self._special_ids)) if definition.added_tokens else None
        self._none = self._matcher(frozenset()) if self._always else None
        """What finds the tokens that no policy rules."""
        self._lengths: NDArray[np.int64] = np.diff(definition.vocab.offsets)

    @property
    def split_engine(self) -> str:
        """Which engine cuts text: "scanner" or "compiled" (in C), or "regex"."""
        return self._chosen.engine

    @property
    def split_reason(self) -> str:
        """Why it is the `regex` package that cuts text; "" where it does not."""
        return self._chosen.reason

    @property
    def encoder(self) -> BPEEncoder | None:
        """What encodes in the core, for measuring its stages; None where the `regex` package cuts text."""
        return self._encoder if self._in_core else None

    def _matcher(self, tokens: frozenset[str]) -> SpecialMatcher:
        matcher = self._matchers.get(tokens)
        if matcher is None:
            if len(self._matchers) >= 64:  # policies are few; a caller that makes new ones all the time pays for it
                self._matchers.clear()
            found = {**self._always, **{text: self._special_ids[text] for text in tokens}}
            matcher = SpecialMatcher({text.encode(): id_ for text, id_ in found.items()})
            self._matchers[tokens] = matcher
        return matcher

    def matcher(self, special: Special, text: Text | None = None) -> SpecialMatcher | None:
        """Return what finds the special tokens that `special` allows in text, None where there are none.

        `special` is "text" (none), "all", a collection of the tokens allowed, or "raise": SpecialTokenError if
        `text` holds any. Added tokens that are not special are found in any case.
        """
        if isinstance(special, str):
            if special == "text":
                return self._none
            if special == "all":
                return self._all
            if special != "raise":
                raise OptionError(
                    f'special is {special!r}; it must be "text", "raise", "all" or a set of special tokens'
                )
            if self._special_ids and text is not None:
                self._refuse(to_utf8(text))
            return self._none
        allowed = frozenset(special)
        if unknown := allowed.difference(self._special_ids):
            raise OptionError(
                f"{sorted(unknown)[0]!r} is no special token of this tokenizer: {sorted(self._special_ids)}"
            )
        return self._matcher(allowed) if allowed else self._none

    def _refuse(self, utf8: bytes) -> None:
        """Raise SpecialTokenError where a text holds a special token."""
        at, matcher = 0, self._all
        while matcher is not None and (found := matcher.find(utf8, at)):
            at = found[1]
            if (name := self.special_name(found[2])) is not None:
                raise SpecialTokenError(
                    f"the text holds the special token {name!r} at byte {found[0]}; "
                    'pass special="text" to read it as text, or "all" or a set to let it be a token'
                )

    def special_name(self, id_: int) -> str | None:
        """Return the text of a special token, None for another."""
        return next((text for text, i in self._special_ids.items() if i == id_), None)

    def encode(self, text: Text, special: Special = "text") -> list[int]:
        """Return ids as a list."""
        if self._in_core:
            return self._encoder.encode(text, self._none if special == "text" else self.matcher(special, text))
        ids: list[int] = self.encode_array(text, special).tolist()
        return ids

    def encode_array(self, text: Text, special: Special = "text", threads: int = 1) -> NDArray[np.uint32]:
        """Return ids as a uint32 array; several threads share a long text where its pattern may be cut."""
        matcher = self._none if special == "text" else self.matcher(special, text)
        # A batch puts ids in place part by part, while they are in the cache: one thread gains as well, if later.
        long = isinstance(text, _LASTING) and len(text) >= CHARACTERS_A_THREAD and self.cuts
        if long and (threads > 1 or len(text) >= 4 * CHARACTERS_A_THREAD):
            return self._run(Batch(self._encoder, [text], matcher, True), threads)[0]
        if self._in_core:
            return self._encoder.encode_array(text, matcher)
        parts = [
            np.array([id_], dtype=np.uint32) if id_ is not None else self._encode_split(part)
            for part, id_ in self._slices(to_utf8(text), matcher)
        ]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint32)

    def _encode_split(self, part: bytes) -> NDArray[np.uint32]:
        keep = self._split.keep_unmatched
        return self._encoder.encode_pieces(
            *regex_split.split(self._split.pattern or "", part.decode(), keep_unmatched=keep)
        )

    def merge_apart(self, pieces: bytes, ends: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return what bytes merge to, UTF-8 or not, whatever the pattern says; piece k ends at byte ends[k]."""
        return self._encoder.encode_pieces(pieces, ends, True)

    def _slices(self, utf8: bytes, matcher: SpecialMatcher | None) -> Iterable[tuple[bytes, int | None]]:
        """Yield (text, None) and (special token, id) in turn."""
        at = 0
        while matcher is not None and (found := matcher.find(utf8, at)) is not None:
            start, end, id_ = found
            if start > at:
                yield utf8[at:start], None
            yield utf8[start:end], id_
            at = end
        if at < len(utf8):
            yield utf8[at:], None

    def count(self, text: Text, special: Special = "text") -> int:
        """Return the number of ids."""
        if self._in_core:
            return self._encoder.count(text, self.matcher(special, text))
        return len(self.encode_array(text, special))

    def encode_batch(
        self, texts: Sequence[Text], special: Special, threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the ids of all texts in one array, and the int64 offsets where each text's begin and end."""
        special = special if isinstance(special, str) else frozenset(special)
        if special == "raise":
            for text in texts:
                self.matcher(special, text)
        matcher = self.matcher(special)
        if not self._in_core:
            arrays = [self.encode_array(text, special) for text in texts]
            offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
            np.cumsum([len(a) for a in arrays], out=offsets[1:])
            return (np.concatenate(arrays) if arrays else np.empty(0, dtype=np.uint32)), offsets
        return self._run(Batch(self._encoder, list(texts), matcher, self.cuts), threads)

    def _run(self, batch: Batch, threads: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the ids and offsets of a batch, worked off by up to `threads` threads."""
        try:
            # Each further thread brings a cache of its own, which pays only where there is much to encode.
            together(batch.run, min(threads, 1 + batch.units // CHARACTERS_A_THREAD), batch.stop)
            return batch.result()
        finally:
            batch.close()

    def block_encoder(self, special: Special, *, narrow: bool) -> BlockEncoder | WholeEncoder:
        """Return what encodes the blocks of a file, one thread's: `encode(buffer, n)` and `close()`."""
        refuses = special == "raise"
        matcher = self.matcher("all" if refuses else special)
        if self._in_core and not (refuses and self._always):
            return BlockEncoder(self._encoder, matcher, refuses, narrow)
        return WholeEncoder(self, special, narrow)

    def aligned(
        self, text: Text, special: Special
    ) -> tuple[bytes, NDArray[np.uint32], NDArray[np.int64], Callable[[], NDArray[np.int32]]]:
        """Return (utf8, ids, byte spans (n, 2), what gives the number of each id's piece) for a text."""
        utf8, ids, spans = self._spanned(text, special)
        return utf8, ids, spans, lambda: self.words(utf8, spans, special)[0]

    def surfaces(self, text: Text, special: Special, ids: object, words: object) -> None:
        """Return None: each token stands for what it covers."""

    def _spanned(self, text: Text, special: Special) -> tuple[bytes, NDArray[np.uint32], NDArray[np.int64]]:
        if self._model.drops_unknown:
            utf8, ids, spans = self._with_every_byte._spanned(text, special)
            kept = ids < self._definition.vocab.n_ids
            return utf8, ids[kept], spans[kept]
        utf8 = to_utf8(text)
        matcher = self.matcher(special, text)
        if self._chosen.engine == "scanner" or self._split.keep_unmatched:
            ids = self.encode_array(text, special)
            return utf8, ids, spans_of_lengths(ids, self._lengths)
        # A pattern that drops text leaves holes. What is left is encoded at once, and each id moved to its piece.
        id_parts, span_parts, at = [np.empty(0, dtype=np.uint32)], [np.empty((0, 2), dtype=np.int64)], 0
        for part, id_ in self._slices(utf8, matcher):
            if id_ is not None:
                id_parts.append(np.array([id_], dtype=np.uint32))
                span_parts.append(np.array([[at, at + len(part)]], dtype=np.int64))
            else:
                starts, ends = self._pieces(part)
                joined_ends = np.cumsum(ends - starts)
                joined = b"".join([part[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)])
                id_parts.append(self._encoder.encode_pieces(joined, joined_ends))
                spans = spans_of_lengths(id_parts[-1], self._lengths)
                piece = np.searchsorted(joined_ends, spans[:, 0], side="right")
                span_parts.append(spans + (at + ends - joined_ends)[piece, None])
            at += len(part)
        return utf8, np.concatenate(id_parts), np.concatenate(span_parts)

    def words(self, utf8: bytes, spans: NDArray[np.int64], special: Special) -> tuple[NDArray[np.int32], int]:
        """Return, for tokens with `spans` in a text, the number of the piece that each is part of; and of how many."""
        ends, at = [np.empty(0, dtype=np.int64)], 0
        for part, id_ in self._slices(utf8, self.matcher(special)):
            ends.append(at + (np.array([len(part)]) if id_ is not None else self._pieces(part)[1]))
            at += len(part)
        all_ends = np.concatenate(ends)
        return np.searchsorted(all_ends, spans[:, 0], side="right").astype(np.int32), len(all_ends)

    @functools.cached_property
    def _with_every_byte(self) -> Engine:
        """The same tokenizer with an id for each byte that it drops, which says where the other ids belong."""
        vocab = self._definition.vocab
        single = set(np.flatnonzero(self._lengths == 1).tolist()).difference(self._foreign)
        absent = sorted({bytes([byte]) for byte in range(256)}.difference(vocab[id_] for id_ in single))
        more = vocab.with_tokens({vocab.n_ids + k: byte for k, byte in enumerate(absent)})
        model = replace(self._model, drops_unknown=False)
        return Engine(replace(self._definition, vocab=more, model=model), foreign=self._foreign)

    def _pieces(self, part: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the pieces of a slice start and end, in bytes; what the pattern drops is in none."""
        split = self._chosen.split
        if split is not None:
            ends, dropped = (scan(part, split), False) if isinstance(split, int) else split.scan(part)
            starts = np.concatenate((np.zeros(1, dtype=np.int64), ends))[:-1]
            kept = ~np.broadcast_to(dropped, ends.shape)
            return starts[kept], ends[kept]
        text = part.decode()
        found = regex_split.spans(self._split.pattern or "", text, keep_unmatched=self._split.keep_unmatched)
        widths = np.array([len(character.encode()) for character in text], dtype=np.int64)
        places = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(widths)))
        spans = places[np.array(found, dtype=np.int64).reshape(-1, 2)]
        return spans[:, 0], spans[:, 1]

    def cache_info(self) -> dict[str, int]:
        """Return sizes and counts of the word caches."""
        return self._encoder.cache_info()

    def merges(self) -> NDArray[np.uint32]:
        """Return the merges that can happen, (n, 3) ids of left, right and result, in order of priority."""
        return self._encoder.merges()

    @property
    def unreachable(self) -> int:
        """How many tokens no merge makes: only whole pieces can be these."""
        return self._encoder.unreachable


class WholeEncoder:
    """The face of BlockEncoder over an engine that cannot cut texts into blocks: each is a whole text."""

    def __init__(self, engine: AnyEngine, special: Special, narrow: bool) -> None:
        self._engine, self._special, self._dtype = engine, special, np.uint16 if narrow else np.uint32

    def encode(self, text: bytearray, n: int) -> NDArray[Any]:
        """Return the ids of text[:n]."""
        utf8 = bytes(memoryview(text)[:n])
        try:
            utf8.decode()
        except UnicodeDecodeError as error:
            raise ValueError("not UTF-8", error.start) from None
        return self._engine.encode_array(utf8, self._special).astype(self._dtype)

    def close(self) -> None:
        """Do nothing: no thread's cache is held."""
