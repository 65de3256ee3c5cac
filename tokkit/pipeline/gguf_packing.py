"""Packs the matrices of a GGUF file in the precision of the file, without rounding the codes of blocks.

A matrix in blocks becomes one of two kinds with a scale for every 32 inputs, and a minimum if its type has minima:

- Q4_0, Q4_1 and Q4_K become "int4"; Q5_0, Q5_1, Q5_K and Q8_0 "int8-weight-only": with the same codes. Scales and
minima are float16, as in most types; those of Q4_K and Q5_K, products of a float16 and 6 bits, are rounded to float16;
- Q6_K, whose groups have 16 weights, becomes "int8-weight-only" with new codes: 8 bits for the 6 bits of two groups.

Matrices of one product, such as queries, keys and values, get the same kind: that of the widest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tokkit._core.nn.linear import LargeMemory, PackedLinear
from tokkit.errors import FormatError
from tokkit.files.gguf_blocks import Groups, halves
from tokkit.files.gguf_tensors import BlockTensor
from tokkit.files.safetensors import Tensor
from tokkit.nn.arrays import Floats
from tokkit.nn.decoder_config import DecoderConfig
from tokkit.pipeline.decoder_weights import DecoderWeights

Halves = NDArray[np.float16]
Parts = tuple[NDArray[np.generic], Halves, Halves | None]
"""Codes (n, groups, …), scales and minima (n, groups), for `PackedLinear.of_blocks`."""
GROUP = 32
AS_THEY_ARE = {"Q4_0": "int4", "Q8_0": "int8-weight-only"}
"""Types whose blocks are used in place: a float16, and the codes in the order of the kind."""


class BlockWeights(DecoderWeights):
    """The weights of a GGUF file, like `DecoderWeights`, with the packed matrices in `ready` for `TextDecoder`."""

    @property
    def ready(self) -> Mapping[str, PackedLinear]:
        """The packed matrices of all products by the decoder's names, created on access."""
        return _Ready(self)

    def matrix(self, names: Sequence[str], memory: LargeMemory) -> PackedLinear:
        """Return matrices stacked into one, with their biases."""
        parts = [self.stored(f"{name}.weight") for name in names]
        biases = [self.get(f"{name}.bias") for name in names]
        bias = None
        if any(each is not None for each in biases):
            empty = (np.zeros(part.shape[0], dtype=np.float32) for part in parts)
            bias = np.concatenate([zero if own is None else own for zero, own in zip(empty, biases, strict=True)])
        made = packed(parts, bias, memory)
        self.count(sum(part.data.nbytes for part in parts))
        return made


class _Ready(Mapping[str, PackedLinear]):
    def __init__(self, weights: BlockWeights) -> None:
        config = weights.spec.config
        self._weights, self._memory = weights, LargeMemory()
        self._names: dict[str, tuple[str, ...]] = {"head": ("word" if config.tied else "head",)}
        for layer in range(config.layers.n_layers):
            for name, parts in _products(config, layer):
                self._names[f"layers.{layer}.{name}"] = tuple(f"layers.{layer}.{part}" for part in parts)

    def __getitem__(self, name: str) -> PackedLinear:
        return self._weights.matrix(self._names[name], self._memory)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _products(config: DecoderConfig, layer: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the decoder's name of the matrix of each product of a layer, and the weights stacked in it."""
    yield "qkv", ("attention.q", "attention.k", "attention.v")
    yield "o", ("attention.o",)
    experts = config.experts if config.has_experts(layer) else None
    if experts is None:
        yield from (("up", _up(config, "feed_forward")), ("down", ("feed_forward.down",)))
        return
    for name in (*(f"experts.{j}" for j in range(experts.n)), *(("shared",) if experts.shared_dim else ())):
        yield from ((f"{name}.up", _up(config, name)), (f"{name}.down", (f"{name}.down",)))


def _up(config: DecoderConfig, name: str) -> tuple[str, ...]:
    return (f"{name}.gate", f"{name}.up") if config.gated else (f"{name}.up",)


def packed(parts: Sequence[Tensor | BlockTensor], bias: Floats | None, memory: LargeMemory) -> PackedLinear:
    """Return tensors stacked into one matrix of the kind that can hold all of them."""
    blocks = [part for part in parts if isinstance(part, BlockTensor)]
    if len(blocks) < len(parts):
        weight = np.concatenate([part.float32() for part in parts])
        kind = "bfloat16" if all(part.dtype == "BF16" for part in parts) else "float32"
        return PackedLinear(weight, bias, kind, memory=memory)
    kind = "int4" if all(part.type.n_bits == 4 for part in blocks) else "int8-weight-only"
    minima = any(part.type.has_minima for part in blocks)
    return PackedLinear.of_blocks([_taken(part, kind, minima) for part in blocks], kind, bias, memory=memory)


def _taken(part: BlockTensor, kind: str, minima: bool) -> Parts:
    """Return a matrix in groups of 32 with the codes of `kind`, and with minima even if its type has none."""
    rows, groups = part.shape[0], part.shape[1] // GROUP
    if AS_THEY_ARE.get(part.dtype) == kind and not minima:
        whole = part.data.reshape(rows, groups, part.type.n_bytes)
        scales = whole[:, :, :2].view("<f2")[:, :, 0]
        return whole[:, :, 2:].view(np.uint8 if kind == "int4" else np.int8), _finite(scales, part), None
    numbers = np.empty((rows, groups, 16 if kind == "int4" else 32), dtype=np.uint8)
    made = np.zeros((2, rows, groups), dtype=np.float16)
    with np.errstate(over="ignore", invalid="ignore"):  # `_finite` finds it
        for first, end in part.stretches():
            blocks = part.data[first:end].reshape(-1, part.type.n_bytes)
            codes, of_codes, least = (
                halves(part.type, blocks) if kind == "int4" else _groups_of_32(part.type.groups(blocks))
            )
            numbers[first:end] = codes.reshape(end - first, groups, -1).view(np.uint8)
            made[0, first:end] = of_codes.reshape(-1, groups)
            if least is not None:
                made[1, first:end] = least.reshape(-1, groups)
            elif kind == "int4":
                made[1, first:end] = 8 * made[0, first:end]
    _finite(made, part)
    return numbers if kind == "int4" else numbers.view(np.int8), made[0], made[1] if minima else None


def _groups_of_32(taken: Groups) -> tuple[NDArray[np.int8], Floats, Floats | None]:
    """Return codes (groups, 32), scales and minima (groups); groups of 16 are merged, with new codes."""
    if taken.codes.shape[-1] == GROUP:
        minima = None if taken.minima is None else taken.minima.reshape(-1)
        return taken.codes.reshape(-1, GROUP), taken.scales.reshape(-1), minima
    weights = taken.float32().reshape(-1, GROUP)
    scales = (np.abs(weights).max(axis=1) / 127).astype(np.float16).astype(np.float32)
    steps = np.where(scales > 0, scales, 1)
    codes = np.clip(np.rint(weights / steps[:, None]), -127, 127).astype(np.int8)
    return codes, scales, None


def _finite(halves: Halves, part: BlockTensor) -> Halves:
    """Return the scales; FormatError if one of them is NaN, infinite or out of the range of float16."""
    if not np.isfinite(halves).all():
        raise FormatError(f"the tensor {part.name!r} of {part.dtype} has a scale that is NaN or infinite in float16")
    return halves
