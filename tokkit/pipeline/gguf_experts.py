"""The tensors of experts in a GGUF file, where all experts of a layer are one tensor, split for the decoder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tokkit.files.gguf_tensors import BlockTensor
from tokkit.files.safetensors import Tensor

AnyTensor = Tensor | BlockTensor
LAYER = {
    "router": "ffn_gate_inp", "shared_gate": "ffn_gate_inp_shexp",
    **{f"experts.{{j}}.{part}": f"ffn_{part}.{{j}}" for part in ("gate", "up", "down")},
    **{f"shared.{part}": f"ffn_{part}_shexp" for part in ("gate", "up", "down")},
}  # fmt: skip
"""Our name → the name of a tensor; names with the number of an expert occur in old files, one tensor per expert."""
SIZES = {
    "n": "expert_count", "top": "expert_used_count", "hidden_dim": "expert_feed_forward_length",
    "shared_dim": "expert_shared_feed_forward_length",
}  # fmt: skip
"""The name of a size in `Family.experts` → the key in the file, without the prefix of the architecture."""
JOINED, SHARED_GATE = "_exps.weight", "ffn_gate_inp_shexp.weight"


def apart(tensors: Mapping[str, AnyTensor]) -> dict[str, AnyTensor]:
    """Return the tensors of a file, split by experts, with the gate of the shared expert as a matrix of one row."""
    made: dict[str, AnyTensor] = {}
    for name, tensor in tensors.items():
        if name.endswith(JOINED) and len(tensor.shape) == 3:
            stem = name.removesuffix(JOINED)
            made |= {f"{stem}.{j}.weight": _expert(tensor, j) for j in range(tensor.shape[0])}
        elif name.endswith(SHARED_GATE) and len(tensor.shape) == 1 and isinstance(tensor, Tensor):
            made[name] = tensor._replace(shape=(1, *tensor.shape), data=tensor.data[None])
        else:
            made[name] = tensor
    return made


def _expert(tensor: AnyTensor, j: int) -> AnyTensor:
    """Return the matrix of one expert, a view of the same bytes."""
    _, rows, columns = tensor.shape
    if isinstance(tensor, BlockTensor):
        return replace(tensor, shape=(rows, columns), data=tensor.data[j * rows : (j + 1) * rows])
    return tensor._replace(shape=(rows, columns), data=tensor.data[j])
