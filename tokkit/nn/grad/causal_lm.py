"""`CausalLM`: training of language models with the architecture of Llama or GPT-2: ids → loss and gradients."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.checks import as_int
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, ids_of, initial
from tokkit.nn.decoder_config import DecoderConfig
from tokkit.nn.grad.attention import SelfAttention, Turn
from tokkit.nn.grad.fused_loss import loss_of_rows
from tokkit.nn.grad.layers import (
    Dropout,
    Embedding,
    FeedForward,
    Linear,
    Norm,
    Residual,
    seed_dropouts,
)
from tokkit.nn.grad.parameters import Parameters, Shapes
from tokkit.nn.grad.tape import Tape, is_bf16
from tokkit.nn.rope import RopeConfig


class CausalLM:
    """A decoder that predicts the next token, its weights and their gradients (`parameters`).

    `config` is that of a `TextDecoder` with pre-norm layers, and with RoPE or a trained table of positions. Training
    does not support windows, experts, caps and norms of heads: they raise OptionError. `weights` are copied. Without
    `weights`, matrices are drawn from a normal distribution with standard deviation 0.02, and the output matrices of
    attention and feed-forward (o and down) are divided by √(2 n_layers), as in GPT-2. To train with frozen weights or
    adapters, pass `parameters` in place of `weights`; they are not copied.

    `dropout` is the probability of dropout on the embeddings and on the outputs of attention and feed-forward;
    `attention_dropout` is that on the attention weights. With `precision` "bf16", numbers are rounded to bfloat16
    before they are multiplied, and activations that are saved for backward with `Tape.keep` are stored as bfloat16;
    weights, sums and gradients are float32.

    Memory is O(tokens): backward computes the attention weights again, and logits are computed in blocks of rows.
    Gradients have the same bits for any number of threads.

    >>> from tokkit.nn import TransformerConfig
    >>> layers = TransformerConfig(dim=8, n_heads=2, norm="rms", activation="swiglu", pre_norm=True, causal=True,
    ...                            bias=False)
    >>> model = CausalLM(DecoderConfig(layers=layers, vocab_size=5, positions=4, tied=True), seed=1)
    >>> loss = model.forward_backward([[0, 1, 2, 3, 4]])
    >>> round(loss, 1), round(float(np.log(5)), 1), model.parameters.grads["word.weight"].shape
    (1.6, 1.6, (5, 8))
    """

    def __init__(
        self, config: DecoderConfig, weights: Mapping[str, Floats] | None = None, *, seed: int = 0,
        dropout: float = 0.0, attention_dropout: float = 0.0, parameters: Parameters | None = None,
        precision: str = "fp32",
    ) -> None:  # fmt: skip
        _check(config)
        self.config, c = config, config.layers
        if parameters is None:
            parameters = Parameters(weight_shapes(config, weights))
            parameters.load(_initial(config, parameters, seed) if weights is None else weights)
        p = self.parameters = parameters
        self._dropouts = [Dropout(dropout) for _ in range(1 + 2 * c.n_layers)]
        self._embedding = Embedding(p)
        turns: dict[RopeConfig, Turn] = {}
        self._attentions = [
            SelfAttention(p, f"layers.{i}.attention", c, turns=turns, dropout=attention_dropout)
            for i in range(c.n_layers)
        ]
        self._layers = []
        for i, attention in enumerate(self._attentions):
            feed_forward = FeedForward(p, f"layers.{i}.feed_forward", c)
            first, second = self._dropouts[1 + 2 * i : 3 + 2 * i]
            self._layers.append(Residual(Norm(p, f"layers.{i}.attention_norm", c), (attention, first)))
            self._layers.append(Residual(Norm(p, f"layers.{i}.feed_forward_norm", c), (feed_forward, second)))
        self._dropouts += [attention.dropout for attention in self._attentions]
        self._norm = Norm(p, "norm", c)
        self._head = Linear(p, "word" if config.tied else "head")
        self._bf16 = is_bf16(precision)
        self._tape = Tape(bf16=self._bf16)

    def forward_backward(
        self, ids: ArrayLike, targets: ArrayLike | None = None, *, share: float = 1.0, seed: int = 0
    ) -> float:
        """Return the mean loss of ids (B, T), and add its gradients times `share` to those of the parameters.

        Without `targets`, the target of each token is the next token of its row, and the last token has none. With
        `targets` (B, T), those below 0 are ignored in the loss. `share` is 1 / n if one step accumulates the gradients
        of n batches. `seed` is the seed of dropout.
        """
        inputs, wanted = self._inputs(ids, targets)
        seed_dropouts(self._dropouts, seed)
        self._tape.clear()
        hidden = self._hidden(inputs, self._tape)
        loss, grad = loss_of_rows(self._head, hidden, wanted, self._tape, share)
        del hidden  # its memory can be used again as soon as backward does not need it any more
        self._tape.backward(grad)
        return loss

    def loss(self, ids: ArrayLike, targets: ArrayLike | None = None) -> float:
        """Return the mean loss of ids (B, T), without gradients and without dropout."""
        inputs, wanted = self._inputs(ids, targets)
        tape = Tape(recording=False, bf16=self._bf16)
        return loss_of_rows(self._head, self._hidden(inputs, tape), wanted, tape, None)[0]

    def logits(self, ids: ArrayLike) -> Floats:
        """Return the logits (B, T, vocab_size) of ids (B, T)."""
        inputs = self._checked(ids)
        tape = Tape(recording=False, bf16=self._bf16)
        return self._head.run(self._hidden(inputs, tape), tape).reshape(*inputs.shape, -1)

    def _hidden(self, ids: NDArray[np.int64], tape: Tape) -> Floats:
        runs = [(0, ids.size, ids.shape[1])]
        for attention in self._attentions:
            attention.runs = runs
        x = self._dropouts[0].forward(self._embedding.forward(ids, tape), tape)
        for layer in self._layers:
            x = layer.forward(x, tape)
        return self._norm.forward(x, tape)

    def _inputs(self, ids: ArrayLike, targets: ArrayLike | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        made = self._checked(ids)
        wanted = made[:, 1:] if targets is None else ids_of(targets, "targets")
        if targets is None:
            made = np.ascontiguousarray(made[:, :-1])
        if wanted.shape != made.shape:
            raise ShapeError(f"ids have shape {made.shape} and targets {wanted.shape}; they must be equal")
        if not (wanted >= 0).any():
            raise ShapeError("no token has a target: texts have one token, or all targets are ignored")
        return made, np.ascontiguousarray(wanted).reshape(-1)

    def _checked(self, ids: ArrayLike) -> NDArray[np.int64]:
        made = np.ascontiguousarray(ids_of(ids))
        if made.ndim != 2 or not made.size:
            raise ShapeError(f"ids has shape {made.shape}; it must be (texts, tokens), with at least one of each")
        if self.config.positions and made.shape[1] > self.config.positions + 1:
            raise ShapeError(f"texts have {made.shape[1]} tokens; the model has {self.config.positions} positions")
        return made


def _check(config: DecoderConfig) -> None:
    c = config.layers
    refused = {
        "causal=False": not c.causal, "pre_norm=False": not c.pre_norm, "cross": c.cross, "alibi": c.alibi,
        "relative_buckets": bool(c.relative_buckets), "experts": config.experts is not None,
        "windows": config.windows is not None and any(w is not None for w in config.windows),
        "qk_norm": config.qk_norm, "part_norms": config.part_norms, "parallel": config.parallel,
        "cap": bool(config.cap or config.logit_cap), "embedding_norm": config.embedding_norm,
        "embedding_scale": config.embedding_scale != 1, "head_scale": config.head_scale != 1,
        "head=False": not config.head, "position_offset": bool(config.position_offset),
    }  # fmt: skip
    found = [name for name, there in refused.items() if there]
    if found:
        raise OptionError(
            f"the configuration has {', '.join(found)}, which training does not support; "
            "use a model with the layers of Llama or GPT-2"
        )


def weight_shapes(config: DecoderConfig, weights: Mapping[str, Floats] | None) -> Shapes:
    """Return name → shape of all weights, including the biases in `weights`."""
    made = dict(config.shapes())
    for name, shape in list(made.items()):
        bias = name.removesuffix("weight") + "bias"
        if len(shape) == 2 and name.startswith("layers."):
            wanted = config.layers.bias if weights is None else bias in weights
            if wanted:
                made[bias] = shape[:1]
    return made


def _initial(config: DecoderConfig, shapes: Parameters, seed: int) -> dict[str, Floats]:
    made = initial({name: array.shape for name, array in shapes.items()}, seed=as_int("seed", seed, minimum=0))
    for name, array in made.items():
        if name.endswith(("attention.o.weight", "feed_forward.down.weight")):
            array /= np.float32((2 * config.layers.n_layers) ** 0.5)
    return made
