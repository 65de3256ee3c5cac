"""Static embeddings: means of token vectors, distilled from an encoder, saved and loaded without loss."""

from __future__ import annotations

import json
import logging
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import model_folders
from reference import bags as twin
from tokkit import pipeline
from tokkit.errors import FormatError, OptionError, ShapeError
from tokkit.files.safetensors import read_safetensors, write_safetensors
from tokkit.pipeline.static import StaticEncoder, StaticOptions
from tokkit.search import builder

TEXTS = ["the cat sat on a mat.", "rivers", "", "money of the bank, the river bank", "xyz", "the xyz cat", "[SEP] cat"]


@pytest.fixture
def encoder(tmp_path: Path) -> Any:
    return pipeline.load(model_folders.write(tmp_path / "encoder"))


@pytest.fixture
def static(encoder: Any) -> StaticEncoder:
    return pipeline.distill(encoder, pca_dims=8)


def test_rows_are_the_encoders_vectors_of_single_tokens(encoder: Any) -> None:
    made = pipeline.distill(encoder, pca_dims=None, sif_coefficient=None)
    for word in ("cat", "river", ".", "bank"):
        alone = encoder.hidden_states(word).states[-1].mean(0)
        np.testing.assert_allclose(made.vectors[encoder.tokenizer.encode(word)[0]], alone, atol=1e-6)
    assert not made.vectors[list(encoder.tokenizer.special_tokens.values())].any()
    first = pipeline.distill(encoder, pca_dims=None, sif_coefficient=None, pooling="cls")
    np.testing.assert_allclose(
        first.vectors[encoder.tokenizer.encode("mat")[0]], encoder.hidden_states("mat").states[-1][0], atol=1e-6
    )


def test_components_and_weights_are_those_of_the_formulas(encoder: Any) -> None:
    plain = pipeline.distill(encoder, pca_dims=None, sif_coefficient=None).vectors[5:].astype(np.float64)
    made = pipeline.distill(encoder, pca_dims=4, sif_coefficient=0.01).vectors[5:]
    _, values, directions = np.linalg.svd(plain - plain.mean(0), full_matrices=False)
    shares = 1 / np.arange(2, len(plain) + 2)
    weights = 0.01 / (0.01 + shares / shares.sum())
    expected = (plain - plain.mean(0)) @ directions[:4].T * weights[:, None]
    np.testing.assert_allclose(np.abs(made), np.abs(expected), atol=1e-5)
    back = made / weights[:, None]
    assert (back.max(0) >= -back.min(0) - 1e-6).all(), "the greatest value of a column is positive"
    assert values[3] > values[4]


def test_a_texts_vector_is_the_mean_of_its_known_tokens(static: StaticEncoder) -> None:
    ids, starts = static.tokenizer.encode_batch(TEXTS, special="all")
    unknown = static.tokenizer.special_tokens["[UNK]"]
    for normalize in (True, False):
        # The model says itself that its vectors have length 1.
        expected = twin.bags(static.vectors, ids, starts, ignored=unknown, normalize=True)
        np.testing.assert_allclose(static.encode(TEXTS, normalize=normalize), expected, atol=1e-6)
    means = StaticEncoder(static.tokenizer, static.vectors, options=StaticOptions(normalize=False))
    expected = twin.bags(static.vectors, ids, starts, ignored=unknown)
    np.testing.assert_allclose(means.encode(TEXTS, normalize=False), expected, atol=1e-6)
    assert not static.encode(["", "xyz"]).any()


