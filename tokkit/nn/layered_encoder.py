"""`LayeredEncoder`: an encoder of packed sequences over the layers of a `TextDecoder`, such as ModernBERT's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.errors import OptionError, ShapeError
from tokkit.nn import decoder_states
from tokkit.nn.arrays import Floats
from tokkit.nn.embedding import looked_up
from tokkit.nn.encoder import checked_packed
from tokkit.nn.text_decoder import TextDecoder

Ids = NDArray[np.int64]


class LayeredEmbeddings:
    """The embeddings of packed ids; `max_length` is the maximum number of tokens of a sequence."""

    def __init__(self, decoder: TextDecoder, max_length: int) -> None:
        self._decoder, self.max_length = decoder, max_length

    @property
    def words(self) -> Any:
        """The table of tokens, as it is stored."""
        return self._decoder.words

    def __call__(self, ids: Ids, starts: Ids, type_ids: Ids | None = None) -> Floats:
        """Return (total, dim); an id or type outside its table raises IndexError, too long a sequence ShapeError."""
        lengths = np.diff(starts)
        if lengths.max(initial=0) > self.max_length:
            raise ShapeError(f"a sequence has {lengths.max()} tokens; it must have at most {self.max_length}")
        types = self._decoder.config.types
        if type_ids is not None and not types:
            raise OptionError("this model has no token types; leave type_ids out")
        if type_ids is not None and type_ids.size and not 0 <= type_ids.min() <= type_ids.max() < types:
            raise IndexError(
                f"token types run from {type_ids.min()} to {type_ids.max()}; they must be from 0 to {types - 1}"
            )
        return self._decoder.embedded(ids, lengths, type_ids)

    def looked_up(self, ids: Ids) -> Floats:
        """Return the vectors (n, dim) of ids (n) as they are in the table of tokens."""
        return looked_up(self._decoder.words, ids)


class LayeredEncoder:
    """An encoder from ids to hidden states after the last norm, with the methods of `TextEncoder`. Immutable.

    Its layers can be causal or not, and have windows, rotary positions, gates and all kinds of norms.

    >>> from tokkit.nn import TransformerConfig, initial
    >>> from tokkit.nn.decoder_config import DecoderConfig
    >>> config = DecoderConfig(layers=TransformerConfig(dim=8, n_heads=2, activation="geglu"), vocab_size=9, head=False)
    >>> encoder = LayeredEncoder(TextDecoder(config, initial(config.shapes(), seed=0)), max_length=5)
    >>> encoder([1, 4, 2, 1, 2], [0, 3, 5]).shape
    (5, 8)
    """

    def __init__(self, decoder: TextDecoder, *, max_length: int) -> None:
        if decoder.config.layers.cross:
            raise OptionError("the layers have cross=True; it must be False for an encoder")
        self.decoder, self.config = decoder, decoder.config.layers
        self.embeddings = LayeredEmbeddings(decoder, max_length)
        ropes = [rope for rope in (self.config.rope, decoder.config.local_rope) if rope is not None]
        scaled = [rope for rope in ropes if rope.scaling == "dynamic" or rope.long_factors is not None]
        # The angles of these ropes depend on the length of a text, so longer texts are read one by one.
        self._alone_from = min((rope.original_length for rope in scaled), default=None)

    def __call__(
        self, ids: ArrayLike, starts: ArrayLike, type_ids: ArrayLike | None = None, *, states: Floats | None = None
    ) -> Floats:
        """Return (total, dim) for ids (total): sequence i is starts[i] … starts[i + 1].

        `states` (n_layers, total, dim) receives the output of each layer. `type_ids` (total) are 0 if None.
        """
        flat, where, kinds = checked_packed(ids, starts, type_ids)
        x = self.embeddings(flat, where, kinds)
        self.run(x, where, states=states)
        return x

    def run(self, x: Floats, starts: Ids, *, states: Floats | None = None) -> None:
        """Run all layers and the last norm on x (total, dim), in place."""
        rows = np.diff(starts)
        if self._alone_from is None or rows.max(initial=0) <= self._alone_from:
            self.decoder.run(x, rows, states=states)
            return
        for a, b in itertools.pairwise(starts.tolist()):
            own = None if states is None else np.empty((len(states), b - a, x.shape[1]), dtype=np.float32)
            self.decoder.run(x[a:b], np.array([b - a]), states=own)
            if states is not None and own is not None:
                states[:, a:b] = own

    def attention_weights(self, layer: int, x: Floats) -> Floats:
        """Return the attention weights (n_heads, T, T) of a layer for its input x (T, dim), one sequence."""
        return decoder_states.weights_of(self.decoder, layer, x)
