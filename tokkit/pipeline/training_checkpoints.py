"""Checkpoints of a training: weights, the state of the optimizer, and the options and data, in one file.

A file is written under a temporary name and then renamed: if the disk is full, the previous checkpoint is kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokkit.errors import FormatError, OptionError
from tokkit.files import files
from tokkit.files.safetensors import read_safetensors, write_safetensors
from tokkit.files.strict_json import loads
from tokkit.nn.grad import Parameters
from tokkit.nn.optim import AdamW, WeightAverage

NAME = "training.safetensors"
FORMAT = "tokkit training 1"


@dataclass(slots=True)
class Training:
    """The state of a training that is saved."""

    parameters: Parameters
    optimizer: AdamW
    average: WeightAverage | None
    number: int = 0
    """The number of steps, including skipped ones."""
    first_loss: float = 0.0
    loss: float = 0.0
    """The mean loss of the last steps."""
    tokens: int = 0
    """The number of tokens trained on."""
    seconds: float = 0.0


def save(folder: Path, training: Training, made_with: Mapping[str, Any]) -> None:
    """Write a checkpoint into a folder, in place of the previous one."""
    tensors = {"weights": training.parameters.data, **training.optimizer.state()}
    counts: dict[str, Any] = {
        "number": training.number, "steps": training.optimizer.steps, "skipped": training.optimizer.skipped,
        "first_loss": training.first_loss, "loss": training.loss, "seconds": training.seconds,
        "tokens": training.tokens,
    }  # fmt: skip
    if training.average is not None:
        tensors["average"] = training.average.data
        counts["averaged"] = training.average.steps
    about = {
        "format": FORMAT, "counts": json.dumps(counts), "made_with": json.dumps(made_with),
        "order": _order(training.parameters),
    }  # fmt: skip
    write_safetensors(folder / NAME, tensors, about)


def resume(folder: Path, training: Training, made_with: Mapping[str, Any]) -> None:
    """Restore the checkpoint of a folder; OptionError, with both values, if it was made with other options or data."""
    path = folder / NAME
    where = files.show(path)
    if not path.exists():
        raise OptionError(f"there is no {where} to resume from; leave resume out")
    tensors = read_safetensors(path)
    if tensors.metadata.get("format") != FORMAT:
        raise FormatError(
            f"{where}: this is not a checkpoint of a training; its format is {tensors.metadata.get('format')!r}"
        )
    before, counts = (loads(tensors.metadata.get(name, "{}").encode()) for name in ("made_with", "counts"))
    now = json.loads(json.dumps(made_with))
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            was, given = _different(before.get(name), now.get(name))
            raise OptionError(
                f"{where} was made with {name} {was}, but {given} was given; give the same value, or leave resume out"
            )
    arrays = {name: tensor.data for name, tensor in tensors.items()}
    data = training.parameters.data
    if "weights" not in arrays or arrays["weights"].shape != data.shape:
        raise FormatError(f"{where}: some weights are missing, or their number is not {len(data)}")
    if tensors.metadata.get("order") != _order(training.parameters):  # arrays hold all weights, without names
        raise FormatError(
            f"{where}: another version of tokkit wrote it, with weights in another order; leave resume out"
        )
    data[:] = arrays["weights"]
    training.optimizer.load_state(arrays, steps=counts["steps"])
    training.optimizer.skipped = counts["skipped"]
    if training.average is not None:
        training.average.data[:] = arrays["average"]
        training.average.steps = counts["averaged"]
    for name in ("number", "first_loss", "loss", "seconds", "tokens"):
        setattr(training, name, counts[name])


def _order(parameters: Parameters) -> str:
    """Return a hash of the names of the trained weights, in their order."""
    return hashlib.blake2b(json.dumps(list(parameters.grads)).encode(), digest_size=16).hexdigest()


def _different(one: object, other: object) -> tuple[str, str]:
    """Return two values as text; of mappings only the keys whose values differ."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        keys = [key for key in {**one, **other} if one.get(key) != other.get(key)]
        one, other = ({key: value[key] for key in keys if key in value} for value in (one, other))
    return _brief(one), _brief(other)


def _brief(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:297]}..."
