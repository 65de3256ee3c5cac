"""Loads the causal language model and the tokenizer in a GGUF file as a `TextGenerator`."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tokkit.errors import FormatError, TokkitError
from tokkit.files import files, gguf_file
from tokkit.files.gguf_file import MAGIC
from tokkit.files.gguf_tensors import BlockTensor, read_gguf
from tokkit.files.safetensors import Tensor
from tokkit.files.strict_json import Section
from tokkit.formats import gguf, gguf_overrides, gguf_vocabulary
from tokkit.formats.gguf_vocabulary import Vocabulary
from tokkit.nn.config import TransformerConfig
from tokkit.nn.decoder_config import DecoderConfig, ExpertsConfig
from tokkit.nn.rope import RopeConfig
from tokkit.nn.text_decoder import TextDecoder
from tokkit.pipeline import decoder_families, generator_loading, gguf_experts, gguf_families, memory
from tokkit.pipeline.decoder_families import DecoderSpec
from tokkit.pipeline.decoder_weights import DecoderWeights
from tokkit.pipeline.gguf_packing import BlockWeights
from tokkit.pipeline.packed_folders import VOCABULARY, PackedFolder
from tokkit.pipeline.text_generator import TextGenerator
from tokkit.tokenizer import Tokenizer

ENDS = ("eos", "eot", "eom")
"""Keys of the tokens that end a text, a turn, or a message."""
DERIVED = ("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight", "attn_rot_embd.weight")
"""Tensors that are not weights: angles, which follow from the configuration."""


def is_gguf(path: Path) -> bool:
    """Return whether a path is a file that begins like a GGUF file, or has its ending."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return path.suffix.lower() == ".gguf" or file.read(4) == MAGIC


def load(path: Path, dtype: str | None, max_length: int | None) -> TextGenerator:
    """Return the generator of a file, with matrices packed as `dtype`, or as in the file."""
    made = read(path, dtype, max_length)
    again = functools.partial(load, Path(os.path.abspath(path)), dtype, max_length)
    return TextGenerator(path, made.tokenizer, made.decoder, made.spec, eos_ids=made.eos_ids, reload=again)


@dataclass(frozen=True, slots=True)
class GGUFModel:
    """The contents of a file: the tokenizer, the model with its weights, and the ids that end a text."""

    tokenizer: Tokenizer
    spec: DecoderSpec
    weights: DecoderWeights
    decoder: TextDecoder
    eos_ids: set[int]


def read(path: Path, dtype: str | None, max_length: int | None = None) -> GGUFModel:
    """Return the model of a file, with matrices packed as `dtype`, or as in the file."""
    where = files.show(path)
    contents = read_gguf(path)
    tensors = gguf_experts.apart(contents.tensors)
    if not tensors:
        raise FormatError(f"{where}: the file has no tensors, only a vocabulary")
    try:
        spec = gguf_families.read(contents.keys, tensors, dtype or "float32")
        vocabulary = gguf_vocabulary.read(contents.keys)
        tokenizer = Tokenizer(gguf.definition(vocabulary))
    except FormatError as error:
        raise FormatError(f"{where}: {error}") from None
    spec = generator_loading.limited(spec, max_length)
    generator_loading.fitting(tokenizer, spec, where)
    named = {name: tensor for name, tensor in tensors.items() if not name.endswith(DERIVED)}
    if dtype is None:
        memory.check_weights(_bytes(named), "in the file's blocks", where)
    else:
        memory.check_model(spec.config, where)
    weights = (DecoderWeights if dtype else BlockWeights)(named, spec, where, by="the metadata of the file")
    try:
        decoder = TextDecoder(spec.config, weights)
    except FormatError as error:
        raise FormatError(f"{where}: {error}") from None
    weights.release()
    return GGUFModel(tokenizer, spec, weights, decoder, _eos_ids(vocabulary))


def load_packed(stored: PackedFolder, max_length: int | None) -> TextGenerator:
    """Return the generator of a folder that `quantize` made of a GGUF file: its keys contain the tokenizer."""
    path = stored.folder / VOCABULARY
    with files.naming(path):
        with files.open_regular(path, "a GGUF file") as file:
            vocabulary = gguf_vocabulary.read(gguf_file.read(file, lambda name: True))
        tokenizer = Tokenizer(gguf.definition(vocabulary))
    with stored.fitting():
        config = config_of(DecoderConfig, stored.model.get("config"), "model.config")
        longest = Section(stored.model, "model").take("max_length", int)
    family = decoder_families.LLAMA  # any family: no tensor is read by its names
    spec = generator_loading.limited(DecoderSpec(family=family, config=config, max_length=longest), max_length)
    generator_loading.fitting(tokenizer, spec, stored.where)
    with stored.fitting():
        decoder = TextDecoder(spec.config, stored.part())
    again = functools.partial(load_packed, stored, max_length)
    return TextGenerator(path, tokenizer, decoder, spec, eos_ids=_eos_ids(vocabulary), reload=again)


def config_of(cls: type[Any], value: object, path: str) -> Any:
    """Return a configuration of `tokkit.nn` from the JSON of its `dataclasses.asdict`."""
    known = {each.name for each in fields(cls)}
    if not isinstance(value, dict) or value.keys() - known:
        raise FormatError(f"{path}: it must be an object with the keys {', '.join(sorted(known))}")
    made: dict[str, Any] = {}
    for name, one in value.items():
        nested = NESTED.get(name)
        if nested is not None and one is not None:
            one = config_of(nested, one, f"{path}.{name}")
        made[name] = tuple(one) if isinstance(one, list) else one
    try:
        return cls(**made)
    except (TypeError, TokkitError) as error:
        raise FormatError(f"{path}: {error}") from None


NESTED: dict[str, type[Any]] = {
    "layers": TransformerConfig, "rope": RopeConfig, "local_rope": RopeConfig, "experts": ExpertsConfig,
}  # fmt: skip
"""Fields that are configurations themselves."""


def _bytes(tensors: Mapping[str, Tensor | BlockTensor]) -> int:
    """Return the bytes of the packed matrices; a table of tokens that is not the head too stays in the file."""
    table = {"token_embd.weight"} if "output.weight" in tensors else set()
    return sum(tensor.data.nbytes for name, tensor in tensors.items() if name not in table)


def _eos_ids(vocabulary: Vocabulary) -> set[int]:
    named = {vocabulary.ids[name] for name in ENDS if name in vocabulary.ids}
    return named | gguf_overrides.ends(vocabulary)
