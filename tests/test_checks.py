"""Every call that takes several texts refuses what is not texts in an order, and says what to write."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tokkit
from tokkit.checks import ordered
from tokkit.conversion import count_ids, extend, verify
from tokkit.corpus.readers import Corpus
from tokkit.embeddings import GloVe, Phrases, TfIdf, Word2Vec, count_terms
from tokkit.embeddings.fasttext_supervised import train_supervised
from tokkit.embeddings.phrases import FrozenPhrases
from tokkit.pipeline.causal_model import CausalModel
from tokkit.pipeline.finetuning_data import read_labelled, read_rows
from tokkit.pipeline.reranking import Reranker, pairs_of
from tokkit.pipeline.seq2seq_generator import Seq2SeqGenerator
from tokkit.pipeline.text_generator import TextGenerator
from tokkit.pipeline.texts import listed
from tokkit.pipeline.token_classifier import _words_of

TEXTS = ["low lower", "lowest"]


class Frame:
    """A table as pandas and polars have it: iterating gives the names of its columns."""

    columns = ("n", "text")

    def __getitem__(self, name: str) -> list[str]:
        return TEXTS

    def __iter__(self) -> Any:
        return iter(self.columns)


class Dataset(Frame):
    """A table as datasets has it."""

    column_names = ("text",)
    columns = None  # type: ignore[assignment]


class Ranker(Reranker):
    """A reranker that is never asked for scores."""

    labels = ("score",)

    def predict(self, *_: Any, **__: Any) -> Any:
        raise AssertionError


ANY: Any = SimpleNamespace(options_of=lambda options: None)
"""Stands for a model: the texts are checked before it runs."""
TOK = tokkit.train(iter(TEXTS), vocab_size=260)
BATCH_CALLS: dict[str, Callable[[Any], object]] = {
    "encode_batch": TOK.encode_batch,
    "encodings": TOK.encodings,
    "encodings of pairs": lambda texts: TOK.encodings(TEXTS, texts),
    "encode_padded": TOK.encode_padded,
    "encode_padded of pairs": lambda texts: TOK.encode_padded(TEXTS, texts),
    "pretokenized": lambda words: TOK(words, pretokenized=True),
    "decode_batch": TOK.decode_batch,
    "pipeline": listed,
    "pipeline, words": _words_of,
    "pipeline, pairs": pairs_of,
    "fine-tuning, rows": read_rows,
    "fine-tuning, labels": read_labelled,
    "rank": lambda documents: Ranker().rank("low", documents),
    "generate": lambda prompts: TextGenerator.generate_all(ANY, prompts),
    "score": lambda continuations: CausalModel.score(ANY, "low", continuations),
    "score of Seq2Seq": lambda continuations: Seq2SeqGenerator.score(ANY, "low", continuations),
    "Word2Vec": lambda sentences: Word2Vec(sentences, min_count=1),
    "GloVe": lambda sentences: GloVe(sentences, min_count=1),
    "Phrases": Phrases,
    "phrases joined": lambda sentences: FrozenPhrases({})[sentences],
    "find_phrases": FrozenPhrases({}).find_phrases,
    "count_terms": count_terms,
    "TfIdf.fit": lambda documents: TfIdf().fit(documents),
}
"""Calls for which a table is an error too."""
CORPUS_CALLS: dict[str, Callable[[Any], object]] = {
    "Corpus": Corpus,
    "count_ids": lambda corpus: count_ids(TOK, corpus),
    "verify": lambda corpus: verify(TOK, TOK, corpus),
    "extend": lambda corpus: extend(TOK, corpus, vocab_size=270),
}
"""Calls that read a column of a table."""
CALLS = BATCH_CALLS | CORPUS_CALLS


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("mapping", [{"n": [1], "text": TEXTS}, UserDict(n=[1], text=TEXTS)])
def test_a_mapping_says_to_give_one_of_its_values(call: str, mapping: Any) -> None:
    with pytest.raises(
        TypeError, match=r"is a \w+, whose keys are not the .*; give one of its values, such as \w+\['text'\]"
    ):
        CALLS[call](mapping)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", [set, frozenset])
def test_a_set_says_to_give_a_list(call: str, kind: Any) -> None:
    with pytest.raises(TypeError, match=r"is a (frozen)?set, which has no order; give a list, such as sorted\("):
        CALLS[call](kind(TEXTS))


@pytest.mark.parametrize("call", BATCH_CALLS)
@pytest.mark.parametrize("table", [Frame(), Dataset()])
def test_a_table_says_to_give_a_column(call: str, table: Any) -> None:
    with pytest.raises(TypeError, match=r"whose columns are not the .*; give one of them, such as \w+\['text'\]"):
        BATCH_CALLS[call](table)


def test_data_frames_and_tables_of_other_libraries_are_tables() -> None:
    pandas = pytest.importorskip("pandas", reason="compares with pandas' own frames")
    frame = pandas.DataFrame({"text": TEXTS})
    with pytest.raises(TypeError, match="texts is a DataFrame, whose columns are not the texts"):
        TOK.encode_batch(frame)
    assert TOK.encode_batch(frame["text"])[0].tolist() == TOK.encode_batch(TEXTS)[0].tolist()


@pytest.mark.parametrize("call", [call for call in BATCH_CALLS if not call.startswith(("pipeline", "fine"))])
def test_one_text_is_not_several(call: str) -> None:
    if call == "phrases joined":
        return  # it takes one sentence too, and has its own message
    with pytest.raises(TypeError, match=r"is one (str|bytes); it must be a sequence of"):
        CALLS[call](TEXTS[0])
    with pytest.raises(TypeError, match=r"is int; it must be a sequence of"):
        CALLS[call](5)


def test_training_from_a_mapping_of_texts_says_what_to_write() -> None:
    with pytest.raises(
        TypeError, match=r"the count of 'text' is list; it must be an int; for texts give an iterator, such as"
    ):
        tokkit.train({"text": TEXTS})  # a mapping is words and their counts
    with pytest.raises(TypeError, match="source is a set, which has no order"):
        tokkit.train(set(TEXTS))


def test_classifiers_of_lines_take_lists(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("__label__a low\n__label__b wide\n" * 9)
    model = train_supervised(path, dim=2, thread=1, minCount=1)
    for call in (model.predict, model.text_vectors):
        with pytest.raises(TypeError, match="whose keys are not the texts"):
            call({"text": TEXTS})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "texts", [TEXTS, tuple(TEXTS), dict.fromkeys(TEXTS).keys(), np.array(TEXTS), np.array(TEXTS, dtype=object)]
)
def test_sequences_and_iterables_in_an_order_are_texts(texts: Any) -> None:
    wanted = TOK.encode_batch(TEXTS)[0].tolist()
    assert TOK.encode_batch(texts)[0].tolist() == wanted
    assert TOK.encode_batch(iter(list(texts)))[0].tolist() == wanted
    assert [e.ids for e in TOK.encodings(iter(list(texts)), iter(list(texts)))] == [
        e.ids for e in TOK.encodings(TEXTS, TEXTS)
    ]
    for special in ("text", "raise"):
        padded = TOK.encode_padded(iter(list(texts)), special=special)
        assert padded.ids.tolist() == TOK.encode_padded(TEXTS).ids.tolist()


def test_messages_without_an_example() -> None:
    with pytest.raises(TypeError, match=r"give one of its values$"):
        ordered({})
    with pytest.raises(TypeError, match=r"such as rows\['aaa"):
        ordered({"a" * 500: 1}, "rows", "rows")
