"""Components written in Python run like built-in ones, and cannot be saved."""

from __future__ import annotations

import dataclasses
import re

import pytest

import tokkit
from tokkit._core.align import AlignedText
from tokkit.models.wordlevel import WordLevel


class Shouting:
    """Puts capitals, and says STRASSE for Straße."""

    def normalize(self, text: AlignedText) -> None:
        text.rewrite(lambda piece: [(upper, i > 0) for character in piece for i, upper in enumerate(character.upper())])


class Commas:
    def pretokenize(self, text: AlignedText) -> None:
        text.cut(lambda piece: [m.span() for m in re.finditer("[^,]+", piece)])


@pytest.fixture
def definition() -> tokkit.Definition:
    vocab = tokkit.Vocab.from_list([b"[UNK]", b"STRASSE", b"A B", b"<x>"])
    added = (tokkit.AddedToken("<x>", 3, special=True),)
    return tokkit.Definition(
        vocab,
        WordLevel(unk_token="[UNK]"),
        Commas(),
        normalizer=Shouting(),
        added_tokens=added,
        added_ids=frozenset({3}),
    )


def test_a_component_of_ones_own_runs_with_its_alignment(definition: tokkit.Definition) -> None:
    tok = tokkit.Tokenizer(definition)
    encoding = tok("Straße,a b,<x>?", special="all")
    assert encoding.ids == [1, 2, 3, 0]
    assert encoding.offsets == [(0, 6), (7, 10), (11, 14), (14, 15)]
    assert encoding.word_ids == [0, 1, 2, 3]
    assert [name for name, _ in tok.stages("a")][-1] == "pretokenizer"


def test_the_byte_level_engine_takes_a_normalizer_of_ones_own() -> None:
    tok = tokkit.train(iter(["LOW LOWER STRASSE"]), vocab_size=262)
    loud = tokkit.Tokenizer(dataclasses.replace(tok.definition, normalizer=Shouting()))
    encoding = loud("low straße")
    assert encoding.ids == tok.encode("LOW STRASSE")
    assert (encoding.offsets[0][0], encoding.offsets[-1][1]) == (0, len("low straße"))
    assert loud.encode_batch(["low", "straße"])[0].tolist() == tok.encode("LOW") + tok.encode("STRASSE")


class Failing:
    """Raises in whichever stage it is."""

    def normalize(self, text: AlignedText) -> None:
        raise ZeroDivisionError("of one's own")

    pretokenize = encode = normalize

    def encoder(self, vocab: tokkit.Vocab, added_ids: object) -> Failing:
        return self


@pytest.mark.parametrize("stage", ["normalizer", "pretokenizer", "model"])
def test_what_a_component_raises_comes_out_with_the_name_of_its_stage(
    definition: tokkit.Definition, stage: str
) -> None:
    tok = tokkit.Tokenizer(dataclasses.replace(definition, **{stage: Failing()}))
    calls = (tok.encode, tok, tok.count, tok.encode_to_numpy, lambda text: tok.encode_batch([text]))
    for call in calls:
        with pytest.raises(ZeroDivisionError, match="one's own") as caught:
            call("a text")
        assert caught.value.__notes__ == [f"raised by the {stage}, Failing"]


def test_a_tokenizer_says_why_its_texts_are_not_cut(definition: tokkit.Definition) -> None:
    tok = tokkit.train(iter(["low lower lowest"]), vocab_size=260)
    assert tok.whole_reason == ""
    assert "Python" in tokkit.Tokenizer(dataclasses.replace(tok.definition, normalizer=Shouting())).whole_reason
    assert "Python" in tokkit.Tokenizer(definition).whole_reason
    split = tokkit.definition.Split(r"\w+(?<!bb)|\W+")
    assert "regex" in tokkit.Tokenizer(dataclasses.replace(tok.definition, pretokenizer=split)).whole_reason


def test_it_cannot_be_saved_in_a_file(definition: tokkit.Definition, tmp_path) -> None:
    with pytest.raises(tokkit.FormatError, match="not a component that a"):
        tokkit.Tokenizer(definition).save(tmp_path / "tok.json")
    assert not list(tmp_path.iterdir())
