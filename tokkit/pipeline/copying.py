"""Copies what is not a weight of a model's folder: configurations, tokenizers, modules."""

from __future__ import annotations

from pathlib import Path

from tokkit.formats import files
from tokkit.formats.sharded import INDEX

COPIED = (".json", ".txt", ".model", ".jinja")
"""The ends of the names of files that are copied beside new weights."""
OF_SENTENCES = ("modules.json", "config_sentence_transformers.json", "sentence_bert_config.json")
"""Files of a folder of sentence-transformers that a classifier has not."""


def copy_files(source: Path, folder: Path, *, alone: bool = False) -> None:
    """Copy the files of a folder, hidden ones left out; `alone`: those of a transformer, without modules after it."""
    folder.mkdir(parents=True, exist_ok=True)
    for found in sorted(source.rglob("*")):
        inside = found.relative_to(source)
        if not found.is_file() or found.suffix not in COPIED or any(part.startswith(".") for part in inside.parts):
            continue
        if found.name == INDEX or (alone and (len(inside.parts) > 1 or found.name in OF_SENTENCES)):
            continue
        (folder / inside).parent.mkdir(parents=True, exist_ok=True)
        files.write_atomically(folder / inside, found.read_bytes())
