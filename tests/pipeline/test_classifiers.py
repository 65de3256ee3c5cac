"""Classifiers of texts, pairs and tokens: settings of folders, limits, entities, and errors."""

from __future__ import annotations

import json
import logging
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import generators
from model_folders import BERT, classifier, tensors_of, write
from tokkit import pipeline
from tokkit.errors import FormatError, OptionError
from tokkit.files.safetensors import read_safetensors, write_safetensors
from tokkit.pipeline import entities
from tokkit.pipeline.entities import Token

PAIRS = [("the cat", "sat on a mat."), ("money", ""), ("the bank of a river", "the cat sat")]
TAGS = ("O", "B-ANIMAL", "I-ANIMAL", "B-PLACE")
LONG = "the cats sat on a river bank, " * 6


def test_the_architecture_decides_unless_there_are_poolings(tmp_path: Path) -> None:
    ranker, tagger = classifier(tmp_path / "a", ["score"]), classifier(tmp_path / "b", TAGS, tokens=True)
    assert type(pipeline.load(ranker)) is pipeline.CrossEncoder
    assert type(pipeline.load(tagger)) is pipeline.TokenClassifier
    assert pipeline.load(tagger).labels == TAGS
    (ranker / "modules.json").write_text(json.dumps([
        {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    ]))  # fmt: skip
    (ranker / "1_Pooling").mkdir()
    (ranker / "1_Pooling" / "config.json").write_text("{}")
    assert type(pipeline.load(ranker)) is pipeline.SentenceEncoder


def test_a_head_reads_the_first_state_and_a_tagger_all_of_them(tmp_path: Path) -> None:
    folder = classifier(tmp_path / "a", ["no", "yes"])
    weights = {name: tensor.float32() for name, tensor in read_safetensors(folder / "model.safetensors").items()}
    model = pipeline.load(folder)
    first = model.hidden_states("the cat sat").states[-1][0]
    pooled = np.tanh(first @ weights["bert.pooler.dense.weight"].T + weights["bert.pooler.dense.bias"])
    expected = pooled @ weights["classifier.weight"].T + weights["classifier.bias"]
    found = {one["label"]: one["score"] for one in model.classify("the cat sat", top_k=None, function_to_apply="none")}
    np.testing.assert_allclose([found["no"], found["yes"]], expected, atol=1e-5)
    tagger = pipeline.load(classifier(tmp_path / "b", TAGS, tokens=True))
    tokens = tagger.predict("the cat sat")
    assert [(one["word"], one["index"], one["start"], one["end"]) for one in tokens] == [
        ("the", 1, 0, 3), ("cat", 2, 4, 7), ("sat", 3, 8, 11)
    ]  # fmt: skip
    assert {one["entity"] for one in tokens} <= set(TAGS)


@pytest.mark.parametrize("pad", [None, 117, 97])
def test_the_score_of_a_decoder_is_that_of_the_last_token_that_is_not_padding(tmp_path: Path, pad: int | None) -> None:
    stated = {"architectures": ["LlamaForSequenceClassification"], "id2label": {"0": "no", "1": "yes"}}
    folder = generators.folder(tmp_path / "d", **stated, pad_token_id=pad)
    tensors: dict[str, Any] = dict(read_safetensors(folder / "model.safetensors"))
    tensors["score.weight"] = matrix = np.random.default_rng(1).normal(0, 0.5, (2, 32)).astype(np.float32)
    write_safetensors(folder / "model.safetensors", tensors)
    model = pipeline.load(folder)
    assert isinstance(model, pipeline.CrossEncoder)
    texts = ["the cat", "zzua", "", "aa"]
    made = model.classify(texts, top_k=None, function_to_apply="none")
    for text, labels in zip(texts, made, strict=True):
        ids = model.tokenizer.encode(text)
        if not ids:
            expected = np.zeros(2)
        else:
            kept = [i for i, id_ in enumerate(ids) if id_ != pad]
            expected = matrix @ model.hidden_states(text).states[-1][max(kept, default=0)]
        found = {one["label"]: one["score"] for one in labels}
        np.testing.assert_allclose([found["no"], found["yes"]], expected, atol=1e-4)


def test_scores_depend_on_the_pair_alone(tmp_path: Path) -> None:
    model = pipeline.load(classifier(tmp_path, ["score"]))
    scores = model.predict(PAIRS)
    assert scores.shape == (3,)
    assert ((scores > 0) & (scores < 1)).all()
    for pair, score in zip(PAIRS, scores, strict=True):
        assert model.predict(pair) == pytest.approx(score, abs=1e-6)
    np.testing.assert_allclose(model.predict(PAIRS, batch_tokens=1, threads=1), scores, atol=1e-6)
    assert abs(model.predict(PAIRS[0]) - model.predict(PAIRS[0][::-1])) > 1e-4, "types tell the texts apart"
    assert model.predict([]).shape == (0,)
    logits = model.predict(PAIRS, activation_fn="identity")
    np.testing.assert_allclose(model.predict(PAIRS, activation_fn=lambda x: 2 * x), 2 * logits, rtol=1e-6)
    many = PAIRS * 100
    seen: list[tuple[int, int]] = []
    np.testing.assert_allclose(
        model.predict(many, progress=lambda *done: seen.append(done)), np.tile(scores, 100), atol=1e-6
    )
    assert seen == [(256, 300), (300, 300)]
    assert pickle.loads(pickle.dumps(model)).predict(PAIRS[0]) == scores[0]


def test_the_longer_text_of_a_pair_is_truncated_first(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model = pipeline.load(classifier(tmp_path, ["score"]))
    # 20 positions, of which 3 are special tokens: 3 of the query, 14 of the document.
    expected = model.predict(("the river bank", "money " * 14))
    with caplog.at_level(logging.WARNING):
        assert model.predict(("the river bank", "money " * 99)) == pytest.approx(expected, abs=1e-6)
        model.predict(("the " * 99, ""))
    assert [record.message for record in caplog.records] == [
        "a text has 105 tokens; the model reads only the first 20 (this warning is shown once)"
    ]


def test_ranks_are_by_score_and_ties_keep_their_order(tmp_path: Path) -> None:
    model = pipeline.load(classifier(tmp_path, ["score"]))
    documents = ["money", "the cat", "money", "a mat"]
    scores = model.predict([("cat", document) for document in documents])
    ranked = model.rank("cat", documents)
    assert [found["corpus_id"] for found in ranked] == np.argsort(-scores, kind="stable").tolist()
    assert [found["score"] for found in ranked] == sorted(scores.tolist(), reverse=True)
    assert [found["corpus_id"] for found in ranked if documents[found["corpus_id"]] == "money"] == [0, 2]
    best = model.rank("cat", documents, 1, True)
    assert best == [{**ranked[0], "text": documents[ranked[0]["corpus_id"]]}]
    assert model.rank("cat", []) == []


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({}, "sigmoid"),
        ({"config": {"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"}}, "identity"),
        ({"config": {"sentence_transformers": {"activation_fn": "torch.nn.Tanh"}}}, "tanh"),
        (
            {
                "config": {"sentence_transformers": {"activation_fn": "torch.nn.Tanh"}},
                "config_sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"},
            },
            "identity",
        ),
    ],
    ids=["default", "old", "config", "newest"],
)
def test_the_folder_states_the_activation(tmp_path: Path, files: dict[str, Any], name: str) -> None:
    model = pipeline.load(classifier(tmp_path, ["score"], **files))
    assert np.array_equal(model.predict(PAIRS), model.predict(PAIRS, activation_fn=name))
    others = {"sigmoid", "identity", "tanh"} - {name}
    assert not any(np.array_equal(model.predict(PAIRS), model.predict(PAIRS, activation_fn=other)) for other in others)


