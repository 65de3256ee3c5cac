"""Drops old tokens from a cache, so that a text can continue beyond the model's last position."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tokkit.errors import OptionError
from tokkit.nn.decoder_cache import DecoderCache
from tokkit.nn.decoder_config import DecoderConfig
from tokkit.nn.rope import Rope, RopeConfig


def check_shift(config: DecoderConfig) -> None:
    """Raise OptionError for a model whose tokens cannot be moved to earlier positions."""
    if config.positions:
        raise OptionError(
            "this model has learned position embeddings: its context cannot be shifted; that needs rope or ALiBi"
        )
    for rope in (config.layers.rope, config.local_rope):
        if rope is not None and (rope.scaling == "dynamic" or rope.long_factors is not None):
            raise OptionError(
                "the angles of this model's rope depend on the length of the text (dynamic or longrope): its context "
                "cannot be shifted"
            )


def shift(config: DecoderConfig, cache: DecoderCache, *, keep: int, n: int) -> None:
    """Drop the n tokens after the first `keep` from a cache; later tokens move n positions back.

    Rotated keys are rotated back by n positions. Keys and values of later tokens still depend on the dropped ones.

    OptionError as in `check_shift`, or if a layer with a window would miss tokens.
    """
    check_shift(config)
    cache.forget(keep, n)
    for layer, first in enumerate(cache.first):
        rope = _rope_of(config, layer)
        row = max(keep - first, 0)
        keys = cache.keys(layer)[:, row:]
        if rope is None or not keys.shape[1]:
            continue
        turned = rope(keys[None], np.full(keys.shape[1], -n))[0]
        cache.packed.write(layer, row, np.ascontiguousarray(turned.swapaxes(0, 1)))


def _rope_of(config: DecoderConfig, layer: int) -> Rope | None:
    local = config.local_rope is not None and config.window(layer) is not None
    rope: RopeConfig | None = config.local_rope if local else config.layers.rope
    # The keys already contain YaRN's factor.
    return None if rope is None else Rope(replace(rope, attention_factor=1.0))
