"""Finds an encoder's tensors in a file by their names, and checks them against the configuration."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import FormatError
from tokkit.files.gguf_tensors import BlockTensor
from tokkit.files.safetensors import FLOATS, Tensor
from tokkit.pipeline.families import EncoderSpec, names

AnyTensor = TypeVar("AnyTensor", bound=Tensor | BlockTensor)
OLD_NAMES = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
RELEASED_BYTES = 8 << 20
"""Bytes read of the mapped files before their pages are released, because packed copies replace them."""


class Weights(Mapping[str, NDArray[Any]]):
    """The tensors of an encoder by our names: float32 when requested, except the table of words, which stays as stored.

    Every name and shape is checked first. Reading a mapped tensor loads its pages into memory; they are released after
    every RELEASED_BYTES, and by `release`.
    """

    def __init__(self, tensors: Mapping[str, Tensor], spec: EncoderSpec, where: str) -> None:
        self._where, self._spec, self._handed = where, spec, 0
        self._tensors = tensors
        prefix = spec.family.prefix
        self._prefix = prefix if any(name.startswith(prefix) for name in tensors) else ""
        self._found = {ours: self._checked(name, shape) for ours, name, shape in names(spec)}
        self._names = {id(tensor): name for name, tensor in tensors.items()}
        used = {id(tensor) for tensor in self._found.values()}
        for name, tensor in tensors.items():
            if id(tensor) not in used and not spec.known(name):
                raise FormatError(
                    f"{where}: the tensor {name!r} of shape {tensor.shape} does not belong to this encoder, whose "
                    f"configuration has {spec.config.n_layers} layers"
                )

    def _checked(self, name: str, shape: tuple[int, ...]) -> Tensor:
        return named(self._tensors, self._prefix + name, shape, self._where)

    def __getitem__(self, name: str) -> NDArray[Any]:
        tensor = self._found[name]
        if name == "embeddings.word.weight":  # read row by row
            return tensor.float32() if tensor.dtype == "F64" else tensor.data
        self._handed += tensor.data.nbytes
        if self._handed > RELEASED_BYTES:
            self.release()
        return tensor.float32()

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def file_names(self) -> dict[str, str]:
        """Return our name → the name in the file."""
        return {ours: self._names[id(tensor)] for ours, tensor in self._found.items()}

    @property
    def has_head(self) -> bool:
        """Whether the file has a head for masked tokens."""
        return has_masked_head(self._tensors, self._spec)

    def head(self) -> dict[str, NDArray[Any]]:
        """Return the tensors of the head for masked tokens; FormatError if one is missing or has another shape."""
        return masked_head(self._tensors, self._spec, self._where)

    def release(self) -> None:
        """Release the pages of the mapped files; later reads load them from the file again."""
        self._handed = 0
        release(self._tensors.values())


def named(tensors: Mapping[str, Tensor], name: str, shape: tuple[int, ...], where: str) -> Tensor:
    """Return a checked tensor by its name, or by its name in old files."""
    tensor = tensors.get(name)
    for new, old in OLD_NAMES.items():
        if tensor is None and name.endswith(new):
            tensor = tensors.get(name.removesuffix(new) + old)
    return checked(tensor, name, shape, where)


def has_masked_head(tensors: Mapping[str, Tensor], spec: EncoderSpec) -> bool:
    """Return whether a file has a head for masked tokens."""
    return spec.head_name("dense.weight") in tensors


def masked_head(tensors: Mapping[str, Tensor], spec: EncoderSpec, where: str) -> dict[str, NDArray[Any]]:
    """Return the tensors of the head for masked tokens; FormatError if one is missing or has another shape."""
    found: dict[str, NDArray[Any]] = {}
    for ours, shape in spec.head_shapes().items():
        name = spec.head_name(ours)
        if ours == "bias" and name not in tensors:
            # In files of some versions the bias exists only under the decoder's name.
            name = name.removesuffix("bias") + "decoder.bias"
        found[ours] = np.array(named(tensors, name, shape, where).float32())
    decoder = spec.head_name("decoder.weight")
    if decoder in tensors:  # a separate matrix instead of the table of words
        found["decoder.weight"] = named(tensors, decoder, (spec.vocab_size, spec.embedding_dim), where).data
    return found


def checked(
    tensor: AnyTensor | None, name: str, shape: tuple[int, ...], where: str, by: str = "config.json"
) -> AnyTensor:
    """Return a tensor of a file, checked for its shape, stated in `by`, and a floating-point dtype.

    Raises FormatError otherwise.
    """
    if tensor is None:
        raise FormatError(f"{where}: the tensor {name!r} is missing; {by} requires it with shape {shape}")
    if tensor.shape != shape:
        raise FormatError(f"{where}: the tensor {name!r} has shape {tensor.shape}; {by} requires {shape}")
    if not isinstance(tensor, BlockTensor) and tensor.dtype not in FLOATS:
        raise FormatError(
            f"{where}: the tensor {name!r} has dtype {tensor.dtype}; it must be one of {', '.join(FLOATS)}"
        )
    return tensor


def release(tensors: Iterable[Tensor | BlockTensor]) -> None:
    """Release the loaded pages of mapped files; they are loaded again on access."""
    for mapped in {id(m): m for m in map(_map_of, tensors) if m is not None}.values():
        if hasattr(mapped, "madvise"):
            mapped.madvise(mmap.MADV_DONTNEED)


def _map_of(tensor: Tensor | BlockTensor) -> mmap.mmap | None:
    under: Any = tensor.data
    while under is not None and not isinstance(under, mmap.mmap):
        under = under.obj if isinstance(under, memoryview) else getattr(under, "base", None)
    return under
