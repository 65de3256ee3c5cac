"""`TextClassifier`: training of a classification head for texts, together with the encoder or alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit._core.grad import backward as core
from tokkit.checks import as_int
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, current_threads, floats, ids_of
from tokkit.nn.config import Shapes
from tokkit.nn.grad.encoder import EncoderTrunk, PackedTexts, loaded
from tokkit.nn.grad.encoder_config import EncoderConfig
from tokkit.nn.grad.layers import Dropout, Linear, Norm, activated, seed_dropouts
from tokkit.nn.grad.parameters import Parameters
from tokkit.nn.grad.pooling import checked_pooling, pooled
from tokkit.nn.grad.tape import Tape, is_bf16


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadConfig:
    """The configuration of a classification head for texts: out(norm(activation(dense(x)))).

    `dense` is optional, and so are `norm` ("layer" or "rms", with `eps`) and the biases. x is a vector of the text:
    `pooling` is "cls", "mean" or "last", as in `SentencePairs`.

    >>> list(HeadConfig(n_labels=3, dense_bias=False, norm="layer", norm_bias=False).shapes(8))
    ['dense.weight', 'head_norm.weight', 'out.weight', 'out.bias']
    """

    n_labels: int
    dense: bool = True
    dense_bias: bool = True
    activation: str = "tanh"
    norm: str | None = None
    norm_bias: bool = True
    eps: float = 1e-5
    out_bias: bool = True
    pooling: str = "cls"

    def __post_init__(self) -> None:
        as_int("n_labels", self.n_labels, minimum=1)
        checked_pooling(self.pooling)

    def shapes(self, dim: int) -> Shapes:
        """Return name → shape of the weights of the head on an encoder of `dim` columns."""
        made: Shapes = {"dense.weight": (dim, dim)} if self.dense else {}
        if self.dense and self.dense_bias:
            made["dense.bias"] = (dim,)
        if self.norm is not None:
            made["head_norm.weight"] = (dim,)
        if self.norm == "layer" and self.norm_bias:
            made["head_norm.bias"] = (dim,)
        made["out.weight"] = (self.n_labels, dim)
        return made | {"out.bias": (self.n_labels,)} if self.out_bias else made


class ClassifierHead:
    """out(norm(activation(dense(x)))) for one vector per text; weights: those of `HeadConfig.shapes`.

    `config` replaces `activation`. If `parameters` hold only these weights, the head is trained alone: compute the
    states of the frozen encoder once.
    """

    def __init__(
        self, parameters: Parameters, *, activation: str = "tanh", dropout: float = 0.0,
        config: HeadConfig | None = None,
    ) -> None:  # fmt: skip
        self.parameters, self.activation = parameters, activation if config is None else config.activation
        self.dropouts = [Dropout(dropout), Dropout(dropout)]
        self._dense = Linear(parameters, "dense") if "dense.weight" in parameters else None
        self._norm = None if config is None or config.norm is None else Norm(parameters, "head_norm", config)
        self._out = Linear(parameters, "out")
        self._tape = Tape()

    def forward(self, x: Floats, tape: Tape) -> Floats:
        """Return the logits (n, labels) of vectors (n, dim); x may be overwritten."""
        if self._dense is not None:
            x = activated(self._dense.forward(x, tape), self.activation, tape)
        if self._norm is not None:
            x = self._norm.forward(x, tape)
        if self._dense is not None:
            x = self.dropouts[1].forward(x, tape)
        return self._out.forward(x, tape)

    def forward_backward(self, x: ArrayLike, labels: ArrayLike, *, share: float = 1.0, seed: int = 0) -> float:
        """Return the mean loss of vectors (n, dim), and add its gradients times `share` to those of the parameters."""
        seed_dropouts(self.dropouts, seed)
        tape = self._tape
        tape.clear()
        logits = self.forward(np.array(floats(x, "x")), tape)
        loss = label_loss(logits, labels, share)
        tape.backward(logits)
        return loss

    def logits(self, x: ArrayLike) -> Floats:
        """Return the logits (n, labels) of vectors (n, dim)."""
        return self.forward(np.array(floats(x, "x")), Tape(recording=False))


class TextClassifier:
    """An encoder and a classification head, trained together; the head's input is the state of the first token.

    Weights are those of the encoder, and dense.weight (dim, dim), dense.bias, out.weight (labels, dim) and out.bias.
    `activation` is applied between the two matrices: by default tanh, as in BERT. For another head, give `head` instead
    of `n_labels`, `activation` and `dense`; `padding_id` is the token that its pooling "last" does not read. `weights`
    are copied; missing ones are initialized at random with the seed. `precision` is as in `CausalLM`.

    >>> from tokkit.nn import TransformerConfig
    >>> layers = TransformerConfig(dim=8, n_heads=2, n_layers=1)
    >>> model = TextClassifier(EncoderConfig(layers=layers, vocab_size=9, positions=5), n_labels=3, seed=1)
    >>> round(model.forward_backward([1, 2, 3], [0, 2, 3], [0, 2]), 1), round(float(np.log(3)), 1)
    (1.1, 1.1)
    """

    def __init__(
        self, config: EncoderConfig, weights: Mapping[str, Floats] | None = None, *, n_labels: int | None = None,
        activation: str = "tanh", dense: bool = True, head: HeadConfig | None = None, padding_id: int | None = None,
        dropout: float = 0.0, attention_dropout: float = 0.0, seed: int = 0, parameters: Parameters | None = None,
        precision: str = "fp32",
    ) -> None:  # fmt: skip
        if (head is None) == (n_labels is None):
            raise OptionError("give either n_labels or head, which states the number of labels")
        if head is None:
            head = HeadConfig(n_labels=as_int("n_labels", n_labels), activation=activation, dense=dense)
        shapes = config.shapes() | head.shapes(config.layers.dim)
        self.parameters = loaded(shapes, weights, seed) if parameters is None else parameters
        self._trunk = EncoderTrunk(self.parameters, config, dropout=dropout, attention_dropout=attention_dropout)
        self._head = ClassifierHead(self.parameters, config=head, dropout=dropout)
        self._pooling, self._padding = head.pooling, padding_id
        self._bf16 = is_bf16(precision)
        self._tape = Tape(bf16=self._bf16)

    def forward_backward(
        self, ids: ArrayLike, starts: ArrayLike, labels: ArrayLike, type_ids: ArrayLike | None = None, *,
        share: float = 1.0, seed: int = 0,
    ) -> float:  # fmt: skip
        """Return the mean loss of packed texts and labels (n); add its gradients times `share` to the parameters'.

        Text i is ids[starts[i]:starts[i + 1]]; labels are integers from 0.
        """
        seed_dropouts([*self._trunk.dropouts, *self._head.dropouts], seed)
        texts, tape = PackedTexts.of(ids, starts, type_ids), self._tape
        tape.clear()
        wanted = ids_of(labels, "labels")
        if wanted.shape != texts.order.shape:
            raise ShapeError(f"there are {len(texts.order)} texts and labels of shape {wanted.shape}; each needs one")
        logits = self._run(texts, tape)
        loss = label_loss(logits, wanted[texts.order], share)
        tape.backward(logits)
        return loss

    def logits(self, ids: ArrayLike, starts: ArrayLike, type_ids: ArrayLike | None = None) -> Floats:
        """Return the logits (n, labels) of packed texts, in the same order."""
        texts = PackedTexts.of(ids, starts, type_ids)
        made = self._run(texts, Tape(recording=False, bf16=self._bf16))
        ordered = np.empty_like(made)
        ordered[texts.order] = made
        return ordered

    def _run(self, texts: PackedTexts, tape: Tape) -> Floats:
        states = self._trunk.forward(texts, tape)
        return self._head.forward(pooled(states, texts, self._pooling, tape, padding_id=self._padding), tape)


def label_loss(logits: Floats, labels: ArrayLike, share: float) -> float:
    """Return the mean cross-entropy of logits (n, labels); its gradient times `share` overwrites `logits`."""
    wanted: NDArray[np.int64] = np.ascontiguousarray(ids_of(labels, "labels"))
    if wanted.shape != logits.shape[:1]:
        raise ShapeError(f"there are {len(logits)} texts and labels of shape {wanted.shape}; each needs one")
    if wanted.min() < 0:
        raise IndexError(f"a label is {wanted.min()}; it must be at least 0")
    losses = np.empty(len(logits), dtype=np.float32)
    core.cross_entropy_back(logits, wanted, logits, losses, share / len(logits), threads=current_threads())
    return float(losses.mean(dtype=np.float64))
