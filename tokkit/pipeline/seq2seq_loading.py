"""Loads the folder of an encoder–decoder as a `Seq2SeqGenerator`."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tokkit.errors import FormatError
from tokkit.files import files
from tokkit.files.safetensors import Tensor
from tokkit.files.sharded import read_model
from tokkit.files.strict_json import brief
from tokkit.nn.seq2seq import Seq2Seq
from tokkit.nn.text_decoder import TextDecoder
from tokkit.pipeline import memory, modules, seq2seq_families
from tokkit.pipeline.decoder_weights import DecoderWeights
from tokkit.pipeline.generator_loading import eos_ids_of, limited, read_tokenizer
from tokkit.pipeline.packed_folders import PackedFolder
from tokkit.pipeline.seq2seq_families import Seq2SeqSpec
from tokkit.pipeline.seq2seq_generator import ForcedIds, Seq2SeqGenerator
from tokkit.pipeline.weights import checked

COPIES = r"(?:model\.)?(?:encoder|decoder)\.embed_tokens\.weight|.*\.EncDecAttention\.relative_attention_bias\.weight"
"""Copies of the table of tokens, and an unused bias in older files of T5."""
BIAS = "final_logits_bias"
TIED = "tied"
"""The key in packed.json of a quantized encoder–decoder for whether its head is the table of tokens."""


def load(
    folder: Path, config: Mapping[str, Any], dtype: str, max_length: int | None, stored: PackedFolder | None = None
) -> Seq2SeqGenerator:
    """Return the generator of a folder whose config.json holds `config`, with matrices packed as `dtype`.

    `stored` are the packed matrices of a folder written by `quantize`.
    """
    where = files.show(folder / "config.json")
    tensors = read_model(folder) if stored is None else {}
    tied = is_tied(tensors) if stored is None else stored.model.get(TIED) is True
    try:
        spec = seq2seq_families.read(config, dtype, tied=tied)
        eos_ids, forced = eos_ids_of(folder, config), _forced(folder, config, spec)
    except FormatError as error:
        raise FormatError(f"{where}: {error}") from None
    decoder = limited(spec.decoder, max_length)
    encoder = spec.encoder if max_length is None else replace(spec.encoder, max_length=max_length)
    spec = replace(spec, encoder=encoder, decoder=decoder)
    if stored is None:
        for half in (spec.encoder, spec.decoder):
            memory.check_model(half.config, files.show(folder))
        model = read_halves(tensors, spec, files.show(folder)).model
    else:
        with stored.fitting():
            of_decoder = stored.part("decoder.")
            of_encoder = stored.part("encoder.", words=of_decoder)
            halves = TextDecoder(spec.encoder.config, of_encoder), TextDecoder(spec.decoder.config, of_decoder)
            model = Seq2Seq(*halves)
    tokenizer = read_tokenizer(folder, spec.decoder)
    again = functools.partial(load, Path(os.path.abspath(folder)), dict(config), dtype, max_length, stored)
    return Seq2SeqGenerator(folder, tokenizer, model, spec, eos_ids=eos_ids, forced=forced, reload=again)


def is_tied(tensors: Mapping[str, Tensor]) -> bool:
    """Return whether the head in a file is the table of tokens."""
    return not any(name.endswith("lm_head.weight") for name in tensors)


@dataclass(frozen=True, slots=True)
class Halves:
    """An encoder–decoder, and the weights of its encoder and of its decoder."""

    model: Seq2Seq
    encoder: Mapping[str, Any]
    decoder: Mapping[str, Any]


def read_halves(tensors: Mapping[str, Tensor], spec: Seq2SeqSpec, where: str) -> Halves:
    """Return the model made of the tensors of a file; FormatError names a tensor that does not fit."""
    kept = {name: tensor for name, tensor in tensors.items() if not re.fullmatch(COPIES, name) and name != BIAS}
    of_encoder = {name for name in kept if re.match(r"(?:model\.)?encoder\.", name)}
    shared = {name for name in kept if re.fullmatch(r"(?:model\.)?shared\.weight", name)}
    encoder = DecoderWeights({n: t for n, t in kept.items() if n in of_encoder | shared}, spec.encoder, where)
    decoder = DecoderWeights({n: t for n, t in kept.items() if n not in of_encoder}, spec.decoder, where)
    more: dict[str, Any] = {}
    if BIAS in tensors:
        shape = (1, spec.decoder.config.vocab_size)
        more["head.bias"] = np.array(checked(tensors[BIAS], BIAS, shape, where).float32()[0])
    whole = _With(decoder, more)
    made = Seq2Seq(TextDecoder(spec.encoder.config, encoder), TextDecoder(spec.decoder.config, whole))
    decoder.release()
    return Halves(made, encoder, whole)


class _With(Mapping[str, Any]):
    """Weights with a few more added, in one mapping."""

    def __init__(self, weights: Mapping[str, Any], more: Mapping[str, Any]) -> None:
        self._weights, self._more = weights, more

    def __getitem__(self, name: str) -> Any:
        return self._more[name] if name in self._more else self._weights[name]

    def __iter__(self) -> Any:
        return iter([*self._weights, *self._more])

    def __len__(self) -> int:
        return len(self._weights) + len(self._more)


def _forced(folder: Path, config: Mapping[str, Any], spec: Seq2SeqSpec) -> ForcedIds:
    """Return the ids at the ends of a target, from generation_config.json, or else from config.json."""
    told = modules.read_json(folder / "generation_config.json", {})
    rows = spec.decoder.config.vocab_size

    def id_of(key: str, default: object = None) -> int | None:
        stated = told.get(key, config.get(key))
        stated = default if stated is None else stated
        if stated is None:
            return None
        if isinstance(stated, list) and len(stated) == 1:
            stated = stated[0]
        if isinstance(stated, bool) or not isinstance(stated, int) or not 0 <= stated < rows:
            raise FormatError(f"{key}: {brief(stated)}; it must be an id below {rows}")
        return stated

    start = id_of("decoder_start_token_id", config.get("pad_token_id"))
    if start is None:
        raise FormatError("decoder_start_token_id: missing; it must be the id that begins a target")
    return ForcedIds(start, id_of("forced_bos_token_id"), id_of("forced_eos_token_id"))
