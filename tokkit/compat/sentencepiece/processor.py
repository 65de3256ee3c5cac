"""`SentencePieceProcessor` of sentencepiece 0.2.3, over a tokkit tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tokkit.compat.sentencepiece import decode
from tokkit.compat.sentencepiece.loaded_model import NO_EXTRAS, PLAIN_TYPES, Extras, LoadedModel
from tokkit.compat.sentencepiece.messages import message
from tokkit.compat.sentencepiece.normalizer import normalized
from tokkit.compat.sentencepiece.random import generator
from tokkit.compat.sentencepiece.table import PieceTable, add_spellings
from tokkit.compat.sentencepiece.text import NBestSentencePieceText
from tokkit.errors import FormatError
from tokkit.formats import sentencepiece as model_format
from tokkit.models.sentencepiece import SentencePieceModel

TYPES = (int, str, bytes, "proto", "serialized_proto", "numpy", "offset_mapping")
ReturnType = Any
_OF_MODEL = ("_loaded", "_n_pieces", "_roles", "_ids", "_filled")
"""Attributes that the model decides."""


class SentencePieceProcessor(PieceTable):
    """Encodes and decodes with one model, which `load` can set later; options given here are defaults for all calls."""

    def __init__(
        self,
        model_file: str | Path | None = None,
        model_proto: bytes | None = None,
        out_type: ReturnType = None,
        add_bos: bool = False,
        add_eos: bool = False,
        reverse: bool = False,
        emit_unk_piece: bool = False,
        enable_sampling: bool = False,
        nbest_size: int = -1,
        alpha: float = 0.1,
        num_threads: int = -1,
        return_type: ReturnType = None,
    ) -> None:
        self._loaded: LoadedModel | None = None
        self._return_type: ReturnType = int
        self._return_type = self._chosen(return_type, out_type)
        self._add_bos, self._add_eos, self._reverse = add_bos, add_eos, reverse
        self._emit_unk_piece, self._enable_sampling = emit_unk_piece, enable_sampling
        self._nbest_size, self._alpha, self._num_threads = nbest_size, alpha, num_threads
        if model_file or model_proto:
            self.load(model_file, model_proto)

    def _chosen(self, return_type: ReturnType, out_type: ReturnType, default: ReturnType = None) -> ReturnType:
        if out_type is not None and return_type is not None:
            raise ValueError("Cannot specify both out_type and return_type. Use return_type instead.")
        chosen = out_type if out_type is not None else return_type
        if chosen is None:
            chosen = default or self._return_type
        if chosen == "immutable_proto":
            raise ValueError("immutable_proto is gone since sentencepiece 0.2.2; use return_type='proto' instead")
        if chosen not in TYPES:
            raise ValueError(f"Invalid return_type: {chosen}. Must be one of {TYPES}")
        return chosen

    # ---- the model

    @classmethod
    def from_file(cls, model_file: str | Path, **options: Any) -> SentencePieceProcessor:
        """Return a processor of a model file."""
        return cls(model_file=model_file, **options)

    @classmethod
    def from_proto(cls, model_proto: bytes, **options: Any) -> SentencePieceProcessor:
        """Return a processor of a model file's bytes."""
        return cls(model_proto=model_proto, **options)

    def load(self, model_file: str | Path | None = None, model_proto: bytes | None = None) -> bool:
        """Load a model from a file or its bytes; return True, or raise an error as sentencepiece does."""
        if model_file and model_proto:
            raise ValueError("model_file and model_proto must be exclusive.")
        if model_proto:
            return self.load_from_serialized_proto(model_proto)
        if not model_file:
            raise ValueError("Either model_file or model_proto must be specified.")
        return self.load_from_file(model_file)

    def load_from_file(self, path: str | Path) -> bool:
        """Load a model from a file."""
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise RuntimeError(f'NOT_FOUND: "{path}": {error.strerror}') from None
        return self.load_from_serialized_proto(data)

    def load_from_serialized_proto(self, data: Any) -> bool:
        """Load a model from a model file's bytes, or from a message with them."""
        data = data.SerializeToString() if hasattr(data, "SerializeToString") else data
        try:
            self._use(model_format.read_model(bytes(data)))
        except FormatError as error:
            raise RuntimeError(f"INTERNAL: {error}") from None
        return True

    def _use(self, model: SentencePieceModel) -> None:
        self._loaded = LoadedModel(model)
        self._set_model(model)

    def serialized_model_proto(self) -> bytes:
        """Return the bytes of the model file; b"" before one is loaded."""
        return model_format.write_model(self._loaded.model) if self._loaded is not None else b""

    def _model(self) -> SentencePieceModel | None:
        return None if self._loaded is None else self._loaded.model

    @property
    def _own(self) -> LoadedModel:
        if self._loaded is None:
            raise RuntimeError("INTERNAL: Model is not initialized.")
        return self._loaded

    def set_vocabulary(self, valid_vocab: Iterable[str]) -> None:
        """Encode only with these pieces and those of one character."""
        model = self._own.model
        if model.kind not in ("unigram", "bpe"):
            raise RuntimeError("INTERNAL: Vocabulary constraint is only enabled in subword units.")
        self._use(model.restricted({piece.encode() for piece in valid_vocab}))

    def reset_vocabulary(self) -> None:
        """Encode with all pieces again: unused pieces become normal."""
        model = self._own.model
        self._use(model.restricted({model.pieces[id_] for id_ in range(model.pieces.n_ids)}))

    def load_vocabulary(self, filename: str | Path, threshold: int) -> None:
        """Call `set_vocabulary` with the pieces of a file (piece, tab, count) whose count is at least `threshold`."""
        lines = (line.split("\t") for line in Path(filename).read_text(encoding="utf-8").splitlines())
        self.set_vocabulary([row[0] for row in lines if len(row) == 1 or int(row[1]) >= threshold])

    # ---- encoding

    def encode(
        self,
        input: Any,
        add_bos: bool | None = None,
        add_eos: bool | None = None,
        reverse: bool | None = None,
        emit_unk_piece: bool | None = None,
        enable_sampling: bool | None = None,
        nbest_size: int | None = None,
        alpha: float | None = None,
        num_threads: int | None = None,
        thread_pool: Any = None,
        return_type: ReturnType = None,
        out_type: ReturnType = None,
        return_bytes: bool | None = None,
    ) -> Any:
        """Encode a text, or each of a list of texts, to ids, pieces or `return_type`."""
        if out_type is None and (return_type is int or return_type is str):
            chosen: ReturnType = return_type
        else:
            chosen = self._chosen(return_type, out_type)
        if return_bytes is not None and chosen != "offset_mapping":
            raise ValueError("return_bytes is only supported when return_type='offset_mapping'")
        if num_threads is not None or type(self._num_threads) is not int:
            self._threads(num_threads)
        nbest_size = self._nbest_size if nbest_size is None else nbest_size
        alpha = self._alpha if alpha is None else alpha
        sampling = self._enable_sampling if enable_sampling is None else enable_sampling
        if sampling and (nbest_size in (0, 1) or alpha is None):
            raise ValueError('sampling needs "nbest_size > 1", or -1 for the whole lattice, and "alpha"')
        extras = self._extras(add_bos, add_eos, reverse)
        unk = self._emit_unk_piece if emit_unk_piece is None else emit_unk_piece

        own = self._loaded or self._own
        if not sampling and chosen in PLAIN_TYPES:
            kind = type(input)
            if kind is str or kind is bytes:
                plain = own.plain(input, chosen, extras, unk)
                return own.shown(own.segmented(input), chosen, extras, unk, False) if plain is None else plain
            if kind is list and (batch := own.plain_batch(input, chosen, extras, unk)) is not None:
                return batch
        first = input[0] if isinstance(input, list) and input else input
        as_bytes = isinstance(first, bytes) if return_bytes is None else return_bytes

        def one(text: str | bytes) -> Any:
            made = own.sampled(text, nbest_size, alpha, chosen) if sampling else own.segmented(text)
            if chosen == "proto":
                return own.message(made, extras, unk)
            return own.shown(made, chosen, extras, unk, as_bytes)

        return self._each(input, one)

    def _threads(self, num_threads: int | None) -> None:
        if not isinstance(self._num_threads if num_threads is None else num_threads, int):
            raise TypeError("num_threads must be int")

    def _extras(self, add_bos: bool | None, add_eos: bool | None, reverse: bool | None) -> Extras:
        if (
            add_bos is None
            and add_eos is None
            and reverse is None
            and not (self._add_bos or self._add_eos or self._reverse)
        ):
            return NO_EXTRAS
        return (
            bool(self._add_bos if add_bos is None else add_bos),
            bool(self._add_eos if add_eos is None else add_eos),
            bool(self._reverse if reverse is None else reverse),
        )

    def _each(self, input: Any, work: Callable[[str | bytes], Any]) -> Any:
        texts = input if isinstance(input, list) else [input]
        if not all(isinstance(text, (str, bytes)) for text in texts):
            raise TypeError("Input must be str or bytes")
        return [work(text) for text in texts] if isinstance(input, list) else work(input)

    def nbest_encode(
        self,
        input: Any,
        add_bos: bool | None = None,
        add_eos: bool | None = None,
        reverse: bool | None = None,
        emit_unk_piece: bool | None = None,
        nbest_size: int | None = None,
        return_type: ReturnType = None,
        out_type: ReturnType = None,
    ) -> Any:
        """Return the n best segmentations of a text, or of each of a list, the best first."""
        chosen = self._chosen(return_type, out_type)
        if chosen == "offset_mapping":
            raise ValueError(f"unknown return_type={chosen}")
        extras, n = self._extras(add_bos, add_eos, reverse), self._nbest_size if nbest_size is None else nbest_size
        unk = self._emit_unk_piece if emit_unk_piece is None else emit_unk_piece
        own = self._own
        if own.model.kind != "unigram":
            raise RuntimeError("INTERNAL: NBestEncode is not available for the current model.")

        def one(text: str | bytes) -> Any:
            found = own.nbest(text, max(n, 1), chosen)
            if chosen not in ("proto", "serialized_proto"):
                return [own.shown(made, chosen, extras, unk, False) for made in found]
            best = NBestSentencePieceText([own.shown(made, "proto", extras, unk, False) for made in found])
            return message(best) if chosen == "proto" else best.SerializeToString()

        return self._each(input, one)

    def parallel_encode(self, input: Any, *, chunk_len: int | None = None, **options: Any) -> Any:
        """Return the same as `encode`."""
        if not isinstance(chunk_len, int) or chunk_len <= 0:
            raise ValueError("chunk_len must be positive.")
        if self._chosen(options.get("return_type"), options.get("out_type")) == "offset_mapping":
            raise ValueError("unknown return_type=offset_mapping")
        return self.encode(input, **options)

    def sample_encode_and_score(
        self,
        input: Any,
        out_type: ReturnType = None,
        num_samples: int = 1,
        alpha: float = 1.0,
        wor: bool = False,
        include_best: bool = False,
        **options: Any,
    ) -> Any:
        """Return samples as (ids or pieces, score); `wor` samples without replacement."""
        chosen = self._chosen(None, out_type)
        extras = self._extras(options.get("add_bos"), options.get("add_eos"), options.get("reverse"))

        own = self._own
        how: dict[str, Any] = {"alpha": alpha, "without_replacement": wor, "include_best": include_best}

        def one(text: str | bytes) -> list[tuple[Any, float]]:
            whole = own.segmented(text)
            found = own.segmentations.sample_and_score(whole.normalized, n=num_samples, rng=generator(), **how)
            cuts = [whole.cut(*cut) for cut in found]
            shown = [own.shown(cut, chosen, extras, False, False) for cut in cuts]
            shown = list(map(message, shown)) if chosen == "proto" else shown
            return [(each, cut.score or 0.0) for each, cut in zip(shown, cuts, strict=True)]

        return self._each(input, one)

    def calculate_entropy(self, input: Any, alpha: float, num_threads: int | None = None) -> Any:
        """Return the entropy of the segmentations of a text, or of each of a list."""
        self._threads(num_threads)
        own = self._own
        return self._each(input, lambda text: own.segmentations.entropy(own.segmented(text).normalized, alpha=alpha))

    # ---- decoding and normalizing

    def decode(
        self,
        input: Any,
        return_type: ReturnType = None,
        out_type: ReturnType = None,
        num_threads: int | None = None,
        thread_pool: Any = None,
        return_bytes: bool | None = None,
    ) -> Any:
        """Decode ids or pieces to text, or each of a list of lists of them."""
        chosen = str if return_type is None and out_type is None else self._chosen(return_type, out_type, default=str)
        if return_bytes is not None and chosen != "offset_mapping":
            raise ValueError("return_bytes is only supported when return_type='offset_mapping'")
        if num_threads is not None or type(self._num_threads) is not int:
            self._threads(num_threads)
        own = self._loaded or self._own
        if chosen is str and type(input) is list and (plain := own.decoder.plain(input)) is not None:
            return plain
        return decode.decode(own.decoder, input, chosen, as_bytes=bool(return_bytes))

    def normalize(self, input: Any, with_offsets: bool | None = None) -> Any:
        """Return a text, or each of a list, normalized; optionally with the origin of each character."""
        engine = self._own.engine
        if not with_offsets and type(input) in (list, str) and (plain := self._own.normalized(input)) is not None:
            return plain

        def run(utf8: bytes) -> tuple[bytes, Any]:
            made, _, _, origins = engine.segments(utf8)
            return made, origins

        return normalized(run, input, with_offsets=bool(with_offsets))

    def __getstate__(self) -> dict[str, Any]:
        return {
            **{k: v for k, v in vars(self).items() if k not in _OF_MODEL},
            "model_proto": self.serialized_model_proto(),
        }

    def __setstate__(self, state: dict[str, Any] | bytes) -> None:
        SentencePieceProcessor.__init__(self)  # a subclass may need arguments
        if isinstance(state, bytes):  # only the model, as in pickles of sentencepiece 0.2.0
            self.load_from_serialized_proto(state)
            return
        self.load_from_serialized_proto(state["model_proto"])
        vars(self).update({name: value for name, value in state.items() if name != "model_proto"})


