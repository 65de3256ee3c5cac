"""Reads and writes fastText's .bin and .ftz files."""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import struct
from dataclasses import dataclass, replace
from typing import BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from tokkit.embeddings.product_quantizer import CENTROIDS, ProductQuantizer, QuantizedMatrix
from tokkit.embeddings.vocabulary import MAX_TOTAL
from tokkit.errors import FormatError, OptionError
from tokkit.files import temporary_files

StrPath = str | os.PathLike[str]
MAGIC, VERSION = 793712314, 12
LOSSES = {1: "hs", 2: "ns", 3: "softmax", 4: "ova"}
MODELS = {1: "cbow", 2: "skipgram", 3: "supervised"}
MAX_NGRAM = 255
"""The maximum characters, or words, of an n-gram."""
_ARGS = struct.Struct("<12id")
_COUNTS = struct.Struct("<3i2q")
_ENTRY = struct.Struct("<qb")
END_OF_LINE = b"</s>"
_ROWS_AT_ONCE = 1 << 14
_MAX_PRUNED_BUCKET = 1 << 24
"""The maximum buckets of a pruned model: the file does not list dropped buckets, and a table takes 4 bytes for each."""


@dataclass(frozen=True)
class FastTextArgs:
    """The options stored in a file."""

    dim: int = 100
    ws: int = 5
    epoch: int = 5
    min_count: int = 5
    neg: int = 5
    word_ngrams: int = 1
    loss: str = "ns"
    model: str = "skipgram"
    bucket: int = 2_000_000
    min_n: int = 3
    max_n: int = 6
    lr_update_rate: int = 100
    t: float = 1e-4

    def fault(self) -> str:
        """Return what a file states wrongly, or ""."""
        for key, value, least, greatest in (
            ("dim", self.dim, 1, 1 << 30),
            ("wordNgrams", self.word_ngrams, 0, MAX_NGRAM),
            ("bucket", self.bucket, 0, (1 << 31) - 1),
            ("minn", self.min_n, 0, MAX_NGRAM),
            ("maxn", self.max_n, 0, MAX_NGRAM),
        ):
            if type(value) is not int or not least <= value <= greatest:
                return f"{key} is {value!r}; it must be from {least} to {greatest:,}"
        if self.loss not in LOSSES.values() or self.model not in MODELS.values():
            losses, models = list(LOSSES.values()), list(MODELS.values())
            return f"loss is {self.loss!r} and model {self.model!r}; they must be of {losses} and {models}"
        return ""


@dataclass(eq=False)
class FastTextData:
    """The contents of a file: words, then labels, each in descending order of counts, and two matrices."""

    args: FastTextArgs
    words: list[bytes]
    """Words, then labels."""
    counts: NDArray[np.int64]
    n_words: int
    n_tokens: int
    input: NDArray[np.float32] | QuantizedMatrix
    """(words + buckets, dim): rows of words, then rows of n-gram buckets."""
    output: NDArray[np.float32] | QuantizedMatrix
    """(words, or labels of a classifier, dim)"""
    pruned: NDArray[np.int32] | None = None
    """(n, 2): the remaining buckets, and their rows after those of the words."""
    row_of_bucket: NDArray[np.int32] | None = None
    """(bucket,): if `input` has only the used rows, the row of each bucket after those of the words.

    Unused buckets share the last row, which is zero. None: each bucket has its own row.
    """

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return len(self.words) - self.n_words

    def whole(self) -> FastTextData:
        """Return the model with a row for each bucket, as in files."""
        if self.row_of_bucket is None or isinstance(self.input, QuantizedMatrix):
            return self
        buckets = self.input[self.n_words + self.row_of_bucket]
        return replace(self, input=np.concatenate([self.input[: self.n_words], buckets]), row_of_bucket=None)


def read(path: StrPath) -> FastTextData:
    """Read a .bin or .ftz file; FormatError names the problem and its position."""
    name = os.fspath(path)
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            raise FormatError(f"{name}: the file is empty; it must be a .bin or .ftz file of fastText")
        with contextlib.closing(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) as mapped:
            return _Reader(name, mapped, size).read()


