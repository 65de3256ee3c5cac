"""Encodes texts in all the forms that sentencepiece's processor returns."""

from __future__ import annotations

import functools
import logging
from dataclasses import replace
from typing import Any

import numpy as np

from tokkit.compat.sentencepiece import decode
from tokkit.compat.sentencepiece.random import generator
from tokkit.compat.sentencepiece.settings import nbest_timeout
from tokkit.compat.sentencepiece.text import Piece, Segmented, SentencePieceText, in_characters
from tokkit.definition import definition_of
from tokkit.engine.segmentations import Segmentations
from tokkit.engine.sentencepiece import SentencePieceEngine
from tokkit.errors import OptionError
from tokkit.models.sentencepiece import BYTE, SentencePieceModel

logger = logging.getLogger("tokkit")

MAX_NBEST = 512
Extras = tuple[bool, bool, bool]
"""Whether to add the beginning-of-text and end-of-text pieces, and to reverse the pieces."""


class LoadedModel:
    """A model with its engine."""

    def __init__(self, model: SentencePieceModel) -> None:
        self.model = model
        self.engine = SentencePieceEngine(definition_of(model))
        self.pieces = [piece.decode() for piece in model.pieces]
        self.decoder = decode.Decoder(model, self.pieces)

    @functools.cached_property
    def segmentations(self) -> Segmentations:
        """The n-best and sampling segmentations; RuntimeError for models in which a text has only one segmentation."""
        try:
            return Segmentations(self.model)
        except OptionError as error:
            raise RuntimeError(f"INTERNAL: {error}") from None

    # ---- segmentations

    def segmented(self, text: str | bytes) -> Segmented:
        """Return the best segmentation of a text; each byte of invalid UTF-8 is read as U+FFFD."""
        utf8, places = _utf8(text)
        normalized, ids, spans, origins = self.engine.segments(utf8)
        original = text if isinstance(text, bytes) else utf8
        return Segmented(original, normalized, origins if places is None else places[origins], ids.tolist(), spans)

    def sampled(self, text: str | bytes, nbest_size: int, alpha: float) -> Segmented:
        """Return a random segmentation of a text."""
        if nbest_size > MAX_NBEST:
            raise RuntimeError(f"INTERNAL: nbest_size must be nbest_size <= {MAX_NBEST}")
        whole = self.segmented(text)
        sample = self.segmentations.sample
        return whole.cut(*sample(whole.normalized, alpha=alpha, nbest_size=nbest_size, rng=generator()))

    def nbest(self, text: str | bytes, n: int) -> list[Segmented]:
        """Return the n best segmentations of a text, the best first."""
        whole = self.segmented(text)
        if n == 1:  # the encoder returns the best one, without its score
            return [replace(whole, score=0.0)]
        timeout = nbest_timeout()
        try:
            ways = self.segmentations.nbest(whole.normalized, n, timeout=timeout)
        except TimeoutError:
            logger.warning("the %d best segmentations took more than %g s: only the best one is returned", n, timeout)
            ways = self.segmentations.nbest(whole.normalized, 1)
        return [whole.cut(*found) for found in ways]

    # ---- results

    def shown(self, made: Segmented, chosen: Any, extras: Extras, unk: bool, as_bytes: bool) -> Any:
        """Return a segmentation as `chosen`, one of the processor's types."""
        if chosen in ("proto", "serialized_proto", "offset_mapping"):
            if any(extras) or unk:
                raise RuntimeError(
                    "UNIMPLEMENTED: add_bos, add_eos, reverse, and emit_unk_piece is not supported in proto API"
                )
            if chosen == "offset_mapping":
                return self._mapping(made, as_bytes)
            proto = self.proto(made)
            return proto if chosen == "proto" else proto.SerializeToString()
        ids = self._framed(made.ids, extras, self.model.bos_id, self.model.eos_id)
        if chosen is int:
            return ids
        if chosen == "numpy":
            array = np.array(ids, dtype=np.int32)
            array.flags.writeable = False
            return array
        model = self.model
        pieces = self._framed(self._names(made, unk), extras, model.bos_piece, model.eos_piece)
        return [piece.encode() for piece in pieces] if chosen is bytes else pieces

    def _framed(self, items: list[Any], extras: tuple[bool, bool, bool], bos: Any, eos: Any) -> list[Any]:
        add_bos, add_eos, back = extras
        for name, asked, id_ in (("BOS", add_bos, self.model.bos_id), ("EOS", add_eos, self.model.eos_id)):
            if asked and id_ < 0:
                raise ValueError(f"INVALID_ARGUMENT: this model has no control symbol for {name}")
        return [*([bos] if add_bos else []), *(items[::-1] if back else items), *([eos] if add_eos else [])]

    def _names(self, made: Segmented, unk: bool = False) -> list[str]:
        """Return the pieces; an unknown one is its surface, unless `unk` is set."""
        pieces, unknown = self.pieces, self.model.unk_id
        names = [pieces[id_] for id_ in made.ids]
        if not unk and unknown in made.ids:
            for k, (start, end) in enumerate(made.spans.tolist()):
                if made.ids[k] == unknown:
                    names[k] = made.normalized[start:end].decode()
        return names

    def _mapping(self, made: Segmented, as_bytes: bool) -> dict[str, Any]:
        places = made.surfaces()
        names: list[Any] = self._names(made)
        if as_bytes:
            names = [name.encode() for name in names]
        else:
            places = in_characters(made.original, places)
        return {"ids": made.ids, "pieces": names, "offsets": places}

    def proto(self, made: Segmented) -> SentencePieceText:
        """Return a segmentation as a SentencePieceText."""
        text = made.original
        pieces = []
        for name, id_, (start, end), (a, b) in zip(
            self._names(made), made.ids, made.surfaces(), made.spans.tolist(), strict=True
        ):
            # The last byte of a character has its surface; the others have none.
            bare = a == b and self.model.types[id_] == BYTE
            surface = "" if bare else text[start:end].decode(errors="replace")
            pieces.append(Piece(name, id_, surface, start, end, has_surface=not bare))
        return SentencePieceText(text.decode(errors="replace"), pieces, made.score)


def _utf8(text: str | bytes) -> tuple[bytes, Any]:
    """Return valid UTF-8, and the origin of each byte if the given bytes were not valid."""
    if isinstance(text, str):
        try:
            return text.encode(), None
        except UnicodeEncodeError:
            raise RuntimeError("a str with lone surrogates has no UTF-8") from None
    try:
        text.decode()
        return text, None
    except UnicodeDecodeError:
        return decode.repaired(text)
