"""Vocabularies of words, characters and bytes; those of words as in tokenizers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import regex

import tokkit
from tokkit.errors import OptionError, PatternError

TEXT = ["The cat sat on the mat.\n", "Don't the cats sit?  naïve 東京 cafe\u0301\n"]


def tokens_of(made: tokkit.Tokenizer) -> list[str]:
    return [token.decode() for token in made.vocab]


def rival_of(made: tokkit.Tokenizer, folder: Path) -> Any:
    """The same in tokenizers, through a file, which loads here too as the same."""
    tokenizers = pytest.importorskip("tokenizers")
    made.save(folder / "tok.json")
    assert tokkit.load(folder / "tok.json").fingerprint() == made.fingerprint()
    return tokenizers.Tokenizer.from_file(str(folder / "tok.json"))


def test_words_stand_between_white_space_and_punctuation() -> None:
    made = tokkit.train(iter(TEXT), model="word", vocab_size=100)
    assert tokens_of(made)[:2] == ["[UNK]", "the"]
    assert {"Don", "'", "t", "cats", "?", "naïve", "東京"} <= set(tokens_of(made))
    assert made.encode("The dog.") == [made.vocab["The"], 0, made.vocab["."]]


@pytest.mark.parametrize(
    "pattern",
    ["whitespace", "punctuation", r"[\p{L}\p{M}\p{Nd}\p{Pc}]+", r"[A-Za-z]+|\d", r"(?<=t)h|\p{L}+"],
)
def test_words_are_those_that_the_pattern_names(pattern: str, tmp_path: Path, bundled: str) -> None:
    made = tokkit.train(iter(bundled.splitlines(True)), model="word", vocab_size=50_000, pattern=pattern)
    if pattern == "whitespace":
        counts = Counter(bundled.split())
    elif pattern in ("punctuation", r"[\p{L}\p{M}\p{Nd}\p{Pc}]+"):  # `regex` has another Unicode
        counts = Counter()
    else:
        counts = Counter(word for line in bundled.splitlines(True) for word in regex.findall(pattern, line))
    if counts:
        words = sorted(counts, key=lambda word: (-counts[word], word))
        assert tokens_of(made) == ["[UNK]", *words]
    if "(?<" not in pattern:
        rival = rival_of(made, tmp_path)
        for line in bundled.splitlines()[:300]:
            assert made.encode(line) == rival.encode(line).ids
            assert made.decode(made.encode(line)) == rival.decode(rival.encode(line).ids, skip_special_tokens=False)


def test_words_of_a_published_pattern_keep_their_spaces(tmp_path: Path) -> None:
    made = tokkit.train(iter(TEXT), model="word", vocab_size=100, pattern="gpt2")
    rival = rival_of(made, tmp_path)
    for text in TEXT:
        assert made.decode(made.encode(text)) == text == rival.decode(rival.encode(text).ids)


@pytest.mark.parametrize(("size", "least"), [(300, 0), (5000, 2), (100_000, 1)])
def test_ids_of_words_are_those_of_tokenizers(bundled: str, size: int, least: int) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    rival = tokenizers.Tokenizer(tokenizers.models.WordLevel(unk_token="[UNK]"))
    rival.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    special = ["<pad>", "[UNK]"]
    trainer = tokenizers.trainers.WordLevelTrainer(
        vocab_size=size, min_frequency=least, special_tokens=special, show_progress=False
    )
    lines = bundled.splitlines(True)
    rival.train_from_iterator(lines, trainer)
    made = tokkit.train(iter(lines), model="word", vocab_size=size, min_frequency=least, special_tokens=special)
    ours = {token: id_ for id_, token in enumerate(tokens_of(made))}
    assert ours == rival.get_vocab()


def test_words_rarer_than_min_frequency_are_unknown() -> None:
    made = tokkit.train({"to": 5, "be": 2, "or": 1}, model="word", vocab_size=10, min_frequency=2)
    assert tokens_of(made) == ["[UNK]", "to", "be"]
    assert tokens_of(tokkit.train({"to": 5, "be": 2, "or": 2}, model="word", vocab_size=3)) == ["[UNK]", "to", "be"]


def test_the_order_of_special_tokens_is_the_users_own() -> None:
    special = ["<pad>", "<unk>", "<start>"]
    made = tokkit.train({"to": 5}, model="word", vocab_size=10, special_tokens=special, unk_token="<unk>")
    assert dict(made.special_tokens) == {"<pad>": 0, "<unk>": 1, "<start>": 2}
    assert made.encode("from") == [1]


def test_lower_case_words_are_counted_and_encoded_alike(tmp_path: Path) -> None:
    made = tokkit.train(iter(TEXT), model="word", vocab_size=100, lowercase=True)
    assert made.encode("THE") == made.encode("the") != [0]
    assert rival_of(made, tmp_path).encode("THE").ids == made.encode("the")


def test_characters_are_code_points_and_come_back_whole(tmp_path: Path) -> None:
    made = tokkit.train(iter(TEXT), model="char", vocab_size=100)
    counts = Counter("".join(TEXT))
    assert tokens_of(made) == ["[UNK]", *sorted(counts, key=lambda c: (-counts[c], c))]
    for text in TEXT:
        assert len(made.encode(text)) == len(text)
        assert made.decode(made.encode(text)) == text
    assert made.encode("Q") == [0]
    rival = rival_of(made, tmp_path)
    for text in TEXT:
        assert rival.encode(text).ids == made.encode(text)
        assert rival.decode(rival.encode(text).ids) == text
    assert tokens_of(tokkit.train({"abb": 2, "b": 1}, model="char", vocab_size=10)) == ["[UNK]", "b", "a"]


def test_bytes_are_all_256_and_every_text_comes_back(tmp_path: Path) -> None:
    made = tokkit.train(iter(TEXT), model="char", level="bytes", special_tokens=["<s>"])
    assert len(made.vocab) == 257
    for text in (*TEXT, "\0\r\n🦜", ""):
        assert len(made.encode(text)) == len(text.encode())
        assert made.decode(made.encode(text)) == text
    rival = rival_of(made, tmp_path)
    assert rival.encode("naïve 🦜").ids == made.encode("naïve 🦜")


def test_sizes_and_threads_change_nothing(bundled: str) -> None:
    lines = bundled.splitlines(True)
    for model in ("word", "char"):
        small, large = tokkit.train(iter(lines), model=model, vocab_size=[50, 500], threads=1)
        assert tokens_of(large)[:50] == tokens_of(small)
        again = tokkit.train(iter(lines[::-1]), model=model, vocab_size=500, threads=3)
        assert again.fingerprint() == large.fingerprint()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "word", "pattern": None}, "pattern is None"),
        ({"model": "word", "pattern": "none"}, '"whitespace" or a pattern'),
        ({"model": "word", "vocab_size": 1}, "at least 2"),
        ({"model": "word", "special_tokens": []}, "unknown token"),
        ({"model": "word", "score": "likelihood"}, "not an option of the model word; only of wordpiece"),
        ({"model": "char", "level": "words"}, "characters, bytes"),
        ({"model": "char", "level": "bytes", "min_frequency": 2}, "every byte is a token"),
        ({"model": "char", "level": "bytes", "vocab_size": 100}, "at least 256"),
        ({"model": "char", "pattern": "gpt2"}, "not an option of the model char; only of bbpe, bpe, word"),
        ({"model": "bbpe", "lowercase": True}, "not an option of the model bbpe; only of bpe, wordpiece, word"),
        ({"model": "words"}, "one of bbpe, bpe, wordpiece, word, char"),
    ],
)
def test_an_option_that_cannot_work_is_an_error_that_says_why(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        tokkit.train({"abc": 3, "bca": 2}, **options)
    with pytest.raises(TypeError, match="colour"):
        tokkit.train({"a": 1}, colour="red")  # type: ignore[call-overload]


def test_a_pattern_that_does_not_compile_is_an_error_before_anything_is_read() -> None:
    with pytest.raises(PatternError):
        tokkit.train(iter([None]), model="word", pattern="(")


@pytest.mark.parametrize(
    ("model", "character"), [("bbpe", "a"), ("bbpe", "é"), ("bbpe", "東"), ("wordpiece", "a"), ("wordpiece", "ж")]
)
def test_a_word_without_end_is_counted_in_parts_of_whole_characters(model: Any, character: str) -> None:
    n = 65_536 // len(character.encode())
    parts = {character * n: 3, character * 1000: 1}
    assert (
        tokkit.train(iter([character * (3 * n + 1000)]), model=model, vocab_size=300).fingerprint()
        == tokkit.train(parts, model=model, vocab_size=300).fingerprint()
    )


def test_a_long_word_of_a_script_without_spaces_is_cut_by_components_first() -> None:
    made = tokkit.train(iter(["ab." * 40_000]), model="wordpiece", vocab_size=10)
    assert (
        made.fingerprint() == tokkit.train({"ab": 40_000, ".": 40_000}, model="wordpiece", vocab_size=10).fingerprint()
    )
