"""The embedding matrix for a tokenizer: rows from words, from subwords, or random; and its report."""

from __future__ import annotations

import numpy as np
import pytest

import tokkit
from tokkit import nn
from tokkit.embeddings import KeyedVectors, embedding_matrix, random_matrix
from tokkit.errors import OptionError
from tokkit.models.wordpiece import WordPiece
from tokkit.pretokenizers.whitespace_split import WhitespaceSplit

WORDS = KeyedVectors.of(["low", "est", "New", "new", "x"], np.arange(20, dtype=np.float32).reshape(5, 4) + 1)


@pytest.fixture(scope="module")
def tokenizer() -> tokkit.Tokenizer:
    vocab = ["[PAD]", "low", "##est", "LOW", "New", "lowest", "newer", "xx", "x", "est"]
    definition = tokkit.Definition(
        vocab=tokkit.Vocab.from_list(token.encode() for token in vocab),
        model=WordPiece(),
        pretokenizer=WhitespaceSplit(),
        special_tokens={"[PAD]": 0},
    )
    return tokkit.Tokenizer(definition)


def test_rows_are_those_of_words_of_pieces_or_random(tokenizer: tokkit.Tokenizer) -> None:
    made = embedding_matrix(tokenizer, WORDS, seed=1)
    assert made.whole == [1, 2, 3, 4, 8, 9]
    assert made.from_pieces == [5, 6]
    assert made.random == [0, 7]
    assert made.coverage == 0.8
    for id_, key in ((1, "low"), (2, "est"), (3, "low"), (4, "New"), (8, "x")):
        np.testing.assert_array_equal(made.weight[id_], WORDS[key])
    np.testing.assert_allclose(made.weight[5], (WORDS["low"] + WORDS["est"]) / 2)
    np.testing.assert_allclose(made.weight[6], WORDS["new"])
    expected = random_matrix(tokenizer, 4, seed=1)
    np.testing.assert_array_equal(made.weight[[0, 7]], expected[[0, 7]])


def test_case_and_pieces_are_left_on_request(tokenizer: tokkit.Tokenizer) -> None:
    made = embedding_matrix(tokenizer, WORDS, seed=1, lowercase=False, pieces=False)
    assert made.whole == [1, 2, 4, 8, 9]
    assert made.from_pieces == []
    assert made.random == [0, 3, 5, 6, 7]


def test_random_rows_have_the_deviation_asked_for(tokenizer: tokkit.Tokenizer) -> None:
    weight = random_matrix(tokenizer, 3000, seed=0)
    assert weight.shape == (tokenizer.n_ids, 3000)
    assert weight.dtype == np.float32
    assert weight.std() == pytest.approx(0.02, rel=0.02)
    np.testing.assert_array_equal(weight, random_matrix(tokenizer, 3000, seed=0))
    xavier = random_matrix(tokenizer, 3000, seed=0, init="xavier")
    bound = (6 / (tokenizer.n_ids + 3000)) ** 0.5
    assert 0.99 * bound < abs(xavier).max() <= bound
    with pytest.raises(OptionError, match="dim is 0"):
        random_matrix(tokenizer, 0, seed=0)
    with pytest.raises(OptionError, match="init"):
        random_matrix(tokenizer, 4, seed=0, init="ones")


def test_an_embedding_layer_takes_the_matrix(tokenizer: tokkit.Tokenizer) -> None:
    layer = nn.Embedding(embedding_matrix(tokenizer, WORDS, seed=1).weight)
    np.testing.assert_array_equal(layer([1, 4]), WORDS[["low", "New"]])