def _as(verb: str, kind: ReturnType, **always: Any) -> Callable[..., Any]:
    def method(self: SentencePieceProcessor, input: Any, *args: Any, **options: Any) -> Any:
        """Return a method that calls the one without "_as_…" with a fixed type."""
        if not args:
            return getattr(self, verb)(input, return_type=kind, **always, **options)
        # Samples and n-best also take nbest_size as a positional argument, and samples alpha.
        given = dict(zip(("nbest_size", "alpha"), args, strict=False))
        return getattr(self, verb)(input, return_type=kind, **always, **given, **options)

    return method


_KINDS = {"ids": int, "pieces": str, "numpy": "numpy", "proto": "proto"}
for _name, _kind in _KINDS.items():
    setattr(SentencePieceProcessor, f"encode_as_{_name}", _as("encode", _kind))
    setattr(SentencePieceProcessor, f"parallel_encode_as_{_name}", _as("parallel_encode", _kind))
    setattr(SentencePieceProcessor, f"nbest_encode_as_{_name}", _as("nbest_encode", _kind))
    setattr(SentencePieceProcessor, f"sample_encode_as_{_name}", _as("encode", _kind, enable_sampling=True))
SentencePieceProcessor.encode_as_offset_mapping = _as("encode", "offset_mapping")  # type: ignore[attr-defined]
for _name in ("ids", "pieces"):
    setattr(SentencePieceProcessor, f"decode_{_name}", SentencePieceProcessor.decode)
    setattr(SentencePieceProcessor, f"decode_{_name}_as_proto", _as("decode", "proto"))
SentencePieceProcessor.tokenize = SentencePieceProcessor.encode  # type: ignore[attr-defined]
SentencePieceProcessor.detokenize = SentencePieceProcessor.decode  # type: ignore[attr-defined]
_LOOK_UPS = ("get_piece_size", "piece_to_id", "id_to_piece", "get_score")
add_spellings(SentencePieceProcessor, *_LOOK_UPS, "is_unknown", "is_control", "is_unused", "is_byte")
