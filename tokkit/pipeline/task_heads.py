"""The heads of classifiers: hidden states → the logits of labels, of a whole text or of each token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import FormatError
from tokkit.files.safetensors import Tensor
from tokkit.files.strict_json import brief
from tokkit.nn import LayerNorm, Linear
from tokkit.nn.grad import HeadConfig
from tokkit.pipeline.families import ACTIVATIONS
from tokkit.pipeline.pooling import pool
from tokkit.pipeline.weights import checked

Floats = NDArray[np.float32]
POOLINGS = {"cls": "cls", "bos": "cls", "mean": "mean", "late": "late"}
"""A pooling in config.json → ours; "late" is the mean of the logits of all tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadSpec:
    """The names of a head, out(norm(activation(dense(x)))); `dense` and `norm` are optional.

    Names are those of the file; of several `dense` the first that exists is used. The head of a text reads the state of
    its first token, or with `pooling` "last" that of the last token that is not padding. `activation_key` and
    `pooling_keys` are keys of config.json that override these; of the latter the first that exists. `dense_bias` and
    `norm_bias` are keys that state whether there are these biases, by default not; "": there are. New heads have no
    `out.bias` if `out_bias` is False.
    """

    dense: tuple[str, ...] = ()
    activation: str = "tanh"
    activation_key: str = ""
    dense_bias: str = ""
    norm: str | None = None
    norm_bias: str = ""
    out: str = "classifier"
    out_bias: bool = True
    pooling: str = "cls"
    pooling_keys: tuple[str, ...] = ()


_ROBERTA = HeadSpec(dense=("classifier.dense",), out="classifier.out_proj")
_MODERN_BERT = HeadSpec(
    dense=("head.dense",),
    activation="gelu",
    activation_key="classifier_activation",
    dense_bias="classifier_bias",
    norm="head.norm",
    norm_bias="norm_bias",
)
OF_TEXTS = {
    "bert": HeadSpec(dense=("bert.pooler.dense",)),
    "roberta": _ROBERTA, "xlm-roberta": _ROBERTA, "camembert": _ROBERTA, "mpnet": _ROBERTA,
    "distilbert": HeadSpec(dense=("pre_classifier",), activation="relu"),
    "electra": replace(_ROBERTA, activation="gelu"),
    "modernbert": replace(_MODERN_BERT, pooling_keys=("classifier_pooling",)),
    "nomic_bert": HeadSpec(dense=("nomic_bert.pooler.dense", "bert.pooler.dense")),
    "gte": HeadSpec(dense=("gte.pooler.dense", "new.pooler.dense")),
    "new": HeadSpec(dense=("new.pooler.dense",)),
    "eurobert": HeadSpec(
        dense=("dense",), activation="gelu", pooling="late", pooling_keys=("classifier_pooling", "clf_pooling")
    ),
}  # fmt: skip
"""model_type of a config.json → its head for texts."""
SCORE = HeadSpec(out="score", out_bias=False, pooling="last")
"""The classification head of decoders."""
DECODERS = ("gpt2", "llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen2_moe", "qwen3_moe", "gemma", "gemma2",
            "gemma3_text", "phi3", "gpt_neox", "bloom")  # fmt: skip
"""Types of decoders with this head."""
OF_TOKENS = dict.fromkeys(OF_TEXTS, HeadSpec()) | {"modernbert": _MODERN_BERT}
"""model_type of a config.json → its head for tokens."""
TASKS = {"ForSequenceClassification": OF_TEXTS | dict.fromkeys(DECODERS, SCORE), "ForTokenClassification": OF_TOKENS}
"""The end of an architecture's name → the heads of these models."""
CLASSES = {
    "bert": "Bert", "roberta": "Roberta", "xlm-roberta": "XLMRoberta", "camembert": "Camembert",
    "distilbert": "DistilBert", "electra": "Electra", "mpnet": "MPNet", "modernbert": "ModernBert",
    "nomic_bert": "NomicBert", "gte": "Gte", "new": "New", "eurobert": "EuroBert", "gpt2": "GPT2", "llama": "Llama",
    "mistral": "Mistral", "mixtral": "Mixtral", "qwen2": "Qwen2", "qwen3": "Qwen3", "qwen2_moe": "Qwen2Moe",
    "qwen3_moe": "Qwen3Moe", "gemma": "Gemma", "gemma2": "Gemma2", "gemma3_text": "Gemma3Text", "phi3": "Phi3",
    "gpt_neox": "GPTNeoX", "bloom": "Bloom",
}  # fmt: skip
"""model_type → the prefix of its class names in transformers, or in the code that is published with the model."""


