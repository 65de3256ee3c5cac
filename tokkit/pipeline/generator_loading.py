"""Loads the folder of a causal language model as a `TextGenerator`."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokkit import loading
from tokkit.errors import FormatError, OptionError
from tokkit.files import files
from tokkit.files.safetensors import Tensor
from tokkit.files.sharded import read_model
from tokkit.files.strict_json import brief
from tokkit.nn.text_decoder import TextDecoder
from tokkit.pipeline import decoder_families, memory, modules, packed_folders
from tokkit.pipeline.decoder_families import DecoderSpec
from tokkit.pipeline.decoder_weights import DecoderWeights
from tokkit.pipeline.packed_folders import PackedFolder, PackedWeights
from tokkit.pipeline.text_generator import TextGenerator
from tokkit.tokenizer import Tokenizer

PICTURES = ("<image_soft_token>",)
"""Tokens without a row in Gemma's text models; a text that contains one is an error."""


def load(
    folder: Path, config: Mapping[str, Any], dtype: str, max_length: int | None, adapter: Path | None = None,
    stored: PackedFolder | None = None,
) -> TextGenerator:  # fmt: skip
    """Return the generator of a folder whose config.json holds `config`, with matrices packed as `dtype`.

    `stored` are the packed matrices of a folder written by `quantize`.
    """
    spec, eos_ids = read_spec(folder, config, dtype, max_length)
    weights: DecoderWeights | PackedWeights
    if stored is None:
        memory.check_model(spec.config, files.show(folder))
        tensors: Mapping[str, Tensor] = read_model(folder)
        if adapter is not None:
            from tokkit.pipeline import adapters

            tensors = adapters.merged(read_model(folder), adapter)
        weights = DecoderWeights(tensors, spec, files.show(folder))
    else:
        weights = stored.part()
    tokenizer = read_tokenizer(folder, spec)
    with packed_folders.fitting(stored):
        decoder = TextDecoder(spec.config, weights)
    weights.release()
    again = functools.partial(load, Path(os.path.abspath(folder)), dict(config), dtype, max_length, adapter, stored)
    return TextGenerator(folder, tokenizer, decoder, spec, eos_ids=eos_ids, reload=again)


def read_spec(
    folder: Path, config: Mapping[str, Any], dtype: str, max_length: int | None = None
) -> tuple[DecoderSpec, list[int]]:
    """Return the specification of the model in a folder, and the ids that end its texts."""
    where = files.show(folder / "config.json")
    try:
        spec = decoder_families.read(config, dtype)
        if not spec.config.layers.causal:
            raise FormatError("its attention is not causal, so it computes vectors and cannot generate text")
        eos_ids = eos_ids_of(folder, config)
    except FormatError as error:
        raise FormatError(f"{where}: {error}") from None
    return limited(spec, max_length), eos_ids


def limited(spec: DecoderSpec, max_length: int | None) -> DecoderSpec:
    """Return a model limited to `max_length` tokens, if given; OptionError if that is more than its positions."""
    if max_length is None:
        return spec
    if isinstance(max_length, bool) or not isinstance(max_length, int) or not 1 <= max_length <= spec.max_length:
        raise OptionError(f"max_length is {max_length!r}; the model has positions for 1 to {spec.max_length} tokens")
    return replace(spec, max_length=max_length)


def read_tokenizer(folder: Path, spec: DecoderSpec) -> Tokenizer:
    """Return the tokenizer of a folder; FormatError if it does not fit the model."""
    return fitting(loading.load(folder), spec, files.show(folder))


def fitting(tokenizer: Tokenizer, spec: DecoderSpec, where: str) -> Tokenizer:
    """Return a tokenizer; FormatError if it has more ids than the table of tokens has rows."""
    rows = spec.config.vocab_size
    if needs_rows(tokenizer, rows):
        raise FormatError(f"{where}: the tokenizer has {tokenizer.n_ids} ids, and the table of tokens has {rows} rows")
    return tokenizer


def needs_rows(tokenizer: Tokenizer, rows: int) -> bool:
    """Return whether a table has fewer rows than the tokenizer needs, tokens in PICTURES not counted."""
    added = tokenizer.definition.added_vocab
    return tokenizer.n_ids > rows + sum(added.get(name, -1) >= rows for name in PICTURES)


def eos_ids_of(folder: Path, config: Mapping[str, Any]) -> list[int]:
    """Return the ids that end a text, from generation_config.json, or else from config.json."""
    stated = modules.read_json(folder / "generation_config.json", {}).get("eos_token_id", config.get("eos_token_id"))
    listed = [] if stated is None else stated if isinstance(stated, list) else [stated]
    if not all(isinstance(id_, int) and not isinstance(id_, bool) and id_ >= 0 for id_ in listed):
        raise FormatError(f"eos_token_id: {brief(stated)}; it must be an id or a list of ids")
    return list(listed)