def test_the_configuration_decides_what_classify_makes_of_logits(tmp_path: Path) -> None:
    for problem, name in ((None, "softmax"), ("multi_label_classification", "sigmoid"), ("regression", "none")):
        model = pipeline.load(classifier(tmp_path / name, ["a", "b"], config={"problem_type": problem}))
        assert model.classify("the cat", top_k=None) == model.classify("the cat", top_k=None, function_to_apply=name)
    one = pipeline.load(classifier(tmp_path / "one", ["a"]))
    assert one.classify(["the cat"]) == [one.classify("the cat", function_to_apply="sigmoid")]
    assert one.classify([]) == []


def test_a_prompt_of_the_folder_is_put_before_the_query(tmp_path: Path) -> None:
    said = {"prompts": {"query": "the cat "}, "default_prompt_name": "query"}
    model = pipeline.load(classifier(tmp_path, ["score"], config_sentence_transformers=said))
    assert model.predict(("sat", "money")) == model.predict(("the cat sat", "money"), prompt="")
    assert model.predict(("sat", "money"), prompt="") != model.predict(("sat", "money"), prompt_name="query")


@pytest.mark.parametrize(
    ("inputs", "error", "said"),
    [
        ("the cat", TypeError, "inputs is one str; it must be a sequence of pairs, such as [inputs]"),
        (["the cat"], OptionError, "input 0 has 1 texts; it must be a pair: (query, document)"),
        ([("a", "b"), ("a", "b", "c")], OptionError, "input 1 has 3 texts"),
        ([("a", "b"), "ab"], TypeError, "input 1 is str; it must be a pair of texts"),
        ([("a", 1)], TypeError, "input 0 holds int; it must be str or bytes"),
    ],
)
def test_what_is_no_pair_is_refused(tmp_path: Path, inputs: Any, error: type[Exception], said: str) -> None:
    model = pipeline.load(classifier(tmp_path, ["score"]))
    with pytest.raises(error) as raised:
        model.predict(inputs)
    assert said in str(raised.value)