def of_classifier(config: Mapping[str, Any], labels: Sequence[str] | None) -> dict[str, Any]:
    """Return the keys that turn the config.json of an encoder into that of a classifier, with labels if given."""
    model_type = config.get("model_type")
    if model_type not in CLASSES:
        raise FormatError(
            f"model_type is {brief(model_type)}; to train a classifier it must be one of {', '.join(CLASSES)}"
        )
    name = f"{CLASSES[str(model_type)]}ForSequenceClassification"
    made: dict[str, Any] = {"architectures": [name]}
    code = config.get("auto_map")
    if isinstance(code, dict) and isinstance(code.get("AutoModel"), str):  # the class is in the code of the model
        made["auto_map"] = code | {
            "AutoModelForSequenceClassification": f"{code['AutoModel'].rpartition('.')[0]}.{name}"
        }
    spec = text_head(config)
    if _pooling_of(config, spec, "config.json") == "late":  # the head is trained on the mean of the states
        made |= {key: "mean" for key in spec.pooling_keys if key in config or key == spec.pooling_keys[0]}
    if labels is not None:
        numbered = list(enumerate(labels))
        made |= {
            "problem_type": "single_label_classification", "id2label": {str(i): name for i, name in numbered},
            "label2id": {name: i for i, name in numbered},
        }  # fmt: skip
    return made


def text_head(config: Mapping[str, Any]) -> HeadSpec:
    """Return the head for texts of a model with this config.json."""
    return OF_TEXTS.get(str(config["model_type"]), SCORE)


def trained_head(config: Mapping[str, Any], n_labels: int) -> HeadConfig:
    """Return the head for texts of a model with this config.json in the form that is trained."""
    spec, where = text_head(config), "config.json"
    return HeadConfig(
        n_labels=n_labels, dense=bool(spec.dense), dense_bias=not spec.dense_bias or bool(config.get(spec.dense_bias)),
        activation=_stated(config, (spec.activation_key,), spec.activation, ACTIVATIONS, where),
        norm=None if spec.norm is None else "layer", norm_bias=not spec.norm_bias or bool(config.get(spec.norm_bias)),
        eps=float(config.get("norm_eps", 1e-5)), out_bias=spec.out_bias, pooling=_pooling_of(config, spec, where),
    )  # fmt: skip


def _pooling_of(config: Mapping[str, Any], spec: HeadSpec, where: str) -> str:
    return _stated(config, spec.pooling_keys, spec.pooling, POOLINGS, where)


def task_of(config: Mapping[str, Any]) -> str | None:
    """Return the task of the first architecture in a config.json, a key of `TASKS`; None for other tasks."""
    named = config.get("architectures")
    first = named[0] if isinstance(named, list) and named else None
    return next((task for task in TASKS if isinstance(first, str) and first.endswith(task)), None)


