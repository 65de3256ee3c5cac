"""`MaskedLM`: training of an encoder to predict masked tokens, as in BERT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.checks import as_float
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, ids_of
from tokkit.nn.config import Shapes
from tokkit.nn.grad.encoder import EncoderTrunk, PackedTexts, loaded
from tokkit.nn.grad.encoder_config import EncoderConfig
from tokkit.nn.grad.fused_loss import loss_of_rows
from tokkit.nn.grad.layers import Linear, Norm, activated, seed_dropouts, taken_rows
from tokkit.nn.grad.parameters import Parameters
from tokkit.nn.grad.tape import Tape, is_bf16

HEAD_BIASES = ("dense", "norm")
IGNORED = -100
"""The target of a token that the loss ignores."""


class MaskedLM:
    """An encoder with a head for masked tokens; both are trained.

    The head is as in `MaskedHead`: dense, activation, norm, the token table, a bias. Its weights are named head.dense,
    head.norm and head.bias; with `tied=False` it has its own matrix, head.decoder, instead of the token table.
    `head_biases` names the parts that have a bias: ModernBERT's have none.
    `weights` are copied; missing ones are initialized at random with the seed. `precision` is as in `CausalLM`.

    >>> from tokkit.nn import TransformerConfig
    >>> layers = TransformerConfig(dim=8, n_heads=2, n_layers=1)
    >>> model = MaskedLM(EncoderConfig(layers=layers, vocab_size=9, positions=5), seed=1)
    >>> loss = model.forward_backward([[1, 2, 3, 4]], [[-100, 5, -100, -100]])
    >>> round(loss, 1), round(float(np.log(9)), 1)
    (2.2, 2.2)
    """

    def __init__(
        self, config: EncoderConfig, weights: Mapping[str, Floats] | None = None, *, tied: bool = True,
        activation: str | None = None, head_biases: Sequence[str] = HEAD_BIASES, dropout: float = 0.0,
        attention_dropout: float = 0.0, seed: int = 0, parameters: Parameters | None = None, precision: str = "fp32",
    ) -> None:  # fmt: skip
        self.config, c = config, config.layers
        self.activation = c.activation if activation is None else activation
        shapes = config.shapes() | head_shapes(config, tied=tied, biases=head_biases)
        p = self.parameters = loaded(shapes, weights, seed) if parameters is None else parameters
        self._trunk = EncoderTrunk(p, config, dropout=dropout, attention_dropout=attention_dropout)
        self._dense, self._norm = Linear(p, "head.dense"), Norm(p, "head.norm", c)
        self._out = Linear(p, "embeddings.word" if tied else "head.decoder", bias="head.bias")
        self._bf16 = is_bf16(precision)
        self._tape = Tape(bf16=self._bf16)

    def forward_backward(self, ids: ArrayLike, targets: ArrayLike, *, share: float = 1.0, seed: int = 0) -> float:
        """Return the mean loss of ids (B, T), and add its gradients times `share` to those of the parameters.

        `targets` (B, T) are the original tokens; those below 0 are ignored in the loss.
        """
        seed_dropouts(self._trunk.dropouts, seed)
        tape = self._tape
        tape.clear()
        loss, grad = self._run(*_inputs(ids, targets), tape, share)
        tape.backward(grad)
        return loss

    def loss(self, ids: ArrayLike, targets: ArrayLike) -> float:
        """Return the mean loss of ids (B, T), without gradients and without dropout."""
        return self._run(*_inputs(ids, targets), Tape(recording=False, bf16=self._bf16), None)[0]

    def logits(self, ids: ArrayLike) -> Floats:
        """Return the logits (B, T, vocab_size) of ids (B, T)."""
        made, tape = ids_of(ids), Tape(recording=False, bf16=self._bf16)
        texts, _ = _inputs(made, np.zeros_like(made))
        hidden = self._head(self._trunk.forward(texts, tape), tape)
        return self._out.run(hidden, tape).reshape(*made.shape, -1)

    def _head(self, x: Floats, tape: Tape) -> Floats:
        return self._norm.forward(activated(self._dense.forward(x, tape), self.activation, tape), tape)

    def _run(
        self, texts: PackedTexts, targets: NDArray[np.int64], tape: Tape, share: float | None
    ) -> tuple[float, Floats]:
        places = np.flatnonzero(targets >= 0)  # the head runs only for these rows
        chosen = taken_rows(self._trunk.forward(texts, tape), places, tape)
        return loss_of_rows(self._out, self._head(chosen, tape), targets[places], tape, share)


def head_shapes(config: EncoderConfig, *, tied: bool = True, biases: Sequence[str] = HEAD_BIASES) -> Shapes:
    """Return name → shape of the weights of the head for masked tokens; `biases` are the parts with a bias."""
    dim = config.layers.dim
    columns = dim if config.embedding_dim is None else config.embedding_dim
    made: Shapes = {"head.dense.weight": (columns, dim), "head.norm.weight": (columns,)}
    made |= {f"head.{part}.bias": (columns,) for part in biases}
    made["head.bias"] = (config.vocab_size,)
    if not tied:
        made["head.decoder.weight"] = (config.vocab_size, columns)
    return made


def mask_tokens(
    ids: ArrayLike, rng: np.random.Generator, *, mask: int, vocab_size: int, special: ArrayLike, share: float = 0.15
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (ids, targets) (B, T) for a masked LM: a share of the tokens is chosen; other targets are -100.

    Of the chosen tokens, 80 % are replaced by `mask`, 10 % by a random token, and 10 % are not changed (Devlin et al.
    2019, 3.1). Tokens in `special` are never chosen. At least one token of the batch is chosen, unless all are special.

    >>> rng = np.random.default_rng(3)
    >>> ids, targets = mask_tokens([[1, 5, 6, 7, 2]], rng, mask=3, vocab_size=9, special=[1, 2, 3], share=0.5)
    >>> ids.tolist(), targets.tolist()
    ([[1, 3, 6, 7, 2]], [[-100, 5, -100, -100, -100]])
    """
    if not 0 < as_float("share", share) < 1:
        raise OptionError(f"share is {share}; it must be between 0 and 1")
    made = np.array(ids_of(ids))
    free = ~np.isin(made, ids_of(special, "special"))
    drawn, how = rng.random(made.shape), rng.random(made.shape)
    chosen = free & (drawn < share)
    if free.any() and not chosen.any():
        chosen.flat[int(np.argmin(np.where(free, drawn, 2.0)))] = True
    targets = np.where(chosen, made, IGNORED)
    others = rng.integers(0, vocab_size, made.shape)
    made[chosen & (how < 0.8)] = mask
    replaced = chosen & (how >= 0.8) & (how < 0.9)
    made[replaced] = others[replaced]
    return made, targets


def _inputs(ids: ArrayLike, targets: ArrayLike) -> tuple[PackedTexts, NDArray[np.int64]]:
    made, wanted = ids_of(ids), ids_of(targets, "targets")
    if made.ndim != 2 or not made.size:
        raise ShapeError(f"ids has shape {made.shape}; it must be (texts, tokens), with at least one of each")
    if wanted.shape != made.shape:
        raise ShapeError(f"ids have shape {made.shape} and targets {wanted.shape}; they must be equal")
    if not (wanted >= 0).any():
        raise ShapeError("no token has a target: all targets are below 0")
    starts = np.arange(len(made) + 1) * made.shape[1]
    return PackedTexts.of(made.reshape(-1), starts), np.ascontiguousarray(wanted).reshape(-1)
