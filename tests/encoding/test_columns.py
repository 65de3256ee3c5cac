"""The columns that the core makes are those that components, and arrays, make."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tokkit
from conftest import LONG
from strategies import adversarial
from tokkit import Encoding, Truncation

FAMILIES = ("bert-base-uncased", "clip", "gpt2", "gpt-neox", "mistral-v1", "roberta-base", "t5", "xlnet")
COLUMNS = ("ids", "tokens", "offsets", "byte_offsets", "word_ids", "type_ids", "attention_mask", "special_tokens_mask")
CUTS = (None, Truncation(max_length=9, stride=2), Truncation(max_length=12, stride=3, direction="left"))


def texts(seed: int, n: int) -> Iterator[str]:
    yield from (
        "",
        " ",
        "a",
        "Hello  there, naïve Straße 🦜!",
        "<unk> x</s>y [MASK] <mask>  z",
        "日本語 ▁ 東京\n",
        "\ud83e\udd9c a",
    )
    for k in range(n):
        yield adversarial(seed + k, 10 + 7 * (k % 12))


@pytest.fixture(params=FAMILIES)
def tok(request: pytest.FixtureRequest, shared: Path) -> tokkit.Tokenizer:
    return tokkit.load(shared / "vocabs" / request.param / "tokenizer.json")


def as_lists(made: Encoding) -> dict[str, Any]:
    return {name: getattr(made, name) for name in COLUMNS} | {
        "ranges": made.sequence_ranges,
        "overflow": [as_lists(part) for part in made.overflowing],
    }


def by_components(tok: tokkit.Tokenizer, text: str, cut: Truncation | None, *, add_special: bool) -> Encoding:
    make = tok.assembler
    found = tok.engine._interpreter.aligned(text, "all")
    return make.processed(make.of_text(text, "all", found), None, add_special, cut)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("add_special", [True, False])
def test_columns_are_those_of_the_components(tok: tokkit.Tokenizer, cut: Truncation | None, add_special: bool) -> None:
    given = list(texts(5, 200 if LONG else 24))
    batch = tok.encodings(given, special="all", add_special=add_special, truncation=cut, padding=None)
    for text, made in zip(given, batch, strict=True):
        wanted = by_components(tok, text, cut, add_special=add_special)
        assert as_lists(made) == as_lists(wanted), text
        assert made == wanted, text  # by their arrays
        assert made.token_bytes == wanted.token_bytes, text


@pytest.mark.parametrize("cut", CUTS)
def test_words_are_one_after_the_other(tok: tokkit.Tokenizer, cut: Truncation | None) -> None:
    rng = random.Random(3)
    given = [[*text.split(), *(["née", ""] * rng.randrange(2))] for text in texts(9, 12)]
    batch = tok.encodings(given, pretokenized=True, special="all", truncation=cut, padding=None)
    for words, made in zip(given, batch, strict=True):
        parts = [tok(word, special="all", add_special=False, truncation=None, padding=None) for word in words]
        merged = Encoding.merge(parts, growing_offsets=False)
        wanted = tok.assembler.processed(merged, None, True, cut)
        for name in COLUMNS:
            if name != "word_ids":
                assert getattr(made, name) == getattr(wanted, name), (words, name)
        numbers = [number for number, part in enumerate(parts) for _ in range(len(part))]
        if cut is None:
            assert [number for number in made.word_ids if number is not None] == numbers
        assert made.token_bytes == wanted.token_bytes


def test_lists_belong_to_their_reader(tok: tokkit.Tokenizer) -> None:
    made = tok("Hello there", special="all", padding=None)
    before = list(made.ids)
    made.as_list("ids").append(1)
    assert made.ids == before
    assert made.tokens is made.tokens
