"""`EncoderModel`: hidden states and attention of every layer for a text, and predictions of masked tokens."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokkit import renamed
from tokkit.errors import OptionError
from tokkit.nn import softmax
from tokkit.nn.masked_head import MaskedHead
from tokkit.pipeline.attention import Attention
from tokkit.pipeline.packing import Packer

if TYPE_CHECKING:
    from tokkit._core.text import Text
    from tokkit.engine.special_tokens import Special
    from tokkit.pipeline.encoder_loading import AnyEncoder, AnySpec, AnyWeights
    from tokkit.tokenizer import Tokenizer

Floats = NDArray[np.float32]
MASKS = ("[MASK]", "<mask>")
HASHED_BYTES = 1 << 20


class HiddenStates(NamedTuple):
    """The hidden states of a model for one text of T tokens.

    tokens (T): their text; offsets (T, 2): their spans in the text, in characters, (0, 0) for special tokens; states
    (n_layers + 1, T, dim): the embeddings, and the output of each layer.
    """

    tokens: list[str]
    offsets: NDArray[np.int64]
    states: Floats


class FillMaskResult(NamedTuple):
    """A predicted token for a mask: its text, its id, its probability, and the text with the mask replaced by it."""

    token: str
    id: int
    probability: float
    text: str


class EncoderModel:
    """An encoder and its tokenizer. Immutable; calls from several threads are safe."""

    def __init__(
        self,
        folder: Path,
        tokenizer: Tokenizer,
        encoder: AnyEncoder,
        weights: AnyWeights,
        spec: AnySpec,
        *,
        max_length: int,
        left: bool = False,
    ) -> None:
        self.folder, self.tokenizer, self.encoder = folder, tokenizer, encoder
        self._weights, self._spec = weights, spec
        self._packer = Packer(tokenizer, max_length, left=left)

    @property
    def max_length(self) -> int:
        """The maximum number of tokens read of a text, special tokens included."""
        return self._packer.max_length

    @property
    def n_layers(self) -> int:
        """Layers of the encoder."""
        return self._spec.config.n_layers

    @property
    def n_heads(self) -> int:
        """Attention heads of each layer."""
        return self._spec.config.n_heads

    @property
    def precision(self) -> str:
        """How matrices are stored and multiplied: "fp32", "bf16" or "int8"."""
        return {"float32": "fp32", "bfloat16": "bf16"}.get(self._spec.config.dtype, self._spec.config.dtype)

    def fingerprint(self) -> str:
        """Return a sha256, in hexadecimal, over the model's configuration and weights and the tokenizer's fingerprint.

        Equal files give the same value in any folder and at any precision.
        """
        return self._fingerprint

    @functools.cached_property
    def _fingerprint(self) -> str:
        made = hashlib.sha256(self.tokenizer.fingerprint().encode())
        for path in self._identifying():
            made.update(path.name.encode() + b"\0" + path.stat().st_size.to_bytes(8, "little"))
            with path.open("rb") as file:
                while block := file.read(HASHED_BYTES):
                    made.update(block)
        return made.hexdigest()

    def _identifying(self) -> list[Path]:
        return [self.folder / "config.json", *sorted(self.folder.glob("*.safetensors"))]

    inside = renamed.attribute("inside", "hidden_states")

    def hidden_states(self, text: Text, *, special: Special = "all") -> HiddenStates:
        """Return the tokens of a text, and their vectors in the table of embeddings and after each layer.

        A text of more than `max_length` tokens raises OptionError. `states[0]` is the sum of the embeddings after its
        norm, as the first layer reads it.
        """
        encoding = self.tokenizer(text, special=special, truncation=None, padding=None)
        ids = encoding.column("ids").astype(np.int64)
        if len(ids) > self.max_length:
            raise OptionError(
                f"the text has {len(ids)} tokens, and the maximum of the model is {self.max_length}; shorten it"
            )
        if not len(ids):
            raise OptionError("the text has no tokens, and this tokenizer adds none")
        starts = np.array([0, len(ids)])
        types = encoding.column("type_ids").astype(np.int64)
        states = np.empty((self.n_layers + 1, len(ids), self._spec.config.dim), dtype=np.float32)
        states[0] = self.encoder.embeddings(ids, starts, types if types.any() else None)
        x = states[0].copy()
        self.encoder.run(x, starts, states=states[1:])
        tokens = [token.decode("utf-8", "replace") for token in encoding.token_bytes]
        return HiddenStates(tokens, encoding.column("offsets"), states)

    def attention(self, text: Text, *, layers: Sequence[int] | None = None, special: Special = "all") -> Attention:
        """Return (tokens, weights (layers, n_heads, T, T)): the attention between tokens, in these layers or in all.

        Layers are numbered from 0. `tokkit.view.attention_html(weights, tokens)` displays them, and so does a notebook.
        """
        chosen = range(self.n_layers) if layers is None else layers
        if not len(chosen):
            raise OptionError("layers is empty; name at least one, or leave it out for all")
        for layer in chosen:
            if isinstance(layer, bool) or not isinstance(layer, (int, np.integer)):
                raise TypeError(f"a layer is {type(layer).__name__}; it must be an int of at least 0")
            if not 0 <= layer < self.n_layers:
                raise OptionError(f"there is no layer {layer}; this model has layers 0 to {self.n_layers - 1}")
        seen = self.hidden_states(text, special=special)
        weights = np.stack([self.encoder.attention_weights(layer, seen.states[layer]) for layer in chosen])
        return Attention(seen.tokens, weights)

    def word_vectors(self, text: str, word: str) -> tuple[Floats, Floats]:
        """Return two vectors (dim) of the first occurrence of a word: (from the table, in this text).

        The first is the mean of its tokens' rows in the table, the same in every text; the second is the mean of their
        states after the last layer, which depend on the rest of the text.
        """
        at = text.find(word)
        if at < 0 or not word:
            raise OptionError(f"the word {word!r} is not in the text {text!r}")
        seen = self.hidden_states(text)
        here = (seen.offsets[:, 0] < at + len(word)) & (seen.offsets[:, 1] > at)
        ids = self.tokenizer(text, special="all", truncation=None, padding=None).column("ids")[here]
        alone: Floats = self.encoder.embeddings.looked_up(ids.astype(np.int64)).mean(0)
        return alone, seen.states[-1][here].mean(0)

    def fill_mask(self, text: str, *, k: int = 5, mask: str | None = None) -> list[list[FillMaskResult]]:
        """Return, for each mask in the text, the k most probable tokens, the most probable first.

        `mask` is the placeholder in the text, by default the model's mask token ([MASK] or <mask>). OptionError for a
        text without masks, and for a model without a head for masked tokens.
        """
        name = self._mask
        if mask == "":
            raise OptionError("mask is empty; it must be the placeholder in the text")
        if mask is not None and mask != name:
            text = text.replace(mask, name)
        seen = self.tokenizer(text, special="all", truncation=None, padding=None)
        where = np.flatnonzero(seen.column("ids") == self.tokenizer.special_tokens[name])
        if not len(where):
            raise OptionError(f"there is no {name} in the text {text!r}; put it in the place of the word to predict")
        if k < 1:
            raise OptionError(f"k is {k}; it must be at least 1")
        logits = self.masked_logits(text)[where]
        probabilities = softmax(logits)
        # Tables are often padded with rows that belong to no token.
        best = np.argsort(-logits[:, : self.tokenizer.n_ids], axis=1, kind="stable")[:, :k]
        return [
            [self._result(text, seen.offsets[where[i]], int(id_), float(probabilities[i, id_])) for id_ in row]
            for i, row in enumerate(best)
        ]

    def masked_logits(self, text: Text) -> Floats:
        """Return the logits (T, vocab_size) of the head for masked tokens, for every token of a text."""
        return self._head(self.hidden_states(text).states[-1])

    def _result(self, text: str, span: tuple[int, int], id_: int, probability: float) -> FillMaskResult:
        token = self.tokenizer.decode([id_])
        filled = text[: span[0]] + token.strip() + text[span[1] :]
        return FillMaskResult(token.strip(), id_, probability, filled)

    @property
    def _mask(self) -> str:
        for name in MASKS:
            if name in self.tokenizer.special_tokens:
                return name
        raise OptionError(f"this tokenizer has none of the mask tokens {', '.join(MASKS)}")

    @functools.cached_property
    def _head(self) -> MaskedHead:
        if not self._weights.has_head:
            raise OptionError("this model has no head for masked tokens: its file contains only the encoder")
        weights = self._weights.head()
        matrix: Any = weights.pop("decoder.weight", self.encoder.embeddings.words)
        if hasattr(matrix, "rows"):  # a `Table`
            matrix = matrix.float32()
        return MaskedHead(weights, matrix, activation=self._spec.head_activation, eps=self._spec.config.eps)
