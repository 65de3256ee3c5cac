"""The UnigramTrainer of the drop-in: pieces and scores of tokenizers, errors, and texts without a pre-tokenizer."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tokkit.compat import tokenizers as face

theirs = pytest.importorskip("tokenizers")

TEXTS = [
    "A first sentence\nAnother sentence\nAnd a last one",
    "low lower lowest newest widest low low, and the wide river \U0001f917",
    "東京は素晴らしい。東京の夜。",
] * 2


@pytest.fixture(scope="module")
def words() -> list[str]:
    """Lines of words that share beginnings, middles and ends."""
    rng = random.Random(7)
    parts = [["".join(rng.choices("aeiou" + "bcdfglmnprst", k=k)) for _ in range(40)] for k in (2, 3, 2)]
    weights = [1 / rank for rank in range(1, 41)]
    made = [" ".join("".join(rng.choices(part, weights)[0] for part in parts) for _ in range(8)) for _ in range(120)]
    return made


def trained(package: Any, texts: list[str], *, split: bool = True, **options: Any) -> tuple[Any, dict[str, float]]:
    """Return the tokenizer, and piece → score."""
    tokenizer = package.Tokenizer(package.models.Unigram())
    if split:
        tokenizer.pre_tokenizer = package.pre_tokenizers.Metaspace()
    tokenizer.train_from_iterator(texts, package.trainers.UnigramTrainer(show_progress=False, **options))
    return tokenizer, dict(map(tuple, json.loads(tokenizer.to_str())["model"]["vocab"]))


@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        {"vocab_size": 400},
        {"vocab_size": 400, "unk_token": "<unk>", "special_tokens": ["<s>", "</s>"]},
        {"vocab_size": 400, "unk_token": "</s>", "special_tokens": ["<s>", "</s>"]},
        {"vocab_size": 400, "initial_alphabet": ["q", "z"], "max_piece_length": 3},
        {"vocab_size": 400, "n_sub_iterations": 1, "max_piece_length": 1},
    ],
)
def test_pieces_and_scores_are_those_of_tokenizers(split: bool, options: dict[str, Any]) -> None:
    (ours, scores), (other, wanted) = (trained(package, TEXTS, split=split, **options) for package in (face, theirs))
    assert scores.keys() == wanted.keys()
    # Characters that were lost get the lowest scores, in tokenizers in random order.
    lost = {piece for piece in wanted if len(piece) == 1}
    assert all(scores[piece] == pytest.approx(wanted[piece], abs=1e-9) for piece in wanted.keys() - lost)
    assert all(scores[piece] == pytest.approx(wanted[piece], abs=0.01) for piece in lost)
    assert json.loads(ours.to_str())["model"]["unk_id"] == json.loads(other.to_str())["model"]["unk_id"]


def test_spaces_are_pieces_without_a_pre_tokenizer() -> None:
    tokenizer, scores = trained(face, TEXTS, split=False, vocab_size=60, unk_token="<unk>")
    assert any(" " in piece for piece in scores)
    assert tokenizer.decode(tokenizer.encode(TEXTS[1]).ids).replace(" ", "") == TEXTS[1].replace(" ", "")
    assert 0 not in tokenizer.encode(TEXTS[1]).ids


@pytest.mark.parametrize("size", [120, 200, 300])
@pytest.mark.parametrize("split", [True, False])
def test_pieces_are_those_of_tokenizers_after_pruning(size: int, split: bool, words: list[str]) -> None:
    (_, scores), (_, wanted) = (trained(package, words, split=split, vocab_size=size) for package in (face, theirs))
    assert scores.keys() == wanted.keys()
    assert all(scores[piece] == pytest.approx(wanted[piece], abs=0.01) for piece in wanted)


@pytest.mark.parametrize("size", [0, 1, 20])
def test_a_vocabulary_smaller_than_the_alphabet_is_an_error(size: int) -> None:
    with pytest.raises(Exception, match="not large enough"):
        trained(theirs, TEXTS, vocab_size=size)
    with pytest.raises(Exception, match=rf"vocab_size is {size}; it must be at least \d+, the number of characters"):
        trained(face, TEXTS, vocab_size=size)


def test_training_ends_where_nothing_can_be_pruned() -> None:
    _, scores = trained(face, TEXTS, vocab_size=50, shrinking_factor=1.0)
    assert 0 < len(scores) <= 50


def test_pieces_longer_than_the_core_allows_are_an_error() -> None:
    with pytest.raises(Exception, match="max_piece_length is 5000, and a word has 2001 characters"):
        trained(face, ["ab" * 1000], vocab_size=50, max_piece_length=5000)