def test_invalid_options_are_refused(tmp_path: Path) -> None:
    model = pipeline.load(classifier(tmp_path / "a", ["no", "yes"]))
    tagger = pipeline.load(classifier(tmp_path / "b", TAGS, tokens=True))
    for call, said in (
        (lambda: model.rank("a", ["b"]), "rank needs a model with one label, the score; this one has no, yes"),
        (lambda: model.predict(PAIRS, activation_fn="gelu"), "activation_fn is 'gelu'; it must be a function, or one"),
        (lambda: model.predict(PAIRS, batch_tokens=0), "batch_tokens is 0"),
        (lambda: model.classify("a", top_k=0), "top_k is 0; it must be an int of at least 1"),
        (lambda: model.classify("a", function_to_apply="max"), "function_to_apply is 'max'; it must be one of softmax"),
        (lambda: model.classify(["a"], ["b", "c"]), "there are 1 texts and 2 pairs"),
        (lambda: tagger.entities("a", aggregation_strategy="last"), "is 'last'; it must be one of none, simple, first"),
        (
            lambda: tagger.entities("a", stride=18),
            "stride is 18; it must be 0 to 17, because a window has room for 18 tokens",
        ),
    ):
        with pytest.raises(OptionError) as raised:
            call()
        assert said in str(raised.value)
    with pytest.raises(TypeError, match="ignore_labels is one str"):
        tagger.entities("a", ignore_labels="O")


def test_a_head_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    named = {"architectures": ["BertForSequenceClassification"]}
    with pytest.raises(FormatError, match=r"the tensor 'bert\.pooler\.dense\.weight' is missing"):
        pipeline.load(write(tmp_path / "a", BERT | named))
    with pytest.raises(
        FormatError, match=r"id2label is .*; it must have 2 labels from 0, the rows of the tensor 'classifier\.weight'"
    ):
        pipeline.load(classifier(tmp_path / "b", ["no", "yes"], config={"id2label": {"0": "no"}}))
    with pytest.raises(
        FormatError, match=r"the activation of scores 'torch\.nn\.GELU' is not supported; it must be one of identity, "
    ):
        pipeline.load(
            classifier(tmp_path / "c", ["no"], config_sentence_transformers={"activation_fn": "torch.nn.GELU"})
        )
    folder = classifier(tmp_path / "d", ["score"])
    tensors = {name: tensor.float32() for name, tensor in read_safetensors(folder / "model.safetensors").items()}
    write_safetensors(folder / "model.safetensors", tensors | {"classifier.bias": np.array([np.nan], np.float32)},
                      overwrite=True)  # fmt: skip
    with pytest.raises(FormatError, match="logits of the model are NaN"):
        pipeline.load(folder).predict(PAIRS)


def test_labels_without_names_are_numbered(tmp_path: Path) -> None:
    config = BERT | {"architectures": ["BertForTokenClassification"]}
    head = {"classifier.weight": np.ones((2, 16), np.float32), "classifier.bias": np.zeros(2, np.float32)}
    assert pipeline.load(write(tmp_path, config, tensors_of(config) | head)).labels == ("LABEL_0", "LABEL_1")


# ---- entities


