"""Packs the weights of a layer with a mixture of experts."""

from __future__ import annotations

from typing import Any

from tokkit._core.nn.linear import PackedExperts
from tokkit.nn.decoder_config import DecoderConfig
from tokkit.nn.matrices import Matrices


def packed(config: DecoderConfig, matrices: Matrices, layer: int) -> PackedExperts:
    """Return the experts of a layer; each is read from the weights when it is packed.

    The router stays float32, because small errors in it would choose other experts.
    """
    experts = config.experts
    if experts is None:
        raise ValueError("the configuration has no experts")
    shapes, prefix = config.matrices(layer), f"layers.{layer}."

    def linear(name: str, *parts: str, dtype: str | None = None) -> Any:
        return matrices.pack(prefix + name, {prefix + part: shapes[f"{part}.weight"] for part in parts}, dtype=dtype)

    def pair(name: str) -> tuple[Any, Any]:
        up = (f"{name}.gate", f"{name}.up") if config.gated else (f"{name}.up",)
        return linear(f"{name}.up", *up), linear(f"{name}.down", f"{name}.down")

    shared = pair("shared") if experts.shared_dim else None
    return PackedExperts(
        linear("router", "router", dtype="float32"), [pair(f"experts.{i}") for i in range(experts.n)],
        top=experts.top, gated=config.gated, renormalize=experts.renormalize, shared=shared,
        shared_gate=linear("shared_gate", "shared_gate", dtype="float32") if shared else None,
    )  # fmt: skip
