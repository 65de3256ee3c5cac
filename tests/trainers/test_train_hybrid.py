"""Words that fall back to characters or bytes give equal ids in the twin and in tokenizers."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokkit
from extras import extra
from reference.hybrid import SYMBOLS, hybrid
from strategies import NOT_WHITE_SPACE, adversarial
from tokkit._core.align import AlignedText
from tokkit.errors import OptionError, PatternError
from tokkit.trainers.hybrid import HybridTraining

COUNTS = {"low": 5, "lower": 2, "new": 3, "wéb": 1, ".": 4}
PATTERNS = ("punctuation", "whitespace", r"[\p{L}\p{M}]+|\d", "gpt2", "cl100k")


@pytest.fixture(scope="module", params=[(fallback, p) for fallback in ("char", "byte") for p in PATTERNS], ids=str)
def trained(request: pytest.FixtureRequest, bundled: str) -> tuple[tokkit.Tokenizer, str, str]:
    """A tokenizer, what it falls back to and its pattern; its alphabet lacks what the second half of the text has."""
    fallback, pattern = request.param
    lines = bundled[: len(bundled) // 2].splitlines(True)
    made = tokkit.train(iter(lines), model="hybrid", fallback=fallback, pattern=pattern, vocab_size=6000)
    return made, fallback, pattern


def spelt(made: tokkit.Tokenizer, id_: int) -> str:
    """A token as files have it: tokens over bytes are their symbols."""
    token = made.vocab[id_]
    return token.decode() if made.definition.over_bytes is None else "".join(SYMBOLS[byte] for byte in token)


def tokens_of(made: tokkit.Tokenizer, text: str) -> list[str]:
    return [spelt(made, id_) for id_ in made.encode(text)]


def texts_of(bundled: str) -> list[str]:
    lines = bundled.splitlines(True)
    texts = lines[:: len(lines) // 200] + [adversarial(seed, 400) for seed in range(40)]
    return [*texts, "", " ", "##", "## ##a b##c ###", "a##b"]


def test_a_known_word_is_one_token_and_another_its_characters() -> None:
    made = tokkit.train(COUNTS, model="hybrid", vocab_size=30)
    assert tokens_of(made, "low wolé xe.") == ["low", "w", "##o", "##l", "##é", "[UNK]", "##e", "."]
    assert made.decode(made.encode("low wolé.")) == "low wolé."
    alphabet = sorted(set("".join(COUNTS)))
    words = ["low", "new", "lower", "wéb"]
    assert [t.decode() for t in made.vocab] == ["[UNK]", *alphabet, *("##" + c for c in alphabet), *words]


def test_an_unknown_word_is_its_bytes_and_nothing_is_unknown() -> None:
    made = tokkit.train(COUNTS, model="hybrid", fallback="byte", vocab_size=515)
    assert len(made.vocab) == 515
    assert tokens_of(made, "low wé🦜") == ["low", "w", *("##" + SYMBOLS[byte] for byte in "é🦜".encode())]
    assert not made.special_tokens
    for text in ("low wé🦜", "naïve, 東京!", "lower"):
        assert made.decode(made.encode(text)) == text
    assert made("é low").offsets == [(0, 1), (0, 1), (2, 5)]
    assert made("é low").word_ids == [0, 0, 1]


def test_ids_are_those_of_the_twin(trained: tuple[tokkit.Tokenizer, str, str], bundled: str) -> None:
    made, fallback, pattern = trained
    tokens = {spelt(made, id_) for id_ in range(made.n_ids)}
    prefix = "" if pattern in ("gpt2", "cl100k") else "##"
    cut = HybridTraining(fallback=fallback, pattern=pattern).pretokenizer()
    for text in texts_of(bundled):
        words = AlignedText(text)
        cut.pretokenize(words)
        expected = [token for word in words.pieces for token in hybrid(word, tokens, fallback, "[UNK]", prefix)]
        assert tokens_of(made, text) == expected, text


def test_a_file_loads_again_and_gives_the_same_in_tokenizers(
    trained: tuple[tokkit.Tokenizer, str, str], bundled: str, tmp_path: Path
) -> None:
    made, *_ = trained
    made.save(tmp_path / "tok.json")
    again = tokkit.load(tmp_path / "tok.json")
    assert again.fingerprint() == made.fingerprint()
    assert pickle.loads(pickle.dumps(made)).fingerprint() == made.fingerprint()
    rival = pytest.importorskip("tokenizers").Tokenizer.from_file(str(tmp_path / "tok.json"))
    for text in texts_of(bundled):
        text = text.replace("[UNK]", "")
        if any(0xD800 <= ord(c) < 0xE000 for c in text):
            continue
        ours, theirs = again(text), rival.encode(text)
        assert (ours.ids, ours.offsets, ours.word_ids) == (theirs.ids, theirs.offsets, theirs.word_ids), text
        assert again.decode(ours.ids) == rival.decode(theirs.ids, skip_special_tokens=False), text


def test_a_file_gives_the_same_ids_in_transformers(
    trained: tuple[tokkit.Tokenizer, str, str], bundled: str, tmp_path: Path
) -> None:
    transformers = extra("transformers")
    made, *_ = trained
    made.save(tmp_path / "tokenizer.json")
    rival = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    for text in bundled.splitlines()[::20]:
        ids = rival(text, add_special_tokens=False)["input_ids"]
        assert ids == made.encode(text)
        assert rival.decode(ids, clean_up_tokenization_spaces=False) == made.decode(ids)


def test_batches_streams_and_arrays_are_those_of_single_texts(
    trained: tuple[tokkit.Tokenizer, str, str], bundled: str
) -> None:
    made, *_ = trained
    texts = texts_of(bundled)
    ids, ends = made.encode_batch(texts, threads=3)
    for i, text in enumerate(texts):
        own = made.encode(text)
        assert ids[ends[i] : ends[i + 1]].tolist() == own == made.encode_to_numpy(text).tolist()
        stream = made.decode_stream()
        assert "".join(map(stream.step, own)) + stream.flush() == made.decode(own)
    rows = made.encode_padded(texts)
    assert [row[mask == 1].tolist() for row, mask in zip(rows.ids, rows.attention_mask, strict=True)] == [
        made.encode(text) for text in texts
    ]


@settings(max_examples=150)
@given(st.text(max_size=40) | st.text("#ab .,?!'n\t", max_size=40))
def test_words_come_back_with_one_space_between_them(text: str) -> None:
    for made in _TRAINED:
        ids = made.encode(text)
        if made.special_tokens.get("[UNK]") not in ids:
            again = made.decode(ids)
            assert made.encode(again) == ids
            assert made(again).word_ids == made(text).word_ids
            assert again.replace(" ", "") == "".join(c for c in text if not c.isspace() or c in NOT_WHITE_SPACE)


_LETTERS = {chr(code): 1 for code in (*range(33, 127), *range(161, 768))}
_TRAINED = [
    tokkit.train(_LETTERS | COUNTS, model="hybrid", fallback=fallback, pattern=pattern, vocab_size=3000)
    for fallback in ("char", "byte")
    for pattern in ("punctuation", "whitespace")
]


@settings(max_examples=100)
@given(st.text(max_size=40) | st.text("#ab .,?!'n\t\r\n", max_size=40))
def test_nothing_is_lost_with_a_published_pattern(text: str) -> None:
    by_bytes, by_characters, words = _LOSSLESS
    assert by_bytes.decode(by_bytes.encode(text)) == text
    for made in (by_characters, words):
        ids = made.encode(text)
        assert 0 in ids or made.decode(ids) == text


_LOSSLESS = [
    tokkit.train(_LETTERS | {" ": 1, "\n": 1, " low": 3, "low": 2}, pattern=pattern, vocab_size=3000, **options)
    for pattern, options in (
        ("cl100k", {"model": "hybrid", "fallback": "byte"}),
        ("gpt2", {"model": "hybrid"}),
        ("gpt2", {"model": "word"}),
    )
]


def test_bytes_with_a_published_pattern_run_in_the_engine_of_byte_level_bpe(tmp_path: Path) -> None:
    made = tokkit.train(iter([" low low"]), model="hybrid", fallback="byte", pattern="gpt2", vocab_size=300)
    assert (made.in_stages, made.split_engine, len(made.vocab)) == (False, "scanner", 257)
    assert tokens_of(made, "a low löw") == ["a", "Ġlow", "Ġ", "l", "Ã", "¶", "w"]
    special = ["<｜end｜>"]
    made = tokkit.train(
        iter(["Low"]), model="hybrid", fallback="byte", pattern="gpt2", special_tokens=special, lowercase=True
    )
    made.save(tmp_path / "tok.json")
    again = tokkit.load(tmp_path / "tok.json")
    ids = again.encode("LOW<｜end｜>", special="all")
    assert (ids, again.decode(ids)) == ([257, 0], "low<｜end｜>")


def test_counting_cutting_and_files_work_as_with_any_tokenizer(
    trained: tuple[tokkit.Tokenizer, str, str], bundled: str, tmp_path: Path
) -> None:
    made, *_ = trained
    text = bundled[-3000:]
    ids = made.encode(text)
    assert made.count(text) == len(ids)
    assert made.fits(text, len(ids))
    assert not made.fits(text, len(ids) - 1)
    for n in (0, 1, 50, len(ids) - 1, len(ids)):
        prefix, used = made.truncate(text, n)
        assert text.startswith(prefix)
        assert used == made.count(prefix) <= n
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    made.encode_file(tmp_path / "a.txt", tmp_path / "a.npy")
    assert np.load(tmp_path / "a.npy").tolist() == ids
    cut = made(text, truncation=tokkit.Truncation(max_length=100, stride=10))
    assert [len(cut), len(cut.overflowing[0])] == [100, 100]
    assert cut.ids[-10:] == cut.overflowing[0].ids[:10]


def test_of_many_characters_the_most_frequent_are_kept() -> None:
    made = tokkit.train({"aab": 3, "ca": 1, "d": 1}, model="hybrid", vocab_size=8, limit_alphabet=2)
    assert [t.decode() for t in made.vocab] == ["[UNK]", "a", "b", "##a", "##b", "aab", "ca", "d"]
    assert tokens_of(made, "ba cb") == ["b", "##a", "[UNK]", "##b"]


def test_rare_words_fall_back_and_lower_case_is_taken_alike() -> None:
    made = tokkit.train(iter(["Low low new"]), model="hybrid", vocab_size=20, min_frequency=2, lowercase=True)
    assert tokens_of(made, "LOW New") == ["low", "n", "##e", "##w"]


def test_no_word_is_taken_for_a_part_of_one() -> None:
    texts = ["##a ## #a ##ab b", "a##b a## ###"]
    for fallback, size in (("char", 50), ("byte", 540)):
        made = tokkit.train(iter(texts * 3), model="hybrid", fallback=fallback, vocab_size=size, pattern="whitespace")
        assert "##" not in {token.decode() for token in made.vocab}
        assert tokens_of(made, "b ##a b##ab") == ["b", "#", "###", "a", "b", "#", "###", "ab"]
        for text in texts:
            assert made.encode(made.decode(made.encode(text))) == made.encode(text)
    xx = tokkit.train({"xxa": 2, "a": 1, "x": 1}, model="hybrid", prefix="xx", vocab_size=20)
    assert xx.decode(xx.encode("b xxa a")) == "[UNK] xx a a"


def test_special_tokens_are_found_and_left_out_as_everywhere(tmp_path: Path) -> None:
    made = tokkit.train(COUNTS, model="hybrid", fallback="byte", vocab_size=520, special_tokens=["<pad>", "<s>"])
    ids = made.encode("<s>low wow", special="all")
    assert ids[:2] == [1, made.vocab["low"]]
    assert made.decode(ids) == "<s> low wow"
    assert made.decode(ids, skip_special=True) == "low wow"
    assert 1 not in made.encode("<s>low")
    made.save(tmp_path / "tok.json")
    assert dict(tokkit.load(tmp_path / "tok.json").special_tokens) == {"<pad>": 0, "<s>": 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fallback": "bytes"}, "char, byte"),
        ({"fallback": "byte", "unk_token": "[UNK]"}, "nothing is unknown"),
        ({"fallback": "byte", "limit_alphabet": 9}, "nothing is unknown"),
        ({"fallback": "byte", "vocab_size": 511}, "at least 512"),
        ({"fallback": "byte", "special_tokens": ["<é>"]}, "printable ASCII"),
        ({"special_tokens": ["[PAD]"]}, "unknown token"),
        ({"special_tokens": ["[UNK]", "##x"]}, "has the prefix"),
        ({"prefix": "#"}, "two characters"),
        ({"prefix": "##", "pattern": "gpt2"}, "keeps spaces there is no prefix"),
        ({"fallback": "byte", "pattern": "gpt2", "vocab_size": 255}, "at least 256: 256 bytes, and"),
        ({"prefix": "éé", "fallback": "byte"}, "printable ASCII"),
        ({"vocab_size": 6}, "at least 7: 1 special tokens, and its characters"),
        ({"vocab_size": 1}, "at least 2"),
        ({"pattern": None}, "pattern is None"),
        ({"limit_alphabet": -1}, "at least 0"),
        ({"level": "bytes"}, "not an option of the model hybrid; only of char"),
    ],
)
def test_an_option_that_cannot_work_is_an_error_that_says_why(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        tokkit.train({"abc": 3, "bca": 2}, model="hybrid", **options)
    with pytest.raises(PatternError):
        tokkit.train(iter([None]), model="hybrid", pattern="(")


def test_sizes_and_threads_change_nothing(bundled: str) -> None:
    lines = bundled.splitlines(True)
    for fallback in ("char", "byte"):
        sizes = [5500, 6000]
        small, large = tokkit.train(iter(lines), model="hybrid", fallback=fallback, vocab_size=sizes, threads=1)
        assert list(large.vocab)[:5500] == list(small.vocab)
        again = tokkit.train(iter(lines[::-1]), model="hybrid", fallback=fallback, vocab_size=6000, threads=3)
        assert again.fingerprint() == large.fingerprint()
