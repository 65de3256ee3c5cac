"""`Seq2Seq`: an encoder and a decoder that attends to its hidden states, such as T5 and BART."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, ids_of
from tokkit.nn.cross_memory import Memory
from tokkit.nn.text_decoder import TextDecoder


class Seq2Seq:
    """An encoder, whose layers are not causal, and a decoder with `cross`. Immutable: the caller holds the caches.

    >>> from tokkit.nn import TransformerConfig, initial
    >>> from tokkit.nn.decoder_config import DecoderConfig
    >>> options = {"dim": 8, "n_heads": 2, "pre_norm": True, "relative_buckets": 4, "relative_distance": 8}
    >>> encoder = DecoderConfig(layers=TransformerConfig(**options), vocab_size=9, head=False)
    >>> decoder = DecoderConfig(layers=TransformerConfig(**options, causal=True, cross=True), vocab_size=9, tied=True)
    >>> model = Seq2Seq(*(TextDecoder(config, initial(config.shapes(), seed=0)) for config in (encoder, decoder)))
    >>> model.logits([1, 4, 2], [0, 3]).shape
    (2, 9)
    """

    def __init__(self, encoder: TextDecoder, decoder: TextDecoder) -> None:
        reads, memory = encoder.config.layers, decoder.config.layers
        if reads.causal or reads.cross or not memory.cross or not memory.causal:
            raise OptionError(
                "the encoder must have causal=False and cross=False, the decoder causal=True and cross=True"
            )
        if (memory.memory_dim or memory.dim) != reads.dim:
            raise ShapeError(
                f"the encoder returns {reads.dim} columns; the decoder has a memory_dim of "
                f"{memory.memory_dim or memory.dim}"
            )
        self.encoder, self.decoder = encoder, decoder

    def memories(self, texts: Sequence[ArrayLike]) -> list[Memory]:
        """Return the memory of each text (ids) for the decoder: texts are encoded in one call, and projected once."""
        ids = [ids_of(text) for text in texts]
        hidden = self.encoder(ids)
        return [self.decoder.memory(rows) for rows in np.split(hidden, np.cumsum([len(each) for each in ids])[:-1])]

    def logits(self, text: ArrayLike, target: ArrayLike) -> Floats:
        """Return the logits (T, vocab_size) after each id of a target (T), given the ids of a text."""
        cache = self.decoder.cache(memory=self.memories([text])[0])
        return self.decoder.logits(self.decoder([target], [cache]))
