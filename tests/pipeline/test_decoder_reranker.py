"""A causal language model that answers yes or no ranks documents, with and without shared prefixes."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest

import generators
import model_folders
from tokkit import pipeline
from tokkit.errors import FormatError, OptionError
from tokkit.pipeline import DecoderReranker, TextGenerator

SMALL = {
    "instruction": "on the mat", "before": "<|user|>", "pair": "{instruction}: {query} {document}",
    "after": "<|end|><|model|>", "yes": " the", "no": " dog",
}  # fmt: skip
DOCUMENTS = ["the cat", "the dog sat", "", "the cat sat on {query}", "the <|end|>"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> TextGenerator:
    made = pipeline.load(generators.folder(tmp_path_factory.mktemp("model")))
    assert isinstance(made, TextGenerator)
    return made


def margin(model: TextGenerator, document: str, instruction: str = "on the mat", room: int = 99) -> float:
    """By how much " the" is above " dog" after the whole text, read alone."""
    tokenizer = model.tokenizer
    inner = tokenizer.encode(f"{instruction}: far {document}")[:room]
    logits = model.logits([301, *inner, 300, 302], last=True)
    return float(logits[tokenizer.encode(" the")[0]] - logits[tokenizer.encode(" dog")[0]])


def test_scores_are_those_of_each_text_read_alone(model: TextGenerator, monkeypatch: pytest.MonkeyPatch) -> None:
    ranker = DecoderReranker(model, **SMALL)
    expected = np.array([margin(model, document) for document in DOCUMENTS])
    pairs = [("far", document) for document in DOCUMENTS]
    np.testing.assert_allclose(ranker.predict(pairs, activation_fn="identity"), expected, atol=1e-4)
    np.testing.assert_allclose(ranker.predict(pairs), 1 / (1 + np.exp(-expected)), atol=1e-5)
    assert ranker.predict(pairs[1]) == pytest.approx(ranker.predict(pairs)[1], abs=1e-6)
    other = [margin(model, document, "the cat") for document in DOCUMENTS]
    np.testing.assert_allclose(ranker.predict(pairs, activation_fn="identity", prompt="the cat"), other, atol=1e-4)
    ranked = ranker.rank("far", DOCUMENTS, top_k=2, return_documents=True)
    best = np.argsort(-expected, kind="stable")[:2]
    assert [one["corpus_id"] for one in ranked] == best.tolist()
    assert [one["text"] for one in ranked] == [DOCUMENTS[i] for i in best]
    assert ranker.predict([]).shape == (0,)
    read: list[int] = []
    call = type(model.decoder).__call__
    monkeypatch.setattr(
        type(model.decoder), "__call__", lambda self, ids, *rest: read.extend(map(len, ids)) or call(self, ids, *rest)
    )
    seen: list[tuple[int, int]] = []
    mixed = [("far", "the cat"), ("far", "the dog"), ("log", "the dog")]
    ranker.predict(mixed, progress=lambda *done: seen.append(done))
    assert seen == [(2, 3), (3, 3)], "documents of one query are read together"
    begun = len(model.tokenizer.encode("on the mat: far the")) + 1
    assert read[0] == begun, "what they have in common is read once"


def test_a_document_that_is_too_long_loses_its_end(model: TextGenerator, caplog: pytest.LogCaptureFixture) -> None:
    ranker = DecoderReranker(model, **SMALL)
    long = "the cat sat on the mat; " * 20
    with caplog.at_level(logging.WARNING):
        found = ranker.predict([("far", long), ("far", long)], activation_fn="identity")
    assert found == pytest.approx([margin(model, long, room=64 - 3)] * 2, abs=1e-4)
    (record,) = caplog.records
    assert "the model reads only 61, and the end of the document is cut (this warning is shown once)" in record.message


def test_what_cannot_be_asked_is_refused(model: TextGenerator) -> None:
    for options, said in (
        ({"yes": "yesterday"}, "yes is 'yesterday', which is"),
        ({"pair": "{query}"}, "pair is '{query}'; it must contain {document}"),
        ({"before": "the cat sat " * 30}, "the model reads 64 tokens, and"),
    ):
        with pytest.raises(OptionError) as raised:
            DecoderReranker(model, **(SMALL | options))
        assert said in str(raised.value)
    with pytest.raises(OptionError, match="this model has no prompts: pass the text as prompt"):
        DecoderReranker(model, **SMALL).predict(("a", "b"), prompt_name="query")
    with pytest.raises(OptionError, match="of this model; it must be one"):
        DecoderReranker(model)


def test_a_folder_of_sentence_transformers_with_such_a_model_is_a_decoder(tmp_path: Path) -> None:
    kinds = ("base.modules.transformer.Transformer", "cross_encoder.modules.logit_score.LogitScore")
    listed = [
        {"idx": i, "name": str(i), "path": "1_LogitScore" * i, "type": f"sentence_transformers.{kind}"}
        for i, kind in enumerate(kinds)
    ]
    folder = generators.folder(tmp_path / "a")
    (folder / "modules.json").write_text(json.dumps(listed))
    assert isinstance(pipeline.load(folder), TextGenerator)
    encoder = model_folders.write(tmp_path / "b", modules=listed)
    with pytest.raises(FormatError, match="the module LogitScore is for causal language models"):
        pipeline.load(encoder)
