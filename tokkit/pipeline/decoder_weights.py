"""Finds a decoder's tensors in a file by their names, checks them, and splits fused ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import FormatError
from tokkit.files.gguf_tensors import BlockTensor
from tokkit.files.safetensors import Tensor
from tokkit.pipeline.decoder_families import DecoderSpec
from tokkit.pipeline.weights import RELEASED_BYTES, checked, release

BUFFERS = r"(?:.*\.)?(?:attn\.bias|attn\.masked_bias|attention\.bias|attention\.masked_bias|rotary_emb\.inv_freq)"
"""Tensors of old files with masks and angles, which follow from the configuration."""
OTHERS = r"(?:model\.)?(?:vision_tower|multi_modal_projector|vision)\."
"""Further tensors in files of models that read images."""


class DecoderWeights(Mapping[str, NDArray[Any]]):
    """The tensors of a decoder by our names: float32 when requested, except the table of tokens, which stays as stored.

    Every name and shape is checked first. Biases are optional; a missing one is not among the names. `by` names the
    source of the expected shapes.
    """

    def __init__(
        self, tensors: Mapping[str, Tensor | BlockTensor], spec: DecoderSpec, where: str, by: str = "config.json"
    ) -> None:
        self._tensors, self.spec, self._where, self._by, self._handed = tensors, spec, where, by, 0
        self._prefix = next((p for p in spec.family.prefixes if any(n.startswith(p) for n in tensors)), "")
        self._shapes = dict(self._all_shapes())
        self._found = {ours: self._tensor(ours) for ours in self._shapes}
        used = {id(tensor) for tensor in self._found.values()}
        for name, tensor in tensors.items():
            if id(tensor) in used or self.known(name):
                continue
            raise FormatError(
                f"{where}: the tensor {name!r} of shape {tensor.shape} does not belong to this decoder, whose "
                f"configuration has {spec.config.layers.n_layers} layers"
            )

    def known(self, name: str) -> bool:
        """Return whether an unused tensor is allowed in the file of the decoder."""
        if re.fullmatch(BUFFERS, name) or re.match(OTHERS, name):
            return True
        # A copy of the table of tokens, or a head if only states are needed.
        config = self.spec.config
        return (config.tied or not config.head) and name.endswith(f"{self.spec.family.head}.weight")

    def _all_shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        for ours, shape in self.spec.config.shapes().items():
            yield ours, shape
            bias = ours.removesuffix("weight") + "bias"
            if len(shape) == 2 and ours not in ("word.weight", "position.weight") and self._name(bias) in self._tensors:
                yield bias, shape[:1]

    def _name(self, ours: str) -> str:
        name, _ = self.spec.source(ours)
        # The head has no prefix: it is not part of the base model.
        return name if ours.startswith("head.") else self._prefix + name

    def _tensor(self, ours: str) -> Tensor | BlockTensor:
        name, shape = self._name(ours), self._shapes[ours]
        part = self.spec.source(ours)[1]
        if part:
            shape = (sum(self._parts(part).values()), *shape[1:])
        if self._transposed(ours):
            shape = shape[::-1]
        tensor = self._tensors.get(name)
        if tensor is None and ours.startswith("head."):
            tensor = self._tensors.get(self._prefix + name)
        return checked(tensor, name, shape, self._where, self._by)

    def _transposed(self, ours: str) -> bool:
        return self.spec.family.transposed and ours.startswith("layers.") and len(self._shapes[ours]) == 2

    def _parts(self, part: str) -> dict[str, int]:
        """Return part → number of rows, for all parts of the same fused tensor."""
        c = self.spec.config.layers
        if part in ("gate", "up"):
            names = ("up", "gate") if self.spec.family.up_first else ("gate", "up")
            return dict.fromkeys(names, c.hidden)
        return {"q": c.n_heads * c.head_size, "k": c.kv_heads * c.head_size, "v": c.kv_heads * c.head_size}

    def __getitem__(self, ours: str) -> NDArray[Any]:
        tensor, spec = self._found[ours], self.spec
        if ours == "word.weight":  # read row by row
            if isinstance(tensor, BlockTensor):
                return tensor  # type: ignore[return-value]  # which `looked_up` reads
            return tensor.float32() if tensor.dtype == "F64" else tensor.data
        self.count(tensor.data.nbytes)
        part = spec.source(ours)[1]
        if part and not (spec.family.by_heads or self._transposed(ours)):
            tensor, part = self.stored(ours), ""
        made: NDArray[Any] = tensor.float32()
        if self._transposed(ours):
            made = made.T
        if part:
            made = self._taken(made, part)
        if spec.family.norm_offset and "norm." in ours:
            made = made + np.float32(spec.family.norm_offset)
        return np.ascontiguousarray(made)

    def stored(self, ours: str) -> Tensor | BlockTensor:
        """Return the tensor of a weight as stored in the file; of a fused tensor only the rows of this weight."""
        tensor, part = self._found[ours], self.spec.source(ours)[1]
        if not part:
            return tensor
        first, end = self._ends(part)
        if isinstance(tensor, BlockTensor):
            return tensor.between(first, end)
        return tensor._replace(shape=(end - first, *tensor.shape[1:]), data=tensor.data[first:end])

    @property
    def prefix(self) -> str:
        """The beginning of the names in the file."""
        return self._prefix

    def by_names(self, prefix: str) -> dict[str, Tensor | BlockTensor]:
        """Return the tensors as they are stored, by their names in a file in which all begin with this prefix."""
        return {prefix + self.spec.source(ours)[0]: tensor for ours, tensor in self._found.items()}

    def count(self, n_bytes: int) -> None:
        """Count the bytes read of the mapped files, and release their pages when there are enough."""
        self._handed += n_bytes
        if self._handed > RELEASED_BYTES:
            self.release()

    def _taken(self, joined: NDArray[Any], part: str) -> NDArray[Any]:
        parts = self._parts(part)
        if self.spec.family.by_heads:
            size = self.spec.config.layers.head_size
            by_heads = joined.reshape(-1, len(parts), size, *joined.shape[1:])
            return by_heads[:, list(parts).index(part)].reshape(-1, *joined.shape[1:])
        first, end = self._ends(part)
        return joined[first:end]

    def _ends(self, part: str) -> tuple[int, int]:
        """Return the rows of a part of a fused tensor: the first one, and the one after the last."""
        parts = self._parts(part)
        first = sum(rows for _, rows in list(parts.items())[: list(parts).index(part)])
        return first, first + parts[part]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def release(self) -> None:
        """Release the pages of the mapped files; later reads load them from the file again."""
        self._handed = 0
        release(self._tensors.values())