def test_windows_cover_a_long_text_and_each_place_has_one_label(tmp_path: Path) -> None:
    model = pipeline.load(classifier(tmp_path, TAGS, tokens=True))
    spans = model.tokenizer(LONG, special="all", truncation=None, padding=None).offsets[1:-1]
    for stride in (None, 0, 17):
        assert [(one["start"], one["end"]) for one in model.predict(LONG, stride=stride)] == spans
    # Of equal tokens of two windows, the surer is kept.
    apart = {(one["start"], one["score"]) for one in model.predict(LONG, stride=0)}
    assert {(one["start"], one["score"]) for one in model.predict(LONG)} != apart
    assert model.entities("") == []
    texts = ["the cat", LONG]
    assert model.entities(texts) == [model.entities(text) for text in texts]
    assert model.entities(LONG.encode()) == model.entities(LONG)


def test_words_may_be_given_as_such(tmp_path: Path) -> None:
    model = pipeline.load(classifier(tmp_path, TAGS, tokens=True))
    words = ["the", "cats", "sat", "on", "a-mat"]
    found = model.predict(words, pretokenized=True)
    text = " ".join(words)
    assert [text[one["start"] : one["end"]] for one in found] == ["the", "cat", "s", "sat", "on", "a", "-", "mat"]
    assert [(one["entity"], one["score"]) for one in found] == [
        (one["entity"], one["score"]) for one in model.predict(text)
    ]
    assert model.predict([words, ["the"]], pretokenized=True)[0] == found
    for texts, said in (("the cat", "a pretokenized text is str"), ([["the"], "cat"], "contains both words and lists")):
        with pytest.raises(TypeError, match=said):
            model.predict(texts, pretokenized=True)
    with pytest.raises(TypeError, match="a word is int"):
        model.predict([["the", 1]], pretokenized=True)


def tokens(*given: tuple[str, str, float]) -> list[Token]:
    """Tokens (text, label, probability) side by side, "##" and a number of labels apart."""
    made, at = [], 0
    for i, (word, label, score) in enumerate(given):
        goes_on = word.startswith("##")
        at += not goes_on and bool(made)
        scores = np.full(len(TAGS), (1 - score) / (len(TAGS) - 1), dtype=np.float32)
        scores[TAGS.index(label)] = score
        end = at + len(word.removeprefix("##"))
        made.append(Token(i, word, scores, at, end, goes_on))
        at = end
    return made


def to_text(words: list[str]) -> str:
    return " ".join(words).replace(" ##", "")


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (
            "simple",
            [("ANIMAL", "sea", 0, 3), ("PLACE", "##ls", 3, 5), ("ANIMAL", "lie", 6, 9), ("PLACE", "bay", 15, 18)],
        ),
        ("first", [("ANIMAL", "seals", 0, 5), ("ANIMAL", "lie", 6, 9), ("PLACE", "bay", 15, 18)]),
        ("average", [("PLACE", "seals", 0, 5), ("ANIMAL", "lie", 6, 9), ("PLACE", "bay", 15, 18)]),
        ("max", [("PLACE", "seals", 0, 5), ("ANIMAL", "lie", 6, 9), ("PLACE", "bay", 15, 18)]),
    ],
)
def test_words_get_one_label_by_their_tokens(strategy: str, expected: list[tuple[str, str, int, int]]) -> None:
    given = tokens(("sea", "I-ANIMAL", 0.5), ("##ls", "B-PLACE", 0.9), ("lie", "B-ANIMAL", 0.8), ("at", "O", 0.9),
                   ("a", "O", 0.6), ("bay", "B-PLACE", 0.7))  # fmt: skip
    found = entities.joined(given, TAGS, strategy, ("O",), to_text)
    assert [(one["entity_group"], one["word"], one["start"], one["end"]) for one in found] == expected


def test_inside_goes_on_and_beginning_does_not() -> None:
    given = tokens(("a", "B-ANIMAL", 0.5), ("b", "I-ANIMAL", 0.7), ("c", "B-ANIMAL", 0.9), ("d", "I-ANIMAL", 0.9))
    found = entities.joined(given, TAGS, "simple", (), to_text)
    assert [(one["word"], round(one["score"], 6)) for one in found] == [("a b", 0.6), ("c d", 0.9)]


def test_of_overlapping_entities_the_longer_or_surer_is_kept() -> None:
    def entity(start: int, end: int, score: float) -> entities.Entity:
        return {"entity_group": "X", "score": score, "word": "w", "start": start, "end": end}

    short, long, sure = entity(0, 3, 0.9), entity(2, 8, 0.5), entity(2, 8, 0.6)
    far = entity(8, 9, 0.1)
    assert entities.without_overlaps([far, short, long, sure]) == [sure, far]
    assert entities.without_overlaps([]) == []
