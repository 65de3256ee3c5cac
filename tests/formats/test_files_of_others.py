"""Files that other libraries accept give the same ids here, with a warning for what is unusual."""

from __future__ import annotations

import json
import logging
import random
from pathlib import Path

import pytest

import tokkit
import tokkit.compat.tokenizers
from conftest import LONG
from tokkit.errors import FormatError, OptionError
from tokkit.formats import tokenizer_json

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


@pytest.mark.parametrize("vocab", [{"[UNK]": 100, "[CLS]": 101, "a": 5}, {"a": 0, "<s>": 1, "b": 2}])
def test_an_added_token_that_the_model_lacks_gets_the_next_free_id_with_a_warning(
    vocab: dict[str, int], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(word_level(vocab, [("[SEP]", 102), ("<pad>", 1), ("[CLS]", 101)]))
    theirs = tokenizers.Tokenizer.from_file(str(path))
    with caplog.at_level(logging.WARNING, "tokkit"):
        ours = tokkit.load(path)
    assert "added_tokens[0].id: 102 is ignored; '[SEP]' is not in the vocabulary and gets the next free id, 3" in (
        caplog.text
    )
    assert {text: theirs.token_to_id(text) for text in ours.special_tokens} == dict(ours.special_tokens)
    text = "a [SEP]<pad> [CLS] a"
    assert ours.encode(text, special="all") == theirs.encode(text).ids
    ours.save(tmp_path / "again.json")
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "again.json")).encode(text).ids == theirs.encode(text).ids
    assert tokkit.load(tmp_path / "again.json").fingerprint() == ours.fingerprint()


def test_ids_of_added_tokens_in_random_files_are_those_of_tokenizers(caplog: pytest.LogCaptureFixture) -> None:
    """Vocabularies with gaps, added tokens with wrong ids, ids of other tokens, and tokens that are given again."""
    rng = random.Random(2307)
    names = [f"t{i}" for i in range(10)]
    n_refused = 0
    for _ in range(1000 if LONG else 200):
        n = rng.randint(1, 6)
        vocab = dict(zip(["a", *rng.sample(names, n)], rng.sample(range(rng.choice([8, 20, 200])), n + 1), strict=True))
        ids = [*vocab.values(), *range(0, 300, 7)]
        file = word_level(vocab, [(rng.choice([*names, "x", "y"]), rng.choice(ids)) for _ in range(rng.randint(1, 6))])
        theirs = tokenizers.Tokenizer.from_str(file.decode())
        expected = theirs.get_vocab(with_added_tokens=True)
        if len(set(expected.values())) < len(expected):
            n_refused += 1
            with pytest.raises(FormatError, match="has this id: add"):
                tokenizer_json.read(file)
            continue
        ours = tokkit.Tokenizer(tokenizer_json.read(file))
        assert {token.decode(): id_ for token, id_ in ours.vocab.items()} == expected
        text = " ".join([*names, "x", "y", "a"])
        assert ours.encode(text, special="all") == theirs.encode(text).ids
        live = tokkit.compat.tokenizers.Tokenizer.from_str(file.decode())
        assert live.get_vocab() == expected
        assert live.encode(text).ids == theirs.encode(text).ids
    assert 10 < n_refused < 150
    assert caplog.text


def test_tokens_that_are_added_call_by_call_keep_their_ids() -> None:
    """tokenizers numbers the tokens of a later call after the highest id of added ones, those of a file do not."""
    file = word_level({"a": 15, "b": 14, "c": 2}, [("x", 3)]).decode()
    theirs, ours = tokenizers.Tokenizer.from_str(file), tokkit.compat.tokenizers.Tokenizer.from_str(file)
    for made in (theirs, ours):
        made.add_tokens(["a", "y"])
        made.add_tokens(["z"])
    text = "a z y x"
    assert theirs.encode(text).ids == ours.encode(text).ids == [15, 16, 4, 3]
    assert tokkit.from_tokenizers(theirs).encode(text, special="all") == [15, 16, 4, 3]
    again = tokenizers.Tokenizer.from_str(theirs.to_str())
    assert again.encode(text).ids == tokkit.Tokenizer(tokenizer_json.read(theirs.to_str().encode())).encode(
        text, special="all"
    )


def test_flags_of_a_byte_level_are_ignored_in_a_template(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Cohere's files have them from the processor that the template replaced."""
    template = {
        **{"add_prefix_space": True, "trim_offsets": False, "use_regex": True},
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
    }
    file = json.loads(word_level({"a": 0, "<s>": 1}, [("<s>", 1)]))
    path = tmp_path / "tokenizer.json"
    for post in (template, {"type": "Sequence", "processors": [template]}):
        path.write_text(json.dumps({**file, "post_processor": post}))
        with caplog.at_level(logging.INFO, "tokkit"):
            ours = tokkit.load(path)
        assert "trim_offsets: False is ignored; a TemplateProcessing has no such key" in caplog.text
        assert ours("a").ids == tokenizers.Tokenizer.from_file(str(path)).encode("a").ids == [1, 0]
        ours.save(tmp_path / "saved.json")
        assert "trim_offsets" not in (tmp_path / "saved.json").read_text()
    for key, value, reason in (
        ("trim_offset", False, "post_processor.trim_offset: unknown key"),
        ("use_regex", "no", "post_processor.use_regex: a boolean is needed"),
    ):
        path.write_text(json.dumps({**file, "post_processor": {**template, key: value}}))
        with pytest.raises(FormatError, match=reason):
            tokkit.load(path)
    # tokenizers makes a RobertaProcessing of this one.
    bert = {"type": "BertProcessing", "sep": ["a", 0], "cls": ["a", 0], "trim_offsets": True, "add_prefix_space": True}
    path.write_text(json.dumps({**file, "post_processor": bert}))
    with pytest.raises(FormatError, match="trim_offsets: unknown key"):
        tokkit.load(path)
