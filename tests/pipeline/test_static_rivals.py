"""Static embeddings equal those of model2vec and sentence-transformers, whichever wrote the folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minilm
import model_folders
import tokkit
from conftest import LONG
from extras import extra
from strategies import adversarial
from tokkit import pipeline

WORDS = ["the", "cat", "river", "bank", "mats", "xyz", ",", "money", "[SEP]", "a", "Of", "é", "猫"]


@pytest.fixture(scope="module")
def texts() -> list[str]:
    rng = np.random.default_rng(0)
    made = [" ".join(rng.choice(WORDS, n)) for n in [0, 1, 2, 5, 20, 600, 3000, *range(1, 40)]]
    made += [adversarial(seed, 60).encode("utf-8", "replace").decode() for seed in range(30)]
    return [*made, "cat" * 3000, "x" * 5000 + " cat", " " * 4000 + "cat"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return pipeline.load(model_folders.write(tmp_path_factory.mktemp("static") / "encoder"))


def assert_equal(ours: Any, theirs: Any, texts: list[str]) -> None:
    np.testing.assert_allclose(ours.encode(texts), theirs.encode(texts), atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"pca_dims": 7, "max_length": None}, {"vocabulary": ["mats", "cat mat"]}])
def test_model2vec_loads_what_we_save(encoder: Any, texts: list[str], tmp_path: Path, options: dict[str, Any]) -> None:
    model2vec = extra("model2vec")
    ours = pipeline.distill(encoder, **options)
    ours.save(tmp_path / "static")
    assert_equal(ours, model2vec.StaticModel.from_pretrained(tmp_path / "static"), texts)


@pytest.mark.parametrize(("model", "size"), [("bbpe", 300), ("unigram", 60)])
def test_model2vec_loads_other_tokenizers_too(texts: list[str], tmp_path: Path, model: str, size: int) -> None:
    model2vec = extra("model2vec")
    tokenizer = tokkit.train(iter([" ".join(WORDS)] * 9), model=model, vocab_size=size, special_tokens=["<mask>"])
    config = {**model_folders.BERT, "vocab_size": tokenizer.n_ids}
    folder = model_folders.write(tmp_path / "encoder", config, model_folders.tensors_of(config))
    (folder / "vocab.txt").unlink()
    tokenizer.save(folder / "tokenizer.json")
    ours = pipeline.distill(pipeline.load(folder), vocabulary=["river bank"])
    ours.save(tmp_path / "static")
    assert np.array_equal(pipeline.load(tmp_path / "static").encode(texts), ours.encode(texts))
    assert_equal(ours, model2vec.StaticModel.from_pretrained(tmp_path / "static"), [*texts, "a river bank"])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize("quantized", [False, True])
def test_what_model2vec_saves_is_loaded(
    encoder: Any, texts: list[str], tmp_path: Path, dtype: str, quantized: bool
) -> None:
    model2vec, tokenizers = extra("model2vec"), extra("tokenizers")
    pipeline.distill(encoder).save(tmp_path / "made")
    tokenizer = tokenizers.Tokenizer.from_file(str(tmp_path / "made" / "tokenizer.json"))
    rng = np.random.default_rng(1)
    vectors = (rng.standard_normal((6 if quantized else 19, 24)) * 30).astype(dtype)
    more = {"token_mapping": rng.integers(0, 6, 19), "weights": rng.random(19)} if quantized else {}
    theirs = model2vec.StaticModel(vectors, tokenizer, normalize=True, max_length=100, **more)
    theirs.save_pretrained(tmp_path / "static")
    theirs = model2vec.StaticModel.from_pretrained(tmp_path / "static")
    ours = pipeline.load(tmp_path / "static")
    # theirs are rounded to float16 between the steps
    tolerance = 2e-3 if dtype == "float16" else 1e-6
    np.testing.assert_allclose(ours.encode(texts), theirs.encode(texts), atol=tolerance)
    ours.save(tmp_path / "again")
    assert pipeline.load(tmp_path / "again").fingerprint() == ours.fingerprint()
    assert_equal(ours, model2vec.StaticModel.from_pretrained(tmp_path / "again"), texts)


def distilled_there(folder: Path, **options: Any) -> Any:
    extra("model2vec")
    # What its extra needs goes with older versions of model2vec alone, so the extra parity cannot have it.
    theirs = pytest.importorskip(
        "model2vec.distill", reason="needs skeletoken: pip install skeletoken", exc_type=ImportError
    )
    return theirs.distill(str(folder), device="cpu", **options)


def test_rows_are_those_of_model2vecs_distillation(encoder: Any) -> None:
    theirs = distilled_there(encoder.folder, pca_dims=None, sif_coefficient=None, quantize_to="float32")
    ours = pipeline.distill(encoder, pca_dims=None, sif_coefficient=None)
    for token in ("the", "cat", ".", "##ing", "money"):
        row = theirs.embedding[theirs.tokenizer.token_to_id(token)]
        np.testing.assert_allclose(ours.vectors[ours.tokenizer.vocab[token]], row, atol=1e-5)


def test_sentence_transformers_reads_ours_and_we_read_theirs(encoder: Any, texts: list[str], tmp_path: Path) -> None:
    library = extra("sentence_transformers")
    ours = pipeline.distill(encoder, max_length=None)
    ours.save(tmp_path / "static")
    # Its means count unknown tokens too.
    known = [
        " ".join(np.random.default_rng(n).choice(["the", "cats", "river", "bank", ",", "[SEP]"], n)) for n in range(30)
    ]
    theirs = library.SentenceTransformer(str(tmp_path / "static"), device="cpu")
    assert_equal(ours, theirs, known)
    theirs.save(str(tmp_path / "theirs"))
    back = pipeline.load(tmp_path / "theirs")
    np.testing.assert_allclose(back.encode(texts), theirs.encode(texts), atol=1e-6)


@pytest.mark.skipif(not LONG, reason="two distillations, two minutes: TOKKIT_LONG=1 runs it")
def test_distilled_minilm_is_as_good_as_model2vecs(shared: Path) -> None:
    """Spearman's correlation with the encoder's cosines, over 500 pairs: within a point."""
    theirs = distilled_there(minilm.folder())
    ours = pipeline.distill(minilm.encoder())
    sentences = minilm.sentences(shared, 6000)
    sentences = sentences[: len(sentences) // len(minilm.LANGUAGES)]
    first, second = np.random.default_rng(0).choice(len(sentences), (2, 500))
    second[::2] = np.minimum(first[::2] + 1, len(sentences) - 1)
    found = []
    for model in (minilm.encoder(), ours, theirs):
        a, b = (np.asarray(model.encode([sentences[i] for i in rows]), dtype=np.float64) for rows in (first, second))
        found.append(np.argsort(np.argsort((a * b).sum(1))))
    correlations = np.corrcoef(found)[0]
    assert correlations[1] > correlations[2] - 0.01
