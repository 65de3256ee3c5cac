"""LoRA adapters in PEFT's format: reads them, writes them, and merges them into the weights of their model."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tokkit.errors import FormatError, OptionError
from tokkit.files import files
from tokkit.files.safetensors import Tensor, read_safetensors, write_safetensors
from tokkit.files.sharded import WHOLE, read_model
from tokkit.files.strict_json import brief
from tokkit.nn.arrays import Floats
from tokkit.nn.grad import LoraOptions, Parameters, with_lora
from tokkit.nn.grad.layers import joined_name
from tokkit.nn.grad.parameters import Shapes
from tokkit.pipeline import modules, task_heads
from tokkit.pipeline.copying import copy_files
from tokkit.pipeline.families import MAX_NUMBER

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
CLASSIFIER = "classifier_config.json"
"""The file with the config.json of a classifier trained with an adapter: PEFT's files cannot hold labels."""
OF_CLASSIFIERS = "SEQ_CLS"
"""The task_type of adapters whose files contain a classification head."""
PREFIX = "base_model.model."
ATTACHED = {"attention": "qkvo", "feed_forward": ("gate", "up", "down")}
"""The parts of a layer → their matrices, in the order of the rows."""
REFUSED: dict[str, tuple[Any, ...]] = {
    "use_dora": (False, None), "rank_pattern": ({}, None), "alpha_pattern": ({}, None), "bias": ("none", None),
    "lora_bias": (False, None), "trainable_token_indices": (None,), "target_parameters": (None, []),
}  # fmt: skip
"""Keys of adapter_config.json whose values are checked → the supported values."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter read from a folder: module → (A, B), which add scale · B A to a weight.

    And tensors that replace others.
    """

    base: str | None
    """The base model, as the file names it."""
    scale: float
    transposed: bool
    pairs: Mapping[str, tuple[Floats, Floats]]
    replaced: Mapping[str, Tensor]
    config: Mapping[str, Any] | None
    """The config.json to use for the model instead of the original one; None: the original one."""


def is_adapter(folder: Path) -> bool:
    """Return whether a folder contains an adapter and no model."""
    return (folder / CONFIG).is_file() and not (folder / "config.json").exists()


def read_adapter(folder: str | os.PathLike[str]) -> Adapter:
    """Read adapter_config.json and adapter_model.safetensors; FormatError names an unsupported key or tensor."""
    folder = Path(folder)
    where, about = files.show(folder / CONFIG), modules.read_json(folder / CONFIG)
    if about.get("peft_type") != "LORA":
        raise FormatError(f"{where}: peft_type is {brief(about.get('peft_type'))}; it must be LORA")
    for key, allowed in REFUSED.items():
        if about.get(key) not in allowed:
            raise FormatError(f"{where}: {key}: {brief(about[key])} is not supported; it must be {brief(allowed[0])}")
    rank, alpha = about.get("r"), about.get("lora_alpha")
    if type(rank) is not int or rank < 1 or not isinstance(alpha, (int, float)) or not abs(alpha) <= MAX_NUMBER:
        raise FormatError(f"{where}: r is {brief(rank)} and lora_alpha {brief(alpha)}; they must be numbers above 0")
    tensors = read_safetensors(folder / WEIGHTS)
    found: dict[str, dict[str, Floats]] = {}
    replaced: dict[str, Tensor] = {}
    shown = files.show(folder / WEIGHTS)
    for name, tensor in tensors.items():
        module, _, part = name.removeprefix(PREFIX).partition(".lora_")
        if not part:
            replaced[name.removeprefix(PREFIX)] = tensor
        elif part not in ("A.weight", "B.weight"):
            raise FormatError(f"{shown}: the tensor {name!r} is not part of a LoRA of linear layers")
        else:
            found.setdefault(module, {})[part[0]] = np.array(tensor.float32())
    pairs = {}
    for module, parts in found.items():
        a, b = parts.get("A"), parts.get("B")
        if a is None or b is None or a.ndim != 2 or b.ndim != 2 or not a.shape[0] == b.shape[1] == rank:
            shapes = {part: array.shape for part, array in parts.items()}
            raise FormatError(f"{shown}: {module} has {shapes}; A must be ({rank}, in) and B (out, {rank})")
        pairs[module] = (a, b)
    scale = alpha / rank**0.5 if about.get("use_rslora") else alpha / rank
    base = about.get("base_model_name_or_path")
    stated = None
    if about.get("task_type") == OF_CLASSIFIERS and replaced:
        stated = modules.read_json(folder / CLASSIFIER, {})
    return Adapter(base, scale, bool(about.get("fan_in_fan_out")), pairs, replaced, stated)


