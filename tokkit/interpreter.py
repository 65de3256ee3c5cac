"""A definition of any components in, what runs them one by one out: text → stages → ids, aligned with the text.

The byte-level engine in C takes most tokenizers (engine.py). What it does not know goes through here: another model,
a normalizer, added tokens with conditions. Both give equal results on what both can run (tests/test_interpreter.py).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokkit._core.aligned import AlignedText
from tokkit.added_tokens import AddedTokens
from tokkit.columns import tokens_of
from tokkit.definition import BPE, Definition, Split
from tokkit.engine import Engine, Special, WholeEncoder
from tokkit.errors import SpecialTokenError

if TYPE_CHECKING:
    from tokkit._core.text import Text

Found = tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int32]]
"""ids (n,), spans (n, 2) in bytes of the original text, and words (n,), the number of the piece of each token."""


class Interpreter:
    """Runs the stages of one definition. Safe to share between threads."""

    cuts = False
    encoder = None

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._added = AddedTokens(definition.added_tokens, definition.normalizer)
        self._names = {id_: text for text, id_ in definition.special_tokens.items()}
        if isinstance(definition.model, BPE):
            bare = replace(definition, special_tokens={}, added_tokens=(), normalizer=None)
            self._bytes: _Bytes | None = _Bytes(bare, [token.id for token in definition.added_tokens])
            self._model: Any = self._bytes
        else:
            self._bytes = None
            self._hidden = _spelt_out(definition)
            model: Any = definition.model
            self._model = model.encoder(definition.vocab, foreign=definition.foreign | self._hidden)

    def _model_for(self, special: Special) -> Any:
        """Return the model: with "all", as tokenizers has it, which may make special tokens out of plain text."""
        return self._as_stated if special == "all" and self._bytes is None and self._hidden else self._model

    @functools.cached_property
    def _as_stated(self) -> Any:
        definition = self._definition
        model: Any = definition.model
        return model.encoder(definition.vocab, foreign=definition.foreign)

    @property
    def split_engine(self) -> str:
        """What cuts text: "components", or what the byte-level engine has for its pattern."""
        return self._bytes.engine.split_engine if self._bytes is not None else "components"

    @property
    def split_reason(self) -> str:
        """Why it is the `regex` package that cuts text; "" where it does not."""
        return self._bytes.engine.split_reason if self._bytes is not None else ""

    @property
    def unreachable(self) -> int:
        """How many tokens no merge makes, where the model is BPE over bytes."""
        return self._bytes.engine.unreachable if self._bytes is not None else 0

    def special_name(self, id_: int) -> str | None:
        """Return the text of a special token, None for another."""
        return self._names.get(id_)

    def stages(self, text: Text, special: Special) -> Iterator[tuple[str, AlignedText]]:
        """Yield the text behind each stage, with the stage's name: the same object, changed on."""
        aligned = AlignedText(text)
        if special == "raise":
            self._refuse(text)
            special = "text"
        self._added.cut(aligned, special)
        yield "added tokens", aligned
        if self._definition.normalizer is not None:
            self._definition.normalizer.normalize(aligned)
            yield "normalizer", aligned
        self._added.cut_normalized(aligned, special)
        yield "added tokens, normalized", aligned
        pretokenizer = self._definition.pretokenizer
        if pretokenizer is not None and not isinstance(pretokenizer, Split):
            pretokenizer.pretokenize(aligned)
            yield "pretokenizer", aligned

    def _refuse(self, text: Text) -> None:
        """Raise SpecialTokenError where a text holds a special token."""
        if not self._names:
            return
        aligned = AlignedText(text)
        self._added.cut(aligned, "all")
        if self._definition.normalizer is not None:
            self._definition.normalizer.normalize(aligned)
        self._added.cut_normalized(aligned, "all")
        for id_, (start, _) in zip(aligned.ids, aligned.piece_spans().tolist(), strict=True):
            if id_ in self._names:
                raise SpecialTokenError(
                    f"the text holds the special token {self._names[id_]!r} at byte {start}; "
                    'pass special="text" to read it as text, or "all" or a set to let it be a token'
                )

    def prepared(self, text: Text, special: Special) -> AlignedText:
        """Return a text behind all stages before the model."""
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
        ids: NDArray[np.uint32] = self._model_for(special).encode(prepared)[0]
        return ids

    def count(self, text: Text, special: Special = "text") -> int:
        """Return the number of ids."""
        return len(self.encode_array(text, special))

    def encode_batch(
        self, texts: Sequence[Text], special: Special, threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the ids of all texts in one array, and the int64 offsets where each text's begin and end."""
        if self._bytes is not None and all(self.prepared(text, special).is_original for text in texts):
            return self._bytes.engine.encode_batch(texts, "text", threads)
        arrays = [self.encode_array(text, special) for text in texts]
        offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
        np.cumsum([len(array) for array in arrays], out=offsets[1:])
        return (np.concatenate(arrays) if arrays else np.empty(0, dtype=np.uint32)), offsets

    def block_encoder(self, special: Special, *, narrow: bool) -> WholeEncoder:
        """Return what encodes a file, as one text."""
        return WholeEncoder(self, special, narrow)

    def matcher(self, special: Special) -> None:
        """Return None: files are not cut into blocks."""

    def aligned(
        self, text: Text, special: Special
    ) -> tuple[bytes, NDArray[np.uint32], NDArray[np.int64], NDArray[np.int32] | Callable[[], NDArray[np.int32]]]:
        """Return (utf8, ids, byte spans (n, 2), words or what computes them) for a text."""
        prepared = self.prepared(text, special)
        if self._bytes is not None and prepared.is_original:
            return self._bytes.engine.aligned(prepared.original, "text")
        return prepared.original, *self._model_for(special).encode(prepared)

    def surfaces(self, text: Text, special: Special, ids: NDArray[np.uint32], words: Any) -> list[bytes]:
        """Return what each token of `aligned`, which gave `ids` and `words`, stands for.

        That is its own bytes, and for an added token or Unigram's unknown one what the text has there when it has
        been normalized.
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
        """Return sizes and counts of the caches."""
        info: dict[str, int] = self._model.cache_info()
        return info

    def merges(self) -> NDArray[np.uint32]:
        """Return the merges that can happen, where the model is BPE over bytes; else none."""
        return self._bytes.engine.merges() if self._bytes is not None else np.empty((0, 3), dtype=np.uint32)


def _spelt_out(definition: Definition) -> frozenset[int]:
    """Return the special tokens that a model would make of their text, which nobody has allowed to be more than text.

    T5's Unigram has "</s>" among its pieces. The unknown token may stay: it says nothing. Merges make what they make.
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
    """The face of a component's model over the byte-level engine, which also cuts the pieces it is given."""

    def __init__(self, definition: Definition, added_ids: list[int]) -> None:
        self.engine = Engine(definition, foreign=added_ids)
        self.cache_info = self.engine.cache_info

    def encode(self, text: AlignedText) -> Found:
        """Return (ids, spans, words) of the pieces of a text."""
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
