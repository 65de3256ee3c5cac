"""Adapters of folders (LoRA) in PEFT's format: read, written, and merged into the weights of their model."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tokkit.errors import FormatError, OptionError
from tokkit.formats import files
from tokkit.formats.safetensors import Tensor, read_safetensors, write_safetensors
from tokkit.formats.sharded import INDEX, WHOLE, read_model
from tokkit.formats.strict_json import brief
from tokkit.nn.arrays import Floats
from tokkit.nn.grad import LoraOptions, Parameters
from tokkit.nn.grad.layers import joined_name
from tokkit.nn.grad.parameters import Shapes
from tokkit.pipeline import modules

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
PREFIX = "base_model.model."
ATTACHED = {"attention": "qkvo", "feed_forward": ("gate", "up", "down")}
"""The parts of a layer, and their matrices in the order of their rows."""
COPIED = (".json", ".txt", ".model", ".jinja")
REFUSED: dict[str, tuple[Any, ...]] = {
    "use_dora": (False, None), "rank_pattern": ({}, None), "alpha_pattern": ({}, None), "bias": ("none", None),
    "lora_bias": (False, None), "trainable_token_indices": (None,), "target_parameters": (None, []),
}  # fmt: skip
"""Keys of adapter_config.json whose values are checked, each with those that are read."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter of a folder: module → (A, B), what is added being scale · B A; and tensors that replace others."""

    base: str | None
    """The model that it is for, as its file names it."""
    scale: float
    transposed: bool
    pairs: Mapping[str, tuple[Floats, Floats]]
    replaced: Mapping[str, Tensor]


def is_adapter(folder: Path) -> bool:
    """Return whether a folder holds an adapter and no model."""
    return (folder / CONFIG).is_file() and not (folder / "config.json").exists()


def read_adapter(folder: str | os.PathLike[str]) -> Adapter:
    """Read adapter_config.json and adapter_model.safetensors; FormatError names the key or tensor that is not read."""
    folder = Path(folder)
    where, about = files.show(folder / CONFIG), modules.read_json(folder / CONFIG)
    if about.get("peft_type") != "LORA":
        raise FormatError(f"{where}: peft_type is {brief(about.get('peft_type'))}; LORA is read")
    for key, allowed in REFUSED.items():
        if about.get(key) not in allowed:
            raise FormatError(f"{where}: {key}: {brief(about[key])} is not supported; {brief(allowed[0])} is")
    rank, alpha = about.get("r"), about.get("lora_alpha")
    if not isinstance(rank, int) or rank < 1 or not isinstance(alpha, (int, float)):
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
            raise FormatError(f"{shown}: the tensor {name!r} is none of a LoRA of linear layers")
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
    return Adapter(base, scale, bool(about.get("fan_in_fan_out")), pairs, replaced)


def merged(tensors: Mapping[str, Tensor], adapter: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Return the tensors of a model with an adapter of a folder added, as float32; FormatError if it does not fit."""
    found, made, where = read_adapter(adapter), dict(tensors), files.show(Path(adapter) / WEIGHTS)
    for module, (a, b) in found.pairs.items():
        name = _name(f"{module}.weight", tensors, where)
        change = np.float32(found.scale) * (b @ a)
        if found.transposed and tensors[name].shape == change.shape[::-1]:
            change = np.ascontiguousarray(change.T)  # of GPT-2, whose matrices lie the other way round
        if tensors[name].shape != change.shape:
            raise FormatError(f"{where}: {module} changes {change.shape}, and {name!r} has shape {tensors[name].shape}")
        made[name] = Tensor("F32", change.shape, tensors[name].float32() + change)
    for name, tensor in found.replaced.items():
        made[_name(name, tensors, where, missing=name)] = tensor
    return made


def _name(wanted: str, tensors: Mapping[str, Tensor], where: str, missing: str | None = None) -> str:
    """Return the name of a tensor: files of a model with a head begin all names with the model's, others do not."""
    shorter = wanted.partition(".")[2]
    for name in (wanted, shorter):
        if name in tensors:
            return name
    longer = [name for name in tensors if name.endswith(f".{wanted}") and name.count(".") == wanted.count(".") + 1]
    if len(longer) == 1:
        return longer[0]
    if missing is None:
        raise FormatError(f"{where}: the model has no tensor {wanted!r}; the adapter is for another one")
    return missing


def write_adapter(
    folder: Path, parameters: Parameters, modules_of: Mapping[str, str], options: LoraOptions, *, base: str,
    task_type: str, transposed: bool,
) -> None:  # fmt: skip
    """Write an adapter that learnt, as PEFT does; `modules_of` are our name → the model's name of its matrix."""
    folder.mkdir(parents=True, exist_ok=True)
    about = {
        "peft_type": "LORA", "task_type": task_type, "base_model_name_or_path": base, "r": options.rank,
        "lora_alpha": options.alpha, "lora_dropout": 0.0, "bias": "none", "fan_in_fan_out": transposed,
        "target_modules": sorted(modules_of.values()), "modules_to_save": None, "use_rslora": False, "use_dora": False,
        "rank_pattern": {}, "alpha_pattern": {}, "inference_mode": True, "init_lora_weights": True,
    }  # fmt: skip
    made = {
        f"{PREFIX}{module}.lora_{part}.weight": parameters[f"{name}.lora_{part}.weight"]
        for name, module in modules_of.items()
        for part in ("A", "B")
    }
    files.write_atomically(folder / CONFIG, (json.dumps(about, indent=2, ensure_ascii=False) + "\n").encode())
    write_safetensors(folder / WEIGHTS, made, {"format": "pt"})


def stated(lora: LoraOptions | None) -> dict[str, Any]:
    """Return what a checkpoint says of adapters."""
    return {} if lora is None else {"lora": {**asdict(lora), "targets": list(lora.targets)}}


def places_of(
    shapes: Shapes, n_layers: int, targets: Sequence[str], source: Callable[[str], tuple[str, str]]
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Return, for adapters on targets: our name → the matrices that it covers, and → the model's name of its matrix.

    `source` gives the model's name of a weight of ours, and which part of it that is, "" for all. Where a model has
    several matrices in one, as GPT-2 has q, k and v, all of them get one adapter. OptionError if it has none of these.
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
    """Write the folder of a model with an adapter in its weights, which any program reads.

    FileExistsError for a folder that is not empty unless `overwrite`; FormatError if the adapter is for another model.
    """
    root, target = Path(model), Path(output)
    home = modules.read(root).transformer
    made = merged(read_model(home), adapter)
    if not overwrite and target.exists() and any(target.iterdir()):
        raise FileExistsError(17, "the folder is not empty; give another, or overwrite", files.show(target))
    for found in sorted(root.rglob("*")):
        inside = found.relative_to(root)
        if found.is_file() and found.suffix in COPIED and found.name != INDEX and not inside.parts[0].startswith("."):
            (target / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(found, target / inside)
    write_safetensors(target / home.relative_to(root) / WHOLE, made, {"format": "pt"})
