"""LongRoPE has other factors for long texts: a text that becomes long is read again, separately from short ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokkit.nn.arrays import Floats
from tokkit.nn.decoder_cache import DecoderCache
from tokkit.nn.decoder_config import DecoderConfig

if TYPE_CHECKING:
    from tokkit.nn.text_decoder import TextDecoder

Ids = NDArray[np.int64]


def limit_of(config: DecoderConfig) -> int | None:
    """Return the length above which texts are long, or None if that makes no difference."""
    ropes = [rope for rope in (config.layers.rope, config.local_rope) if rope is not None]
    return next((rope.original_length for rope in ropes if rope.long_factors is not None), None)


def read(
    decoder: TextDecoder, ids: Sequence[Ids], caches: Sequence[DecoderCache] | None, limit: int, *,
    states: Floats | None, as_steps: Collection[int],
) -> Floats | None:  # fmt: skip
    """Return the hidden states of new ids if some texts must be read separately or again from their start; else None.

    A cache that becomes long with these ids is emptied, and all its tokens are read again, as in transformers.
    """
    before = [0] * len(ids) if caches is None else [cache.length for cache in caches]
    long = [n + len(new) > limit for n, new in zip(before, ids, strict=True)]
    again: dict[int, Ids] = {}
    for i, cache in enumerate(caches or ()):
        if long[i] and 0 < before[i] <= limit and cache.ids is not None and len(cache.ids) == before[i]:
            again[i] = cache.ids
    if not again and len(set(long)) < 2:
        return None
    width = decoder.config.layers.dim
    made = np.empty((sum(map(len, ids)), width), dtype=np.float32)
    ends = np.cumsum([len(new) for new in ids])
    for group in (False, True):
        members = [i for i, is_long in enumerate(long) if is_long == group]
        if not members:
            continue
        whole = [np.concatenate([again.get(i, ids[i][:0]), ids[i]]) for i in members]
        for i in members:
            if i in again and caches is not None:
                caches[i].truncate(0)
        rows = np.concatenate([np.arange(ends[i] - len(ids[i]), ends[i]) for i in members])
        new = [np.arange(len(again.get(i, ())) + len(ids[i])) >= len(again.get(i, ())) for i in members]
        kept = np.concatenate(new)
        own = None if states is None else np.empty((len(states), len(kept), width), dtype=np.float32)
        hidden = decoder(
            whole, None if caches is None else [caches[i] for i in members], states=own,
            as_steps={n for n, i in enumerate(members) if i in as_steps and i not in again},
        )  # fmt: skip
        made[rows] = hidden[kept]
        if states is not None and own is not None:
            states[:, rows] = own[:, kept]
    return made
