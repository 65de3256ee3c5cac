"""Tokenizers are written as GGUF files with equal ids, or refused if the format cannot express them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

import tokkit
from sentencepiece_models import by_chance
from strategies import adversarial
from tokkit.corpus import bundled
from tokkit.definition import definition_of
from tokkit.errors import FormatError
from tokkit.files import gguf_file
from tokkit.tokenizer import Tokenizer

KEEP: dict[str, Any] = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
WRITTEN: dict[str, dict[str, Any]] = {
    "bbpe": {"special_tokens": ["<|endoftext|>"]},
    "bbpe llama3": {"pattern": "llama3"},
    "wordpiece": {"limit_alphabet": 300},
    "wordpiece cased": {"limit_alphabet": 300, "lowercase": False},
    "unigram": {**KEEP, "character_coverage": 0.98, "hard_vocab_limit": False},
    "unigram bytes": {**KEEP, "byte_fallback": True, "hard_vocab_limit": False},
    "sp-bpe": {**KEEP, "byte_fallback": True},
    "sp-bpe bare": {**KEEP, "add_dummy_prefix": False, "byte_fallback": True},
}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "bbpe": ({"pattern": r"\p{L}+|\P{L}"}, "no name in tokenizer.ggml.pre stands for its split"),
    "unigram": ({"hard_vocab_limit": False}, "its normalizer is"),
    "bpe": ({}, "it has end_of_word_suffix="),
    "word": ({}, "its model is WordLevel; a GGUF file can have byte-level BPE, SentencePiece BPE, WordPiece, Unigram"),
    "sp-char": ({}, "of the type 'char'"),
}
TEXTS = [
    *(adversarial(seed, 50) for seed in range(50)),
    "",
    "  a  b ",
    "▁a▁",
    "<s>a</s><unk>",
    "[CLS]x",
    "naïve 🦜 東京",
]


@functools.cache
def corpus() -> tuple[str, ...]:
    return tuple(line for path in bundled.paths() for line in path.read_text(encoding="utf-8").splitlines()[:60])


def trained(name: str, **options: Any) -> Tokenizer:
    return tokkit.train(iter(corpus()), model=name.split()[0], **{"vocab_size": 2900, **options})


def keys_of(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return gguf_file.read(file, lambda _: True)


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_trained_here_is_written_with_equal_ids(name: str, tmp_path: Path) -> None:
    tok = trained(name, **WRITTEN[name])
    tok.save(tmp_path / "x.gguf")
    again = tokkit.load(tmp_path / "x.gguf")
    for text in (*TEXTS, *corpus()[::40]):
        assert again.encode(text) == tok.encode(text), text
        assert again(text).ids == tok(text).ids, text
        assert again.encode(text, special="all") == tok.encode(text, special="all"), text
    # And what was read is written again, byte for byte.
    again.save(tmp_path / "y.gguf")
    assert tokkit.load(tmp_path / "y.gguf").fingerprint() == again.fingerprint()


@pytest.mark.parametrize("name", REFUSED)
def test_what_such_a_file_does_not_have_is_refused(name: str, tmp_path: Path) -> None:
    options, reason = REFUSED[name]
    with pytest.raises(FormatError, match=reason):
        trained(name, **options).save(tmp_path / "x.gguf")
    assert not list(tmp_path.iterdir())


def test_keys_say_what_programs_that_run_such_files_look_for(tmp_path: Path) -> None:
    tok = trained("bbpe", special_tokens=["<s>", "</s>"], pattern="qwen2").with_special_tokens({"<|far|>": 3000})
    tok.save(tmp_path / "x.gguf")
    keys = keys_of(tmp_path / "x.gguf")
    own = {name.removeprefix("tokenizer.ggml."): value for name, value in keys.items()}
    assert own["general.architecture"] == b"gpt2"
    assert (own["model"], own["pre"]) == (b"gpt2", b"qwen2")
    assert (own["bos_token_id"], own["eos_token_id"]) == (0, 1)
    assert (own["add_bos_token"], own["add_eos_token"]) == (False, False)
    assert own["tokens"][:2] == [b"<s>", b"</s>"]
    assert own["tokens"][2900] == b"[UNUSED2900]"
    assert own["token_type"][[0, 2, 2900, 3000]].tolist() == [3, 1, 5, 3]
    assert len(own["merges"]) == len(tok.definition.model.merges)


def test_models_by_chance_are_written_with_equal_ids_or_not_at_all(tmp_path: Path) -> None:
    written = 0
    for seed in range(80):
        tok = Tokenizer(definition_of(by_chance(seed, "bpe")))
        try:
            tok.save(tmp_path / "x.gguf")
        except FormatError:
            continue
        written += 1
        again = tokkit.load(tmp_path / "x.gguf")
        for text in (*TEXTS[::4], *(token.decode().replace("▁", " ") * 2 for token in tok.vocab)):
            assert again.encode(text) == tok.encode(text), (seed, text)
    assert written


@pytest.mark.parametrize("name", ["gpt2", "bert-base-uncased", "mistral-v1/tokenizer.model", "starcoder"])
def test_published_vocabularies_are_written(name: str, shared: Path, tmp_path: Path) -> None:
    tok = tokkit.load(shared / "vocabs" / name)
    done = tokkit.convert(tok, tmp_path / "x.gguf", verify=iter(TEXTS), special="all")
    assert done.verified.equal
    again = tokkit.load(tmp_path / "x.gguf")
    assert again("some text", "more").ids == tok("some text", "more").ids or name.startswith("mistral")
