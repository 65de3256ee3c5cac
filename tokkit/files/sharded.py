"""Reads all tensors of a model's folder: model.safetensors, or the shards that an index names."""

from __future__ import annotations

import os
from pathlib import Path

from tokkit.errors import FormatError
from tokkit.escaping import visible
from tokkit.files import files
from tokkit.files.safetensors import Tensors, read_safetensors
from tokkit.files.strict_json import Section, brief, loads, typed

WHOLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")


def read_model(folder: str | os.PathLike[str]) -> Tensors:
    """Return the tensors of model.safetensors in a folder, or of the shards in its model.safetensors.index.json.

    They are mapped, as `read_safetensors` gives them. FormatError says what is wrong in which file, or that the folder
    has neither; weights in pickles are never read.
    """
    folder = Path(folder)
    files.check_name(folder)
    names = sorted(os.listdir(folder))
    if WHOLE in names:
        return read_safetensors(folder / WHOLE)
    if INDEX in names:
        return read_sharded(folder / INDEX)
    seen = ", ".join(files.show(name) for name in names[:8]) + (", …" if len(names) > 8 else "")
    why = "; weights in pickles are not read: save them as safetensors" if any(map(_is_pickle, names)) else ""
    shown = files.show(folder)
    raise FormatError(f"{shown}: neither {WHOLE} nor {INDEX} in this directory; it holds {seen or 'nothing'}{why}")


def _is_pickle(name: str) -> bool:
    return name.endswith(PICKLES)


def read_sharded(index: str | os.PathLike[str]) -> Tensors:
    """Return the tensors of all shards that an index (JSON: weight_map, tensor → file beside it) names.

    FormatError if a shard is missing or no file of this folder, and where index and shards do not agree on which
    tensors there are; `metadata` are those of the first shard.
    """
    index = Path(index)
    with files.naming(index):
        shards = _shards(index)
    found: Tensors | None = None
    holder: dict[str, str] = {}
    for shard, wanted in shards.items():
        tensors = read_safetensors(index.parent / shard)
        where = files.show(index.parent / shard)
        if missing := sorted(wanted - tensors.keys()):
            raise FormatError(f"{where}: no tensor {brief(missing[0])}, which {files.show(index.name)} says is here")
        for name in tensors:
            if name in holder:
                raise FormatError(f"{where}: the tensor {brief(name)} is in {files.show(holder[name])} too")
            holder[name] = shard
        found = tensors if found is None else found
        found.update(tensors)
    for shard, wanted in shards.items():
        if extra := sorted(name for name, where in holder.items() if where == shard and name not in wanted):
            where = files.show(index.parent / shard)
            raise FormatError(f"{where}: the tensor {brief(extra[0])} is not in {files.show(index.name)}")
    return found if found is not None else Tensors()


def _shards(index: Path) -> dict[str, set[str]]:
    """Return file → names of its tensors, the files in the order of their names."""
    with files.open_regular(index, "an index of shards") as file:
        whole = Section(loads(files.read_all(file)), "")
    places = whole.take("weight_map", dict)
    shards: dict[str, set[str]] = {}
    for name, shard in places.items():
        typed(shard, f"weight_map.{visible(name[:80])}", str)
        # A name and no path: what leads out of the folder is not the model's.
        if not shard or shard in (".", "..") or any(c in shard for c in "/\\:\0"):
            raise FormatError(f"weight_map: {brief(name)} is in {brief(shard)}, which is not a file of this folder")
        shards.setdefault(shard, set()).add(name)
    if not shards:
        raise FormatError("weight_map: it names no tensors")
    for shard in shards:
        if not _is_there(index.parent / shard):
            raise FormatError(f"weight_map: the shard {brief(shard)} is missing")
    return dict(sorted(shards.items()))


def _is_there(path: Path) -> bool:
    # A name that is longer than the system lets names be, or no text, is not a file's.
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