def test_what_a_call_may_ask_for_is_done(static: StaticEncoder) -> None:
    whole = static.encode(TEXTS)
    assert whole.dtype == np.float32
    assert (static.dimension, static.max_length, static.prompts) == (8, 512, {})
    for options in ({"threads": 1}, {"threads": 3}):
        assert np.array_equal(static.encode(TEXTS * 1000, **options)[-len(TEXTS) :], whole)
    assert static.encode("the cat").shape == (8,)
    assert static.encode([]).shape == (0, 8)
    np.testing.assert_array_equal(static.encode([text.encode() for text in TEXTS]), whole)
    np.testing.assert_allclose(static.encode(["cat"], prompt="the "), static.encode(["the cat"]))
    cut = static.encode(TEXTS, truncate_dim=3)
    np.testing.assert_allclose(np.linalg.norm(cut, axis=1)[[0, 1, 3]], 1, atol=1e-6)
    np.testing.assert_allclose(static.encode(TEXTS, truncate_dim=3, normalize=False), whole[:, :3])
    done: list[tuple[int, int]] = []
    static.encode(["a"] * 5000, progress=lambda *numbers: done.append(numbers))
    assert done == [(4096, 5000), (5000, 5000)]
    assert np.isclose(static.similarity(whole[0], whole[0]), 1)
    assert repr(static) == "<StaticEncoder: 19 vectors, 8 dimensions, at most 512 tokens>"
    for wrong in ({"truncate_dim": 9}, {"threads": 0}, {"prompt_name": "query"}):
        with pytest.raises(OptionError):
            static.encode("a", **wrong)
    with pytest.raises(TypeError, match="text 0 is int"):
        static.encode([3])  # type: ignore[list-item]


def test_tokens_beyond_the_limit_are_left_out_and_that_is_said(encoder: Any, caplog: pytest.LogCaptureFixture) -> None:
    made = pipeline.distill(encoder, max_length=3, pca_dims=None)
    with caplog.at_level(logging.WARNING):
        cut = made.encode(["the cat sat on mats", "the cat sat", "a " * 500, ("a " * 500).encode()])
    assert np.array_equal(cut[0], cut[1])
    assert np.array_equal(cut[2], cut[3])
    assert len(caplog.records) == 1
    assert "the model reads only the first 3 tokens" in caplog.text
    free = pipeline.distill(encoder, max_length=None, pca_dims=None)
    assert free.max_length == 2**31 - 1
    assert builder.about(free, "").tokens == 512
    assert not np.allclose(free.encode("the cat sat on mats"), free.encode("the cat sat"))


def test_words_get_tokens_and_vectors_of_their_own(encoder: Any) -> None:
    made = pipeline.distill(encoder, vocabulary=["riverbank", "cat", "river bank", "riverbank"], pca_dims=None,
                            sif_coefficient=None)  # fmt: skip
    n = encoder.tokenizer.n_ids
    assert made.tokenizer.encode("the riverbank") == [made.tokenizer.vocab["the"], n]
    assert made.tokenizer.encode("a river bank, cat")[1] == n + 1
    assert made.tokenizer.n_ids == len(made.vectors) == n + 2
    expected = encoder.encode("river bank", normalize=False)
    np.testing.assert_allclose(made.vectors[n + 1], expected, atol=1e-6)


def test_tokens_are_looked_up_as_words_are(static: StaticEncoder) -> None:
    words = static.token_vectors()
    assert len(words.index_to_key) == 14, "special tokens have no vectors"
    np.testing.assert_array_equal(words["##ing"], static.vectors[static.tokenizer.vocab["##ing"]])
    near, score = words.most_similar("cat", topn=1)[0]
    assert score == pytest.approx(float(static.encode("cat") @ static.encode(near)), abs=1e-5)
    half = StaticEncoder(static.tokenizer, static.vectors[[7, 8]], row_of=np.arange(19, dtype=np.uint32) % 2,
                         weights=np.arange(19, dtype=np.float32))  # fmt: skip
    np.testing.assert_array_equal(half.token_vectors()["##ing"], static.vectors[8] * 17)


