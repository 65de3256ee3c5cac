"""Folders of quantized models in the layout of the kernels: written once, and memory-mapped when loaded.

Besides the configuration and the tokenizer of the model there are packed.json and packed.safetensors, which holds:
images of packed matrices (csrc/nn/linear.h); the other weights by the names of `DecoderConfig.shapes` or of
`TextEncoder`, in an encoder–decoder with the prefixes "encoder." and "decoder."; and the tensors of heads by their
original names with the prefix "file.".
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tokkit._core.nn.linear import KINDS, LargeMemory, PackedLinear
from tokkit.errors import FormatError, OptionError
from tokkit.files import files
from tokkit.files.gguf_tensors import BlockTensor
from tokkit.files.safetensors import Tensor, Tensors, read_safetensors, write_safetensors
from tokkit.files.strict_json import Section
from tokkit.nn.packed_table import PackedTable
from tokkit.pipeline import modules
from tokkit.pipeline.gguf_packing import packed
from tokkit.pipeline.weights import release
from tokkit.version import __version__

PRECISIONS = {
    "fp32": "float32", "bf16": "bfloat16", "int8": "int8", "int8-weight-only": "int8-weight-only", "int4": "int4",
}  # fmt: skip
"""Values of `precision` → their names in `tokkit.nn.Linear`."""
BLOCKS = "blocks"
"""The precision of a folder made of a GGUF file with the codes of its blocks."""
JSON, WEIGHTS, VOCABULARY = "packed.json", "packed.safetensors", "tokenizer.gguf"
FORMAT, LAYOUT = "tokkit packed model", 1
GROUPS = ("int4", "int8-weight-only")
HEADS = "file."
"""The prefix of the names of tensors of heads."""
LINE = 64
"""The alignment of images in bytes."""
LARGE = 1 << 20
"""The minimum size of a head's tensor that is stored in 16 bits."""


class Packable(Protocol):
    """A model of the core: its packed matrices by name, and the weights that each is made of."""

    matrices: dict[str, PackedLinear]
    sources: dict[str, tuple[str, ...]]


def is_packed(folder: Path) -> bool:
    """Return whether `quantize` wrote a folder."""
    return (folder / JSON).is_file()


class PackedWeights(Mapping[str, Any]):
    """The weights of a part of a folder: `ready` has the matrices, views of the mapped file.

    The mapping has all others.

    `words` has the table of tokens if it belongs to another part.
    """

    def __init__(
        self, tensors: Tensors, matrices: Mapping[str, PackedLinear], where: str, words: Mapping[str, Any] | None = None
    ) -> None:
        self._where, self.ready, self.others, self._words = where, matrices, tensors, words

    def __getitem__(self, name: str) -> Any:
        if name in self.others:
            tensor = self.others[name]
            return tensor.data if name.endswith("word.weight") else tensor.float32()
        if name == "word.weight" and self._words is not None:
            return self._words[name]
        table = self.ready.get(name.removesuffix(".weight"), self.ready.get("head"))
        if not name.endswith("word.weight") or table is None or table.kind not in GROUPS:
            raise FormatError(f"{self._where}: there is no tensor {name!r}")
        return PackedTable(table)

    def __iter__(self) -> Iterator[str]:
        return iter(self.others)

    def __len__(self) -> int:
        return len(self.others)

    def __contains__(self, name: object) -> bool:
        return name in self.others

    def release(self) -> None:
        """Release the pages of the mapped file except those of matrices; later reads load them from the file again."""
        release(self.others.values())


class PackedFolder:
    """The contents of packed.json and packed.safetensors of a folder.

    `precision`, if given, must be that of the folder.
    """

    def __init__(self, folder: Path, precision: str | None = None) -> None:
        self.folder, self.where = Path(os.path.abspath(folder)), files.show(folder / JSON)
        try:
            self.precision, matrices, self.model = _checked(modules.read_json(folder / JSON))
            if precision not in (None, self.precision):
                raise OptionError(
                    f"precision is {precision!r}, but the model in {files.show(folder)} is quantized: {self.precision}"
                )
            tensors = read_safetensors(folder / WEIGHTS)
            self._matrices = {name: _image(tensors, name, about) for name, about in matrices.items()}
        except FormatError as error:
            shown = str(error)
            raise FormatError(shown if shown.startswith(files.show(folder)) else f"{self.where}: {error}") from None
        self._tensors = {name: tensor for name, tensor in tensors.items() if name not in matrices}

    def __reduce__(self) -> tuple[Any, ...]:
        return PackedFolder, (self.folder,)

    @property
    def dtype(self) -> str:
        """The name of the precision in `tokkit.nn.Linear`."""
        return PRECISIONS.get(self.precision, "float32")

    @property
    def is_gguf(self) -> bool:
        """Whether the model was a GGUF file: its tokenizer is in a GGUF file, its configuration in packed.json."""
        return (self.folder / VOCABULARY).is_file()

    def part(self, prefix: str = "", words: Mapping[str, Any] | None = None) -> PackedWeights:
        """Return the weights with a prefix, by names without it; see `PackedWeights`."""
        tensors = Tensors((name.removeprefix(prefix), tensor) for name, tensor in self._tensors.items()
                          if name.startswith(prefix) and not name.startswith(HEADS))  # fmt: skip
        matrices = {name.removeprefix(prefix): image for name, image in self._matrices.items()
                    if name.startswith(prefix)}  # fmt: skip
        return PackedWeights(tensors, matrices, self.where, words)

    def heads(self) -> dict[str, Tensor]:
        """Return the tensors of heads by their original names."""
        return {name.removeprefix(HEADS): tensor for name, tensor in self._tensors.items() if name.startswith(HEADS)}

    @contextlib.contextmanager
    def fitting(self) -> Iterator[None]:
        """Turn an error of the core about matrices that do not fit each other into a FormatError for the file."""
        try:
            yield
        except ValueError as error:
            shown = str(error)
            raise FormatError(shown if shown.startswith(self.where) else f"{self.where}: {error}") from None