class Head:
    """The head of a model, with the names of its labels; FormatError for a file that does not fit."""

    def __init__(
        self, task: str, config: Mapping[str, Any], tensors: Mapping[str, Tensor], dim: int, where: str
    ) -> None:
        heads, model_type = TASKS[task], config.get("model_type")
        if model_type not in heads:
            raise FormatError(
                f"{where}: {task} with model_type {brief(model_type)} is not supported; model_type must be one of "
                f"{', '.join(heads)}"
            )
        spec = heads[str(model_type)]
        self._tensors, self._where, self._dim = tensors, where, dim
        there = [name for name in spec.dense if f"{name}.weight" in tensors]
        self._dense = self._linear((there or spec.dense)[0], dim) if spec.dense else None
        self._norm = None if spec.norm is None else self._layer_norm(spec.norm, config)
        rows = tensors[f"{spec.out}.weight"].shape[:1] if f"{spec.out}.weight" in tensors else ()
        self._out = self._linear(spec.out, rows[0] if rows else 1)
        self._activation = _stated(config, (spec.activation_key,), spec.activation, ACTIVATIONS, where)
        self._pooling = _pooling_of(config, spec, where) if task == "ForSequenceClassification" else None
        pad = config.get("pad_token_id")
        self._pad = pad if isinstance(pad, int) else None
        self.labels = self._labels(config, self._out.shape[0], f"{spec.out}.weight")

    def _linear(self, name: str, outputs: int) -> Linear:
        bias = f"{name}.bias"
        return Linear(
            self._taken(f"{name}.weight", (outputs, self._dim)),
            self._taken(bias, (outputs,)) if bias in self._tensors else None,
        )

    def _layer_norm(self, name: str, config: Mapping[str, Any]) -> LayerNorm:
        parts = [part for part in ("weight", "bias") if part == "weight" or f"{name}.{part}" in self._tensors]
        weights = {part: self._taken(f"{name}.{part}", (self._dim,)) for part in parts}
        return LayerNorm(weights, dim=self._dim, eps=float(config.get("norm_eps", 1e-5)))

    def _taken(self, name: str, shape: tuple[int, ...]) -> Floats:
        return np.array(checked(self._tensors.get(name), name, shape, self._where).float32())

    def _labels(self, config: Mapping[str, Any], n: int, name: str) -> tuple[str, ...]:
        told = config.get("id2label")
        if told is None:
            return tuple(f"LABEL_{i}" for i in range(n))
        if not isinstance(told, dict) or set(told) != {str(i) for i in range(n)}:
            raise FormatError(
                f"{self._where}: id2label is {brief(told)}; it must have {n} labels from 0, the rows of the tensor "
                f"{name!r}"
            )
        return tuple(str(told[str(i)]) for i in range(n))

    def __call__(self, x: Floats, starts: NDArray[np.int64], ids: NDArray[np.int64] | None = None) -> Floats:
        """Return logits (n, labels) of the n sequences of x (total, dim), or (total, labels) of its tokens.

        `ids` (total) are needed by heads that read the last token that is not padding.
        """
        if self._pooling not in (None, "late"):
            x = pooled(x, starts, str(self._pooling), ids, self._pad)
        if self._dense is not None:
            x = self._dense(x, activation=self._activation)
        if self._norm is not None:
            x = self._norm(x)
        return self._out(pool(x, starts, ("mean",)) if self._pooling == "late" else x)


def pooled(
    x: Floats, starts: NDArray[np.int64], pooling: str, ids: NDArray[np.int64] | None = None, pad: int | None = None
) -> Floats:
    """Return what a head with this pooling reads of states x (total, dim): (n, dim) for n sequences.

    With "last" this is the state of the last token that is not `pad`.
    """
    return _last(x, starts, ids, pad) if pooling == "last" else pool(x, starts, (pooling,))


def _last(x: Floats, starts: NDArray[np.int64], ids: NDArray[np.int64] | None, pad: int | None) -> Floats:
    """Return the row of each sequence's last token that is not `pad`: the first if all are, zeros if it is empty.

    Like transformers, it treats an end token that is also the padding token as padding.
    """
    full = np.diff(starts) > 0
    rows = starts[1:][full] - 1
    if ids is not None and pad is not None:
        counted = np.maximum.accumulate(np.where(ids == pad, -1, np.arange(len(ids))))
        rows = np.maximum(counted[rows], starts[:-1][full])
    made = np.zeros((len(full), x.shape[1]), dtype=np.float32)
    made[full] = x[rows]
    return made


def _stated(config: Mapping[str, Any], keys: Sequence[str], default: str, known: Mapping[str, str], where: str) -> str:
    """Return the value of the first of these keys of config.json by our name; FormatError if it is unknown."""
    key = next((key for key in keys if key in config), None)
    if key is None:
        return default
    if config[key] not in known:
        raise FormatError(
            f"{where}: {key}: {brief(config[key])} is not supported; it must be one of {', '.join(known)}"
        )
    return known[config[key]]