def test_a_saved_model_is_the_same_after_loading(static: StaticEncoder, tmp_path: Path) -> None:
    paths = static.save(tmp_path / "new" / "static")
    assert sorted(path.name for path in paths) == sorted(path.name for path in (tmp_path / "new" / "static").iterdir())
    loaded = pipeline.load(tmp_path / "new" / "static")
    assert np.array_equal(loaded.encode(TEXTS), static.encode(TEXTS))
    assert loaded.fingerprint() == static.fingerprint()
    assert repr(loaded).startswith("<StaticEncoder static: 19 vectors")
    assert loaded.options.about["sif_coefficient"] == 1e-4
    for model in (static, loaded):
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.encode(TEXTS), static.encode(TEXTS))
        assert again.fingerprint() == static.fingerprint()
    assert len(pickle.dumps(loaded)) < 500
    loaded.save(tmp_path / "new" / "static", dtype="float16")
    half = pipeline.load(tmp_path / "new" / "static")
    np.testing.assert_allclose(half.encode(TEXTS), static.encode(TEXTS), atol=5e-3)
    assert half.fingerprint() != static.fingerprint()
    assert pipeline.load(tmp_path / "new" / "static", max_length=2).max_length == 2


def test_a_saved_model_never_replaces_an_encoder(static: StaticEncoder, encoder: Any, tmp_path: Path) -> None:
    with pytest.raises(FileExistsError, match="another kind of model"):
        static.save(encoder.folder)
    static.save(tmp_path / "static")
    with pytest.raises(FileExistsError, match=r"tokenizer\.json"):
        static.save(tmp_path / "static", overwrite=False)
    with pytest.raises(FileExistsError, match="is a file; a model is a folder"):
        static.save(tmp_path / "static" / "config.json")
    with pytest.raises(OptionError, match="dtype is 'int8'"):
        static.save(tmp_path / "static", dtype="int8")


def test_ids_without_tokens_have_rows_too(encoder: Any, tmp_path: Path) -> None:
    """The table of the encoder may have more rows than the tokenizer has tokens, and ids may have gaps."""
    vectors = np.random.default_rng(0).standard_normal((30, 4), dtype=np.float32)
    made = StaticEncoder(encoder.tokenizer, vectors)
    made.save(tmp_path / "static")
    assert read_safetensors(tmp_path / "static" / "model.safetensors")["mapping"].shape == (30,)
    assert np.array_equal(pipeline.load(tmp_path / "static").encode(TEXTS), made.encode(TEXTS))


