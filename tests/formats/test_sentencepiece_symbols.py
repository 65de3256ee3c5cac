"""Unigram models with user-defined pieces, as T5's, are a tokenizer.json with equal ids, or refused with the reason."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import tokkit
from conftest import LONG
from tokkit.conversion import add_pieces
from tokkit.errors import FormatError

sentencepiece = pytest.importorskip("sentencepiece", reason="compares with sentencepiece: pip install sentencepiece")
tokenizers = pytest.importorskip("tokenizers", reason="compares with tokenizers: pip install tokenizers")
pytestmark = pytest.mark.parity

EXTRA = [f"<extra_id_{k}>" for k in range(12)]
LINES = [
    "The fox went to the village, and the village slept.",
    "a<b> <c >= d _id_ extra_id <extra 0> in 1999",
    "naïve café Ünïcode Привет мир",
] * 20
BETWEEN = [
    *("\u0338", "\u0301", "\u0316", "\u200b", "\x1f", "\u3099", "\uff1c", "\uff1e", "ﬁ", "\u2581", "東", "🦜"),
    *(" ", "  ", "\t", "\n", "</s>", "<unk>", "<pad>", "<0x41>", "<", ">"),
]
T5 = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1, "hard_vocab_limit": False, "character_coverage": 1.0}


def texts(rng: random.Random, symbols: Sequence[str], n: int) -> Iterator[str]:
    """Symbols, parts of them, characters that normalization joins or changes, and words."""
    for _ in range(n):
        parts = []
        for _ in range(rng.randint(1, 9)):
            symbol, line = rng.choice(symbols), rng.choice(LINES)
            at, start = rng.randint(0, len(symbol)), rng.randint(0, len(line) - 1)
            parts += [rng.choice([symbol, symbol[:at], symbol[at:], rng.choice(BETWEEN), line[start : start + 9]])]
        yield "".join(parts)


def same_ids(tok: tokkit.Tokenizer, folder: Path, wanted: Iterator[str]) -> None:
    """Save the tokenizer in both formats, and compare what the libraries of both give for texts."""
    tok.save(folder / "x.model")
    tok.save(folder / "x.json")
    right = sentencepiece.SentencePieceProcessor(model_file=str(folder / "x.model"))
    theirs = tokenizers.Tokenizer.from_file(str(folder / "x.json"))
    theirs.encode_special_tokens = True
    there = tokkit.load(folder / "x.json")
    for k, text in enumerate(wanted):
        ids = right.encode(text)
        assert tok.encode(text) == ids, text
        assert theirs.encode(text, add_special_tokens=False).ids == ids, text
        if k < 40:
            assert there.encode(text) == ids, text


@pytest.mark.parametrize("name", ["nmt_nfkc", "identity", "nmt_nfkc_cf"])
@pytest.mark.parametrize(
    "options", [{}, {"byte_fallback": True}, {"add_dummy_prefix": False, "remove_extra_whitespaces": False}]
)
@pytest.mark.parametrize("added", [False, True])
def test_models_like_t5_have_equal_ids_as_tokenizer_json(
    name: str, options: dict[str, Any], added: bool, tmp_path: Path
) -> None:
    given = {**T5, **options, "normalization_rule_name": name, "vocab_size": 600}
    if added:
        tok = add_pieces(tokkit.train(iter(LINES), model="unigram", **given), EXTRA).tokenizer
    else:
        tok = tokkit.train(iter(LINES), model="unigram", user_defined_symbols=EXTRA, **given)
    same_ids(tok, tmp_path, texts(random.Random(name), EXTRA, 2000 if LONG else 300))
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "x.json"))
    ids = tok.encode("The fox<extra_id_3> slept")
    text = "The fox<extra_id_3> slept"
    assert theirs.decode(ids, skip_special_tokens=False) == tok.decode(ids) == (text.lower() if "cf" in name else text)


def test_random_small_models_have_equal_ids_or_are_refused_with_a_reason(tmp_path: Path) -> None:
    exact, reasons = 0, set()
    for seed in range(2000 if LONG else 250):
        rng = random.Random(seed)
        letters = rng.choice(["ab", "abc", "ab<1>", "xyz<_>"])
        lines = ["".join(rng.choices(letters + "  ", k=rng.randint(1, 30))) for _ in range(60)]
        symbols = list(
            dict.fromkeys("".join(rng.choices(letters, k=rng.randint(1, 5))) for _ in range(rng.randint(1, 2)))
        )
        rules = rng.choice([{}, {}, {"é": "e", "ab": "b", "\u2000": " "}])
        options = {**T5, "vocab_size": rng.choice([20, 40, 80]), "normalization_rules": rules}
        options |= rng.choice([{}, {"split_by_whitespace": False}, {"split_by_unicode_script": False}])
        tok = tokkit.train(iter(lines), model="unigram", user_defined_symbols=symbols, **options)
        wanted = (
            "".join(rng.choice([rng.choice(symbols), "".join(rng.choices(letters + " é", k=3))]) for _ in range(9))
            for _ in range(60)
        )
        try:
            same_ids(tok, tmp_path, wanted)
            exact += 1
        except FormatError as error:
            reasons |= {said for said in ("can overlap", "can win", "changes", "joins") if said in str(error)}
        for path in tmp_path.iterdir():
            path.unlink()
    assert exact > 30
    assert {"can overlap", "can win", "changes"} <= reasons


@pytest.mark.parametrize(
    ("symbols", "said"),
    [
        (["<a b>"], "has a space"),
        (["\u2581the"], "has a space"),
        (["<a>", "<a><b>"], "'<a><b>' and '<a>' can overlap"),
        (["aba"], "'aba' and 'aba' can overlap"),
        (["<s"], "'<s' and '<s>' can overlap"),
        (["\uff21bc"], "a rule of the normalization changes"),
        (["\u0301b"], "a rule of the normalization changes"),
    ],
)
def test_symbols_that_a_split_cannot_find_are_refused(symbols: list[str], said: str, tmp_path: Path) -> None:
    tok = tokkit.train(
        iter(LINES), model="unigram", vocab_size=300, user_defined_symbols=symbols, **{**T5, "bos_id": 3}
    )
    with pytest.raises(FormatError, match=f"user-defined pieces are found first.*{said}"):
        tok.save(tmp_path / "x.json")


def test_normal_pieces_at_given_scores_are_in_both_formats(tmp_path: Path) -> None:
    tok = tokkit.train(iter(LINES), model="unigram", vocab_size=300, **T5)
    more = add_pieces(tok, {"\u2581foxes": -5.25, "ing": -4.5}, kind="normal").tokenizer
    same_ids(more, tmp_path, texts(random.Random(3), ["foxes", "going"], 200))
    assert tok.n_ids in more.encode("the foxes")
    odd = add_pieces(tok, {"\u2581foxes": -5.3}, kind="normal").tokenizer
    with pytest.raises(FormatError, match="scores add up in double precision"):
        odd.save(tmp_path / "odd.json")
