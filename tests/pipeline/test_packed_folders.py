"""Folders of quantized models: what is written, what is loaded from them, and errors."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import generators
from tokkit import pipeline
from tokkit.errors import FormatError, OptionError
from tokkit.files.safetensors import read_safetensors, write_safetensors
from tokkit.pipeline import packed_folders

PRECISIONS = ["bf16", "int8", "int8-weight-only", "int4"]
IDS = [5, 97, 116, 32, 300, 2]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generators.folder(tmp_path_factory.mktemp("model") / "source", hidden_size=64, intermediate_size=96)


def packed(source: Path, to: Path, precision: str = "int4") -> Path:
    pipeline.quantize(source, to, precision=precision)
    return to


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_quantized_folder_is_the_model_at_that_precision(tmp_path: Path, precision: str, tied: bool) -> None:
    source = generators.folder(tmp_path / "source", tie_word_embeddings=tied, hidden_size=40, intermediate_size=72)
    there, made = pipeline.load(source, precision=precision), pipeline.load(packed(source, tmp_path / "p", precision))
    assert sorted(made.decoder.matrices) == sorted(there.decoder.matrices)
    for name, matrix in there.decoder.matrices.items():
        assert bytes(made.decoder.matrices[name]) == bytes(matrix), name
    assert f"{made!r}".count(made.decoder.config.layers.dtype)
    # Rows of the table are rounded too; all else is equal.
    assert np.corrcoef(made.logits(IDS)[-1], there.logits(IDS)[-1])[0, 1] > (0.98 if precision == "int4" else 0.999)
    assert made.tokenizer.encode("the cat") == there.tokenizer.encode("the cat")
    assert made.eos_ids == {300}


@pytest.mark.parametrize("kind", ["mixtral", "qwen2_moe"])
def test_experts_are_quantized_and_their_router_is_not(tmp_path: Path, kind: str) -> None:
    sizes = {"num_experts": 4, "num_experts_per_tok": 2, "num_local_experts": 4, "moe_intermediate_size": 32,
             "shared_expert_intermediate_size": 64, "hidden_size": 64, "intermediate_size": 96}  # fmt: skip
    source = generators.folder(tmp_path / "source", model_type=kind, **sizes)
    there, made = pipeline.load(source, precision="int4"), pipeline.load(packed(source, tmp_path / "p"))
    kinds = {name: matrix.kind for name, matrix in made.decoder.matrices.items()}
    assert kinds["layers.1.router"] == "float32"
    assert kinds["layers.1.experts.3.down"] == "int4"
    for name, matrix in there.decoder.matrices.items():
        assert bytes(made.decoder.matrices[name]) == bytes(matrix), name
    exact = pipeline.load(source).logits(IDS)
    assert np.corrcoef(made.logits(IDS)[-1], there.logits(IDS)[-1])[0, 1] > 0.9
    assert np.corrcoef(made.logits(IDS).ravel(), exact.ravel())[0, 1] > 0.7


def test_logits_stay_near_those_of_float32(source: Path) -> None:
    exact = pipeline.load(source).logits(IDS)
    for precision, most in (("int8-weight-only", 0.05), ("int4", 0.5)):
        off = pipeline.load(source, precision=precision).logits(IDS) - exact
        assert np.sqrt(np.square(off).mean()) < most * exact.std()


def test_weights_are_read_in_place(source: Path, tmp_path: Path) -> None:
    made = pipeline.load(packed(source, tmp_path / "p"))
    tensors = read_safetensors(tmp_path / "p" / "packed.safetensors")
    for name, matrix in made.decoder.matrices.items():
        assert tensors[name].data.ctypes.data % 64 == 0
        assert len(memoryview(matrix)) == tensors[name].data.nbytes
    again = pickle.loads(pickle.dumps(made))
    assert np.array_equal(again.logits(IDS), made.logits(IDS))
    assert pipeline.load(tmp_path / "p", precision="int4", max_length=9).max_length == 9


def test_other_files_of_the_folder_come_along(source: Path, tmp_path: Path) -> None:
    (source / "chat_template.jinja").write_text("{{ messages }}")
    (source / "pytorch_model.bin").write_bytes(b"pickle")
    to = packed(source, tmp_path / "deep" / "er" / "p")
    assert sorted(path.name for path in to.iterdir()) == [
        "chat_template.jinja", "config.json", "packed.json", "packed.safetensors", "tokenizer.json",
    ]  # fmt: skip
    assert [path.name for path in to.parent.iterdir()] == ["p"]


def test_nothing_is_left_of_a_folder_that_could_not_be_written(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(packed_folders, "write_safetensors", fail)
    with pytest.raises(OSError, match="full"):
        packed(source, tmp_path / "p")
    assert not list(tmp_path.iterdir())


def test_only_a_quantized_folder_is_replaced(source: Path, tmp_path: Path) -> None:
    to = packed(source, tmp_path / "p")
    with pytest.raises(FileExistsError, match=r"exists; give another folder"):
        packed(source, to)
    pipeline.quantize(source, to, precision="int8", overwrite=True)
    assert json.loads((to / "packed.json").read_text())["precision"] == "int8"
    assert [path.name for path in tmp_path.iterdir()] == ["p"]
    with pytest.raises(FileExistsError, match="is not a quantized model"):
        pipeline.quantize(source, source, overwrite=True)
    with pytest.raises(OptionError, match="already quantized"):
        packed(to, tmp_path / "q")


def change(to: Path, **entries: Any) -> None:
    about = json.loads((to / "packed.json").read_text())
    (to / "packed.json").write_text(json.dumps(about | entries))


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"layout": 2, "tokkit": "9.8"}, r"layout is 2, of tokkit 9\.8; tokkit .* reads layout 1"),
        ({"format": "other"}, "format is 'other'"),
        ({"precision": "int2"}, "precision is 'int2'"),
        ({"matrices": {}}, "there is no tensor|missing|no 'layers"),
        ({"matrices": {"head": {"n": 320, "k": 64, "kind": "int9", "minima": False}}}, "'head' of 320 by 64, int9"),
        ({"matrices": {"head": {"n": 321, "k": 640, "kind": "int4", "minima": False}}}, "'head' of 321 by 640.*bytes"),
        ({"matrices": {"head": {"n": 1 << 62, "k": 1 << 62, "kind": "int4", "minima": False}}}, "'head'"),
        ({"matrices": {"none": {"n": 1, "k": 1, "kind": "int4", "minima": False}}}, "'none' .* is not in packed"),
    ],
)
def test_a_folder_that_does_not_fit_together_is_refused(
    source: Path, tmp_path: Path, entries: dict[str, Any], message: str
) -> None:
    to = packed(source, tmp_path / "p")
    change(to, **entries)
    with pytest.raises(FormatError, match=message):
        pipeline.load(to)


def test_matrices_of_another_model_are_refused(source: Path, tmp_path: Path) -> None:
    to, other = packed(source, tmp_path / "p"), packed(generators.folder(tmp_path / "other"), tmp_path / "q")
    for name in ("packed.json", "packed.safetensors"):
        (to / name).write_bytes((other / name).read_bytes())
    with pytest.raises(FormatError, match="shape"):
        pipeline.load(to)


def test_another_precision_than_the_stored_one_is_refused(source: Path, tmp_path: Path) -> None:
    to = packed(source, tmp_path / "p")
    with pytest.raises(OptionError, match=r"precision is 'bf16', but .* quantized: int4"):
        pipeline.load(to, precision="bf16")
    with pytest.raises(OptionError, match="precision is 'int3'; it must be one of fp32, bf16"):
        packed(source, tmp_path / "q", "int3")


def test_weights_that_are_no_numbers_are_named(source: Path, tmp_path: Path) -> None:
    bad = generators.folder(tmp_path / "bad")
    tensors = {name: np.array(tensor.data) for name, tensor in read_safetensors(bad / "model.safetensors").items()}
    tensors["model.layers.1.mlp.down_proj.weight"][3, 4] = np.nan
    write_safetensors(bad / "model.safetensors", tensors)
    with pytest.raises(OptionError, match=r"int4 weights must be finite.*layers\.1\.feed_forward\.down hold NaN"):
        packed(bad, tmp_path / "p")
    tensors["model.layers.1.mlp.down_proj.weight"][3, 4] = 1e6
    write_safetensors(bad / "model.safetensors", tensors)
    with pytest.raises(OptionError, match=r"at most 458,000; those of layers\.1\.feed_forward\.down reach 1e\+06"):
        packed(bad, tmp_path / "p")
