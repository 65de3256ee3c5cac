"""Packs the weights of a layer whose feed-forward is made of experts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokkit._core.nn import PackedExperts
from tokkit.nn.arrays import Named, take
from tokkit.nn.decoder_config import DecoderConfig
from tokkit.nn.linear import Linear


def packed(config: DecoderConfig, weights: Mapping[str, Any], layer: int) -> PackedExperts:
    """Return the experts of a layer, each taken from `weights` as it is packed.

    The router stays float32: a little noise in it would choose other experts.
    """
    experts, dtype = config.experts, config.layers.dtype
    if experts is None:
        raise ValueError("the configuration has no experts")

    shapes, prefix = config.matrices(layer), f"layers.{layer}."

    def linear(*names: str, dtype: str = dtype) -> Any:
        own = Named({}, prefix)
        for name in names:
            shape = shapes[f"{name}.weight"]
            own[f"{name}.weight"] = take(weights, f"{prefix}{name}.weight", shape)
            if f"{prefix}{name}.bias" in weights:
                own[f"{name}.bias"] = take(weights, f"{prefix}{name}.bias", shape[:1])
        return Linear.of(own, names, dtype=dtype).packed

    def pair(name: str) -> tuple[Any, Any]:
        up = (f"{name}.gate", f"{name}.up") if config.gated else (f"{name}.up",)
        return linear(*up), linear(f"{name}.down")

    shared = pair("shared") if experts.shared_dim else None
    return PackedExperts(
        linear("router", dtype="float32"), [pair(f"experts.{i}") for i in range(experts.n)], top=experts.top,
        gated=config.gated, renormalize=experts.renormalize, shared=shared,
        shared_gate=linear("shared_gate", dtype="float32") if shared else None,
    )  # fmt: skip
