"""Quantized folders of every kind of model equal quantization when loading."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import generators
import gguf_models
import model_folders
from tokkit import pipeline
from tokkit.errors import FormatError, OptionError
from tokkit.files.safetensors import Tensor, read_safetensors, write_safetensors
from tokkit.pipeline import families
from tokkit.pipeline.learning_encoders import encoder_config
from tokkit.pipeline.quality import compared
from tokkit.registry import hub_models

PRECISIONS = ["fp32", "bf16", "int8", "int8-weight-only", "int4"]
LINES = "the cat sat on the mat\nthe bank of a river\nmoney\n"


def quantized(source: Path, to: Path, precision: str | None = None) -> Any:
    pipeline.quantize(source, to, precision=precision)
    return pipeline.load(to)


def equal_matrices(made: Any, there: Any) -> None:
    assert sorted(made.matrices) >= sorted(there.matrices)
    for name, matrix in there.matrices.items():
        assert bytes(made.matrices[name]) == bytes(matrix), name


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kind", ["t5", "t5 with a head", "bart"])
def test_an_encoder_decoder_is_the_model_at_that_precision(tmp_path: Path, kind: str, precision: str) -> None:
    source = generators.seq2seq_folder(tmp_path / "source", generators.BART if kind == "bart" else generators.T5)
    tensors: dict[str, Any] = dict(read_safetensors(source / "model.safetensors"))
    rng = np.random.default_rng(5)
    if kind == "t5 with a head":
        tensors["lm_head.weight"] = rng.normal(0, 0.3, (320, 32)).astype(np.float32)
    if kind == "bart":
        tensors["final_logits_bias"] = rng.normal(0, 1, (1, 320)).astype(np.float32)
    write_safetensors(source / "model.safetensors", tensors)
    there, made = pipeline.load(source, precision=precision), quantized(source, tmp_path / "p", precision)
    equal_matrices(made.model.encoder, there.model.encoder)
    equal_matrices(made.model.decoder, there.model.decoder)
    ours, exact = (model.logits("the cat", target="far away") for model in (made, there))
    # Only the table of tokens is rounded besides.
    least = {"fp32": 1 - 1e-9, "int4": 0.9}.get(precision, 0.99)
    assert np.corrcoef(ours.ravel(), exact.ravel())[0, 1] > least
    again = pickle.loads(pickle.dumps(made))
    assert again.generate("the cat", max_new_tokens=4) == made.generate("the cat", max_new_tokens=4)
    assert (made.forced, made.eos_ids) == (there.forced, there.eos_ids)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_encoders_are_the_models_at_that_precision(tmp_path: Path, precision: str) -> None:
    config = model_folders.BERT
    plain = model_folders.write(tmp_path / "bert", config, model_folders.tensors_of(config, head=True))
    electra = {**config, "model_type": "electra", "embedding_size": 6}
    small = model_folders.write(tmp_path / "electra", electra, model_folders.tensors_of(electra, head=True))
    for source in (plain, small, generators.embedder(tmp_path / "embedder")):
        there, made = (
            pipeline.load(source, precision=precision),
            quantized(source, tmp_path / "p" / source.name, precision),
        )
        assert made.precision == there.precision
        layers = [getattr(model.encoder, "decoder", model.encoder) for model in (made, there)]
        equal_matrices(*layers)
        ours, exact = (model.encode(LINES.splitlines()) for model in (made, there))
        assert (ours * exact).sum(1).min() > (1 - 1e-6 if precision == "fp32" else 0.99)
        assert made.prompts == there.prompts
        assert np.array_equal(pickle.loads(pickle.dumps(made)).encode("the cat"), made.encode("the cat"))
        assert made.fingerprint() != there.fingerprint()
    assert pipeline.load(small).masked_logits("the [MASK] sat").shape == (5, 40)
    assert pipeline.load(small).encoder.embeddings.looked_up(np.array([5])).shape == (1, 16)
    assert encoder_config(families.read(electra)).embedding_dim == 6
    masked = [pipeline.load(folder).masked_logits("the [MASK] sat") for folder in (plain, tmp_path / "p" / "bert")]
    assert np.corrcoef(masked[0].ravel(), masked[1].ravel())[0, 1] > 0.99
    assert {path.name for path in (tmp_path / "p" / "embedder").iterdir()} >= {"modules.json", "1_Pooling"}


@pytest.mark.parametrize("tokens", [False, True])
def test_heads_of_classifiers_are_kept_as_they_are(tmp_path: Path, tokens: bool) -> None:
    source = model_folders.classifier(tmp_path / "source", ["no", "yes", "maybe"], tokens=tokens)
    there, made = pipeline.load(source, precision="int8"), quantized(source, tmp_path / "p", "int8")
    assert type(made) is type(there)
    assert made.labels == there.labels
    stored = read_safetensors(tmp_path / "p" / "packed.safetensors")
    original = read_safetensors(source / "model.safetensors")
    heads = {name.removeprefix("file.") for name in stored if name.startswith("file.")}
    assert heads == {name for name in original if name.startswith("classifier") or (not tokens and "pooler" in name)}
    assert np.array_equal(stored["file.classifier.weight"].data, original["classifier.weight"].data)
    if tokens:
        pairs = zip(made.predict("the cat sat"), there.predict("the cat sat"), strict=True)
        assert max(abs(a["score"] - b["score"]) for a, b in pairs) < 0.01
    else:
        np.testing.assert_allclose(made.predict([("the cat", "sat")]), there.predict([("the cat", "sat")]), atol=0.02)
    _, off = compared(pipeline.load(source), made, LINES)
    assert off["same_label"] == 1
    assert 0 < off["difference"] < 0.05


def gguf(path: Path, *, tied: bool, kind: str = "Q4_0") -> Path:
    rng = np.random.default_rng(3)
    plain, blocks = gguf_models.plain, gguf_models.random_blocks
    tensors = {"token_embd.weight": blocks(kind, (320, 64), rng), "output_norm.weight": plain(np.ones(64))}
    if not tied:
        tensors["output.weight"] = blocks("Q8_0", (320, 64), rng)
    for i in range(2):
        sizes = {"attn_q": (64, 64), "attn_k": (32, 64), "attn_v": (32, 64), "attn_output": (64, 64),
                 "ffn_gate": (96, 64), "ffn_up": (96, 64), "ffn_down": (64, 96)}  # fmt: skip
        tensors |= {f"blk.{i}.{name}.weight": blocks(kind, size, rng) for name, size in sizes.items()}
        tensors |= {f"blk.{i}.{name}.weight": plain(np.ones(64)) for name in ("attn_norm", "ffn_norm")}
    keys = {"embedding_length": 64, "attention.head_count": 4, "attention.head_count_kv": 2, "block_count": 2,
            "feed_forward_length": 96, "context_length": 64, "attention.layer_norm_rms_epsilon": 1e-6}  # fmt: skip
    path.write_bytes(gguf_models.model("llama", keys, tensors))
    return path


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q8_0"])
def test_a_gguf_file_becomes_a_folder_with_its_blocks(tmp_path: Path, kind: str, tied: bool) -> None:
    source = gguf(tmp_path / "m.gguf", tied=tied, kind=kind)
    there, made = pipeline.load(source), quantized(source, tmp_path / "p")
    equal_matrices(made.decoder, there.decoder)
    ids = np.array([5, 97, 116, 32])
    np.testing.assert_array_equal(made.logits(ids), there.logits(ids))
    assert made.ids("the cat 東京").tolist() == there.ids("the cat 東京").tolist()
    assert (made.eos_ids, made.max_length) == (there.eos_ids, there.max_length)
    assert sorted(path.name for path in (tmp_path / "p").iterdir()) == [
        "packed.json", "packed.safetensors", "tokenizer.gguf"
    ]  # fmt: skip
    assert pickle.loads(pickle.dumps(made)).generate("the", max_new_tokens=4) == made.generate("the", max_new_tokens=4)
    assert pipeline.load(tmp_path / "p", max_length=9).max_length == 9
    with pytest.raises(OptionError, match=r"precision is 'int4', but the model .* is quantized: blocks"):
        pipeline.load(tmp_path / "p", precision="int4")


def test_a_gguf_file_may_be_packed_anew(tmp_path: Path) -> None:
    source = gguf(tmp_path / "m.gguf", tied=True, kind="Q8_0")
    there, made = pipeline.load(source, precision="int8"), quantized(source, tmp_path / "p", "int8")
    equal_matrices(made.decoder, there.decoder)
    ids = np.array([5, 97, 116, 32])
    np.testing.assert_allclose(made.logits(ids), there.logits(ids), atol=1e-5)
    about = json.loads((tmp_path / "p" / "packed.json").read_text())
    about["model"]["config"]["layers"]["n_heads"] = 0
    (tmp_path / "p" / "packed.json").write_text(json.dumps(about))
    with pytest.raises(FormatError, match=r"packed\.json: model\.config\.layers: n_heads is 0"):
        pipeline.load(tmp_path / "p")
    about["model"] = {"config": {"more": 1}}
    (tmp_path / "p" / "packed.json").write_text(json.dumps(about))
    with pytest.raises(FormatError, match=r"model\.config: it must be an object with the keys"):
        pipeline.load(tmp_path / "p")


def test_a_name_is_looked_for_in_the_cache_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = model_folders.write(tmp_path / "cached")
    monkeypatch.setattr(hub_models, "find", lambda name, *, download: {"org/name": str(source)}[name])
    made = quantized("org/name", tmp_path / "p", "int8")
    assert made.encode("the cat").shape == (16,)


def test_tensors_of_another_shape_are_named(tmp_path: Path) -> None:
    quantized(model_folders.write(tmp_path / "source"), tmp_path / "p", "int8")
    path = tmp_path / "p" / "packed.safetensors"
    tensors: dict[str, Any] = dict(read_safetensors(path))
    for name, shape in (("embeddings.position.weight", (20, 15)), ("embeddings.word.weight", (39, 16))):
        wrong = Tensor("F32", shape, np.zeros(shape, np.float32))
        write_safetensors(path, tensors | {name: wrong}, alignment=64)
        with pytest.raises(FormatError, match=rf"packed\.json: the tensor '{name}' has shape .* config\.json requires"):
            pipeline.load(tmp_path / "p")


def test_what_is_measured_depends_on_the_model(tmp_path: Path) -> None:
    decoder, halves = generators.folder(tmp_path / "d"), generators.seq2seq_folder(tmp_path / "s")
    encoder, ranker = model_folders.write(tmp_path / "e"), model_folders.classifier(tmp_path / "r", ["score"])
    made = {each.name: (pipeline.load(each), quantized(each, tmp_path / "p" / each.name, "int8"))
            for each in (decoder, halves, encoder, ranker)}  # fmt: skip
    before, after = compared(*made["d"], LINES)
    assert before["perplexity"] == pytest.approx(after["perplexity"], rel=0.2)
    before, after = compared(*made["s"], "the cat\tfar away\nthe dog\tthe log\n")
    total = sum(made["s"][0].score(a, [b])[0] for a, b in (("the cat", "far away"), ("the dog", "the log")))
    n = len(made["s"][0].ids("far away")) + len(made["s"][0].ids("the log"))
    assert before["perplexity"] == pytest.approx(np.exp(-total / n))
    with pytest.raises(OptionError, match="'the cat' has no target"):
        compared(*made["s"], "the cat\n")
    _, after = compared(*made["e"], LINES)
    assert 0.99 < after["least_cosine"] <= after["cosine"] <= 1.00001
    _, after = compared(*made["r"], "the cat\tsat on a mat\nthe river\n")
    assert 0 < after["difference"] <= after["greatest_difference"] < 0.1
    assert "same_label" not in after
    with pytest.raises(OptionError, match="the text is empty"):
        compared(*made["e"], "\n \n")
