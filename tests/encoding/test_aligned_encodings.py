"""Alignment of several tokenizers on one text, compared with a comparison of every pair of tokens."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokkit
from strategies import adversarial
from tokkit.encoding.aligned_encodings import AlignedEncodings
from tokkit.errors import OptionError

TEXT = "low lower lowest, naïve cafés: 東京 and 🦜!\n"


@pytest.fixture(scope="module")
def levels(bundled: str) -> dict[str, tokkit.Tokenizer]:
    lines = [TEXT, *bundled.splitlines(True)]
    return {
        "word": tokkit.train(iter(lines), model="word", vocab_size=3000),
        "hybrid": tokkit.train(iter(lines), model="hybrid", fallback="byte", vocab_size=3000),
        "piece": tokkit.train(iter(lines), model="wordpiece", vocab_size=5000),
        "bpe": tokkit.train(iter(lines), vocab_size=500, pattern="cl100k"),
        "char": tokkit.train(iter(lines), model="char", vocab_size=400),
        "byte": tokkit.train(iter(lines), model="char", level="bytes"),
    }


def naive_pairs(mixed: AlignedEncodings, of: str, to: str) -> list[list[int]]:
    return [
        [i, j]
        for i, (a, b) in enumerate(mixed[of].byte_offsets)
        for j, (c, d) in enumerate(mixed[to].byte_offsets)
        if set(range(a, b)) & set(range(c, d))
    ]


def check(mixed: AlignedEncodings) -> None:
    for of in mixed:
        for to in mixed:
            pairs = naive_pairs(mixed, of, to)
            found = mixed.pairs(of, to)
            assert found.dtype == np.int64
            assert found.tolist() == pairs, (of, to)
            shared = [[j for i, j in pairs if i == k] for k in range(len(mixed[of]))]
            assert mixed.map(of, to).tolist() == [[min(js), max(js) + 1] if js else [0, 0] for js in shared]
    check_blocks(mixed)


def check_blocks(mixed: AlignedEncodings) -> None:
    blocks = mixed.blocks().tolist()
    spans = [span for name in mixed for span in mixed[name].byte_offsets if span[0] < span[1]]
    covered = {at for a, b in spans for at in range(a, b)}
    assert [at for a, b in blocks for at in range(a, b)] == sorted(covered), "blocks cover what tokens cover, in order"
    crossed = {at for a, b in spans for at in range(a + 1, b)}
    for a, b in blocks:
        assert not crossed & {a, b}
        assert crossed >= set(range(a + 1, b)), "no shorter stretch would do"


def test_tokens_of_two_levels_are_paired_where_they_share_bytes(levels: dict[str, tokkit.Tokenizer]) -> None:
    check(tokkit.align(TEXT, levels))
    for seed in range(8):
        check(tokkit.align(adversarial(seed, 60), levels))
    for text in ("", " ", b"bytes too", "é", "e\u0301 ﬁ ㍿"):
        check(tokkit.align(text, levels))


@settings(max_examples=60)
@given(st.lists(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=8), min_size=1, max_size=3))
def test_spans_in_any_order_are_paired_too(levels_: list[list[tuple[int, int]]]) -> None:
    vocab = tokkit.Vocab.from_list([b"x"])
    encodings = {
        str(k): tokkit.Encoding(
            np.zeros(len(spans), dtype=np.uint32),
            np.array([sorted(span) for span in spans], dtype=np.int64).reshape(-1, 2),
            None,
            vocab,
            "x" * 12,
        )
        for k, spans in enumerate(levels_)
    }
    check(AlignedEncodings(b"x" * 12, encodings))


def test_a_word_maps_to_its_characters_and_back(levels: dict[str, tokkit.Tokenizer]) -> None:
    mixed = tokkit.align("low café", levels)
    assert list(mixed) == list(levels)
    assert len(mixed) == 6
    assert mixed.map("word", "char").tolist() == [[0, 3], [4, 8]]
    assert mixed.map("word", "byte").tolist() == [[0, 3], [4, 9]]
    assert mixed.map("char", "word").tolist() == [[0, 1]] * 3 + [[0, 0]] + [[1, 2]] * 4
    assert mixed.map("char", "byte").tolist()[-1] == [7, 9]
    assert repr(mixed).startswith("<AlignedEncodings of 9 bytes: word 2, ")
    assert mixed.text == "low café".encode()


def test_levels_stand_side_by_side_between_common_cuts(levels: dict[str, tokkit.Tokenizer]) -> None:
    mixed = tokkit.align("low café", {name: levels[name] for name in ("word", "char", "byte")})
    rows = mixed.side_by_side()
    assert [text.decode() for text, _ in rows] == ["low", " ", "café"]
    assert rows[1][1] == {"word": [], "char": [b" "], "byte": [b" "]}
    assert rows[2][1]["char"] == [b"c", b"a", b"f", "é".encode()]
    assert b"".join(rows[2][1]["byte"]) == "café".encode()


def test_special_tokens_of_a_model_are_not_added(levels: dict[str, tokkit.Tokenizer]) -> None:
    tok = levels["piece"]
    assert len(tok("low")) == len(tok.encode("low")) + 2
    assert len(tokkit.align("low", levels)["piece"]) == len(tok.encode("low"))


def test_what_is_no_level_is_an_error_that_says_so(levels: dict[str, tokkit.Tokenizer]) -> None:
    mixed = tokkit.align("low", {"word": levels["word"]})
    for wrong in ("char", None, 0):
        with pytest.raises(OptionError, match="the levels are word"):
            mixed[wrong]  # type: ignore[index]
    with pytest.raises(OptionError, match="the levels are"):
        mixed.map("word", "char")
    with pytest.raises(OptionError, match="at least one"):
        tokkit.align("low", {})
    for wrong_levels in ([levels["word"]], {"a": "tok.json"}, {1: levels["word"]}):
        with pytest.raises(TypeError, match="names to tokenizers"):
            tokkit.align("low", wrong_levels)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        tokkit.align(None, levels)  # type: ignore[arg-type]
