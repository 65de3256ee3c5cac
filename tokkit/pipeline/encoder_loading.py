"""Reads the encoder of a folder: one with encoder layers, such as BERT, or one with decoder layers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tokkit.errors import FormatError
from tokkit.files import files
from tokkit.files.safetensors import Tensor
from tokkit.nn.encoder import TextEncoder
from tokkit.nn.layered_encoder import LayeredEncoder
from tokkit.nn.text_decoder import TextDecoder
from tokkit.pipeline import (
    decoder_families,
    families,
    layered_families,
    layered_weights,
    memory,
    seq2seq_families,
    task_heads,
    weights,
)
from tokkit.pipeline.families import EncoderSpec
from tokkit.pipeline.layered_families import LayeredSpec
from tokkit.pipeline.layered_weights import LayeredWeights
from tokkit.pipeline.modules import Modules
from tokkit.pipeline.packed_folders import PackedFolder, PackedWeights
from tokkit.pipeline.weights import Weights

AnySpec = EncoderSpec | LayeredSpec
AnyEncoder = TextEncoder | LayeredEncoder
KNOWN = (
    *families.FAMILIES, *layered_families.FAMILIES, *decoder_families.FAMILIES, *seq2seq_families.FAMILIES,
)  # fmt: skip
"""model_type of all supported models, for error messages."""


def makes_vectors(config: Mapping[str, Any], chain: Modules) -> bool:
    """Return whether a decoder produces vectors or scores instead of text.

    Its folder states a pooling, its attention is not causal, or it has a classification head.
    """
    if task_heads.task_of(config) == "ForSequenceClassification" and not chain.others:
        return True
    sees_all = config.get("is_causal") is False or bool(config.get("use_bidirectional_attention"))
    return bool(chain.poolings) and (sees_all or (chain.root / "modules.json").exists())


def read_spec(home: Path, config: Mapping[str, Any], dtype: str) -> AnySpec:
    """Return the specification of the encoder in a folder; FormatError names the file and the invalid key."""
    where, model_type = files.show(home / "config.json"), config.get("model_type")
    try:
        if model_type in layered_families.FAMILIES or model_type in decoder_families.FAMILIES:
            return layered_families.read(config, dtype)
        return families.read(config, dtype, known=KNOWN)
    except FormatError as error:
        raise FormatError(str(error) if str(error).startswith(where) else f"{where}: {error}") from None


def read_encoder(tensors: Mapping[str, Tensor], spec: AnySpec, where: str) -> tuple[AnyEncoder, AnyWeights]:
    """Return the encoder made of the tensors of files, and its weights, which may include a head for masked tokens."""
    if isinstance(spec, EncoderSpec):
        plain = Weights(tensors, spec, where)
        encoder = text_encoder(spec, plain)
        plain.release()
        return encoder, plain
    memory.check_model(spec.decoder.config, where)
    weights = LayeredWeights(tensors, spec, where)
    layers = TextDecoder(spec.decoder.config, weights)
    weights.release()
    return LayeredEncoder(layers, max_length=spec.decoder.max_length), weights


def text_encoder(spec: EncoderSpec, weights: Mapping[str, Any]) -> TextEncoder:
    """Return the encoder of a specification with these weights."""
    return TextEncoder(spec.config, weights, position_offset=spec.position_offset, padding_idx=spec.padding_idx)


class PackedEncoderWeights(PackedWeights):
    """The weights of an encoder in a folder written by `quantize`; the head for masked tokens is not quantized."""

    def __init__(self, stored: PackedFolder, spec: AnySpec) -> None:
        part = stored.part()
        super().__init__(part.others, part.ready, stored.where)
        self._spec, self._heads = spec, stored.heads()

    @property
    def has_head(self) -> bool:
        """Whether the folder has a head for masked tokens."""
        return has_masked_head(self._heads, self._spec)

    def head(self) -> dict[str, NDArray[Any]]:
        """Return the tensors of the head for masked tokens; FormatError if one is missing or has another shape."""
        return masked_head(self._heads, self._spec, self._where)


AnyWeights = Weights | LayeredWeights | PackedEncoderWeights


def has_masked_head(tensors: Mapping[str, Tensor], spec: AnySpec) -> bool:
    """Return whether tensors of files have a head for masked tokens."""
    if isinstance(spec, EncoderSpec):
        return weights.has_masked_head(tensors, spec)
    return layered_weights.has_masked_head(tensors, spec)


def masked_head(tensors: Mapping[str, Tensor], spec: AnySpec, where: str) -> dict[str, NDArray[Any]]:
    """Return the tensors of the head for masked tokens; FormatError if one is missing or has another shape."""
    if isinstance(spec, EncoderSpec):
        return weights.masked_head(tensors, spec, where)
    return layered_weights.masked_head(tensors, spec, where)


def read_packed(stored: PackedFolder, spec: AnySpec) -> tuple[AnyEncoder, AnyWeights]:
    """Return the encoder of a folder written by `quantize`, and its weights."""
    made = PackedEncoderWeights(stored, spec)
    with stored.fitting():
        if not isinstance(spec, EncoderSpec):
            layers = TextDecoder(spec.decoder.config, made)
            return LayeredEncoder(layers, max_length=spec.decoder.max_length), made
        for name, shape in spec.shapes().items():
            if name.startswith("embeddings.") and made[name].shape != shape:
                raise FormatError(f"the tensor {name!r} has shape {made[name].shape}; config.json requires {shape}")
        return text_encoder(spec, made), made