def configured(config: Mapping[str, Any], adapter: Adapter) -> dict[str, Any]:
    """Return the config.json of a model with an adapter: that of a classifier if the adapter contains a head."""
    if adapter.config is None:
        return dict(config)
    without = {key: value for key, value in config.items() if key not in ("id2label", "label2id")}
    return without | task_heads.of_classifier(config, None) | dict(adapter.config)


def merged(tensors: Mapping[str, Tensor], adapter: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Return the tensors of a model with an adapter merged, as float32; FormatError if it does not fit the model."""
    found, where = read_adapter(adapter), files.show(Path(adapter) / WEIGHTS)
    if found.config is not None:
        tensors = _as_of_head(tensors, found)
    made = dict(tensors)
    for module, (a, b) in found.pairs.items():
        name = _name(f"{module}.weight", tensors, where)
        change = np.float32(found.scale) * (b @ a)
        if found.transposed and tensors[name].shape == change.shape[::-1]:
            change = np.ascontiguousarray(change.T)  # GPT-2's matrices are transposed
        if tensors[name].shape != change.shape:
            raise FormatError(
                f"{where}: the change of {module} has shape {change.shape}; the tensor {name!r} has "
                f"{tensors[name].shape}"
            )
        made[name] = Tensor("F32", change.shape, tensors[name].float32() + change)
    for name, tensor in found.replaced.items():
        made[_name(name, tensors, where, missing=name)] = tensor
    return made


def _as_of_head(tensors: Mapping[str, Tensor], adapter: Adapter) -> Mapping[str, Tensor]:
    """Return the tensors by their names in a model with a head, which begin with the name of the encoder."""
    for module in adapter.pairs:
        prefix, _, shorter = module.partition(".")
        if f"{module}.weight" not in tensors and f"{shorter}.weight" in tensors:
            return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}
    return tensors


def _name(wanted: str, tensors: Mapping[str, Tensor], where: str, missing: str | None = None) -> str:
    """Return the name of a tensor: in files of a model with a head all names begin with the name of the model."""
    shorter = wanted.partition(".")[2]
    for name in (wanted, shorter):
        if name in tensors:
            return name
    longer = [name for name in tensors if name.endswith(f".{wanted}") and name.count(".") == wanted.count(".") + 1]
    if len(longer) == 1:
        return longer[0]
    if missing is None:
        raise FormatError(f"{where}: the model has no tensor {wanted!r}; the adapter is for another model")
    return missing


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAdapter:
    """An adapter in training: its weights are trained among the frozen weights of the model."""

    parameters: Parameters
    names: Mapping[str, str]
    """Our name of a matrix with an adapter → its name in the model's files."""
    options: LoraOptions
    base: str
    task_type: str | None
    transposed: bool
    saved: Mapping[str, str]
    """Our name → the file's name of weights that are trained in full: those of a new head."""
    config: Mapping[str, Any] | None
    """As in `Adapter`."""

    @classmethod
    def of(
        cls, lora: LoraOptions, shapes: Shapes, weights: Mapping[str, Floats], n_layers: int,
        source: Callable[[str], tuple[str, str]], *, seed: int, base: str | os.PathLike[str], task_type: str | None,
        transposed: bool = False, saved: Mapping[str, str] | None = None, config: Mapping[str, Any] | None = None,
    ) -> NewAdapter:  # fmt: skip
        """Return an adapter on the targets of `lora`; `source` is as in `places_of`, `base` the folder of the model."""
        places, names = places_of(shapes, n_layers, lora.targets, source)
        parameters = with_lora(shapes, weights, places, lora, seed=seed, trained=saved or ())
        return cls(
            parameters=parameters, names=names, options=lora, base=os.path.abspath(base), task_type=task_type,
            transposed=transposed, saved=saved or {}, config=config,
        )  # fmt: skip

    def write(self, folder: Path) -> None:
        """Write the adapter as PEFT does."""
        # PEFT saves a module named `classifier` in full.
        heads = {name.rpartition(".")[0] for name in self.saved.values()}
        heads = {"classifier" if name.startswith("classifier.") else name for name in heads}
        about: dict[str, Any] = {
            "peft_type": "LORA", "task_type": self.task_type, "base_model_name_or_path": self.base,
            "r": self.options.rank, "lora_alpha": self.options.alpha, "lora_dropout": 0.0, "bias": "none",
            "fan_in_fan_out": self.transposed, "target_modules": sorted(self.names.values()),
            "modules_to_save": sorted(heads) or None, "use_rslora": False, "use_dora": False, "rank_pattern": {},
            "alpha_pattern": {}, "inference_mode": True, "init_lora_weights": True,
        }  # fmt: skip
        made = {
            f"{PREFIX}{module}.lora_{part}.weight": self.parameters[f"{name}.lora_{part}.weight"]
            for name, module in self.names.items()
            for part in ("A", "B")
        }
        made |= {f"{PREFIX}{name}": self.parameters[ours] for ours, name in self.saved.items()}
        for name, value in ((CONFIG, about), (CLASSIFIER, self.config)):
            if value is not None:
                data = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
                files.write_atomically(folder / name, data.encode())
        write_safetensors(folder / WEIGHTS, made, {"format": "pt"})


def written(
    folder: Path, adapter: NewAdapter | None, begin: Callable[[], object], write: Callable[[], object]
) -> dict[str, Callable[[], object]]:
    """Return the `begin` and `write` of a training: those of the full model, or those of an adapter."""
    if adapter is None:
        return {"begin": begin, "write": write}
    new = adapter
    return {"begin": lambda: folder.mkdir(parents=True, exist_ok=True), "write": lambda: new.write(folder)}


def stated(lora: LoraOptions | None) -> dict[str, Any]:
    """Return what a checkpoint stores about adapters."""
    return {} if lora is None else {"lora": {**asdict(lora), "targets": list(lora.targets)}}


def places_of(
    shapes: Shapes, n_layers: int, targets: Sequence[str], source: Callable[[str], tuple[str, str]]
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Return two dicts for adapters on targets: our name → the matrices it covers, and our name → the model's name.

    `source` maps our name of a weight to the model's name and the part of it, "" for all. Where a model stores several
    matrices as one, as GPT-2 does with q, k and v, they share one adapter. OptionError if the model has no target.
    """
    places: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    for i in range(n_layers):
        for group, parts in ATTACHED.items():
            stems = [f"layers.{i}.{group}.{part}" for part in parts if f"layers.{i}.{group}.{part}.weight" in shapes]
            for stem in stems:
                if stem.rpartition(".")[2] not in targets:
                    continue
                module, part = source(f"{stem}.weight")
                joint = [other for other in stems if part and source(f"{other}.weight")[0] == module] or [stem]
                name = joined_name(joint)
                places[name], names[name] = joint, module.removesuffix(".weight")
    if not places:
        raise OptionError(f"the model has none of the targets {', '.join(targets)}")
    return places, names


def merge_adapter(
    model: str | os.PathLike[str], adapter: str | os.PathLike[str], output: str | os.PathLike[str], *,
    overwrite: bool = False,
) -> None:  # fmt: skip
    """Write the folder of a model with an adapter merged into its weights, which any program can read.

    FileExistsError for a folder that is not empty unless `overwrite`; FormatError if the adapter is for another model.
    """
    root, target = Path(model), Path(output)
    home, found = modules.read(root).transformer, read_adapter(adapter)
    made = merged(read_model(home), adapter)
    if not overwrite and target.exists() and any(target.iterdir()):
        raise FileExistsError(17, "the folder is not empty; give another folder, or overwrite", files.show(target))
    alone = found.config is not None  # no modules follow a classifier
    copy_files(home if alone else root, target, alone=alone)
    if alone:
        data = json.dumps(configured(modules.read_json(home / "config.json"), found), indent=1, ensure_ascii=False)
        files.write_atomically(target / "config.json", (data + "\n").encode())
    inside = Path() if alone else home.relative_to(root)
    write_safetensors(target / inside / WHOLE, made, {"format": "pt"})
