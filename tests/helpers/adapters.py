"""Writes the folder of a random adapter (LoRA) in PEFT's format, for the model of `generators.folder`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tokkit.files.safetensors import write_safetensors


def write(folder: Path, *, rank: int, modules: dict[str, tuple[int, int]] | None = None, **config: Any) -> Path:
    """Write an adapter; `modules` are name → (rows, columns) of the matrices that it changes."""
    rng = np.random.default_rng(7)
    folder.mkdir(parents=True)
    about = {"peft_type": "LORA", "r": rank, "lora_alpha": 2 * rank, "base_model_name_or_path": "generator"} | config
    (folder / "adapter_config.json").write_text(json.dumps(about))
    made = {}
    for name, (rows, columns) in (modules or {"model.layers.0.self_attn.q_proj": (32, 32)}).items():
        made[f"base_model.model.{name}.lora_A.weight"] = rng.normal(0, 0.3, (rank, columns)).astype(np.float32)
        made[f"base_model.model.{name}.lora_B.weight"] = rng.normal(0, 0.3, (rows, rank)).astype(np.float32)
    write_safetensors(folder / "adapter_model.safetensors", made)
    return folder