def fitting(stored: PackedFolder | None) -> contextlib.AbstractContextManager[None]:
    """Return `PackedFolder.fitting` of a folder, or a context that does nothing without one."""
    return contextlib.nullcontext() if stored is None else stored.fitting()


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


def _checked(about: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return the precision, the matrices, and the other entries for the model from a packed.json."""
    file = Section(about, "")
    name, layout, by = file.take("format", str), file.take("layout", int), file.take("tokkit", str)
    if name != FORMAT:
        raise FormatError(f"format is {name!r}; it must be {FORMAT!r}")
    if layout != LAYOUT:
        raise FormatError(
            f"the layout is {layout}, of tokkit {by}; tokkit {__version__} reads layout {LAYOUT}: quantize the model "
            "again"
        )
    precision = file.take("precision", str)
    if precision not in PRECISIONS and precision != BLOCKS:
        raise FormatError(f"precision is {precision!r}; it must be one of {', '.join((*PRECISIONS, BLOCKS))}")
    return precision, file.take("matrices", dict), file.take("model", dict, default={})


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """A part of a model to write: its packed matrices, its weights, and the name of its table of tokens, if any.

    `tied`: the table is the head.
    """

    model: Packable
    weights: Mapping[str, Any]
    table: str | None = "word.weight"
    tied: bool = False


def write(
    folder: Path,
    precision: str,
    parts: Mapping[str, Part],
    *,
    heads: Mapping[str, Tensor] | None = None,
    model: Mapping[str, Any] | None = None,
) -> None:
    """Write packed.json and packed.safetensors: parts by prefixes, the tensors of heads, and the entries of `model`."""
    dtype = PRECISIONS.get(precision, BLOCKS)
    matrices: dict[str, PackedLinear] = {}
    tensors: dict[str, Any] = {}
    for prefix, part in parts.items():
        images, others = _packed(part, dtype)
        matrices |= {prefix + name: image for name, image in images.items()}
        tensors |= {prefix + name: other for name, other in others.items()}
    tensors |= {name: np.frombuffer(memoryview(image), dtype=np.uint8) for name, image in matrices.items()}
    for name, tensor in (heads or {}).items():
        large = tensor.data.size >= LARGE and dtype != "float32"
        tensors[HEADS + name] = _in_16_bits(tensor.data) if large else tensor
    write_safetensors(folder / WEIGHTS, tensors, alignment=LINE)
    about = {"format": FORMAT, "layout": LAYOUT, "tokkit": __version__, "precision": precision, "matrices": {
        name: {"n": image.shape[0], "k": image.shape[1], "kind": image.kind, "minima": image.minima}
        for name, image in matrices.items()}} | ({"model": dict(model)} if model else {})  # fmt: skip
    files.write_atomically(folder / JSON, (json.dumps(about, indent=1) + "\n").encode())


def _packed(part: Part, dtype: str) -> tuple[dict[str, PackedLinear], dict[str, Any]]:
    """Return the matrices of a part, including the table if it is packed too, and the other tensors."""
    matrices, weights = dict(part.model.matrices), part.weights
    inside = {
        f"{name}.{kind}" for names in part.model.sources.values() for name in names for kind in ("weight", "bias")
    }
    inside.add(part.table or "word.weight")
    tensors: dict[str, Any] = {name: weights[name] for name in weights if name not in inside}
    if part.table is not None:
        table, name = weights[part.table], part.table.removesuffix(".weight")
        head = matrices.get("head")
        if part.tied and head is not None and head.kind in GROUPS:
            pass  # its rows are read from the head
        elif isinstance(table, BlockTensor):
            matrices[name] = packed([table], None, LargeMemory())
        elif dtype in GROUPS:
            matrices[name] = PackedLinear(_float32(table), None, "int8-weight-only")
        else:
            tensors[part.table] = _of(table) if dtype in ("float32", BLOCKS) else _in_16_bits(table)
    return matrices, tensors


def _float32(table: NDArray[Any]) -> NDArray[np.float32]:
    if table.dtype == np.uint16:
        return (table.astype(np.uint32) << 16).view(np.float32)
    return np.ascontiguousarray(table, dtype=np.float32)


def _of(table: NDArray[Any]) -> Tensor:
    names = {"uint16": "BF16", "float16": "F16", "float32": "F32", "float64": "F64"}
    return Tensor(names[table.dtype.name], table.shape, table)


def _in_16_bits(table: NDArray[Any]) -> Tensor:
    """Return a table unchanged if it has 16 bits, else rounded to bfloat16."""
    if table.dtype.itemsize == 2:
        return _of(table)
    bits = _float32(table).view(np.uint32)
    return _of(((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16))