class _Reader:
    """Reads a file, and checks sizes before it allocates memory."""

    def __init__(self, name: str, mapped: mmap.mmap, size: int) -> None:
        self.name, self.mapped, self.size, self.at = name, mapped, size, 0

    def wrong(self, what: str) -> NoReturn:
        raise FormatError(f"{self.name}: {what}")

    def want(self, n: int, what: str) -> int:
        """Skip n bytes, and return their start."""
        start = self.at
        if n < 0 or n > self.size - start:
            self.wrong(f"{what} needs {n:,} bytes at byte {start:,}, but the file has only {self.size - start:,} left")
        self.at += n
        return start

    def unpack(self, form: struct.Struct | str, what: str) -> tuple[int, ...]:
        form = struct.Struct(form) if isinstance(form, str) else form
        return form.unpack_from(self.mapped, self.want(form.size, what))

    def array(self, dtype: str, n: int, what: str) -> NDArray[np.generic]:
        wide = np.dtype(dtype)
        start = self.want(n * wide.itemsize, what)
        return np.frombuffer(self.mapped, wide, n, start).astype(wide.newbyteorder("="), copy=True)

    def read(self) -> FastTextData:
        args = self.args()
        size, n_words, n_labels, n_tokens, n_pruned = self.unpack(_COUNTS, "the dictionary")
        if min(size, n_words, n_labels, n_tokens) < 0 or n_words + n_labels != size:
            self.wrong(f"the dictionary has {size:,} entries, but {n_words:,} words and {n_labels:,} labels")
        words, counts = self.entries(size, n_words)
        pruned = None
        if n_pruned >= 0:
            pruned = self.array("<i4", 2 * n_pruned, "the list of pruned n-grams").reshape(-1, 2).astype(np.int32)
        quantized = self.flag("the input matrix")
        input_ = self.quantized("the input matrix") if quantized else self.dense("the input matrix")
        quantized_output = self.flag("the output matrix")
        output = (
            self.quantized("the output matrix") if quantized and quantized_output else self.dense("the output matrix")
        )
        if self.at != self.size:
            self.wrong(f"{self.size - self.at:,} bytes follow the output matrix; the file must end there")
        data = FastTextData(args, words, counts, n_words, n_tokens, input_, output, pruned)
        self.check(data)
        return data

    def args(self) -> FastTextArgs:
        magic, version = self.unpack("<2i", "the header")
        if magic != MAGIC:
            self.wrong(
                f"this is not a fastText model: it begins with {magic & 0xFFFFFFFF:#010x}, not {MAGIC:#010x} "
                "(KeyedVectors.load and `tokkit wordvec query` read files of vectors)"
            )
        if version not in (11, VERSION):
            self.wrong(f"its format has version {version}; it must be 11 or {VERSION}")
        dim, ws, epoch, min_count, neg, word_ngrams, loss, model, bucket, min_n, max_n, each, t = self.unpack(
            _ARGS, "the options"
        )
        if loss not in LOSSES or model not in MODELS:
            self.wrong(f"loss is {loss} and model {model}; they must be of {list(LOSSES)} and {list(MODELS)}")
        if model == 3 and version == 11:
            max_n = 0  # these classifiers never use character n-grams
        made = FastTextArgs(
            dim, ws, epoch, min_count, neg, word_ngrams, LOSSES[loss], MODELS[model], bucket, min_n, max_n, each, t
        )
        if fault := made.fault():
            self.wrong(fault)
        return made

    def entries(self, size: int, n_words: int) -> tuple[list[bytes], NDArray[np.int64]]:
        if size > (self.size - self.at) // (_ENTRY.size + 1):
            self.wrong(f"the dictionary has {size:,} entries, but the file is too short for them")
        words, counts = [], np.empty(size, dtype=np.int64)
        for i in range(size):
            stop = self.mapped.find(b"\0", self.at)
            if stop < 0:
                self.wrong(f"word {i:,} of the dictionary has no end")
            word = self.mapped[self.want(stop + 1 - self.at, "a word") : stop]
            count, kind = self.unpack(_ENTRY, f"word {i:,} of the dictionary")
            if kind != (i >= n_words) or not word or count < 0:
                self.wrong(
                    f"entry {i:,} of the dictionary ({word!r}) has type {kind} and count {count}; the first "
                    f"{n_words:,} must be words (0) and the rest labels (1), not empty, and with a count of at least 0"
                )
            words.append(word)
            counts[i] = count
        if len(set(words)) != size:
            self.wrong("the dictionary contains a word twice")
        if counts.sum(dtype=np.float64) >= MAX_TOTAL:
            self.wrong(
                f"the counts of the dictionary add up to {counts.sum(dtype=np.float64):.3g}; the sum must be below 2^62"
            )
        return words, counts

    def flag(self, what: str) -> bool:
        (value,) = self.unpack("<B", what)
        if value > 1:
            self.wrong(f"{what} begins with {value}; it must be 0 (floats) or 1 (quantized)")
        return value == 1

    def dense(self, what: str) -> NDArray[np.float32]:
        m, n = self.unpack("<2q", what)
        if min(m, n) < 0 or max(m, n) > self.size:  # also of a matrix without numbers
            self.wrong(f"{what} has {m:,} rows and {n:,} columns, too many for a file of {self.size:,} bytes")
        return self.array("<f4", m * n, f"{what}, {m:,} × {n:,},").reshape(m, n).astype(np.float32, copy=False)

    def quantized(self, what: str) -> QuantizedMatrix:
        norms = self.flag(what)
        m, n, size = self.unpack("<2qi", what)
        if min(m, n, size) < 0:
            self.wrong(f"{what} has {m} rows, {n} columns and {size} codes")
        codes = self.array("<u1", size, f"{what}'s codes").astype(np.uint8, copy=False)
        quantizer = self.quantizer(what)
        if quantizer.dim != n or size != m * quantizer.n_groups:
            self.wrong(f"{what}, {m:,} × {n:,}, does not fit its {size:,} codes of {quantizer.dim} columns")
        norm_codes = norm_quantizer = None
        if norms:
            norm_codes = self.array("<u1", m, f"{what}'s norms").astype(np.uint8, copy=False)
            norm_quantizer = self.quantizer(what)
            if norm_quantizer.dim != 1:
                self.wrong(f"the norms of {what} have {norm_quantizer.dim} columns; they must have 1")
        return QuantizedMatrix(quantizer, codes.reshape(m, quantizer.n_groups), norm_quantizer, norm_codes)

    def quantizer(self, what: str) -> ProductQuantizer:
        dim, n_groups, group, last = self.unpack("<4i", what)
        if dim < 1 or group < 1 or n_groups != -(-dim // group) or last != dim - (n_groups - 1) * group:
            self.wrong(f"{what} has {dim} columns in {n_groups} groups of {group}, the last of {last}")
        return ProductQuantizer(
            dim, group, self.array("<f4", dim * CENTROIDS, f"{what}'s centroids").astype(np.float32, copy=False)
        )

    def check(self, data: FastTextData) -> None:
        args, rows = data.args, data.n_words
        if args.max_n or args.word_ngrams > 1:
            rows += args.bucket if data.pruned is None else len(data.pruned)
        outputs = data.n_labels if args.model == "supervised" else data.n_words
        for what, matrix, n in (("input", data.input, rows), ("output", data.output, outputs)):
            if matrix.shape[0] < n or matrix.shape[1] != args.dim:
                self.wrong(f"the {what} matrix is {matrix.shape[0]:,} × {matrix.shape[1]:,}; {n:,} × {args.dim:,} fit")
            if isinstance(matrix, np.ndarray) and not math.isfinite(float(np.add.reduce(matrix, axis=None))):
                self.wrong(f"the {what} matrix has a value that is not finite")
        if data.output.shape[0] != outputs:
            self.wrong(f"the output matrix has {data.output.shape[0]:,} rows for {outputs:,} words or labels")
        if not outputs:
            self.wrong("the file has no labels" if args.model == "supervised" else "the file has no words")
        if data.pruned is not None and args.model != "supervised":
            self.wrong(f"its n-grams are pruned, but its model is {args.model}; only classifiers can be pruned")
        if data.pruned is not None and args.bucket > _MAX_PRUNED_BUCKET:
            self.wrong(f"bucket is {args.bucket:,}; in a pruned model it must be at most {_MAX_PRUNED_BUCKET:,}")
        if data.pruned is not None and len(data.pruned):
            greatest = (args.bucket, data.input.shape[0] - data.n_words)
            if data.pruned.min() < 0 or (data.pruned.max(axis=0) >= greatest).any():
                self.wrong(
                    "the list of pruned n-grams names a bucket, or a row of the input matrix, that does not exist"
                )


def write(data: FastTextData, path: StrPath) -> None:
    """Write a file for fastText, atomically."""
    target = os.path.realpath(path)
    with temporary_files.beside(target) as aside:
        with open(aside, "xb") as file:
            _write(data, file)
        os.replace(aside, target)


def _write(data: FastTextData, file: BinaryIO) -> None:
    args = data.args
    numbers = {name: number for table in (LOSSES, MODELS) for number, name in table.items()}
    file.write(struct.pack("<2i", MAGIC, VERSION))
    listed = replace(args, loss=numbers[args.loss], model=numbers[args.model])  # type: ignore[arg-type]
    file.write(_ARGS.pack(*vars(listed).values()))
    n_pruned = -1 if data.pruned is None else len(data.pruned)
    file.write(_COUNTS.pack(len(data.words), data.n_words, data.n_labels, data.n_tokens, n_pruned))
    for i, (word, count) in enumerate(zip(data.words, data.counts.tolist(), strict=True)):
        if b"\0" in word:
            raise OptionError(f"the word {word!r} contains a NUL, which ends words in this format")
        file.write(word + b"\0" + _ENTRY.pack(count, i >= data.n_words))
    if data.pruned is not None:
        file.write(data.pruned.astype("<i4").tobytes())
    for matrix in (data.input, data.output):
        file.write(bytes([isinstance(matrix, QuantizedMatrix)]))
        if isinstance(matrix, QuantizedMatrix):
            _write_quantized(matrix, file)
        elif matrix is data.input and data.row_of_bucket is not None:
            file.write(struct.pack("<2q", data.n_words + len(data.row_of_bucket), matrix.shape[1]))
            file.write(matrix[: data.n_words].astype("<f4").tobytes())
            for start in range(0, len(data.row_of_bucket), _ROWS_AT_ONCE):
                rows = data.n_words + data.row_of_bucket[start : start + _ROWS_AT_ONCE]
                file.write(matrix[rows].astype("<f4").tobytes())
        else:
            file.write(struct.pack("<2q", *matrix.shape))
            file.write(np.ascontiguousarray(matrix, dtype="<f4").data)


def _write_quantized(matrix: QuantizedMatrix, file: BinaryIO) -> None:
    file.write(struct.pack("<B2qi", matrix.norm_quantizer is not None, *matrix.shape, matrix.codes.size))
    file.write(np.ascontiguousarray(matrix.codes).data)
    _write_quantizer(matrix.quantizer, file)
    if matrix.norm_quantizer is not None and matrix.norm_codes is not None:
        file.write(np.ascontiguousarray(matrix.norm_codes).data)
        _write_quantizer(matrix.norm_quantizer, file)


def _write_quantizer(quantizer: ProductQuantizer, file: BinaryIO) -> None:
    dim, group, n = quantizer.dim, quantizer.group, quantizer.n_groups
    file.write(struct.pack("<4i", dim, n, group, dim - (n - 1) * group))
    file.write(quantizer.centroids.astype("<f4").tobytes())
