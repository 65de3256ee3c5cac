"""`quantize`: writes a model with its matrices in fewer bits, as a folder that is memory-mapped when loaded."""

from __future__ import annotations

import dataclasses
import os
import shutil
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokkit.errors import FormatError, OptionError
from tokkit.files import files, gguf_file
from tokkit.files.safetensors import Tensor
from tokkit.files.sharded import read_model
from tokkit.nn.encoder import TextEncoder
from tokkit.nn.text_decoder import TextDecoder
from tokkit.pipeline import (
    decoder_families,
    encoder_loading,
    generator_loading,
    gguf_loading,
    loading,
    modules,
    packed_folders,
    seq2seq_families,
    seq2seq_loading,
    static_format,
    task_heads,
)
from tokkit.pipeline.decoder_weights import DecoderWeights
from tokkit.pipeline.modules import Modules
from tokkit.pipeline.packed_folders import BLOCKS, PRECISIONS, VOCABULARY, Part
from tokkit.pipeline.task_heads import Head

COPIED = (".json", ".txt", ".model", ".jinja", ".tiktoken", ".md")
NOT_COPIED = ("model.safetensors.index.json", packed_folders.JSON)


@dataclass(frozen=True, slots=True)
class Packed:
    """The parts of a model to write: see `packed_folders.write`."""

    parts: Mapping[str, Part]
    heads: Mapping[str, Tensor] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)


def quantize(
    folder: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    precision: str | None = None,
    overwrite: bool = False,
) -> None:
    """Write the model of a folder, of a GGUF file, or of a name in the hub's cache with matrices in fewer bits.

    `precision` is one of those of `pipeline.load`; by default "int4", or for a GGUF file the blocks of the file.
    Decoders, encoder–decoders, encoders, cross-encoders and classifiers are quantized, except their heads.
    Configuration, tokenizer and modules are copied; `load` memory-maps the weights. The folder is written under a
    temporary name and then renamed. With `overwrite` a folder that this function wrote is replaced; any other existing
    folder is an error.

    >>> from tokkit import pipeline
    >>> pipeline.quantize("all-MiniLM-L6-v2/", "minilm-int8/", precision="int8")  # doctest: +SKIP
    """
    source, target = Path(loading.found(folder)), Path(output)
    if precision is not None and precision not in PRECISIONS:
        raise OptionError(f"precision is {precision!r}; it must be one of {', '.join(PRECISIONS)}")
    is_gguf = gguf_loading.is_gguf(source)
    if not is_gguf and not source.is_dir():
        raise FileNotFoundError(f"{files.show(source)}: no such folder; a model is a folder with config.json")
    if packed_folders.is_packed(source):
        raise OptionError(f"{files.show(source)} is already quantized; quantize the original model")
    if target.exists() and not (overwrite and packed_folders.is_packed(target)):
        why = "exists and is not a quantized model" if overwrite else "exists"
        raise FileExistsError(f"{files.show(target)} {why}; give another folder")
    if not is_gguf and static_format.is_static(source):
        raise OptionError(f"{files.show(source)} has static vectors and no layers; see StaticEncoder.save")
    if is_gguf:
        made, chain = _of_gguf(source, precision), None
    else:
        chain = modules.read(source)
        made = _of_folder(chain, PRECISIONS[precision or "int4"])
    stored = precision or (BLOCKS if is_gguf else "int4")
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.{os.getpid()}.new")
    aside.mkdir()
    try:
        if chain is None:
            _copy_keys(source, aside / VOCABULARY)
        else:
            _copy(chain, aside)
        packed_folders.write(aside, stored, made.parts, heads=made.heads, model=made.model)
        if target.exists():
            old = target.with_name(f".{target.name}.{os.getpid()}.old")
            os.replace(target, old)
            os.replace(aside, target)
            shutil.rmtree(old)
        else:
            os.replace(aside, target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _of_folder(chain: Modules, dtype: str) -> Packed:
    home = chain.transformer
    where, config = files.show(home), modules.read_json(home / "config.json")
    model_type = config.get("model_type")
    if model_type in decoder_families.FAMILIES and not encoder_loading.makes_vectors(config, chain):
        spec, _ = generator_loading.read_spec(home, config, dtype)
        weights = DecoderWeights(read_model(home), spec, where)
        return Packed({"": Part(TextDecoder(spec.config, weights), weights, tied=spec.config.tied)})
    if model_type in seq2seq_families.FAMILIES:
        tensors = read_model(home)
        tied = seq2seq_loading.is_tied(tensors)
        halves = seq2seq_loading.read_halves(tensors, seq2seq_families.read(config, dtype, tied=tied), where)
        decoder = Part(halves.model.decoder, halves.decoder, tied=tied)
        encoder = Part(halves.model.encoder, halves.encoder, table=None)
        return Packed({"encoder.": encoder, "decoder.": decoder}, model={seq2seq_loading.TIED: tied})
    return _of_encoder(chain, config, dtype)


def _of_encoder(chain: Modules, config: Mapping[str, Any], dtype: str) -> Packed:
    home = chain.transformer
    where, read = files.show(home), read_model(home)
    spec = encoder_loading.read_spec(home, config, dtype)
    encoder, weights = encoder_loading.read_encoder(read, spec, where)
    taken = _Taken(read)
    if encoder_loading.has_masked_head(taken, spec):
        encoder_loading.masked_head(taken, spec, where)
    task = None if chain.others else task_heads.task_of(config)
    if task is not None:
        Head(task, config, taken, spec.config.dim, where)
    if isinstance(encoder, TextEncoder):
        part = Part(encoder, weights, table="embeddings.word.weight")
    else:
        part = Part(encoder.decoder, weights)
    return Packed({"": part}, heads={name: read[name] for name in taken.names})


def _of_gguf(path: Path, precision: str | None) -> Packed:
    made = gguf_loading.read(path, None if precision is None else PRECISIONS[precision])
    config = dataclasses.asdict(made.spec.config)
    model = {"config": config, "max_length": made.spec.max_length}
    return Packed({"": Part(made.decoder, made.weights, tied=made.spec.config.tied)}, model=model)


class _Taken(Mapping[str, Tensor]):
    """The tensors of a file; records the names of those that are read."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self._tensors = tensors
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Tensor:
        made = self._tensors[name]
        self.names.add(name)
        return made

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)


def _copy(chain: Modules, to: Path) -> None:
    """Copy a model's folder except its weights, and the modules after the transformer with their weights."""
    for folder in dict.fromkeys((chain.root, chain.transformer, *chain.others)):
        place = to / folder.relative_to(chain.root)
        place.mkdir(parents=True, exist_ok=True)
        suffixes = (*COPIED, ".safetensors") if folder not in (chain.root, chain.transformer) else COPIED
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.is_file() and path.suffix in suffixes and path.name not in NOT_COPIED:
                shutil.copyfile(path, place / path.name)


def _copy_keys(path: Path, to: Path) -> None:
    """Write a GGUF file with the keys of another one, including the tokenizer, and without tensors."""
    with files.open_regular(path, "a GGUF file") as file:
        end = gguf_file.read_keys_end(file)
        file.seek(0)
        header = file.read(end)
    if len(header) != end:
        raise FormatError(f"{files.show(path)}: the file was truncated while it was read")
    files.write_atomically(to, header[:8] + struct.pack("<Q", 0) + header[16:])
