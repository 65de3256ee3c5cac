"""Runs the components of a definition one by one: text → stages → ids, aligned with the text.

Most tokenizers run as a plan in C (plan.py). The others run here: components in Python, patterns that only `regex`
runs, stages that need the whole text. If both can run a tokenizer, their results are equal
(tests/engine/test_plans.py).
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokkit import limits
from tokkit._core.align import AlignedText
from tokkit._core.text import Grown
from tokkit.definition import Definition, Split
from tokkit.encoding.columns import tokens_of
from tokkit.engine.special_tokens import AddedTokens, Special
from tokkit.errors import CorpusError, TokkitError
from tokkit.models.bpe import BPE
from tokkit.unicode_regex.cost_limits import PatternTime

if TYPE_CHECKING:
    from tokkit._core.text import Text
    from tokkit.vocab import Vocab

Found = tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int32]]
"""ids (n,), spans (n, 2) in bytes of the original text, and words (n,), the number of each token's pretoken."""


class Interpreter:
    """Runs the stages of one definition. Safe to share between threads."""

    def __init__(self, definition: Definition) -> None:
        """Models are built when they are first needed; the limit on the size of texts is the one that applies now."""
        self._grown_bytes = limits.current().grown_bytes
        self._definition = definition
        self.added = AddedTokens(definition.added_tokens, definition.normalizer)

    @functools.cached_property
    def models(self) -> Models:
        """The two models of tokenizer.json; BPE over bytes is another."""
        return Models(self._definition)

    @functools.cached_property
    def _bytes(self) -> _Bytes | None:
        """The model of BPE over bytes."""
        definition = self._definition
        if not isinstance(definition.model, BPE):
            return None
        bare = replace(definition, special_tokens={}, added_tokens=(), normalizer=None)
        return _Bytes(bare, [token.id for token in definition.added_tokens])

    def _model_for(self, special: Special) -> Any:
        """Return the model; with "all", the one that may return special tokens for plain text, as in tokenizers."""
        return self._bytes or self.models(as_stated=special == "all")

    def stages(self, text: Text, special: Special) -> Iterator[tuple[str, AlignedText]]:
        """Yield (name, text) after each stage; the text is one object that the next stage changes."""
        aligned = self._aligned(text)
        time = PatternTime(len(text))
        self.added.cut(aligned, special)
        yield "added tokens", aligned
        if self._definition.normalizer is not None:
            with time, self._named("normalizer", self._definition.normalizer):
                self._definition.normalizer.normalize(aligned)
            yield "normalizer", aligned
        self.added.cut_normalized(aligned, special)
        yield "added tokens, normalized", aligned
        pretokenizer = self._definition.pretokenizer
        if pretokenizer is not None and not isinstance(pretokenizer, Split):
            with time, self._named("pretokenizer", pretokenizer):
                pretokenizer.pretokenize(aligned)
            yield "pretokenizer", aligned

    def _aligned(self, text: Text) -> AlignedText:
        """Return a text before all stages, with this tokenizer's limit on its size."""
        try:
            aligned = AlignedText(text)
        except OverflowError as error:
            raise CorpusError(str(error)) from None
        aligned.bound(self._grown_bytes)
        return aligned

    @contextlib.contextmanager
    def _named(self, stage: str, component: object) -> Iterator[None]:
        """Add the name of the stage to an exception that a component raises."""
        try:
            yield
        except Grown:
            what = f"the {stage}, {type(component).__name__}, makes the text too large, over 32 times its size"
            raise limits.grown(what, self._grown_bytes) from None
        except TokkitError:  # its message is clear already
            raise
        except Exception as error:
            error.add_note(f"raised by the {stage}, {type(component).__name__}")
            raise

    def added_in(self, text: Text) -> list[tuple[int, int]]:
        """Return (byte, id) of each added token in a text if all are allowed."""
        aligned = self._aligned(text)
        self.added.cut(aligned, "all")
        if self._definition.normalizer is not None:
            with PatternTime(len(text)), self._named("normalizer", self._definition.normalizer):
                self._definition.normalizer.normalize(aligned)
        self.added.cut_normalized(aligned, "all")
        starts = aligned.piece_spans()[:, 0].tolist()
        return [(start, id_) for start, id_ in zip(starts, aligned.ids, strict=True) if id_ is not None]

    def prepared(self, text: Text, special: Special) -> AlignedText:
        """Return a text after all stages before the model."""
        *_, (_, prepared) = self.stages(text, special)
        return prepared

    def encode(self, text: Text, special: Special = "text") -> list[int]:
        """Return ids as a list."""
        ids: list[int] = self.encode_array(text, special).tolist()
        return ids

    def encode_array(self, text: Text, special: Special = "text", threads: int = 1) -> NDArray[np.uint32]:
        """Return ids as a uint32 array."""
        prepared = self.prepared(text, special)
        if self._bytes is not None and prepared.is_original:
            return self._bytes.engine.encode_array(prepared.original, "text", threads)
        return self._encoded(prepared, special)[0]

    def _encoded(self, prepared: AlignedText, special: Special) -> Found:
        """Return the model's result for a text after all stages before it."""
        with self._named("model", self._definition.model):
            found: Found = self._model_for(special).encode(prepared)
        return found

    def count(self, text: Text, special: Special = "text") -> int:
        """Return the number of ids."""
        return len(self.encode_array(text, special))

    def aligned(
        self, text: Text, special: Special
    ) -> tuple[bytes, NDArray[np.uint32], NDArray[np.int64], NDArray[np.int32] | Callable[[], NDArray[np.int32]]]:
        """Return (utf8, ids, byte spans (n, 2), words or a function for them) for a text."""
        prepared = self.prepared(text, special)
        if self._bytes is not None and prepared.is_original:
            return self._bytes.engine.aligned(prepared.original, "text")
        return prepared.original, *self._encoded(prepared, special)

    def surfaces(self, text: Text, special: Special, ids: NDArray[np.uint32], words: Any) -> list[bytes]:
        """Return the surface of each token of `aligned`, which returned `ids` and `words`.

        This is the token's own bytes; for an added token or Unigram's unknown token it is the normalized text there.
        """
        prepared = self.prepared(text, special)
        utf8, unknown = prepared.utf8, getattr(self._definition.model, "unk_id", None)
        spans: list[list[int]] = []
        if self._bytes is not None or unknown is not None:
            spans = self._model_for(special).encode(prepared.settled())[1].tolist()
        if self._bytes is not None:
            return [utf8[start:end] for start, end in spans]
        made, bounds, added = tokens_of(self._definition.vocab, ids), prepared.bounds.tolist(), prepared.ids
        for i, (id_, word) in enumerate(zip(ids.tolist(), words.tolist(), strict=True)):
            if added[word] is not None:
                made[i] = utf8[slice(*bounds[word])]
            elif id_ == unknown:
                made[i] = utf8[slice(*spans[i])]
        return made

    def cache_info(self) -> dict[str, int]:
        """Return sizes and counts of the caches, which only byte-level BPE has here."""
        return {} if self._bytes is None else self._bytes.cache_info()


