"""Reads modules.json of a sentence model: pooling, dense layers, normalization, prompts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import FormatError
from tokkit.files import files, strict_json
from tokkit.files.safetensors import FLOATS, read_safetensors
from tokkit.nn import Linear
from tokkit.pipeline.pooling import POOLINGS

Floats = NDArray[np.float32]
MODULES = ("Transformer", "Pooling", "Dense", "Normalize")
SCORES = "LogitScore"
"""The module after a causal language model that answers yes or no: it computes the score of a pair."""
FLAGS = {
    "pooling_mode_cls_token": "cls", "pooling_mode_max_tokens": "max", "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean", "pooling_mode_lasttoken": "lasttoken",
}  # fmt: skip
SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")
DENSE_ACTIVATIONS = {"Tanh": "tanh", "Identity": "identity", "ReLU": "relu", "GELU": "gelu", "SiLU": "silu"}


def read_json(path: Path, default: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the object in a JSON file, or `default` if it is given and there is no file."""
    if default is not None and not path.exists():
        return default
    made = strict_json.read_object(path)
    if made.get("model_type") is not None:  # models are looked up by it
        with files.naming(path):
            strict_json.typed(made["model_type"], "model_type", str)
    return made


class Dense:
    """A layer after the pooling, activation(x Wᵀ + b), for x with `columns` columns; 0 means any number."""

    def __init__(self, folder: Path, columns: int) -> None:
        config = read_json(folder / "config.json")
        activation = str(config.get("activation_function", "torch.nn.modules.activation.Tanh")).rpartition(".")[2]
        if activation not in DENSE_ACTIVATIONS:
            known = ", ".join(DENSE_ACTIVATIONS)
            raise FormatError(f"{folder}: the activation {activation} is not supported; it must be one of {known}")
        if config.get("use_residual"):
            raise FormatError(f"{folder}: use_residual is not supported")
        if not (folder / "model.safetensors").exists():
            raise FormatError(f"{folder}: model.safetensors is missing; other formats of weights are not supported")
        tensors = read_safetensors(folder / "model.safetensors")
        if "linear.weight" not in tensors:
            raise FormatError(f"{folder}: the tensor 'linear.weight' is missing")
        for name in ("linear.weight", "linear.bias"):
            if name in tensors and tensors[name].dtype not in FLOATS:
                dtype = tensors[name].dtype
                raise FormatError(f"{folder}: {name} has dtype {dtype}; it must be one of {', '.join(FLOATS)}")
        weight = tensors["linear.weight"].float32()
        if weight.ndim != 2 or (columns and weight.shape[1] != columns):
            raise FormatError(f"{folder}: linear.weight has shape {weight.shape}; its input has {columns} columns")
        bias = tensors["linear.bias"].float32() if "linear.bias" in tensors else None
        if bias is not None and bias.shape != weight.shape[:1]:
            raise FormatError(f"{folder}: linear.bias has shape {bias.shape}, and linear.weight {weight.shape}")
        self._linear, self._activation = Linear(weight, bias), DENSE_ACTIVATIONS[activation]
        self.columns, self.inputs = int(weight.shape[0]), int(weight.shape[1])

    def __call__(self, x: Floats) -> Floats:
        """Return (n, columns) for x (n, …)."""
        return self._linear(x, activation=self._activation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Modules:
    """The steps after the hidden states: concatenated poolings, dense layers, normalization; and settings for texts.

    `columns`: width of the concatenated poolings by their configuration or the first dense layer, 0 if neither states
    it. `max_length`: the maximum tokens of a text, None if not stated. `prompts`: name → text put before each text.
    `others`: the folders of the modules after the transformer. If scores come from a decoder's logits, there are no
    poolings.
    """

    root: Path
    transformer: Path
    poolings: tuple[str, ...] = ("mean",)
    include_prompt: bool = True
    columns: int = 0
    others: tuple[Path, ...] = ()
    dense: tuple[Dense, ...] = ()
    normalize: bool = False
    max_length: int | None = None
    lowercase: bool = False
    prompts: Mapping[str, str] = field(default_factory=dict)
    default_prompt: str | None = None
    similarity: str = "cosine"


def read(folder: Path) -> Modules:
    """Return the modules of a folder; without modules.json these are a transformer and mean pooling."""
    if not (folder / "modules.json").exists():
        return Modules(root=folder, transformer=folder, **_of_texts(folder), **of_prompts(folder))
    found = listed(folder)
    kinds = [kind for kind, _ in found]
    if kinds == ["Transformer", SCORES]:
        home, *others = (where for _, where in found)
        return Modules(
            root=folder, transformer=home, others=tuple(others), poolings=(), **_of_texts(home), **of_prompts(folder)
        )
    with files.naming(folder / "modules.json"):
        for kind in kinds:
            if kind not in MODULES:
                raise FormatError(f"the module {kind} is not supported; it must be one of {', '.join(MODULES)}")
        if kinds[:1] != ["Transformer"] or kinds.count("Transformer") != 1 or kinds.count("Pooling") > 1:
            raise FormatError(
                f"the modules are {', '.join(kinds)}; they must begin with Transformer, and contain one Pooling"
            )
        if "Normalize" in kinds[:-1]:
            raise FormatError("Normalize is before another module; it must be the last module")
        if "Dense" in kinds and kinds[1:2] != ["Pooling"]:
            raise FormatError("Dense is before Pooling; it must be after Pooling")
    transformer = found[0][1]
    options: dict[str, Any] = {"normalize": "Normalize" in kinds}
    columns = 0
    for kind, where in found:
        if kind == "Pooling":
            options["poolings"], options["include_prompt"], columns = _pooling(where / "config.json")
    dense: list[Dense] = []
    for where in (where for kind, where in found if kind == "Dense"):
        dense.append(Dense(where, dense[-1].columns if dense else columns))
    return Modules(
        root=folder, transformer=transformer, dense=tuple(dense), columns=dense[0].inputs if dense else columns,
        others=tuple(where for _, where in found[1:]), **options, **_of_texts(transformer),
        **of_prompts(folder),
    )  # fmt: skip


def listed(folder: Path) -> list[tuple[str, Path]]:
    """Return the modules in modules.json: the name of the class, and the folder."""
    path = folder / "modules.json"
    with files.naming(path):
        values = strict_json.typed(strict_json.loads(files.read_bytes(path)), "the file", list)
        modules = [strict_json.Section(value, f"module {i}") for i, value in enumerate(values)]
        return [(m.take("type", str).rpartition(".")[2], folder / _inside(m.take("path", str))) for m in modules]


def _inside(path: str) -> str:
    if Path(path).is_absolute() or ".." in Path(path).parts:
        raise FormatError(f"path: {strict_json.brief(path)} leads out of the model's folder")
    return path


def _pooling(path: Path) -> tuple[tuple[str, ...], bool, int]:
    config = read_json(path)
    columns = config.get("embedding_dimension", config.get("word_embedding_dimension", 0))
    chosen: Any = config.get("pooling_mode")
    if chosen is None:
        # In the order of concatenation, which is not that of their names in the file.
        chosen = [mode for key, mode in FLAGS.items() if config.get(key)] or ["mean"]
    modes = tuple(chosen) if isinstance(chosen, list) and chosen else (chosen,)
    unknown = [key for key in config if key.startswith("pooling_mode_") and key not in FLAGS and config[key]]
    for mode in (*modes, *unknown):
        if not isinstance(mode, str) or mode not in POOLINGS:
            raise FormatError(
                f"{files.show(path)}: the pooling {mode} is not supported; it must be one of {', '.join(POOLINGS)}"
            )
    if type(columns) is not int or columns < 0:
        raise FormatError(
            f"{files.show(path)}: the dimension of the embedding is {columns!r}; it must be an integer of at least 0"
        )
    return modes, bool(config.get("include_prompt", True)), columns * len(modes)


def _of_texts(folder: Path) -> dict[str, Any]:
    names = [f"sentence_{kind}_config.json" for kind in ("bert", "roberta", "distilbert", "camembert", "xlm-roberta")]
    for name in names:
        if (folder / name).exists():
            config = read_json(folder / name)
            max_length = config.get("max_seq_length")
            if max_length is not None and (type(max_length) is not int or max_length < 1):
                raise FormatError(
                    f"{files.show(folder / name)}: max_seq_length is {max_length!r}; it must be an integer of at "
                    "least 1"
                )
            return {"max_length": max_length, "lowercase": bool(config.get("do_lower_case", False))}
    return {}


def of_prompts(folder: Path) -> dict[str, Any]:
    """Return the settings in config_sentence_transformers.json: prompts, the default prompt, the similarity."""
    path = folder / "config_sentence_transformers.json"
    config = read_json(path, {})
    prompts = config.get("prompts") or {}
    if not isinstance(prompts, dict) or not all(isinstance(text, str) for text in prompts.values()):
        raise FormatError(f"{files.show(path)}: prompts must be an object of strings")
    default, similarity = config.get("default_prompt_name"), config.get("similarity_fn_name") or "cosine"
    if default is not None and (not isinstance(default, str) or default not in prompts):
        raise FormatError(f"{files.show(path)}: default_prompt_name is {default!r}; it must be one of the prompts")
    if similarity not in SIMILARITIES:
        raise FormatError(
            f"{files.show(path)}: the similarity is {similarity!r}; it must be one of {', '.join(SIMILARITIES)}"
        )
    return {"prompts": prompts, "default_prompt": default, "similarity": similarity}
