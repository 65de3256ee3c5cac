"""Folders of models load, or an error says what was found and what would be right."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model_folders import BERT, tensors_of, write
from tokkit import pipeline
from tokkit.errors import DownloadError, FormatError, OptionError
from tokkit.files.safetensors import write_safetensors
from tokkit.pipeline.pooling import POOLINGS, pool

POOLING = {"word_embedding_dimension": 16, "pooling_mode_cls_token": True}


def modules(*kinds: str) -> list[dict[str, Any]]:
    paths = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "3_Normalize", "Dense": "2_Dense"}
    names = {"Dense": "sentence_transformers.base.modules.dense.Dense"}
    return [
        {"idx": i, "name": str(i), "path": paths.get(kind, kind),
         "type": names.get(kind, f"sentence_transformers.models.{kind}")}
        for i, kind in enumerate(kinds)
    ]  # fmt: skip


def test_a_folder_without_modules_is_pooled_by_the_mean(tmp_path: Path) -> None:
    model = pipeline.load(write(tmp_path))
    assert (model.dimension, model.max_length, model.precision) == (16, 20, "fp32")
    seen = model.hidden_states("the cat sat")
    assert seen.tokens == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    assert seen.offsets.tolist() == [[0, 0], [0, 3], [4, 7], [8, 11], [0, 0]]
    assert seen.states.shape == (3, 5, 16)
    np.testing.assert_allclose(model.encode(["the cat sat"], normalize=False)[0], seen.states[-1].mean(0), atol=1e-6)


def test_modules_are_followed_one_after_another(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    w, b = rng.normal(size=(6, 16)).astype(np.float32), rng.normal(size=6).astype(np.float32)
    folder = write(
        tmp_path, modules=modules("Transformer", "Pooling", "Dense", "Normalize"), **{"1_Pooling__config": POOLING},
        **{"2_Dense__config": {"in_features": 16, "out_features": 6, "activation_function": "torch.nn.Tanh"}},
        sentence_bert_config={"max_seq_length": 4, "do_lower_case": False},
    )  # fmt: skip
    write_safetensors(folder / "2_Dense" / "model.safetensors", {"linear.weight": w, "linear.bias": b})
    model = pipeline.load(folder)
    assert (model.dimension, model.max_length) == (6, 4)
    expected = np.tanh(model.hidden_states("the cat").states[-1][0] @ w.T + b)
    found = model.encode(["the cat sat on a mat"], normalize=False)[0]
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), atol=1e-5)


def test_a_lower_casing_folder_and_prompts_are_followed(tmp_path: Path) -> None:
    said = {"prompts": {"query": "the cat ", "none": ""}, "default_prompt_name": "query", "similarity_fn_name": "dot"}
    folder = write(
        tmp_path, config_sentence_transformers=said, tokenizer_config={"do_lower_case": False, "model_max_length": 9},
        sentence_bert_config={"max_seq_length": None, "do_lower_case": True},
    )  # fmt: skip
    model = pipeline.load(folder)
    assert model.max_length == 9
    assert model.prompts == said["prompts"]
    whole = model.encode(["the cat SAT"], prompt="")
    assert np.array_equal(model.encode(["the cat sat"], prompt=""), whole)
    assert np.array_equal(model.encode(["sat"]), whole)
    assert np.array_equal(model.encode(["the cat sat"], prompt_name="none"), whole)
    assert model.similarity(np.full((1, 2), 3.0), np.full((1, 2), 2.0)).tolist() == [[12.0]]


def test_no_vectors_are_similar_to_none(tmp_path: Path) -> None:
    model = pipeline.load(write(tmp_path))
    some = model.encode(["the cat", "sat"])
    none = model.encode([])
    assert model.similarity([], some).shape == model.similarity(none, some).shape == (0, 2)
    assert model.similarity(some, []).shape == (2, 0)
    assert model.similarity([], []).shape == model.similarity(none, []).shape == (0, 0)


def test_a_prompt_can_be_left_out_of_the_pooling(tmp_path: Path) -> None:
    folder = write(
        tmp_path, modules=modules("Transformer", "Pooling"),
        **{"1_Pooling__config": {"embedding_dimension": 16, "pooling_mode": "mean", "include_prompt": False}},
    )  # fmt: skip
    model = pipeline.load(folder)
    states = model.hidden_states("the cat sat on").states[-1]
    found = model.encode(["sat on"], prompt="the cat ", normalize=False)[0]
    np.testing.assert_allclose(found, states[3:].mean(0), atol=1e-6)


@pytest.mark.parametrize("without", [0, 1, 3])
@pytest.mark.parametrize("mode", POOLINGS)
def test_a_pooling_is_what_its_name_says(mode: str, without: int) -> None:
    x = np.random.default_rng(1).normal(size=(14, 3)).astype(np.float32)
    starts = np.array([0, 5, 5, 6, 14])
    got = pool(x, starts, [mode], without=without)
    for i in range(4):
        rows = x[starts[i] : starts[i + 1]][without:]
        place = np.arange(1, len(rows) + 1)[:, None] + without
        expected = {
            "cls": rows[:1].sum(0), "lasttoken": rows[-1:].sum(0), "max": rows.max(0) if len(rows) else np.zeros(3),
            "mean": rows.sum(0) / max(len(rows), 1), "mean_sqrt_len_tokens": rows.sum(0) / max(len(rows), 1) ** 0.5,
            "weightedmean": (rows * place).sum(0) / max(place.sum(), 1e-9),
        }[mode]  # fmt: skip
        np.testing.assert_allclose(got[i], expected, atol=1e-5)


def test_poolings_are_joined_side_by_side(tmp_path: Path) -> None:
    flags = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True, "word_embedding_dimension": 16}
    folder = write(tmp_path, modules=modules("Transformer", "Pooling"), **{"1_Pooling__config": flags})
    model = pipeline.load(folder)
    assert model.dimension == 32
    states = model.hidden_states("a mat").states[-1]
    expected = np.concatenate([states[0], states.mean(0)])
    np.testing.assert_allclose(model.encode(["a mat"], normalize=False)[0], expected, atol=1e-6)


CHANGED: list[tuple[dict[str, Any], str]] = [
    (
        {"model_type": "opt"},
        "model_type: 'opt' is not supported; it must be one of these types of models: bert, roberta",
    ),
    ({"model_type": None}, "model_type: None is not supported"),
    ({"model_type": ["bert"]}, "model_type: a string is needed, not an array"),
    ({"model_type": []}, "model_type: a string is needed, not an array"),
    ({"model_type": {}}, "model_type: a string is needed, not an object"),
    ({"hidden_act": "quick_gelu"}, "hidden_act: 'quick_gelu' is not supported; it must be one of gelu"),
    ({"hidden_size": 17}, "dim is 17; it must be a multiple of n_heads, 2"),
    ({"hidden_size": "16"}, "hidden_size: an integer is needed, not a string"),
    ({"num_hidden_layers": 0}, "num_hidden_layers is 0; it must be a whole number of at least 1"),
    (
        {"num_hidden_layers": 3},
        r"'bert.encoder.layer.2.attention.self.query.weight' is missing; .* with shape \(16, 16\)",
    ),
    ({"num_hidden_layers": 1}, r"'bert.encoder.layer.1.* of shape .* does not belong to this encoder, .* has 1 layers"),
    ({"vocab_size": 41}, r"word_embeddings.weight' has shape \(40, 16\); config.json requires \(41, 16\)"),
    ({"intermediate_size": 25}, r"has shape \(24, 16\); config.json requires \(25, 16\)"),
    ({"max_position_embeddings": 21}, r"position_embeddings.weight' has shape \(20, 16\)"),
    ({"type_vocab_size": 1}, r"token_type_embeddings.weight' has shape \(2, 16\); config.json requires \(1, 16\)"),
    ({"position_embedding_type": "relative_key"}, "position_embedding_type: 'relative_key' is not supported"),
    ({"is_decoder": True}, "is_decoder: True is not supported; it must be False"),
    ({"layer_norm_eps": -1.0}, "layer_norm_eps is -1.0; it must be at least 0"),
]


@pytest.mark.parametrize(("change", "said"), CHANGED, ids=[str(change) for change, _ in CHANGED])
def test_a_configuration_that_contradicts_the_weights_is_refused(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    with pytest.raises(FormatError, match=said):
        pipeline.load(write(tmp_path, BERT | change, tensors_of(BERT)))


def test_tensors_that_are_too_many_or_of_another_type_are_refused(tmp_path: Path) -> None:
    tensors = tensors_of(BERT)
    query = "bert.encoder.layer.0.attention.self.query.weight"
    with pytest.raises(FormatError, match=r"'bert.adapter.weight' of shape \(3,\) does not belong to this encoder"):
        pipeline.load(write(tmp_path, tensors=tensors | {"bert.adapter.weight": np.ones(3, dtype=np.float32)}))
    with pytest.raises(FormatError, match=f"'{query}' has dtype I8; it must be one of F32, F16, BF16, F64"):
        pipeline.load(write(tmp_path, tensors=tensors | {query: np.ones((16, 16), dtype=np.int8)}))
    extra = {"bert.pooler.dense.weight": np.ones((16, 16), dtype=np.float32), "cls.predictions.bias": np.ones(40)}
    assert pipeline.load(write(tmp_path, tensors=tensors | extra)).dimension == 16
    data = (tmp_path / "model.safetensors").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(data[:-7])
    with pytest.raises(FormatError, match="is truncated or damaged"):
        pipeline.load(tmp_path)


def test_names_of_old_files_are_read(tmp_path: Path) -> None:
    tensors = tensors_of(BERT)
    old = {n.removeprefix("bert.").replace("LayerNorm.weight", "LayerNorm.gamma")
           .replace("LayerNorm.bias", "LayerNorm.beta"): t for n, t in tensors.items()}  # fmt: skip
    vectors = [
        pipeline.load(write(tmp_path / name, tensors=found)).encode(["the cat"])
        for name, found in (("new", tensors), ("old", old))
    ]
    assert np.array_equal(*vectors)


def test_a_tokenizer_larger_than_the_table_is_refused(tmp_path: Path) -> None:
    config = BERT | {"vocab_size": 12}
    with pytest.raises(FormatError, match=r"has 19 ids, and the tensor '.*word_embeddings.weight' of shape \(12, 16\)"):
        pipeline.load(write(tmp_path, config))


def test_what_is_no_model_is_said_to_be_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match="no such folder; a model is a folder with"):
        pipeline.load(tmp_path / "nothing")
    with pytest.raises(FormatError, match="there is no config"):
        pipeline.load(tmp_path)
    folder = write(tmp_path / "model")
    with pytest.raises(FormatError, match="this is a file; it must be the folder of a model"):
        pipeline.load(folder / "config.json")
    with pytest.raises(OptionError, match="precision is 'fp16'; it must be one of fp32, bf16, int8"):
        pipeline.load(folder, precision="fp16")
    for most in (0, 21, True, 2):
        with pytest.raises(OptionError):
            pipeline.load(folder, max_length=most)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(FormatError, match="pickles are not read"):
        pipeline.load(folder)
    for text, said in (("", "empty"), ("[1]", "an object is needed"), ('{"model_type": "bert"', "not JSON")):
        (folder / "config.json").write_text(text)
        with pytest.raises(FormatError, match=said):
            pipeline.load(folder)
    monkeypatch.setenv("TOKKIT_OFFLINE", "1")
    with pytest.raises(DownloadError):
        pipeline.load("some-org/some-model", download=True)
    with pytest.raises(DownloadError, match="hub"):
        pipeline.load("some-org/some-model")


BROKEN = [
    (
        modules("Transformer", "Pooling", "LSTM"),
        POOLING,
        "the module LSTM is not supported; it must be one of Transformer, Pooling",
    ),
    (modules("Pooling", "Transformer"), POOLING, "they must begin with Transformer"),
    (modules("Transformer", "Normalize", "Pooling"), POOLING, "Normalize is before another module"),
    (modules("Transformer", "Pooling"), {"pooling_mode_attention": True}, "the pooling pooling_mode_attention is not"),
    (
        modules("Transformer", "Pooling"),
        {"pooling_mode": "median"},
        "the pooling median is not supported; it must be one of cls, max",
    ),
    (modules("Transformer", "Pooling"), {"pooling_mode": 5}, "the pooling 5 is not supported"),
    (modules("Transformer", "Pooling"), {"pooling_mode": []}, r"the pooling \[\] is not supported"),
    (modules("Transformer", "Pooling"), {"pooling_mode": [{}]}, r"the pooling {} is not supported"),
    (
        modules("Transformer", "Pooling"),
        {"word_embedding_dimension": 9},
        "need vectors of 9 columns, but pooling .* of 16 gives 16",
    ),
    (modules("Transformer", "Pooling", "Dense"), POOLING, "2_Dense.*config.json"),
    ([modules("Transformer")[0] | {"path": "../else"}], POOLING, "leads out of the model's folder"),
    ({"0": 1}, POOLING, "an array is needed"),
]


@pytest.mark.parametrize(("chain", "pooling", "said"), BROKEN, ids=[said for *_, said in BROKEN])
def test_modules_that_cannot_be_run_are_refused(tmp_path: Path, chain: Any, pooling: Any, said: str) -> None:
    folder = write(tmp_path, modules=chain, **{"1_Pooling__config": pooling})
    with pytest.raises((FormatError, FileNotFoundError), match=said):
        pipeline.load(folder)


def test_masks_are_filled_by_the_likeliest_tokens(tmp_path: Path) -> None:
    model = pipeline.load(write(tmp_path, tensors=tensors_of(BERT, head=True)))
    logits = model.masked_logits("the [MASK] sat")
    assert logits.shape == (5, 40)
    (guesses,) = model.fill_mask("the [MASK] sat", k=4)
    inside = [guess.id for guess in guesses]
    assert inside == sorted(inside, key=lambda id_: -logits[2, id_])
    assert logits[2, :19].argmax() == inside[0]
    total = np.exp(np.float64(logits[2])).sum()
    assert guesses[0].probability == pytest.approx(np.exp(np.float64(logits[2, inside[0]])) / total, rel=1e-5)
    assert guesses[0].text == f"the {guesses[0].token} sat"
    assert len(model.fill_mask("[MASK] [MASK]")) == 2
    assert model.fill_mask("the ___ sat", mask="___", k=4) == [guesses]
    with pytest.raises(OptionError, match="mask is empty"):
        model.fill_mask("the [MASK]", mask="")
    with pytest.raises(OptionError, match=r"there is no \[MASK\] in the text"):
        model.fill_mask("the cat")
    with pytest.raises(OptionError, match="k is 0"):
        model.fill_mask("the [MASK]", k=0)
    bare = pipeline.load(write(tmp_path / "bare"))
    with pytest.raises(OptionError, match="no head for masked tokens"):
        bare.fill_mask("the [MASK]")


def test_what_is_asked_of_the_inside_must_be_there(tmp_path: Path) -> None:
    model = pipeline.load(write(tmp_path))
    tokens, weights = model.attention("the cat sat")
    assert tokens == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    assert weights.shape == (2, 2, 5, 5)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
    assert np.array_equal(model.attention("the cat sat", layers=[1])[1], weights[1:])
    with pytest.raises(OptionError, match="there is no layer 2; this model has layers 0 to 1"):
        model.attention("the cat", layers=[2])
    with pytest.raises(OptionError, match="layers is empty; name at least one"):
        model.attention("the cat", layers=[])
    with pytest.raises(TypeError, match="a layer is str"):
        model.attention("the cat", layers=["1"])  # type: ignore[list-item]
    with pytest.raises(OptionError, match="the text has 32 tokens, and the maximum of the model is 20"):
        model.hidden_states("a " * 30)
    with pytest.raises(OptionError, match="the word 'dog' is not in the text"):
        model.word_vectors("the cat", "dog")


def test_one_encoder_serves_many_threads(tmp_path: Path) -> None:
    model = pipeline.load(write(tmp_path))
    texts = ["the cat sat", "on a mat", "", "money, money, money of the river bank"] * 5
    expected = model.encode(texts, threads=1)
    with ThreadPoolExecutor(4) as pool_of_threads:
        found = list(pool_of_threads.map(lambda _: model.encode(texts, threads=2, batch_tokens=30), range(40)))
    assert all(np.array_equal(vectors, expected) for vectors in found)


def test_a_fingerprint_tells_folders_apart_by_what_they_hold(tmp_path: Path) -> None:
    first = pipeline.load(write(tmp_path / "a"))
    assert pipeline.load(write(tmp_path / "b"), precision="int8").fingerprint() == first.fingerprint()
    assert pipeline.load(write(tmp_path / "c", tensors=tensors_of(BERT, seed=1))).fingerprint() != first.fingerprint()
    changed = write(tmp_path / "d", modules=modules("Transformer", "Pooling"), **{"1_Pooling__config": POOLING})
    assert pipeline.load(changed).fingerprint() != first.fingerprint()
    assert json.loads((changed / "config.json").read_text()) == BERT


def dense(folder: Path, weight: np.ndarray, pooling: dict[str, Any]) -> Path:
    chain = [*modules("Transformer", "Pooling"), modules("Dense")[0] | {"path": "projection"}]
    write(folder, modules=chain, **{"1_Pooling__config": pooling, "projection__config": {}})
    write_safetensors(folder / "projection" / "model.safetensors", {"linear.weight": weight})
    return folder


def test_a_dense_layer_fits_what_comes_in_and_is_of_the_fingerprint(tmp_path: Path) -> None:
    weight = np.random.default_rng(0).normal(size=(4, 16)).astype(np.float32)
    one, two = dense(tmp_path / "a", weight, POOLING), dense(tmp_path / "b", 2 * weight, POOLING)
    assert pipeline.load(one).fingerprint() != pipeline.load(two).fingerprint()
    unsaid = pipeline.load(dense(tmp_path / "c", weight, {"pooling_mode_cls_token": True}))
    assert np.array_equal(unsaid.encode(["the cat"]), pipeline.load(one).encode(["the cat"]))
    with pytest.raises(FormatError, match=r"its modules need vectors of 8 columns, but pooling .* of 16 gives 16"):
        pipeline.load(dense(tmp_path / "d", weight[:, :8], {}))
    with pytest.raises(FormatError, match=r"projection: linear.weight has dtype I32; it must be one of F32, F16"):
        pipeline.load(dense(tmp_path / "e", weight.astype(np.int32), POOLING))


def test_sizes_beyond_any_model_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="num_hidden_layers: 1000000000 is too large; the maximum is 1024"):
        pipeline.load(write(tmp_path / "a", BERT | {"num_hidden_layers": 10**9}, {"x": np.zeros(1)}))
    with pytest.raises(FormatError, match="max_position_embeddings: 20 leaves no position after pad_token_id"):
        pipeline.load(write(tmp_path / "b", BERT | {"model_type": "roberta", "pad_token_id": 30}, {"x": np.zeros(1)}))


def test_weights_that_8_bits_cannot_hold_are_named(tmp_path: Path) -> None:
    tensors = tensors_of(BERT)
    tensors["bert.encoder.layer.1.output.dense.weight"][0, 0] = np.nan
    with pytest.raises(OptionError, match=r"those of layers\.1\.feed_forward\.down hold NaN or infinity"):
        pipeline.load(write(tmp_path, BERT, tensors), precision="int8")


def test_a_model_shows_itself_and_pickles_as_its_folder(tmp_path: Path) -> None:
    model = pipeline.load(write(tmp_path / "tiny"), precision="int8", max_length=7)
    assert repr(model) == "<SentenceEncoder tiny: 2 layers, 16 dimensions, at most 7 tokens>"
    again = pickle.loads(pickle.dumps(model))
    assert (again.precision, again.max_length) == ("int8", 7)
    np.testing.assert_array_equal(again.encode(["the cat sat"]), model.encode(["the cat sat"]))


def test_one_text_gives_one_vector(tmp_path: Path) -> None:
    model = pipeline.load(write(tmp_path))
    np.testing.assert_array_equal(model.encode("the cat sat"), model.encode(["the cat sat"])[0])
    np.testing.assert_array_equal(model.encode(b"the cat sat"), model.encode("the cat sat"))
    for wrong in (3, [3], [None]):
        with pytest.raises(TypeError):
            model.encode(wrong)  # type: ignore[arg-type]


def test_a_name_alone_is_one_of_sentence_transformers() -> None:
    with pytest.raises(DownloadError, match="sentence-transformers/all-MiniLM-L6-v2"):
        pipeline.load("all-MiniLM-L6-v2")
    with pytest.raises(DownloadError, match=r"no-such is not a folder, and .* give the path of a folder"):
        pipeline.load("no-such")
