"""Copies all of a model's folder except the weights: configuration, tokenizer, modules."""

from __future__ import annotations

from pathlib import Path

from tokkit.files import files
from tokkit.files.sharded import INDEX

COPIED = (".json", ".txt", ".model", ".jinja")
"""Endings of the files that are copied next to new weights."""
OF_SENTENCES = ("modules.json", "config_sentence_transformers.json", "sentence_bert_config.json")
"""Files of a sentence-transformers folder that a classifier does not have."""


def copy_files(source: Path, folder: Path, *, alone: bool = False) -> None:
    """Copy the files of a folder except hidden ones; with `alone` only those of the transformer, not of modules."""
    folder.mkdir(parents=True, exist_ok=True)
    for found in sorted(source.rglob("*")):
        inside = found.relative_to(source)
        if not found.is_file() or found.suffix not in COPIED or any(part.startswith(".") for part in inside.parts):
            continue
        if found.name == INDEX or (alone and (len(inside.parts) > 1 or found.name in OF_SENTENCES)):
            continue
        (folder / inside).parent.mkdir(parents=True, exist_ok=True)
        files.write_atomically(folder / inside, found.read_bytes())
