"""A model's config.json: refused by an error of tokkit, or a model of random weights that runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mutate_json import CHANGE
from tokkit import nn
from tokkit.errors import TokkitError
from tokkit.files import strict_json
from tokkit.nn.text_decoder import TextDecoder
from tokkit.pipeline import decoder_families, encoder_loading, families, layered_families, seq2seq_families

__all__ = ["CHANGE", "check"]

MOST = 100_000
"""Numbers of the weights of a model that is run."""
IDS = (0, 1, 0, 2)

Shapes = Mapping[str, tuple[int, ...]]


def weights(shapes: Shapes) -> dict[str, np.ndarray] | None:
    """Random weights; None for a model that is too large to be run each time."""
    if sum(math.prod(shape) for shape in shapes.values()) > MOST:
        return None
    return nn.initial(shapes, seed=1, std=0.1)


def run_decoder(config: Mapping[str, Any]) -> None:
    spec = decoder_families.read(config)
    made = weights(spec.config.shapes())
    ids = [id_ % spec.config.vocab_size for id_ in IDS][: spec.max_length]
    if made is None or not spec.config.head or not spec.config.layers.causal:
        return
    decoder = TextDecoder(spec.config, made)
    logits = decoder.logits(decoder([ids], [decoder.cache()]))
    assert logits.shape == (len(ids), spec.config.vocab_size)


def run_encoder(config: Mapping[str, Any]) -> None:
    spec = families.read(config)
    made = weights(spec.shapes())
    ids = [id_ % spec.vocab_size for id_ in IDS][: spec.positions - spec.position_offset]
    if made is not None:
        states = encoder_loading.text_encoder(spec, made)(np.array(ids), np.array([0, len(ids)]))
        assert states.shape == (len(ids), spec.config.dim)


READERS: tuple[Callable[[Mapping[str, Any]], object], ...] = (
    run_decoder, run_encoder, layered_families.read, seq2seq_families.read,
)  # fmt: skip


def check(data: bytes) -> None:
    try:
        config = strict_json.typed(strict_json.loads(data), "the file", dict)
    except TokkitError:
        return
    for read in READERS:
        try:
            read(config)
        except TokkitError:
            continue
