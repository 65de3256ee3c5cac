"""`TextClassifier`: training of a classification head for texts, together with the encoder or alone."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit._core import grad as core
from tokkit.errors import ShapeError
from tokkit.nn.arrays import Floats, current_threads, floats, ids_of
from tokkit.nn.checks import as_int
from tokkit.nn.config import Shapes
from tokkit.nn.grad.encoder import EncoderConfig, EncoderTrunk, PackedTexts, loaded
from tokkit.nn.grad.layers import Dropout, Linear, activated, seed_dropouts, taken_rows
from tokkit.nn.grad.parameters import Parameters
from tokkit.nn.grad.tape import Tape, is_bf16


class ClassifierHead:
    """out(activation(dense(x))) for one vector per text; weights: dense.weight, dense.bias, out.weight and out.bias.

    If `parameters` hold only these weights, the head is trained alone: compute the states of the frozen encoder once.
    """

    def __init__(self, parameters: Parameters, *, activation: str = "tanh", dropout: float = 0.0) -> None:
        self.parameters, self.activation = parameters, activation
        self.dropouts = [Dropout(dropout), Dropout(dropout)]
        self._dense = Linear(parameters, "dense") if "dense.weight" in parameters else None
        self._out = Linear(parameters, "out")
        self._tape = Tape()

    def forward(self, x: Floats, tape: Tape) -> Floats:
        """Return the logits (n, labels) of vectors (n, dim); x may be overwritten."""
        if self._dense is not None:
            x = activated(self._dense.forward(x, tape), self.activation, tape)
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
    `activation` is applied between the two matrices: by default tanh, as in BERT. `weights` are copied; missing ones
    are initialized at random with the seed. `precision` is as in `CausalLM`.

    >>> from tokkit.nn import TransformerConfig
    >>> layers = TransformerConfig(dim=8, n_heads=2, n_layers=1)
    >>> model = TextClassifier(EncoderConfig(layers=layers, vocab_size=9, positions=5), n_labels=3, seed=1)
    >>> round(model.forward_backward([1, 2, 3], [0, 2, 3], [0, 2]), 1), round(float(np.log(3)), 1)
    (1.1, 1.1)
    """

    def __init__(
        self, config: EncoderConfig, weights: Mapping[str, Floats] | None = None, *, n_labels: int,
        activation: str = "tanh", dense: bool = True, dropout: float = 0.0, attention_dropout: float = 0.0,
        seed: int = 0, parameters: Parameters | None = None, precision: str = "fp32",
    ) -> None:  # fmt: skip
        shapes = config.shapes() | head_shapes(config.layers.dim, n_labels, dense=dense)
        self.parameters = loaded(shapes, weights, seed) if parameters is None else parameters
        self._trunk = EncoderTrunk(self.parameters, config, dropout=dropout, attention_dropout=attention_dropout)
        self._head = ClassifierHead(self.parameters, activation=activation, dropout=dropout)
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
        return self._head.forward(taken_rows(self._trunk.forward(texts, tape), texts.starts[:-1], tape), tape)


def head_shapes(dim: int, n_labels: int, *, dense: bool = True) -> Shapes:
    """Return name → shape of the weights of the head."""
    n = as_int("n_labels", n_labels, minimum=1)
    made: Shapes = {"dense.weight": (dim, dim), "dense.bias": (dim,)} if dense else {}
    return made | {"out.weight": (n, dim), "out.bias": (n,)}


def label_loss(logits: Floats, labels: ArrayLike, share: float) -> float:
    """Return the mean cross-entropy of logits (n, labels); its gradient times `share` overwrites `logits`."""
    wanted: NDArray[np.int64] = np.ascontiguousarray(ids_of(labels, "labels"))
    if wanted.shape != logits.shape[:1]:
        raise ShapeError(f"there are {len(logits)} texts and labels of shape {wanted.shape}; each needs one")
    if wanted.min() < 0:
        raise IndexError(f"label {wanted.min()} is below 0; labels are numbers from 0")
    losses = np.empty(len(logits), dtype=np.float32)
    core.cross_entropy_back(logits, wanted, logits, losses, share / len(logits), threads=current_threads())
    return float(losses.mean(dtype=np.float64))
