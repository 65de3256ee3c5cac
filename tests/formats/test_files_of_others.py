"""Files that other libraries accept give the same ids here, with a warning for what is unusual."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

import tokkit
from tokkit.errors import OptionError

tokenizers = pytest.importorskip("tokenizers")


def word_level(vocab: dict[str, int], added: list[tuple[str, int]]) -> bytes:
    tokens = [
        {
            "id": id_,
            "content": text,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for text, id_ in added
    ]
    made = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": tokens,
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "a"},
    }
    return json.dumps(made).encode()


def test_whisper_with_its_empty_token_gives_the_ids_of_tokenizers(shared: Path, tmp_path: Path) -> None:
    path = shared / "vocabs" / "whisper-large-v3" / "tokenizer.json"
    ours, theirs = tokkit.load(path), tokenizers.Tokenizer.from_file(str(path))
    ours.save(tmp_path / "again.json")
    again = tokkit.load(tmp_path / "again.json")
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "again.json")).get_vocab_size() == theirs.get_vocab_size()
    assert (ours.vocab.empty, len(ours.vocab)) == (50256, theirs.get_vocab_size())
    for text in ("Hello, world!", "naïve 日本語 <|endoftext|> x", "  two\n\nlines"):
        ids = theirs.encode(text, add_special_tokens=False).ids
        assert ours.encode(text, special="all") == again.encode(text, special="all") == ids
    assert ours.decode([15496, 50256, 11]) == ours.decode([15496, 11])
    assert ours.token_bytes(50256) == b""


def test_an_added_token_keeps_the_id_of_the_vocabulary_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(word_level({"a": 0, "<s>": 1, "b": 2}, [("<s>", 7)]))
    with caplog.at_level(logging.WARNING, "tokkit"):
        ours = tokkit.load(path)
    assert ours.special_tokens == {"<s>": 1}
    assert "7 is ignored; '<s>' keeps its id in the vocabulary, 1" in caplog.text
    theirs = tokenizers.Tokenizer.from_file(str(path))
    assert ours.encode("a <s> b", special="all") == theirs.encode("a <s> b").ids == [0, 1, 2]


def test_a_bare_word_as_a_pattern_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(OptionError, match=r"'kimi', an unknown name: kimi-k2\?"):
        tokkit.train(iter(["a b"]), vocab_size=260, pattern="kimi")
    assert tokkit.train(iter(["aaa"]), vocab_size=258, pattern="(?:a)").encode("aa")


def test_a_pattern_that_leaves_text_unmatched_says_so_once(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    path = tmp_path / "small.tiktoken"
    tokkit.train(iter(["one two"]), vocab_size=260).save(path)
    with caplog.at_level(logging.WARNING, "tokkit"):
        tok = tokkit.load(path, pattern=r"\w+|\s")
        tok.encode("a, b")
        tok.encode("a, b")
    assert caplog.text.count("gets no ids") == 1
    assert "'!" in caplog.text
