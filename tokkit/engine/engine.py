"""The base class of engines: text → ids, by a plan in the core if there is one, else by the interpreter."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokkit import limits
from tokkit._core.documents import documents
from tokkit._core.encode.batch import Batch
from tokkit._core.encode.blocks import BlockEncoder, block_end, count_part
from tokkit._core.encode.columns import ColumnStyle, TextColumns, columns_of_batch, columns_of_words
from tokkit._core.encode.plan import Encoder, Finder
from tokkit._core.lists import ints
from tokkit._core.text import Grown
from tokkit.definition import Definition
from tokkit.engine.special_tokens import AddedTokens, Special, cached
from tokkit.engine.whole_texts import WholeEncoder, framed
from tokkit.errors import CorpusError, VocabError
from tokkit.threads import CHARACTERS_A_THREAD, run_threads
from tokkit.unicode_regex.cost_limits import PatternTime

if TYPE_CHECKING:
    from tokkit._core.align import AlignedText
    from tokkit._core.text import Text
    from tokkit.engine.interpreter import Interpreter

Words = NDArray[np.int32] | Callable[[], NDArray[np.int32]]
Aligned = tuple[bytes, NDArray[np.uint32], NDArray[np.int64], Words]
"""(utf8, ids (n,), spans (n, 2) in its bytes, the number of each id's pretoken (n,) or a function for it)."""
_LASTING = (str, bytes)  # immutable types, which threads can read

PLAIN = ColumnStyle()

Way = tuple[Encoder | None, Finder | None]
"""How texts are encoded under one policy: an encoder of the core, if there is one, and a finder of added tokens."""


class Engine:
    """Runs one definition. Safe to share between threads.

    `encoder_for` of each engine returns the core's encoder. What the core cannot encode, the interpreter encodes, or it
    says why nothing can.
    """

    split_engine = "components"
    """The engine that splits text: "scanner" or "compiled" (in C), "regex", "components" or "model"."""
    split_reason = ""
    unreachable = 0
    in_stages = True
    """Whether stages before the model change text."""
    columns_in_core = True
    """Whether a plan of the core has columns too."""
    encoder: Encoder | None = None
    """The encoder of the core if no special token is allowed, for benchmarks."""

    def __init__(self, definition: Definition, interpreter: Interpreter | None = None) -> None:
        self._definition = definition
        self._made_with = interpreter
        added = None if interpreter is None else interpreter.added
        self._tokens = added or AddedTokens(definition.added_tokens, definition.normalizer)
        self._ways: dict[tuple[bool, frozenset[str]], Way] = {}
        self._grown_bytes = limits.current().grown_bytes
        self.plain_text = self._way("text")
        if self.plain_text[0] is not None:  # unless another thread was first
            self.plain_text[0].bound(self._grown_bytes)

    @property
    def definition(self) -> Definition:
        """What the engine runs."""
        return self._definition

    @property
    def grown_bytes(self) -> int:
        """The limit on the size of texts when the engine was made."""
        return self._grown_bytes

    def encoder_for(self, *, as_stated: bool, normalized_first: bool) -> Encoder | None:
        """Return the core's encoder, None if the core cannot run the definition.

        `as_stated`: the model may make special tokens of plain text, as it is defined; `normalized_first`: added tokens
        are searched for in the normalized text.
        """
        return None

    def _way(self, special: Special, text: Text | None = None) -> Way:
        """Return the coder of a policy; SpecialTokenError for "raise" if the text has a special token."""
        if special == "raise" and text is not None:
            self._tokens.refuse(self.added_in(text))
        allowed = self._tokens.allowed(special)
        key = special == "all", allowed
        return self._ways.get(key) or cached(self._ways, key, lambda: self._new_way(*key))

    def _way_to_cut(self, special: Special) -> Way:
        """Return the coder of a policy for a text that comes in parts; with "raise" it looks for all special tokens."""
        return self._way("all" if special == "raise" else special)

    def _new_way(self, verbatim: bool, allowed: frozenset[str]) -> Way:
        encoder = self.encoder_for(as_stated=verbatim, normalized_first=self._tokens.in_normalized(allowed))
        return encoder, self._tokens.finder(allowed)

    def _falls_back(self, error: LookupError | OverflowError) -> None:
        """Let the interpreter go on if the core cannot encode a text; raise the error if the text is too large."""
        if isinstance(error, OverflowError):
            raise self.unusable(error) from None

    def unusable(self, error: OverflowError) -> CorpusError:
        """Return the error for a text that is too large, or that a stage makes too large."""
        return limits.grown(error, self._grown_bytes) if isinstance(error, Grown) else CorpusError(str(error))

    def added_in(self, text: Text) -> list[tuple[int, int]]:
        """Return (byte, id) of each added token in a text if all are allowed."""
        return self._interpreter.added_in(text) if self._tokens.ids else []

    @property
    def _interpreter(self) -> Interpreter:
        if self._made_with is None:
            raise TypeError(f"this {type(self).__name__} was made without an interpreter; make it with engine_of")
        return self._made_with

    def special_name(self, id_: int) -> str | None:
        """Return the text of a special token, None for another id."""
        return self._tokens.name(id_)

    def encode_by_parts(self, text: Text, special: Special, threads: int = 1) -> NDArray[np.uint32]:
        """Return the ids of a text that the core does not encode; all patterns share one time limit."""
        with PatternTime(len(text)):
            return self._encode_by_parts(text, special, threads)

    def _encode_by_parts(self, text: Text, special: Special, threads: int) -> NDArray[np.uint32]:
        return self._interpreter.encode_array(text, special)

    def encode(self, text: Text, special: Special = "text") -> list[int]:
        """Return ids as a list."""
        encoder, finder = self.plain_text if special == "text" else self._way(special, text)
        if encoder is not None:
            try:
                return encoder.encode(text, finder)
            except (LookupError, OverflowError) as error:
                self._falls_back(error)
        ids: list[int] = self.encode_by_parts(text, special).tolist()
        return ids

    def encode_array(self, text: Text, special: Special = "text", threads: int = 1) -> NDArray[np.uint32]:
        """Return ids as a uint32 array; a long text is encoded by several threads if it may be cut."""
        encoder, finder = self.plain_text if special == "text" else self._way(special, text)
        if encoder is not None:
            try:
                # A batch puts ids in place part by part while they are in the CPU's cache, which helps with one thread
                # too.
                long = isinstance(text, _LASTING) and len(text) >= CHARACTERS_A_THREAD
                if long and (threads > 1 or len(text) >= 4 * CHARACTERS_A_THREAD):
                    return self._run(Batch(encoder, [text], finder), threads)[0]
                return encoder.encode_array(text, finder)
            except (LookupError, OverflowError) as error:
                self._falls_back(error)
        return self.encode_by_parts(text, special, threads)

    def count(self, text: Text, special: Special = "text") -> int:
        """Return the number of ids."""
        encoder, finder = self.plain_text if special == "text" else self._way(special, text)
        if encoder is not None:
            try:
                return encoder.count(text, finder)
            except (LookupError, OverflowError) as error:
                self._falls_back(error)
        return len(self.encode_by_parts(text, special))

    def encode_batch(
        self, texts: Sequence[Text], special: Special, threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the ids of all texts in one array, and the int64 offsets between the texts."""
        special = special if isinstance(special, str) else frozenset(special)
        if special == "raise":
            for text in texts:
                self._tokens.refuse(self.added_in(text))
            special = "text"
        return self._encode_several(texts, special, threads)

    def _encode_several(
        self, texts: Sequence[Text], special: Special, threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the same as `encode_batch`, for a policy that never raises."""
        encoder, finder = self._way(special)
        if encoder is not None:
            try:
                return self._run(Batch(encoder, list(texts), finder), threads)
            except (LookupError, OverflowError) as error:
                self._falls_back(error)
        arrays = [self.encode_array(text, special) for text in texts]
        offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
        np.cumsum([len(array) for array in arrays], out=offsets[1:])
        return (np.concatenate(arrays) if arrays else np.empty(0, dtype=np.uint32)), offsets

    def encode_lists(
        self, texts: Sequence[Text], special: Special, threads: int, before: list[int], after: list[int]
    ) -> list[list[int]]:
        """Return the ids of each text as a list, with ids before and after them."""
        encoder, finder = (None, None) if special == "raise" else self._way(special)
        n_units = sum(map(len, texts)) if threads > 1 else 0
        if encoder is not None and n_units < CHARACTERS_A_THREAD:
            try:
                return encoder.encode_lists(texts, finder, before, after)
            except (LookupError, OverflowError) as error:
                self._falls_back(error)
        ids, offsets = self.encode_batch(texts, special, threads)
        return [before + ints(ids[a:b]) + after for a, b in itertools.pairwise(offsets.tolist())]

    def encode_documents(
        self,
        data: bytes,
        ends: bytes | None,
        special: Special,
        threads: int,
        *,
        narrow: bool = False,
        before: int | None = None,
        after: int | None = None,
        valid: bool = False,
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return ids and offsets, as `encode_batch`, of the documents of a block of UTF-8.

        They end at `ends` (packed int64), or are its lines. Ids are uint16 if `narrow`, and `before` and `after` are
        ids that are put around each document. UTF-8 that is known to be `valid` is not checked again.
        """
        marks = {"before": -1 if before is None else before, "after": -1 if after is None else after}
        encoder, finder = (None, None) if special == "raise" else self._way(special)
        if encoder is not None:
            try:
                return self._run(Batch(encoder, [data], finder, [ends], narrow=narrow, valid=valid, **marks), threads)
            except (LookupError, OverflowError) as error:
                self._falls_back(error)
        ids, offsets = self.encode_batch(documents(data, ends), special, threads)
        ids = ids.astype(np.uint16 if narrow else np.uint32, copy=False)
        return framed(ids, offsets, before, after) if before is not None or after is not None else (ids, offsets)

    def _run(self, batch: Batch, threads: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the ids and offsets of a batch, encoded by up to `threads` threads."""
        try:
            # Each further thread brings a cache of its own, which pays only if there is much to encode.
            n_threads = min(threads, 1 + batch.units // CHARACTERS_A_THREAD)
            batch.prepare_threads(n_threads)
            run_threads(batch.run, n_threads, batch.stop)
            return batch.result()
        finally:
            batch.close()

    def runs_in_core(self, special: Special) -> bool:
        """Whether no component in Python is asked by this policy."""
        return self._way(special)[0] is not None

    # ---- texts that come in parts

    @property
    def whole_reason(self) -> str:
        """Why a text cannot be cut for several threads or into blocks of a file; "" if it can."""
        encoder = self.plain_text[0]
        if encoder is None:
            return "a component in Python sees the whole text"
        return "" if encoder.splittable else self.uncut_reason

    uncut_reason = "its stages have no place to cut in common"
    """The reason for a plan of the core that cannot be cut."""

    def last_cut(self, utf8: bytes | bytearray, n: int, special: Special, searched: int = 0) -> int:
        """Return the last place in utf8[:n], after which more text may follow, where the text may be cut; 0 for none.

        utf8[:searched] is known to have none, from an earlier call.
        """
        encoder, finder = self._way_to_cut(special)
        return 0 if encoder is None else block_end(utf8, n, encoder, finder, searched)

    def open_cut(self, utf8: bytes | bytearray, n: int, special: Special) -> int:
        """Return where utf8[:n] may be cut inside a word, if `last_cut` finds no place; 0 for nowhere.

        This takes about as long as encoding it.
        """
        return 0

    def block_cut(self, utf8: bytes | bytearray, n: int, searched: int, special: Special) -> int:
        """Return the last known place where utf8[:n], after which more text may follow, may be cut; 0 for none."""
        return self.last_cut(utf8, n, special, searched) or self.open_cut(utf8, n, special)

    def pretoken_cut(self, utf8: bytes | bytearray, n: int, searched: int) -> int:
        """Return the same for plain text, but only where a pretoken ends."""
        return self.last_cut(utf8, n, "text", searched)

    def count_part(self, utf8: bytes, start: int, end: int) -> tuple[int, int, int]:
        """Return (first, last, n) of the text utf8[start:end]: where it may be cut first and last.

        n is the number of ids before the first and after the last together; if there is none, both are `end`.
        """
        encoder, finder = self.plain_text
        if encoder is not None:
            try:
                return count_part(utf8, start, end, encoder, finder)
            except (LookupError, OverflowError) as error:
                self._falls_back(error)
        return end, end, self.count(utf8[start:end])

    def encode_part(self, utf8: bytes, special: Special, *, continues: bool, goes_on: bool) -> list[int]:
        """Return the ids of a part of a text that was cut by `last_cut` or `open_cut`."""
        encoder, finder = self._way(special, utf8)
        if encoder is None or not (continues or goes_on):
            return self.encode(utf8, special)
        try:
            return encoder.encode_part(utf8, finder, continues, goes_on)
        except (LookupError, OverflowError) as error:
            self._falls_back(error)
            reason = str(error)
        self.encode_by_parts(utf8, special)  # says which character has no token
        raise VocabError(reason)

    def block_encoder(self, special: Special, *, narrow: bool) -> BlockEncoder | WholeEncoder:
        """Return an encoder for the blocks of a file, for one thread: `encode(buffer, n, …)` and `close()`."""
        refuses = special == "raise"
        encoder, finder = self._way_to_cut(special)
        if encoder is None or (refuses and not self._plainly_special):
            return WholeEncoder(self, special, narrow)
        return BlockEncoder(encoder, finder, refuses, narrow)

    @property
    def _plainly_special(self) -> bool:
        """Whether "raise" can be decided block by block: all added tokens are special, in the original text."""
        return self._tokens.as_they_stand and len(self._tokens.ids) == len(self._definition.added_tokens)

    # ---- offsets, stages, facts

    def aligned(self, text: Text, special: Special) -> Aligned:
        """Return (utf8, ids, byte spans (n, 2), words) for a text."""
        if (found := self.columns(text, special)) is not None:
            return found.arrays()
        with PatternTime(len(text)):
            return self._interpreter.aligned(text, special)

    def columns(self, text: Text, special: Special, style: ColumnStyle = PLAIN) -> TextColumns | None:
        """Return the columns of a text; None if the core does not encode it.

        The surface of each token, except added tokens, is the text that it covers.
        """
        encoder, finder = self.plain_text if special == "text" else self._way(special, text)
        if encoder is None or not self.columns_in_core:
            return None
        try:
            return columns_of_batch([text], encoder, style, finder)[0]
        except OverflowError as error:
            raise self.unusable(error) from None

    def columns_of_batch(
        self, texts: Sequence[Any], special: Special, style: ColumnStyle, *, words: bool = False
    ) -> list[TextColumns | None]:
        """Return the columns of each text; None for those that the core does not encode.

        With `words` each text is a list of words; the tokens of each word have spans of their own.
        """
        if special == "raise":
            for text in itertools.chain.from_iterable(texts) if words else texts:
                self._tokens.refuse(self.added_in(text))
            special = "text"
        encoder, finder = self._way(special)
        if encoder is None or not self.columns_in_core:
            return [None] * len(texts)
        make: Any = columns_of_words if words else columns_of_batch
        try:
            made: list[TextColumns | None] = make(texts, encoder, style, finder)
            return made
        except OverflowError as error:
            raise self.unusable(error) from None

    def spans(self, text: Text, special: Special) -> tuple[bytes, NDArray[np.int64]]:
        """Return (utf8, byte spans (n, 2)) for a text as `aligned` does, but faster if spans follow from ids."""
        utf8, _, spans, _ = self.aligned(text, special)
        return utf8, spans

    def surfaces(self, text: Text, special: Special, ids: NDArray[np.uint32], words: Any) -> list[bytes] | None:
        """Return the surface of each token of `aligned`; None if each is the text that it covers."""
        with PatternTime(len(text)):
            return self._interpreter.surfaces(text, special, ids, words)

    def stages(self, text: Text, special: Special) -> Iterator[tuple[str, AlignedText]]:
        """Yield (name, text) after each stage; the text is one object that the next stage changes."""
        return self._interpreter.stages(text, special)

    def cache_info(self) -> dict[str, int]:
        """Return sizes and counts of the caches, of all policies together."""
        encoders = {id(encoder): encoder for encoder, _ in self._ways.values() if encoder is not None}
        totals: dict[str, int] = {}
        for encoder in encoders.values():
            for name, value in encoder.cache_info().items():
                totals[name] = value if name == "max_words" else totals.get(name, 0) + value
        return totals or self._interpreter.cache_info()

    def merges(self) -> NDArray[np.uint32]:
        """Return the merges that can happen, (n, 3) ids of left, right and result, of BPE over bytes."""
        return np.empty((0, 3), dtype=np.uint32)
