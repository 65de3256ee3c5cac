"""Folders of fine-tuned encoders can be read by sentence-transformers and transformers, with the same results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import minilm
import model_folders
from extras import extra
from pipeline.test_finetuning import LABELLED, PAIRS
from pipeline.test_masked_training import train as train_masked
from tokkit import pipeline
from tokkit.pipeline import FineTuneOptions

pytestmark = pytest.mark.parity
torch = extra("torch")
transformers = extra("transformers")
MPNET = model_folders.BERT | {"model_type": "mpnet", "max_position_embeddings": 64, "pad_token_id": 1}
TEXTS = ["the cat sat on the mat", "money", "a bank of the river", ""]


def test_sentence_transformers_gives_equal_vectors(tmp_path: Path) -> None:
    options = FineTuneOptions(batch=4, steps=2, lr=1e-4)
    pipeline.train_pairs(PAIRS, tmp_path / "m", model=minilm.folder(), options=options)
    theirs = extra("sentence_transformers").SentenceTransformer(str(tmp_path / "m"), device="cpu")
    ours = pipeline.load(tmp_path / "m").encode(TEXTS)
    assert np.abs(ours - theirs.encode(TEXTS, normalize_embeddings=True)).max() < 1e-5
    assert np.abs(ours - minilm.encoder().encode(TEXTS)).max() > 1e-3


@pytest.mark.parametrize(("kind", "freeze"), [("minilm", False), ("minilm", True), ("mpnet", True)])
def test_transformers_gives_equal_labels(tmp_path: Path, kind: str, freeze: bool) -> None:
    options = FineTuneOptions(batch=4, steps=3, lr=1e-3, freeze=freeze)
    base = minilm.folder()
    if kind == "mpnet":
        base = model_folders.write(tmp_path / "base", MPNET, tokenizer_config={"tokenizer_class": "BertTokenizer"})
    pipeline.train_classifier(LABELLED, tmp_path / "m", model=base, options=options)
    theirs, info = transformers.AutoModelForSequenceClassification.from_pretrained(
        tmp_path / "m", output_loading_info=True
    )
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "m")
    with torch.no_grad():
        wanted = theirs(**tokenizer(TEXTS, padding=True, return_tensors="pt")).logits.softmax(1).numpy()
    found = pipeline.load(tmp_path / "m").classify(TEXTS, top_k=None)
    for row, probabilities in zip(found, wanted, strict=True):
        for one in row:
            assert one["score"] == pytest.approx(probabilities[theirs.config.label2id[one["label"]]], abs=1e-5)


def test_transformers_gives_equal_logits_of_masked_tokens(tmp_path: Path) -> None:
    train_masked(tmp_path / "m", options=pipeline.LMOptions(context=16, batch=8, steps=5, lr=1e-2))
    theirs, info = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / "m", output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "m")
    text = "the old cat [MASK] on the mat"
    with torch.no_grad():
        wanted = theirs(**tokenizer(text, return_tensors="pt")).logits[0].numpy()
    assert np.abs(pipeline.load(tmp_path / "m").masked_logits(text) - wanted).max() < 1e-4
