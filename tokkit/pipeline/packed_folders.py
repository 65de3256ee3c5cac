"""Folders of quantized models, in the layout of the kernels: written once, and mapped when they are loaded.

Besides the configuration and the tokenizer of the model, packed.json says what packed.safetensors holds: images of
matrices (csrc/nn/linear.h), and the other weights by the names of `DecoderConfig.shapes`.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit._core.nn import KINDS, PackedLinear
from tokkit.errors import FormatError, OptionError
from tokkit.formats import files
from tokkit.formats.safetensors import Tensor, Tensors, read_safetensors, write_safetensors
from tokkit.formats.sharded import read_model
from tokkit.formats.strict_json import Section
from tokkit.nn.packed_table import PackedTable
from tokkit.nn.text_decoder import TextDecoder
from tokkit.pipeline import decoder_families, generator_loading, modules
from tokkit.pipeline.decoder_weights import DecoderWeights
from tokkit.pipeline.text_generator import TextGenerator
from tokkit.version import __version__

PRECISIONS = {
    "fp32": "float32", "bf16": "bfloat16", "int8": "int8", "int8-weight-only": "int8-weight-only", "int4": "int4",
}  # fmt: skip
"""What `precision` may be → how `tokkit.nn.Linear` calls it."""
JSON, WEIGHTS = "packed.json", "packed.safetensors"
FORMAT, LAYOUT = "tokkit packed model", 1
GROUPS = ("int4", "int8-weight-only")
LINE = 64
"""Bytes of which the places of images are multiples."""
COPIED = (".json", ".txt", ".model", ".jinja", ".tiktoken", ".md")
NOT_COPIED = ("model.safetensors.index.json", JSON)


def is_packed(folder: Path) -> bool:
    """Return whether a folder was written by `quantize`."""
    return (folder / JSON).is_file()


class PackedWeights(Mapping[str, Any]):
    """The weights of a packed folder: `ready` has the matrices, over the mapped file; the mapping has all others."""

    def __init__(self, tensors: Tensors, matrices: Mapping[str, Any], where: str) -> None:
        self._where, self.ready = where, {name: _image(tensors, name, about) for name, about in matrices.items()}
        self._others = {name: tensor for name, tensor in tensors.items() if name not in matrices}

    def __getitem__(self, name: str) -> Any:
        if name in self._others:
            tensor = self._others[name]
            return tensor.data if name == "word.weight" else tensor.float32()
        table = self.ready.get("word", self.ready.get("head"))
        if name != "word.weight" or table is None or table.kind not in GROUPS:
            raise FormatError(f"{self._where}: there is no tensor {name!r}")
        return PackedTable(table)

    def __iter__(self) -> Iterator[str]:
        return iter(self._others)

    def __len__(self) -> int:
        return len(self._others)

    def __contains__(self, name: object) -> bool:
        return name in self._others


def _image(tensors: Tensors, name: str, value: object) -> PackedLinear:
    about = Section(value, f"matrices.{name}")
    n, k, kind = about.take("n", int), about.take("k", int), about.take("kind", str)
    tensor = tensors.get(name)
    if tensor is None or tensor.dtype != "U8" or len(tensor.shape) != 1 or kind not in KINDS or min(n, k) < 1:
        raise FormatError(f"the matrix {name!r} of {n} by {k}, {kind}, is not in {WEIGHTS}")
    try:
        return PackedLinear.over(tensor.data, n, k, kind, about.take("minima", bool))
    except (ValueError, OverflowError, MemoryError) as error:
        raise FormatError(f"the matrix {name!r} of {n} by {k}, {kind}: {error}") from None


def load(folder: Path, precision: str | None, max_length: int | None) -> TextGenerator:
    """Return the generator of a folder that `quantize` wrote; `precision`, if given, must be that of the folder."""
    where = files.show(folder / JSON)
    about = modules.read_json(folder / JSON)
    try:
        stored, matrices = _checked(about)
        if precision not in (None, stored):
            raise OptionError(
                f"precision is {precision!r}, and the model in {files.show(folder)} is quantized: {stored}"
            )
        weights = PackedWeights(read_safetensors(folder / WEIGHTS), matrices, where)
    except FormatError as error:
        raise FormatError(str(error) if str(error).startswith(files.show(folder)) else f"{where}: {error}") from None
    config = modules.read_json(folder / "config.json")
    spec, eos_ids = generator_loading.read_spec(folder, config, PRECISIONS[stored], max_length)
    tokenizer = generator_loading.read_tokenizer(folder, spec)
    try:
        decoder = TextDecoder(spec.config, weights)
    except ValueError as error:  # the core's, of matrices that do not fit each other
        raise FormatError(f"{where}: {error}") from None
    again = functools.partial(load, Path(os.path.abspath(folder)), precision, max_length)
    return TextGenerator(folder, tokenizer, decoder, spec, eos_ids=eos_ids, reload=again)


def _checked(about: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the precision and the matrices of a packed.json."""
    file = Section(about, "")
    name, layout, by = file.take("format", str), file.take("layout", int), file.take("tokkit", str)
    if name != FORMAT:
        raise FormatError(f"format is {name!r}; it must be {FORMAT!r}")
    if layout != LAYOUT:
        raise FormatError(
            f"the layout has the number {layout}, of tokkit {by}; tokkit {__version__} reads layout {LAYOUT}: quantize "
            "the model again"
        )
    precision = file.take("precision", str)
    if precision not in PRECISIONS:
        raise FormatError(f"precision is {precision!r}; {', '.join(PRECISIONS)} are read")
    return precision, file.take("matrices", dict)


