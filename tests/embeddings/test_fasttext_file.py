"""fastText's files can be read again; damaged files, or ones with false sizes, are errors that allocate nothing."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from tokkit.embeddings import fasttext_file
from tokkit.embeddings.fasttext_file import FastTextArgs, FastTextData
from tokkit.embeddings.fasttext_supervised import TextClassifier
from tokkit.embeddings.product_quantizer import QuantizedMatrix
from tokkit.errors import FormatError, OptionError

ARGS_AT, DICTIONARY_AT, ENTRIES_AT = 8, 64, 92


def model(*, quantized: bool = False) -> FastTextData:
    random = np.random.default_rng(0)
    args = FastTextArgs(dim=3, model="supervised", loss="softmax", bucket=7, min_n=2, max_n=3)
    words = [b"</s>", "größe".encode(), b"__label__a", b"__label__b"]
    counts = np.array([9, 4, 5, 4])
    input_, output = random.standard_normal((9, 3), np.float32), random.standard_normal((2, 3), np.float32)
    data = FastTextData(args, words, counts, 2, 22, input_, output)
    if quantized:
        data.input = QuantizedMatrix.of(input_, 2, norms=True)
        data.output = QuantizedMatrix.of(output, 2)
        data.pruned = np.array([[4, 1], [1, 0]], dtype=np.int32)
        data.args = FastTextArgs(**vars(args) | {"word_ngrams": 2})
    return data


def written(path: Path, data: FastTextData) -> bytes:
    fasttext_file.write(data, path)
    return path.read_bytes()


@pytest.mark.parametrize("quantized", [False, True])
def test_a_model_is_read_as_it_was_written(tmp_path: Path, quantized: bool) -> None:
    data = model(quantized=quantized)
    raw = written(tmp_path / "m", data)
    again = fasttext_file.read(tmp_path / "m")
    assert (again.args, again.words, again.n_words, again.n_tokens) == (data.args, data.words, 2, 22)
    assert again.counts.tolist() == [9, 4, 5, 4]
    assert written(tmp_path / "again", again) == raw
    if quantized:
        assert np.array_equal(again.input.take(slice(None)), data.input.take(slice(None)))  # type: ignore[union-attr]
        assert again.pruned.tolist() == [[4, 1], [1, 0]]  # type: ignore[union-attr]
    else:
        assert np.array_equal(again.input, data.input)
    assert {path.name for path in tmp_path.iterdir()} == {"m", "again"}


@pytest.mark.parametrize("quantized", [False, True])
def test_a_truncated_file_is_an_error_wherever_it_ends(tmp_path: Path, quantized: bool) -> None:
    raw, path = written(tmp_path / "m", model(quantized=quantized)), tmp_path / "part"
    for size in [*range(0, min(len(raw), 400)), *range(400, len(raw), 97), len(raw) - 1]:
        path.write_bytes(raw[:size])
        with pytest.raises(FormatError, match="part: "):
            TextClassifier.load(path)


@pytest.mark.parametrize(
    ("at", "form", "value", "message"),
    [
        (0, "<i", 1, "not a fastText model: it begins with 0x00000001"),
        (4, "<i", 13, "version 13; it must be 11 or 12"),
        (ARGS_AT, "<i", 0, "dim is 0"),
        (ARGS_AT + 20, "<i", 1 << 20, "wordNgrams is 1048576"),
        (ARGS_AT + 24, "<i", 9, "loss is 9"),
        (ARGS_AT + 28, "<i", 0, "model 0"),
        (ARGS_AT + 32, "<i", -1, "bucket is -1"),
        (ARGS_AT + 32, "<i", 1 << 30, "input matrix is 9 × 3; 1,073,741,826 × 3 fit"),
        (ARGS_AT + 40, "<i", 1 << 30, "maxn is 1073741824"),
        (DICTIONARY_AT, "<i", 1 << 30, "but 2 words and 2 labels"),
        (DICTIONARY_AT, "<3i", (1 << 30, (1 << 30) - 2, 2), "but the file is too short for them"),
        (DICTIONARY_AT + 20, "<q", 1 << 40, "pruned n-grams needs"),
        (ENTRIES_AT, "<B", 0, "not empty"),
        (ENTRIES_AT + 5, "<q", -4, "count -4"),
        (ENTRIES_AT + 13, "<b", 1, "type 1"),
    ],
)
def test_a_header_that_lies_is_an_error(
    tmp_path: Path, at: int, form: str, value: int | tuple[int, ...], message: str
) -> None:
    raw, path = bytearray(written(tmp_path / "m", model())), tmp_path / "m"
    struct.pack_into(form, raw, at, *(value if isinstance(value, tuple) else (value,)))
    path.write_bytes(raw)
    with pytest.raises(FormatError, match=message):
        TextClassifier.load(path)


def test_gigabytes_that_a_small_file_claims_are_not_allocated(tmp_path: Path) -> None:
    raw, path = written(tmp_path / "m", model()), tmp_path / "m"
    at = raw.rindex(struct.pack("<2q", 9, 3))
    tracemalloc.start()
    for rows, columns in ((1 << 31, 3), (1 << 62, 4), (9, 1 << 50), (0, 1 << 62), (-1, 3)):
        path.write_bytes(raw[:at] + struct.pack("<2q", rows, columns) + raw[at + 16 :])
        with pytest.raises(FormatError, match="input matrix"):
            TextClassifier.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_what_does_not_belong_in_a_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "m"
    data = model()
    data.words[1] = b"</s>"
    fasttext_file.write(data, path)
    with pytest.raises(FormatError, match="a word twice"):
        fasttext_file.read(path)
    data = model()
    data.input[3, 1] = np.nan  # type: ignore[index]
    fasttext_file.write(data, path)
    with pytest.raises(FormatError, match="input matrix has a value that is not finite"):
        fasttext_file.read(path)
    path.write_bytes(written(path, model()) + b"x")
    with pytest.raises(FormatError, match="1 bytes follow"):
        fasttext_file.read(path)
    data = model(quantized=True)
    data.pruned[0, 1] = 7  # type: ignore[index]
    fasttext_file.write(data, path)
    with pytest.raises(FormatError, match="does not exist"):
        fasttext_file.read(path)
    data = model(quantized=True)
    data.args = FastTextArgs(**vars(data.args) | {"bucket": (1 << 31) - 1})
    fasttext_file.write(data, path)
    with pytest.raises(FormatError, match="in a pruned model"):
        fasttext_file.read(path)
    data = model()
    data.args = FastTextArgs(**vars(data.args) | {"model": "cbow"})
    data.words, data.counts = data.words[: data.n_words], data.counts[: data.n_words]
    data.output = np.zeros((data.n_words, data.args.dim), np.float32)
    data.pruned = np.empty((0, 2), np.int32)
    fasttext_file.write(data, path)
    with pytest.raises(FormatError, match="its model is cbow; only classifiers can be pruned"):
        fasttext_file.read(path)
    data = model()
    data.words[1] = b"a\0b"
    with pytest.raises(OptionError, match="NUL"):
        fasttext_file.write(data, path)