def test_folders_of_sentence_transformers_are_means_of_all_tokens(static: StaticEncoder, tmp_path: Path) -> None:
    static.save(tmp_path / "own")
    folder = tmp_path / "theirs"
    (folder / "0_StaticEmbedding").mkdir(parents=True)
    (tmp_path / "own" / "tokenizer.json").rename(folder / "0_StaticEmbedding" / "tokenizer.json")
    write_safetensors(folder / "0_StaticEmbedding" / "model.safetensors", {"embedding.weight": static.vectors + 1})
    module = {
        "idx": 0,
        "name": "0",
        "path": "0_StaticEmbedding",
        "type": "sentence_transformers.models.StaticEmbedding",
    }
    (folder / "modules.json").write_text(json.dumps([module]))
    prompts = {"prompts": {"query": "the "}, "similarity_fn_name": "dot"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    made = pipeline.load(folder)
    ids, starts = made.tokenizer.encode_batch(TEXTS, special="all")
    means = twin.bags(static.vectors + 1, ids, starts)
    np.testing.assert_allclose(made.encode(TEXTS, normalize=False), means, atol=1e-6)
    np.testing.assert_array_equal(made.encode("cat", prompt_name="query"), made.encode("the cat"))
    np.testing.assert_allclose(made.similarity(means[:1], means), means[:1] @ means.T, atol=1e-5)


def test_wrong_options_say_what_would_be_right(encoder: Any, static: StaticEncoder, tmp_path: Path) -> None:
    for options, said in (
        ({"pca_dims": 0}, "pca_dims is 0; it must be a number of columns"),
        ({"sif_coefficient": 2.0}, "sif_coefficient is 2.0; it must be between 0 and 1"),
        ({"pooling": "sum"}, "pooling is 'sum'; it must be one of cls"),
        ({"max_length": 0}, "max_length is 0; it must be"),
        ({"vocabulary": ["cat", " "]}, "the vocabulary contains ' '"),
    ):
        with pytest.raises(OptionError, match=said):
            pipeline.distill(encoder, **options)
    with pytest.raises(TypeError, match="it must be a list of words"):
        pipeline.distill(encoder, vocabulary="cat")
    with pytest.raises(TypeError, match="encoder is StaticEncoder"):
        pipeline.distill(static)
    with pytest.raises(ShapeError, match=r"for 18 ids; .* for 19 ids"):
        StaticEncoder(static.tokenizer, static.vectors[:18])
    static.save(tmp_path / "static")
    with pytest.raises(OptionError, match="precision is 'int8'"):
        pipeline.load(tmp_path / "static", precision="int8")
    with pytest.raises(OptionError, match="max_length is 0"):
        pipeline.load(tmp_path / "static", max_length=0)


@pytest.mark.parametrize("config", [{"max_length": "long"}, {"max_length": 0}, {"normalize": 1}])
def test_a_configuration_that_says_nonsense_is_refused(
    static: StaticEncoder, tmp_path: Path, config: dict[str, Any]
) -> None:
    static.save(tmp_path / "static")
    (tmp_path / "static" / "modules.json").unlink()  # as older versions of model2vec left it
    (tmp_path / "static" / "config.json").write_text(json.dumps({"model_type": "model2vec", **config}))
    with pytest.raises(FormatError, match=rf"config\.json: {next(iter(config))} is .*; it must be"):
        pipeline.load(tmp_path / "static")


@pytest.mark.parametrize(
    ("tensors", "said"),
    [
        ({"embeddings": np.zeros((18, 4), np.float32)}, r"float32 of shape \(18, 4\) for 18 ids"),
        ({"embeddings": np.zeros(19, np.float32)}, r"'embeddings' is F32 of shape \(19,\)"),
        ({"embeddings": np.full((19, 4), np.nan, np.float32)}, "NaN"),
        ({"other": np.zeros((19, 4), np.float32)}, "no tensor 'embedding.weight', only 'other'"),
        ({"embeddings": np.zeros((4, 4), np.float32), "mapping": np.arange(19)}, "'mapping' has rows 0 to 18"),
        ({"embeddings": np.zeros((4, 4), np.float32), "mapping": np.full(19, -1)}, "'mapping' has rows -1"),
        ({"embeddings": np.zeros((4, 4), np.float32), "mapping": np.zeros(3, np.int64)}, "for 3 ids"),
        ({"embeddings": np.zeros((19, 4), np.float32), "weights": np.zeros(3, np.float32)}, "weights are float32"),
    ],
)
def test_damaged_folders_are_refused(static: StaticEncoder, tmp_path: Path, tensors: dict[str, Any], said: str) -> None:
    static.save(tmp_path / "static")
    write_safetensors(tmp_path / "static" / "model.safetensors", tensors)
    with pytest.raises(FormatError, match=rf"model\.safetensors: .*{said}"):
        pipeline.load(tmp_path / "static")


def test_an_encoder_with_a_weight_that_is_no_number_is_not_distilled(tmp_path: Path) -> None:
    tensors = model_folders.tensors_of(model_folders.BERT)
    tensors["bert.embeddings.word_embeddings.weight"][6, 3] = np.nan
    encoder = pipeline.load(model_folders.write(tmp_path / "encoder", tensors=tensors))
    with pytest.raises(OptionError, match="state of the token 'cat' is not finite"):
        pipeline.distill(encoder)  # type: ignore[arg-type]
