"""Encodes texts in all the forms that sentencepiece's processor returns."""

from __future__ import annotations

import functools
import logging
from typing import Any

import numpy as np

from tokkit._core.encode.sp_engine import piece_names, pieces_message
from tokkit._core.pieces import items_of
from tokkit._core.text import Grown
from tokkit.compat.sentencepiece import decode
from tokkit.compat.sentencepiece.messages import parsed
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
PLAIN_TYPES = (int, str, bytes, "numpy")
"""The types of results that need only ids, and the normalized text of unknown pieces."""
IDS_ONLY = (int, "numpy")
Extras = tuple[bool, bool, bool]
"""Whether to add the beginning-of-text and end-of-text pieces, and to reverse the pieces."""
NO_EXTRAS: Extras = (False, False, False)


class LoadedModel:
    """A model with its engine."""

    def __init__(self, model: SentencePieceModel) -> None:
        self.model = model
        self.engine = SentencePieceEngine(definition_of(model))
        self.unk_id, self.bos_id, self.eos_id = model.unk_id, model.bos_id, model.eos_id
        self.decoder = decode.Decoder(model)
        self._encode = self.engine.core.plain
        self._names_of: dict[tuple[Any, bool], list[Any]] = {}

    @property
    def pieces(self) -> list[str]:
        """The piece of each id."""
        return self.decoder.pieces

    @functools.cached_property
    def segmentations(self) -> Segmentations:
        """The n-best and sampling segmentations; RuntimeError for models in which a text has only one segmentation."""
        try:
            return Segmentations(self.model)
        except OptionError as error:
            raise RuntimeError(f"INTERNAL: {error}") from None

    # ---- plain results

    def plain(self, text: str | bytes, chosen: Any, extras: Extras, unk: bool) -> Any:
        """Return the same as `shown` for the best segmentation, for `PLAIN_TYPES`; None where that must be called."""
        if chosen is int and extras is NO_EXTRAS:
            return self._encode(text)
        names = self._names_table(chosen, unk) if chosen is str or chosen is bytes else None
        made = self._encode(text, names, chosen is bytes)
        return (
            made if made is None or (chosen is str and extras is NO_EXTRAS) else self._with_extras(made, chosen, extras)
        )

    def plain_batch(self, texts: list[Any], chosen: Any, extras: Extras, unk: bool) -> list[Any] | None:
        """Return what `plain` or `shown` returns for each text; None if something is not a text."""
        names = self._names_table(chosen, unk) if chosen is str or chosen is bytes else None
        batch: list[Any] = self.engine.core.plain_batch(texts, names, chosen is bytes)
        whole = None not in batch
        if whole and chosen != "numpy" and not any(extras):
            return batch
        if not whole and not all(isinstance(text, (str, bytes)) for text in texts):
            return None
        return [
            self.shown(self.segmented(text), chosen, extras, unk, False)
            if made is None
            else self._with_extras(made, chosen, extras)
            for text, made in zip(texts, batch, strict=True)
        ]

    def _names_table(self, chosen: Any, unk: bool) -> list[Any]:
        """Return each id's piece as str or bytes, None for the unknown one unless `unk`."""
        names = self._names_of.get((chosen, unk))
        if names is None:
            names = [piece.encode() for piece in self.pieces] if chosen is bytes else list(self.pieces)
            if not unk:
                names[self.unk_id] = None
            self._names_of[chosen, unk] = names
        return names

    def _with_extras(self, made: list[Any], chosen: Any, extras: Extras) -> Any:
        if chosen is str or chosen is bytes:
            bos, eos = self.model.bos_piece, self.model.eos_piece
            return self._framed(made, extras, *((bos, eos) if chosen is str else (bos.encode(), eos.encode())))
        ids = self._framed(made, extras, self.bos_id, self.eos_id)
        return ids if chosen is int else _frozen(ids)

    # ---- segmentations

    def segmented(self, text: str | bytes) -> Segmented:
        """Return the best segmentation of a text; each byte of invalid UTF-8 is read as U+FFFD."""
        utf8, places = _utf8(text)
        normalized, ids, spans, origins = self.engine.segments(utf8)
        original = text if isinstance(text, bytes) else utf8
        return Segmented(original, normalized, origins if places is None else places[origins], ids.tolist(), spans)

    def _read(self, text: str | bytes, chosen: Any) -> Segmented:
        """Return a text normalized, for other segmentations; with what these have in common with the best one.

        Results of `PLAIN_TYPES` need only the normalized text.
        """
        if chosen in PLAIN_TYPES:
            try:
                return Segmented(b"", self.engine.core.normalize(_utf8(text)[0]), None, [], None)
            except (OverflowError, LookupError):
                pass
        return self.segmented(text)

    def sampled(self, text: str | bytes, nbest_size: int, alpha: float, chosen: Any) -> Segmented:
        """Return a random segmentation of a text, for results of a type."""
        if nbest_size > MAX_NBEST:
            raise RuntimeError(f"INTERNAL: nbest_size must be nbest_size <= {MAX_NBEST}")
        whole = self._read(text, chosen)
        sample = self.segmentations.sample
        found = sample(
            whole.normalized, alpha=alpha, nbest_size=nbest_size, rng=generator(), ids_only=chosen in IDS_ONLY
        )
        return whole.cut(*found)

    def nbest(self, text: str | bytes, n: int, chosen: Any) -> list[Segmented]:
        """Return the n best segmentations of a text, the best first, for results of a type."""
        whole = self.segmented(text) if n == 1 else self._read(text, chosen)
        if n == 1:  # the encoder returns the best one, without its score
            return [whole._replace(score=0.0)]
        timeout = nbest_timeout()
        try:
            ways = self.segmentations.nbest(whole.normalized, n, timeout=timeout, ids_only=chosen in IDS_ONLY)
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
            return self.proto(made) if chosen == "proto" else self._serialized(made)
        if chosen is not str and chosen is not bytes:
            return self._with_extras(made.ids, chosen, extras)
        return self._with_extras(self._named(made, chosen, unk), chosen, extras)

    def _framed(self, items: list[Any], extras: tuple[bool, bool, bool], bos: Any, eos: Any) -> list[Any]:
        add_bos, add_eos, back = extras
        if not (add_bos or add_eos or back):
            return items
        if (add_bos and self.bos_id < 0) or (add_eos and self.eos_id < 0):
            name = "BOS" if add_bos and self.bos_id < 0 else "EOS"
            raise ValueError(f"INVALID_ARGUMENT: this model has no control symbol for {name}")
        made = items[::-1] if back else items
        made = [bos, *made] if add_bos else made
        return [*made, eos] if add_eos else made

    def _named(self, made: Segmented, chosen: Any, unk: bool) -> list[Any]:
        """Return the pieces as str or bytes; an unknown one is its surface, unless `unk` is set."""
        names = self._names_table(chosen, unk)
        plain = items_of(names, made.ids)
        if plain is not None:
            return plain
        return piece_names(names, made.ids, made.normalized, made.spans, chosen is bytes)

    def _mapping(self, made: Segmented, as_bytes: bool) -> dict[str, Any]:
        names = self._named(made, bytes if as_bytes else str, False)
        places = made.surfaces() if as_bytes else in_characters(made.original, made.origins[made.spans])
        return {"ids": made.ids, "pieces": names, "offsets": places}

    def message(self, made: Segmented, extras: Extras, unk: bool) -> Any:
        """Return a segmentation as the message of protobuf, where it is installed; else as `shown` does."""
        found = parsed("SentencePieceText", self.shown(made, "serialized_proto", extras, unk, False))
        return self.proto(made) if found is None else found

    def _serialized(self, made: Segmented) -> bytes:
        """Return a segmentation as a serialized SentencePieceText."""
        if made.score is not None:
            return self.proto(made).SerializeToString()
        names = self._named(made, bytes, False)
        bare = None
        if self.model.byte_fallback:
            types = self.model.types[np.array(made.ids, dtype=np.int64)]
            bare = ((made.spans[:, 0] == made.spans[:, 1]) & (types == BYTE)).tobytes()
        places = made.origins[made.spans].astype(np.int64)
        data = pieces_message(made.original, names, made.ids, places, bare)
        return self.proto(made).SerializeToString() if data is None else data

    def normalized(self, given: str | list[Any]) -> Any:
        """Return a text, or each of a list, normalized; None if one is not a str, or `segments` raises its error."""
        texts = given if isinstance(given, list) else [given]
        if not all(type(text) is str for text in texts):
            return None
        try:
            made = [self.engine.core.normalize(text.encode()).decode() for text in texts]
        except (OverflowError, LookupError, UnicodeError, Grown):
            return None
        return made if isinstance(given, list) else made[0]

    def proto(self, made: Segmented) -> SentencePieceText:
        """Return a segmentation as a SentencePieceText."""
        text = made.original
        pieces = []
        for name, id_, (start, end), (a, b) in zip(
            self._named(made, str, False), made.ids, made.surfaces(), made.spans.tolist(), strict=True
        ):
            # The last byte of a character has its surface; the others have none.
            bare = a == b and self.model.types[id_] == BYTE
            surface = "" if bare else text[start:end].decode(errors="replace")
            pieces.append(Piece(name, id_, surface, start, end, has_surface=not bare))
        return SentencePieceText(text.decode(errors="replace"), pieces, made.score)


def _frozen(ids: list[int]) -> Any:
    array = np.array(ids, dtype=np.int32)
    array.flags.writeable = False
    return array


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