class Models:
    """The two models of a definition: as defined, and one that never returns special tokens for plain text."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._hidden = spelt_out(definition)
        self._made: dict[bool, Any] = {}

    def __call__(self, *, as_stated: bool) -> Any:
        """Return one of the two models."""
        as_stated = as_stated or not self._hidden
        if as_stated not in self._made:
            definition = self._definition
            added_ids = definition.added_ids if as_stated else definition.added_ids | self._hidden
            self._made[as_stated] = _encoder(definition.model, definition.vocab, added_ids)
        return self._made[as_stated]


def _encoder(model: Any, vocab: Vocab, added_ids: frozenset[int]) -> Any:
    if "foreign" not in inspect.signature(model.encoder).parameters:
        return model.encoder(vocab, added_ids=added_ids)
    name = f"{type(model).__name__}.encoder()"
    warnings.warn(f'the argument "foreign" of {name} is now added_ids', DeprecationWarning, stacklevel=2)
    return model.encoder(vocab, foreign=added_ids)


def spelt_out(definition: Definition) -> frozenset[int]:
    """Return the special tokens that a model would return for their plain text, which a policy may not allow.

    For example, T5's Unigram has "</s>" among its pieces. The unknown token is not among them, nor are results of
    merges.
    """
    model: Any = definition.model
    if getattr(model, "merges", None) is not None and not model.ignore_merges:
        return frozenset()
    unknown = getattr(model, "unk_id", None)
    if (token := getattr(model, "unk_token", None)) is not None:
        unknown = definition.vocab.get(token)
    merged = {id_ for merge in getattr(model, "merges", np.empty((0, 3))).tolist() for id_ in merge}
    return frozenset(definition.special_tokens.values()) - {unknown} - merged


class _Bytes:
    """A model component over the byte-level engine, which also splits its pretokens."""

    def __init__(self, definition: Definition, added_ids: list[int]) -> None:
        from tokkit.engine.byte_level import ByteLevelEngine

        self.engine = ByteLevelEngine(definition, added_ids=added_ids)
        self.cache_info = self.engine.cache_info

    def encode(self, text: AlignedText) -> Found:
        """Return (ids, spans, words) of the pretokens of a text."""
        utf8 = text.utf8
        ids, spans, words, number = [_NO_IDS], [_NO_SPANS], [_NO_WORDS], 0
        for (start, end), id_ in zip(text.bounds.tolist(), text.ids, strict=True):
            if id_ is not None:
                ids.append(np.array([id_], dtype=np.uint32))
                spans.append(np.array([[start, end]]))
                words.append(np.array([number], dtype=np.int32))
                number += 1
                continue
            part = utf8[start:end]
            _, found, places, _ = self.engine.aligned(part, "text")
            in_piece, n_pieces = self.engine.words(part, places, "text")
            ids.append(found)
            spans.append(places + start)
            words.append(in_piece + np.int32(number))
            number += n_pieces
        places = np.concatenate(spans)
        if not text.in_place:
            origin = text.spans().astype(np.int64)
            places = np.stack([origin[places[:, 0], 0], origin[places[:, 1] - 1, 1]], axis=1)
        return np.concatenate(ids), places, np.concatenate(words)


_NO_IDS, _NO_SPANS, _NO_WORDS = np.empty(0, np.uint32), np.empty((0, 2), np.int64), np.empty(0, np.int32)
