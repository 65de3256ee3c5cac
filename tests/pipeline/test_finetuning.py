"""Fine-tuning of encoders: vectors from pairs, classifiers, checkpoints that resume bit for bit, and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import model_folders
from tokkit import pipeline
from tokkit.errors import CorpusError, FormatError, OptionError, TrainingError
from tokkit.files.safetensors import read_safetensors, write_safetensors
from tokkit.pipeline import FineTuneOptions, TrainingProgress, training_checkpoints
from tokkit.pipeline.finetuning_data import Batches, read_labelled, read_rows

NOUNS = ["cat", "mat", "river", "bank", "money"]
PAIRS = [
    (f"the {noun} {start} {end}".strip(), f"{start} of a {noun} {end}")
    for noun in NOUNS
    for end in ("", "sat", ".", ", the", "on a")
    for start in ("a", "sat", "the")
]
LABELLED = [(a, (NOUNS.index(noun) % 2 and "odd") or "even") for a, _ in PAIRS for noun in NOUNS if noun in a]
SMALL = FineTuneOptions(batch=4, epochs=2, lr=5e-3, warmup=2, seed=1)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT with a head for masked tokens."""
    folder = tmp_path_factory.mktemp("base") / "model"
    tensors = model_folders.tensors_of(model_folders.BERT, head=True)
    for name, tensor in tensors.items():
        if name.endswith("LayerNorm.weight"):
            tensor += 1
    return model_folders.write(folder, tensors=tensors)


def weights_of(folder: Path) -> dict[str, np.ndarray]:
    return {name: np.array(t.data) for name, t in read_safetensors(folder / "model.safetensors").items()}


def right(model: Any) -> float:
    """Share of first texts to which the vector of their own second one is the nearest, of one of each noun."""
    rows = PAIRS[::15]
    first, second = (model.encode([row[i] for row in rows]) for i in (0, 1))
    return float(((first @ second.T).argmax(1) == np.arange(len(rows))).mean())


def test_vectors_that_learnt_pairs_find_them(tmp_path: Path, base: Path) -> None:
    told: list[TrainingProgress] = []
    options = FineTuneOptions(batch=4, epochs=5, lr=5e-3, warmup=2, seed=1)
    made = pipeline.train_pairs(PAIRS, tmp_path / "m", model=base, options=options, progress=told.append)
    assert made.accuracy is not None
    assert made.steps == told[-1].step == told[-1].steps
    assert made.loss < told[0].loss
    assert right(pipeline.load(base)) < right(pipeline.load(tmp_path / "m")) == 1
    before, after = weights_of(base), weights_of(tmp_path / "m")
    assert before.keys() == after.keys()
    assert np.array_equal(before["cls.predictions.bias"], after["cls.predictions.bias"])  # which is not learnt
    assert not (tmp_path / "m" / training_checkpoints.NAME).exists()


@pytest.mark.parametrize("task", ["pairs", "labels", "frozen"])
def test_a_training_that_is_resumed_ends_in_the_same_bits(tmp_path: Path, base: Path, task: str) -> None:
    options = FineTuneOptions(
        batch=8, accumulate=2, steps=9, lr=1e-3, dropout=0.1, average=0.9, seed=3, freeze=task == "frozen"
    )

    def run(name: str, **more: Any) -> pipeline.TrainedModel:
        more = {"model": base, "options": options, "threads": 2} | more
        if task == "pairs":
            return pipeline.train_pairs(
                [(*row, f", {i} {row[1]}") for i, row in enumerate(PAIRS)], tmp_path / name, **more
            )
        return pipeline.train_classifier(LABELLED, tmp_path / name, **more)

    whole = run("whole", threads=1)

    def end(now: TrainingProgress) -> None:
        if now.step == 6:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        run("parts", save_every=4, progress=end)
    with pytest.raises(OptionError, match=r'made with options .*"lr": 0.001.*"lr": 0.5'):
        run("parts", options=FineTuneOptions(batch=8, accumulate=2, steps=9, lr=0.5), resume=True)
    again = run("parts", resume=True)
    assert (again.eval_loss, again.loss, again.tokens) == (whole.eval_loss, whole.loss, whole.tokens)
    one, other = weights_of(tmp_path / "whole"), weights_of(tmp_path / "parts")
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("task", ["pairs", "labels"])
def test_a_training_in_bf16_has_the_losses_of_one_in_float32(tmp_path: Path, base: Path, task: str) -> None:
    rows: Any = PAIRS if task == "pairs" else LABELLED
    run = pipeline.train_pairs if task == "pairs" else pipeline.train_classifier
    losses: dict[str, list[float]] = {"fp32": [], "bf16": []}
    for precision, told in losses.items():
        options = FineTuneOptions(batch=8, steps=20, lr=2e-3, warmup=2, precision=precision)
        run(rows, tmp_path / precision, model=base, options=options, progress=lambda now, to=told: to.append(now.loss))
    options = FineTuneOptions(batch=8, steps=20, lr=2e-3, warmup=2, precision="bf16")
    run(rows, tmp_path / "again", model=base, options=options, threads=3)
    np.testing.assert_allclose(losses["bf16"], losses["fp32"], rtol=0.02)
    fine, rounded, again = (weights_of(tmp_path / name) for name in ("fp32", "bf16", "again"))
    assert any(not np.array_equal(fine[name], rounded[name]) for name in fine)
    assert all(np.array_equal(rounded[name], again[name]) for name in rounded)
    with pytest.raises(OptionError, match="freeze and precision bf16 are given"):
        FineTuneOptions(freeze=True, precision="bf16")
    with pytest.raises(OptionError, match="precision is 'int8'; it must be one of fp32, bf16"):
        FineTuneOptions(precision="int8")


