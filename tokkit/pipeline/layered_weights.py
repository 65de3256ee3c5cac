"""Finds the tensors of an encoder with decoder layers, and of its head for masked tokens, in a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit.files.safetensors import Tensor
from tokkit.pipeline.decoder_weights import DecoderWeights
from tokkit.pipeline.families import OTHERS
from tokkit.pipeline.layered_families import LayeredSpec
from tokkit.pipeline.weights import checked

HEADS = r"(?:head\.|decoder\.|score\.|dense\.)"
"""Task heads that other encoders do not have."""


class LayeredWeights(DecoderWeights):
    """The tensors of an encoder by our names; the file may also contain task heads."""

    def __init__(self, tensors: Mapping[str, Tensor], spec: LayeredSpec, where: str) -> None:
        self._encoder, self._file = spec, tensors
        super().__init__(tensors, spec.decoder, where)

    def known(self, name: str) -> bool:
        """Return whether an unused tensor is allowed in the file of the encoder."""
        bare = name.removeprefix(self._prefix)
        return re.match(OTHERS, bare) is not None or re.match(HEADS, name) is not None or super().known(name)

    @property
    def has_head(self) -> bool:
        """Whether the file has a head for masked tokens."""
        return has_masked_head(self._file, self._encoder)

    def head(self) -> dict[str, NDArray[Any]]:
        """Return the tensors of the head for masked tokens; FormatError if one is missing or has another shape."""
        return masked_head(self._file, self._encoder, self._where)


def has_masked_head(tensors: Mapping[str, Tensor], spec: LayeredSpec) -> bool:
    """Return whether a file has a head for masked tokens."""
    return bool(spec.head) and f"{spec.head['dense']}.weight" in tensors


def masked_head(tensors: Mapping[str, Tensor], spec: LayeredSpec, where: str) -> dict[str, NDArray[Any]]:
    """Return the tensors of the head for masked tokens; FormatError if one is missing or has another shape."""

    def taken(name: str, shape: tuple[int, ...]) -> Tensor:
        return checked(tensors.get(name), name, shape, where)

    names, dim, rows = spec.head, spec.config.dim, spec.vocab_size
    shapes = {"dense.weight": (dim, dim), "dense.bias": (dim,), "norm.weight": (dim,), "norm.bias": (dim,)}
    made: dict[str, NDArray[Any]] = {"norm.bias": np.zeros(dim, np.float32), "bias": np.zeros(rows, np.float32)}
    for ours, shape in shapes.items():
        stem, _, part = ours.partition(".")
        name = f"{names[stem]}.{part}"
        if part == "weight" or name in tensors:
            made[ours] = np.array(taken(name, shape).float32())
    if names["bias"] in tensors:
        made["bias"] = np.array(taken(names["bias"], (rows,)).float32())
    decoder = f"{names['decoder']}.weight"
    if decoder in tensors:  # a separate matrix instead of the table of words
        made["decoder.weight"] = taken(decoder, (rows, dim)).data
    return made