def quantize(
    folder: str | os.PathLike[str], output: str | os.PathLike[str], *, precision: str = "int4", overwrite: bool = False
) -> None:
    """Write the causal language model of a folder to another one, with matrices in a precision of `pipeline.load`.

    Configuration and tokenizer are copied, and `load` maps the weights as they are. The folder is written aside, and
    then gets its name. With `overwrite` one that this function wrote before is replaced; any other is refused.
    """
    source, target = Path(folder), Path(output)
    if precision not in PRECISIONS:
        raise OptionError(f"precision is {precision!r}; it must be one of {', '.join(PRECISIONS)}")
    if not source.is_dir():
        raise FileNotFoundError(f"{files.show(source)}: no such folder; a model is a folder with config.json")
    if is_packed(source):
        raise OptionError(f"{files.show(source)} is quantized already; quantize the model that it was made of")
    if target.exists() and not (overwrite and is_packed(target)):
        why = "exists, and is not a quantized model" if overwrite else "exists"
        raise FileExistsError(f"{files.show(target)} {why}; give another folder")
    config = modules.read_json(source / "config.json")
    if config.get("model_type") not in decoder_families.FAMILIES:
        known = ", ".join(decoder_families.FAMILIES)
        raise OptionError(f"{files.show(source)} is of type {config.get('model_type')!r}; {known} are quantized")
    if (source / "modules.json").exists():
        raise OptionError(
            f"{files.show(source)} makes vectors of texts, as its modules.json says, and models that generate text are "
            "quantized; load it with precision='int8'"
        )
    spec, _ = generator_loading.read_spec(source, config, PRECISIONS[precision])
    weights = DecoderWeights(read_model(source), spec, files.show(source))
    decoder = TextDecoder(spec.config, weights)
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.{os.getpid()}.new")
    aside.mkdir()
    try:
        for path in sorted(source.iterdir()):
            if path.is_file() and path.suffix in COPIED and path.name not in NOT_COPIED:
                shutil.copyfile(path, aside / path.name)
        _write(decoder, weights, precision, aside)
        if target.exists():
            old = target.with_name(f".{target.name}.{os.getpid()}.old")
            os.replace(target, old)
            os.replace(aside, target)
            shutil.rmtree(old)
        else:
            os.replace(aside, target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _write(decoder: TextDecoder, weights: DecoderWeights, precision: str, folder: Path) -> None:
    matrices = dict(decoder.matrices)
    inside = {f"{name}.{kind}" for names in decoder.sources.values() for name in names for kind in ("weight", "bias")}
    inside.add("word.weight")
    table = weights["word.weight"]
    tensors: dict[str, Any] = {}
    if matrices["head"].kind not in GROUPS:
        tensors["word.weight"] = _bfloat16(table)
    elif not decoder.config.tied:
        matrices["word"] = PackedLinear(_float32(table), None, "int8-weight-only")
    tensors |= {name: np.frombuffer(memoryview(packed), dtype=np.uint8) for name, packed in matrices.items()}
    tensors |= {name: weights[name] for name in weights if name not in inside}
    write_safetensors(folder / WEIGHTS, tensors, alignment=LINE)
    about = {"format": FORMAT, "layout": LAYOUT, "tokkit": __version__, "precision": precision, "matrices": {
        name: {"n": packed.shape[0], "k": packed.shape[1], "kind": packed.kind, "minima": packed.minima}
        for name, packed in matrices.items()}}  # fmt: skip
    files.write_atomically(folder / JSON, (json.dumps(about, indent=1) + "\n").encode())


def _float32(table: NDArray[Any]) -> NDArray[np.float32]:
    if table.dtype == np.uint16:
        return (table.astype(np.uint32) << 16).view(np.float32)
    return np.ascontiguousarray(table, dtype=np.float32)


def _bfloat16(table: NDArray[Any]) -> Tensor:
    if table.dtype != np.uint16:
        bits = _float32(table).view(np.uint32)
        table = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return Tensor("BF16", table.shape, table)
