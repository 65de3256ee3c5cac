"""Unigram, compared with its naive twin and tokenizers, on random vocabularies and T5's."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import LONG, slice_of
from piece_stages import assert_same, ours, theirs, whole, words_with_metaspace
from reference.unigram import unigram
from strategies import documents
from tokkit.errors import OptionError, VocabError
from tokkit.files import decimals
from tokkit.models.base import CompiledModel
from tokkit.models.unigram import Unigram
from tokkit.vocab import Vocab
from work import work_of

tokenizers = pytest.importorskip("tokenizers")
LETTERS = "aáb漢🦜▁"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
Scored = list[tuple[str, float]]


def drawn(seed: int) -> tuple[Scored, int, bool]:
    """Tokens of few scores, so that there are ties; now and then two alike, or unknown characters that cost little."""
    rng = random.Random(seed)
    names = [
        "<unk>",
        *("".join(rng.choices(LETTERS, k=rng.choice((1, 1, 2, 2, 3, 5)))) for _ in range(rng.randint(0, 25))),
    ]
    if rng.random() < 0.9:
        names = list(dict.fromkeys(names))
    if rng.random() < 0.5:
        names += BYTES if rng.random() < 0.5 else rng.sample(BYTES, 128)
    scores = rng.choice(((-1.0, -2.0, -3.0), (-0.1, -0.2, -0.3, -0.7), (30.0, 25.0, 11.0), (0.0,)))
    rng.shuffle(names)
    return [(name, rng.choice(scores)) for name in names], names.index("<unk>"), rng.random() < 0.5


def made(tokens: Scored, unk_id: int | None, byte_fallback: bool = False) -> CompiledModel:
    model = Unigram(scores=[score for _, score in tokens], unk_id=unk_id, byte_fallback=byte_fallback)
    return model.encoder(Vocab.from_list([name.encode() for name, _ in tokens]))


@settings(max_examples=400 if LONG else 120)
@given(st.integers(0, 1 << 32), st.text(LETTERS + "z<", max_size=30))
def test_random_vocabularies_give_what_tokenizers_and_the_twin_give(seed: int, text: str) -> None:
    tokens, unk_id, byte_fallback = drawn(seed)
    got = ours(made(tokens, unk_id, byte_fallback), text)
    assert got == theirs(tokenizers.models.Unigram(tokens, unk_id, byte_fallback), text)
    twin = unigram(text, tokens, unk_id, byte_fallback=byte_fallback)
    assert (got[0], got[1]) == ([id_ for id_, _, _ in twin], [(start, end) for _, start, end in twin])


@pytest.fixture(scope="module")
def t5(shared: Path) -> tuple[CompiledModel, Any]:
    path = shared / "vocabs" / "t5" / "tokenizer.json"
    model = json.loads(path.read_text(encoding="utf-8"), parse_float=decimals.read)["model"]
    return made(model["vocab"], model["unk_id"]), tokenizers.Tokenizer.from_file(str(path))


def test_t5_gives_what_tokenizers_gives(t5: tuple[CompiledModel, Any], corpora: dict[str, Path]) -> None:
    model, tokenizer = t5
    bare = tokenizers.Tokenizer(tokenizer.model)
    bare.pre_tokenizer = tokenizer.pre_tokenizer
    texts = documents(7, 60)
    for corpus in corpora.values():
        text = slice_of(corpus, 15_000)
        texts += [text, text[:2000]]
    assert_same(model, words_with_metaspace, bare, [tokenizer.normalizer.normalize_str(text) for text in texts])


def test_t5_gives_the_golden_ids(t5: tuple[CompiledModel, Any], shared: Path) -> None:
    model, tokenizer = t5
    cases = (shared / "golden" / "t5.inp").read_text(encoding="utf-8").split("\n__ggml_vocab_test__\n")
    lines = (shared / "golden" / "t5.out").read_text(encoding="utf-8").split("\n")
    wrong = 0
    for case, line in zip(cases, lines, strict=False):
        ids = model.encode(words_with_metaspace(tokenizer.normalizer.normalize_str(case)))[0].tolist()
        assert ids == tokenizer.encode(case, add_special_tokens=False).ids
        wrong += ids != [int(word) for word in line.split()]
    assert wrong <= 2  # two lines hold what sentencepiece gives where scores are equal


def test_a_character_without_a_token_is_an_error_where_there_is_no_unk_id() -> None:
    model = made([("a", -1.0), ("ax", -100.0)], None)
    assert model.encode(whole("axa"))[0].tolist() == [1, 0]
    with pytest.raises(VocabError, match="pretoken 0, 'axx'"):
        model.encode(whole("axx"))
    with pytest.raises(VocabError, match="no unknown token"):
        made([], None).encode(whole("a"))
    assert made([], None).encode(whole(""))[0].tolist() == []


def test_tokens_that_are_not_the_models_own_never_match() -> None:
    vocab = Vocab.from_list([b"<unk>", b"a", b"b", b"ab"])
    for model in (Unigram(scores=[0, -1, -1], unk_id=0).encoder(vocab),
                  Unigram(scores=[0, -1, -1, -1], unk_id=0).encoder(vocab, added_ids=[3])):  # fmt: skip
        assert model.encode(whole("ab"))[0].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("fields", "error", "says"),
    [
        ({"scores": [0.0, float("nan")]}, VocabError, "token 1 is nan"),
        ({"scores": [float("-inf")]}, VocabError, "token 0 is -inf"),
        ({"scores": ["a"]}, OptionError, "scores must be numbers"),
        ({"scores": [[0.0]]}, OptionError, "shape"),
        ({"scores": [0.0], "unk_id": 1}, VocabError, "unk_id is 1"),
        ({"scores": [], "unk_id": 0}, VocabError, "0 tokens"),
        ({"scores": [0.0], "unk_id": True}, OptionError, "unk_id is True; it must be an id"),
        ({"scores": [0.0], "byte_fallback": None}, OptionError, "byte_fallback"),
    ],
)
def test_bad_options_are_refused_by_name(fields: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        Unigram(**fields)


def test_more_scores_than_ids_are_refused() -> None:
    with pytest.raises(VocabError, match="2 scores for 1 ids"):
        Unigram(scores=[0.0, 1.0]).encoder(Vocab.from_list([b"a"]))


def test_huge_scores_do_no_harm() -> None:
    model = made([("<unk>", 1e308), ("a", -1.7e308), ("b", -1.7e308)], 0)
    ids, spans, _ = model.encode(whole("abxab" * 10))
    assert len(ids) == len(spans) > 0
    assert np.all(spans[1:, 0] >= spans[:-1, 0])


@pytest.mark.parametrize("unit", ["a", "e", "漢", "=", "the"])
def test_one_long_piece_costs_no_more_than_its_bytes(unit: str, t5: tuple[CompiledModel, Any]) -> None:
    once, twice = (whole(unit * (n // len(unit.encode()))) for n in (100_000, 200_000))
    assert work_of(t5[0].encode, twice) < 2.2 * work_of(t5[0].encode, once)
    assert work_of(t5[0].encode, once) < 40 * 100_000  # the longest token has 16 characters
