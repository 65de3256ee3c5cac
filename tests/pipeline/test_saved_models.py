"""Folders of sentence-transformers give its vectors: poolings, dense layers, prompts, limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from extras import extra
from model_folders import BERT, write
from tokkit import pipeline

TEXTS = ["the cat sat on a mat.", "", "money", "river bank, money bank " * 9, "a unknown word"]
CASES: list[tuple[Any, dict[str, Any]]] = [
    ("mean", {}), ("cls", {}), ("max", {}), ("mean_sqrt_len_tokens", {}), ("weightedmean", {}), ("lasttoken", {}),
    (("cls", "mean"), {"dense": 5}),
    ("mean", {"prompts": {"query": "the cat ", "doc": "a "}, "default_prompt_name": "query"}),
    ("weightedmean", {"prompts": {"query": "the cat ", "doc": "a "}, "include_prompt": False}),
]  # fmt: skip


@pytest.mark.parametrize(("pooling", "options"), CASES, ids=[f"{mode}-{list(more)}" for mode, more in CASES])
def test_what_it_saves_gives_its_vectors(tmp_path: Path, pooling: Any, options: dict[str, Any]) -> None:
    theirs = extra("sentence_transformers")
    base = theirs.base.modules
    parts: list[Any] = [base.Transformer(str(write(tmp_path / "base", BERT)))]
    include = options.get("include_prompt", True)
    parts.append(theirs.sentence_transformer.modules.Pooling(16, pooling_mode=pooling, include_prompt=include))
    if "dense" in options:
        parts.append(base.Dense(32, options["dense"]))
    prompts = options.get("prompts", {})
    model = theirs.SentenceTransformer(
        modules=parts, prompts=prompts, default_prompt_name=options.get("default_prompt_name"), device="cpu"
    )
    model.max_seq_length = 12
    model.save(str(tmp_path / "saved"))
    ours = pipeline.load(tmp_path / "saved")
    assert ours.max_length == 12
    assert ours.dimension == model.get_embedding_dimension()
    for call in ({}, {"truncate_dim": 3}, *({"prompt_name": name} for name in prompts), {"prompt": "river "}):
        expected = model.encode(TEXTS, normalize_embeddings=True, **call)
        assert np.abs(ours.encode(TEXTS, **call) - expected).max() < 1e-5, call
    assert np.abs(ours.encode(TEXTS, normalize=False) - model.encode(TEXTS)).max() < 1e-4
    a, b = model.encode(TEXTS), model.encode(TEXTS[::-1])
    assert np.abs(ours.similarity(a, b) - model.similarity(a, b).numpy()).max() < 1e-4
