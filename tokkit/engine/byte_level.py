"""The engine of byte-level BPE, with the definition's split.

A normalizer runs on the text before it is split. If a pattern is not regular, the `regex` package splits the text.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tokkit._core.encode.bpe import BPEEncoder
from tokkit._core.encode.plan import Encoder
from tokkit._core.encode.staged import Stages
from tokkit._core.spans import spans_of_lengths
from tokkit._core.split import SplitPattern
from tokkit._core.text import scan, to_utf8
from tokkit.byte_symbols import NEVER_IN_UTF8
from tokkit.definition import Definition
from tokkit.engine.engine import Aligned, Engine
from tokkit.engine.plan import Component, component_of
from tokkit.engine.special_tokens import Special, slices
from tokkit.errors import OptionError
from tokkit.models import bpe
from tokkit.models.names import described
from tokkit.normalizers.base import Normalizer
from tokkit.pretokenizers import patterns, regex_split
from tokkit.pretokenizers.choice import Choice, choose
from tokkit.unicode_regex.boundaries import pattern_boundaries
from tokkit.unicode_regex.compile import compile_pattern
from tokkit.unicode_regex.cost_limits import PatternTime

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokkit._core.text import Text
    from tokkit.engine.interpreter import Interpreter

logger = logging.getLogger("tokkit")

_ONE_PIECE = r"[\s\S]+"


class ByteLevelEngine(Engine):
    """Runs byte-level BPE."""

    encoder: BPEEncoder | None
    _chosen: Choice
    _core: BPEEncoder
    uncut_reason = "its pattern and normalizer have no known places to cut; streams cut only after a complete pretoken"

    def __init__(
        self,
        definition: Definition,
        *,
        added_ids: Collection[int] = (),
        interpreter: Interpreter | None = None,
        like: ByteLevelEngine | None = None,
    ) -> None:
        """Build the tables, or share those of `like`, to which the definition only adds tokens.

        `added_ids` are ids that do not belong to the model, as those of added tokens.
        """
        if definition.over_bytes is None:
            raise OptionError(f"this engine is for BPE over bytes, not for {described(definition.model)}")
        self._definition = definition
        self._model, split = definition.over_bytes
        self._split = split
        self._chosen = like._chosen if like is not None else choose(split.pattern, keep_unmatched=split.keep_unmatched)
        self.split_engine, self.split_reason = self._chosen.engine, self._chosen.reason
        if like is None and self._chosen.engine != "scanner" and not split.keep_unmatched:
            _say_what_is_dropped(split.pattern or "")
        self._added_ids = [*added_ids, *(token.id for token in definition.added_tokens)]
        normalizer = component_of(definition.normalizer, Normalizer)
        self._core = self._built(normalizer) if like is None else like._core
        self._in_core = self._chosen.split is not None and normalizer is not None
        self._lengths: NDArray[np.int64] = np.diff(definition.vocab.offsets)
        super().__init__(definition, interpreter)
        self.in_stages = not self._pure
        self.encoder = self._core if self._in_core else None
        """None if the `regex` package splits text."""

    def _built(self, normalizer: Component | None) -> BPEEncoder:
        """Return a new encoder of the core."""
        before = None if normalizer is None or not normalizer.specs else Stages(normalizer.specs)
        # NFC keeps the condition of the proof in split_points.c: it makes no combining mark where there was none.
        keeps = normalizer is not None and all(spec == ("form", "NFC") for spec in normalizer.specs)
        return bpe.encoder(
            self._definition.vocab,
            self._model,
            self._added_ids,
            patterns.WHOLE if self._chosen.split is None else self._chosen.split,
            before=before,
            splittable=keeps and self._split.pattern in patterns.CUTTABLE,
        )

    def encoder_for(self, *, as_stated: bool, normalized_first: bool) -> Encoder | None:
        """Return the encoder, the same one for all policies."""
        return self._core if self._in_core else None

    @property
    def whole_reason(self) -> str:
        """Why a text cannot be cut for several threads or into blocks of a file; "" if it can."""
        if self.split_engine == "regex":
            return "the regex package splits the whole text"
        return super().whole_reason

    @functools.cached_property
    def _pure(self) -> bool:
        """Whether the original text is split directly, after only finding added tokens in it."""
        return self._definition.normalizer is None and self._tokens.as_they_stand

    def open_cut(self, utf8: bytes | bytearray, n: int, special: Special) -> int:
        """Return the end of a pretoken that cannot change, or a position inside one between tokens that never merge."""
        if self._automaton is None:
            return 0
        return self._core.open_cut(utf8, n, self._automaton, self._way_to_cut(special)[1])

    def pretoken_cut(self, utf8: bytes | bytearray, n: int, searched: int) -> int:
        """Return the last known end of a pretoken in utf8[:n] that more text cannot change; 0 for none."""
        if (found := super().pretoken_cut(utf8, n, searched)) or self._automaton is None:
            return found
        return self._core.open_cut(utf8, n, self._automaton, inside=False)

    @functools.cached_property
    def _automaton(self) -> SplitPattern | None:
        """The core's splitter for the pattern, which also knows which pretokens later text can change.

        None for `regex`.
        """
        if isinstance(self._chosen.split, SplitPattern):
            return self._chosen.split
        if self._chosen.split is None or not self._in_core:
            return None
        return compile_pattern(self._split.pattern or _ONE_PIECE, keep_unmatched=self._split.keep_unmatched)

    def _encode_by_parts(self, text: Text, special: Special, threads: int) -> NDArray[np.uint32]:
        if not self._pure:
            return super()._encode_by_parts(text, special, threads)
        parts = [
            np.array([id_], dtype=np.uint32) if id_ is not None else self._encode_split(part)
            for _, part, id_ in slices(self._way(special, text)[1], to_utf8(text))
        ]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint32)

    def _encode_split(self, part: bytes) -> NDArray[np.uint32]:
        keep = self._split.keep_unmatched
        return self._core.encode_pieces(
            *regex_split.split(self._split.pattern or "", part.decode(), keep_unmatched=keep)
        )

    def merge_only(self, pieces: bytes, ends: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the ids that bytes, UTF-8 or not, merge to, without the pattern; pretoken k ends at byte ends[k]."""
        return self._core.encode_pieces(pieces, ends, True)

    def added_in(self, text: Text) -> list[tuple[int, int]]:
        """Return (byte, id) of each added token in a text if all are allowed."""
        if not self._pure:
            return super().added_in(text)
        return [(at, id_) for at, _, id_ in slices(self._way("all")[1], to_utf8(text)) if id_ is not None]

    def aligned(self, text: Text, special: Special) -> Aligned:
        """Return (utf8, ids, byte spans (n, 2), function for the number of each id's pretoken) for a text."""
        if not self._pure:
            return super().aligned(text, special)
        if (found := self.columns(text, special)) is not None:
            return found.arrays()
        with PatternTime(len(text)):
            utf8, ids, spans = self._spanned(text, special)
        return utf8, ids, spans, lambda: self.words(utf8, spans, special)[0]

    def spans(self, text: Text, special: Special) -> tuple[bytes, NDArray[np.int64]]:
        """Return (utf8, byte spans (n, 2)) for a text; if tokens are exactly its bytes, spans are computed from ids."""
        if not self._pure:
            return super().spans(text, special)
        with PatternTime(len(text)):
            utf8, _, spans = self._spanned(text, special)
        return utf8, spans

    @property
    def columns_in_core(self) -> bool:  # type: ignore[override]
        """Whether each token has its own bytes in the text."""
        return not (self._pure and self._drops)

    def surfaces(self, text: Text, special: Special, ids: NDArray[np.uint32], words: Any) -> list[bytes] | None:
        """Return the surface of each token; None if it is the text that the token covers."""
        return None if self._pure else super().surfaces(text, special, ids, words)

    def _spanned(self, text: Text, special: Special) -> tuple[bytes, NDArray[np.uint32], NDArray[np.int64]]:
        if self._drops:
            utf8, ids, spans = self._with_every_byte._spanned(text, special)
            kept = ids < self._definition.vocab.n_ids
            return utf8, ids[kept], spans[kept]
        utf8 = to_utf8(text)
        if self._chosen.engine == "scanner" or self._split.keep_unmatched:
            ids = self.encode_array(text, special)
            return utf8, ids, spans_of_lengths(ids, self._lengths)
        # A pattern that drops text leaves gaps. The remaining text is encoded at once, and ids are moved to their
        # pretokens.
        id_parts, span_parts = [np.empty(0, dtype=np.uint32)], [np.empty((0, 2), dtype=np.int64)]
        for at, part, id_ in slices(self._way(special, text)[1], utf8):
            if id_ is not None:
                id_parts.append(np.array([id_], dtype=np.uint32))
                span_parts.append(np.array([[at, at + len(part)]], dtype=np.int64))
            else:
                starts, ends = self._pieces(part)
                joined_ends = np.cumsum(ends - starts)
                joined = b"".join([part[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)])
                id_parts.append(self._core.encode_pieces(joined, joined_ends))
                spans = spans_of_lengths(id_parts[-1], self._lengths)
                piece = np.searchsorted(joined_ends, spans[:, 0], side="right")
                span_parts.append(spans + (at + ends - joined_ends)[piece, None])
        return utf8, np.concatenate(id_parts), np.concatenate(span_parts)

    def words(self, utf8: bytes, spans: NDArray[np.int64], special: Special) -> tuple[NDArray[np.int32], int]:
        """Return the number of the pretoken of each token with `spans` in a text, and the number of pretokens."""
        ends = [np.empty(0, dtype=np.int64)]
        with PatternTime(len(utf8)):
            for at, part, id_ in slices(self._way(special)[1], utf8):
                ends.append(at + (np.array([len(part)]) if id_ is not None else self._pieces(part)[1]))
        all_ends = np.concatenate(ends)
        return np.searchsorted(all_ends, spans[:, 0], side="right").astype(np.int32), len(all_ends)

    @functools.cached_property
    def _drops(self) -> bool:
        """Whether texts may have bytes without a token; some bytes never occur in UTF-8."""
        return self._model.drops_unknown and bool(self._absent - NEVER_IN_UTF8)

    @functools.cached_property
    def _absent(self) -> set[int]:
        vocab = self._definition.vocab
        single = set(np.flatnonzero(self._lengths == 1).tolist()).difference(self._added_ids)
        return set(range(256)).difference(vocab[id_][0] for id_ in single)

    @functools.cached_property
    def _with_every_byte(self) -> ByteLevelEngine:
        """The same tokenizer with an id for each byte that it drops, to align the other ids."""
        vocab = self._definition.vocab
        more = vocab.with_tokens({vocab.n_ids + k: bytes([byte]) for k, byte in enumerate(sorted(self._absent))})
        model = replace(self._model, drops_unknown=False)
        return ByteLevelEngine(replace(self._definition, vocab=more, model=model), added_ids=self._added_ids)

    def _pieces(self, part: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the spans of the pretokens in a slice, in bytes; text that the pattern drops is in none."""
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

    def merges(self) -> NDArray[np.uint32]:
        """Return the merges that can happen, (n, 3) ids of left, right and result, in order of priority."""
        return self._core.merges()

    @property
    def unreachable(self) -> int:  # type: ignore[override]
        """The number of tokens that no merge makes; they only occur as whole pretokens."""
        return self._core.unreachable

    def cache_info(self) -> dict[str, int]:
        """Return sizes and counts of the word caches."""
        return self._core.cache_info()


def _say_what_is_dropped(pattern: str) -> None:
    """Warn about common characters that a pattern never matches, because they get no ids."""
    found = pattern_boundaries(pattern)
    if found is None or (dropped := "".join(chr(code) for code in range(32, 127) if not found.may[code])) == "":
        return
    shown = dropped if len(dropped) <= 20 else dropped[:20] + "…"
    logger.warning("the pattern %r does not match %r; text that the pattern does not match gets no ids", pattern, shown)