@pytest.mark.parametrize("freeze", [False, True])
def test_a_classifier_labels_what_it_learnt(tmp_path: Path, base: Path, freeze: bool) -> None:
    options = FineTuneOptions(batch=8, epochs=8, lr=1e-2 if freeze else 3e-3, warmup=2, freeze=freeze)
    made = pipeline.train_classifier(LABELLED, tmp_path / "m", model=base, options=options)
    assert made.accuracy is not None
    model = pipeline.load(tmp_path / "m")
    assert isinstance(model, pipeline.CrossEncoder)
    found = [one[0]["label"] for one in model.classify([text for text, _ in LABELLED])]
    assert np.mean([a == b for a, (_, b) in zip(found, LABELLED, strict=True)]) > 0.9
    before, after = weights_of(base), weights_of(tmp_path / "m")
    name = "bert.encoder.layer.0.output.dense.weight"
    assert np.array_equal(before[name], after[name]) == freeze
    # It goes on with its head: the first loss is that of a model that knows.
    more = FineTuneOptions(batch=8, steps=1, lr=1e-6)
    again = pipeline.train_classifier(LABELLED, tmp_path / "n", model=tmp_path / "m", options=more)
    assert again.loss < 0.5


def test_the_files_of_sentence_transformers_come_along(tmp_path: Path) -> None:
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    ]
    pooling = {"word_embedding_dimension": 16, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    config = model_folders.BERT | {"torch_dtype": "float16"}
    tensors = {name: t.astype(np.float16) for name, t in model_folders.tensors_of(config).items()}
    base = model_folders.write(tmp_path / "base", config, tensors, modules=modules, **{"1_Pooling__config": pooling})
    pipeline.train_pairs(PAIRS, tmp_path / "m", model=base, options=FineTuneOptions(batch=4, steps=1))
    assert json.loads((tmp_path / "m" / "1_Pooling" / "config.json").read_text()) == pooling
    assert json.loads((tmp_path / "m" / "config.json").read_text())["torch_dtype"] == "float32"
    assert {t.dtype for t in weights_of(tmp_path / "m").values()} == {np.dtype("float32")}
    assert np.abs(pipeline.load(base).encode("the cat") - pipeline.load(tmp_path / "m").encode("the cat")).max() < 0.1
    # The classifier has no pooling, or it would be read as vectors.
    pipeline.train_classifier(LABELLED, tmp_path / "c", model=base, options=FineTuneOptions(batch=4, steps=1))
    assert isinstance(pipeline.load(tmp_path / "c"), pipeline.CrossEncoder)


def test_rows_are_read_from_files_and_python(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('["one", "two"]\n\n{"anchor": "three", "positive": "four"}\n')
    (tmp_path / "b.tsv").write_text("five\tsix\r\nseven\teight\r\n")
    wanted = [("one", "two"), ("three", "four"), ("five", "six"), ("seven", "eight")]
    assert read_rows([tmp_path / "a.jsonl", str(tmp_path / "b.tsv")]) == wanted
    assert read_rows(iter(wanted)) == wanted
    (tmp_path / "c.jsonl").write_text('{"label": 3, "text": "one"}\n["two", "x"]\n')
    assert read_labelled(tmp_path / "c.jsonl") == (["one", "two"], ["3", "x"])
    for line, message in (
        ("{", "line 1 is not JSON"),
        ('"a"', "line 1 is not a row of texts"),
        ("[1, 2]", "not a row of texts"),
    ):
        (tmp_path / "bad.jsonl").write_text(line)
        with pytest.raises(CorpusError, match=message):
            read_rows(tmp_path / "bad.jsonl")
    (tmp_path / "bad.tsv").write_bytes(b"a\t\xff\n")
    with pytest.raises(CorpusError, match="line 1 is not UTF-8"):
        read_rows(tmp_path / "bad.tsv")
    with pytest.raises(CorpusError, match="row 2 has 3 texts, and row 1 has 2"):
        read_rows([("a", "b"), ("a", "b", "c")])
    with pytest.raises(OptionError, match=r"\.jsonl, \.tsv"):
        read_rows(tmp_path / "a.txt")


def test_batches_have_each_row_once_and_no_text_twice() -> None:
    keys = [frozenset({f"text {i // 3}", f"other {i}"}) for i in range(30)]
    batches = Batches(np.arange(30), 5, 1, keys)
    for number in range(batches.per_epoch() * 2):
        rows = batches(number)
        assert len({next(iter(sorted(keys[row]))) for row in rows}) == len(set(rows // 3)) == 5
    plain = Batches(np.arange(30), 5, 1)
    assert sorted(np.concatenate([plain(i) for i in range(6)])) == list(range(30))
    assert not np.array_equal(plain(7), plain(1))
    assert np.array_equal(plain(1), Batches(np.arange(30), 5, 1)(1))
    with pytest.raises(CorpusError, match="no batch of 5 without a repeated text"):
        Batches(np.arange(9), 5, 1, [frozenset({"same"})] * 9)(0)


def test_what_cannot_be_learnt_is_said(tmp_path: Path, base: Path) -> None:
    def run(rows: Any = PAIRS, **more: Any) -> None:
        pipeline.train_pairs(rows, tmp_path / "m", **{"model": base, "options": SMALL} | more)

    with pytest.raises(CorpusError, match="there are 3 rows; a batch of 4 needs at least 5, 1 of them for evaluation"):
        run(PAIRS[:3])
    with pytest.raises(
        OptionError, match="a model of type 'mixtral' cannot be fine-tuned; these types can: bert, roberta"
    ):
        run(model=model_folders.write(tmp_path / "x", model_folders.BERT | {"model_type": "mixtral"}, tensors={}))
    with pytest.raises(OptionError, match="max_length is 21; the model reads 1 to 20 tokens"):
        run(options=FineTuneOptions(batch=4, max_length=21))
    with pytest.raises(FileNotFoundError, match="no such folder"):
        run(model=tmp_path / "none")
    with pytest.raises(CorpusError, match="have 1 different labels; at least two are needed"):
        pipeline.train_classifier([("a", "x"), ("b", "x")], tmp_path / "m", model=base)
    broken = weights_of(base)
    del broken["bert.encoder.layer.1.output.dense.bias"]
    with pytest.raises(FormatError, match=r"layer\.1\.output\.dense\.bias' is missing"):
        run(model=model_folders.write(tmp_path / "y", tensors=broken))
    assert not (tmp_path / "m").exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").touch()
    with pytest.raises(FileExistsError, match="not empty"):
        pipeline.train_pairs(PAIRS, tmp_path / "full", model=base)
    nan = weights_of(base)
    nan["bert.encoder.layer.1.output.dense.bias"][3] = np.nan
    with pytest.raises(TrainingError, match="gradients of 3 steps in a row are not finite, first that of embeddings"):
        run(model=model_folders.write(tmp_path / "z", tensors=nan))


def test_a_full_disk_leaves_the_checkpoint_before(tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The third checkpoint cannot be written: the second stays as it was."""
    write, calls = training_checkpoints.write_safetensors, []

    def full(path: Path, *rest: Any) -> None:
        calls.append(path)
        if len(calls) == 3:
            raise OSError(28, "No space left on device", str(path))
        write(path, *rest)

    monkeypatch.setattr(training_checkpoints, "write_safetensors", full)
    with pytest.raises(OSError, match="No space left"):
        pipeline.train_pairs(PAIRS, tmp_path / "m", model=base, options=SMALL, save_every=1)
    kept = read_safetensors(tmp_path / "m" / training_checkpoints.NAME)
    assert json.loads(kept.metadata["counts"])["number"] == 2


def test_a_checkpoint_with_weights_in_another_order_is_refused(tmp_path: Path, base: Path) -> None:
    """Arrays of all weights have no names: those of a version with another order would be mixed up."""

    def end(now: TrainingProgress) -> None:
        if now.step == 3:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        pipeline.train_pairs(PAIRS, tmp_path / "m", model=base, options=SMALL, save_every=1, progress=end)
    path = tmp_path / "m" / training_checkpoints.NAME
    kept = read_safetensors(path)
    write_safetensors(path, {n: np.array(t.data) for n, t in kept.items()}, {**kept.metadata, "order": "another"})
    with pytest.raises(FormatError, match="another version of tokkit wrote it, with weights in another order"):
        pipeline.train_pairs(PAIRS, tmp_path / "m", model=base, options=SMALL, resume=True)
