"""Reads the encoder of a folder: one with its own layers, such as BERT, or one with those of a decoder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokkit.errors import FormatError
from tokkit.formats import files
from tokkit.formats.safetensors import Tensor
from tokkit.nn.encoder import TextEncoder
from tokkit.nn.layered_encoder import LayeredEncoder
from tokkit.nn.text_decoder import TextDecoder
from tokkit.pipeline import decoder_families, families, layered_families, memory
from tokkit.pipeline.families import EncoderSpec
from tokkit.pipeline.layered_families import LayeredSpec
from tokkit.pipeline.layered_weights import LayeredWeights
from tokkit.pipeline.modules import Modules
from tokkit.pipeline.weights import Weights

AnySpec = EncoderSpec | LayeredSpec
AnyWeights = Weights | LayeredWeights
AnyEncoder = TextEncoder | LayeredEncoder
KNOWN = (*families.FAMILIES, *layered_families.FAMILIES)


def makes_vectors(config: Mapping[str, Any], chain: Modules) -> bool:
    """Return whether a decoder is there to make vectors: it says how to pool them, or its tokens see later ones."""
    sees_all = config.get("is_causal") is False or bool(config.get("use_bidirectional_attention"))
    return bool(chain.poolings) and (sees_all or (chain.root / "modules.json").exists())


def read_spec(home: Path, config: Mapping[str, Any], dtype: str) -> AnySpec:
    """Return what the encoder of a folder is; FormatError names the file, and the key that does not fit."""
    where, model_type = files.show(home / "config.json"), config.get("model_type")
    try:
        if model_type in layered_families.FAMILIES or model_type in decoder_families.FAMILIES:
            return layered_families.read(config, dtype)
        return families.read(config, dtype, known=KNOWN)
    except FormatError as error:
        raise FormatError(str(error) if str(error).startswith(where) else f"{where}: {error}") from None


def read_encoder(tensors: Mapping[str, Tensor], spec: AnySpec, where: str) -> tuple[AnyEncoder, AnyWeights]:
    """Return the encoder that tensors of files make, and its weights, among which may be a head for masked tokens."""
    if isinstance(spec, EncoderSpec):
        plain = Weights(tensors, spec, where)
        encoder = TextEncoder(spec.config, plain, position_offset=spec.position_offset, padding_idx=spec.padding_idx)
        plain.release()
        return encoder, plain
    memory.check_model(spec.decoder.config, where)
    weights = LayeredWeights(tensors, spec, where)
    layers = TextDecoder(spec.decoder.config, weights)
    weights.release()
    return LayeredEncoder(layers, max_length=spec.decoder.max_length), weights
