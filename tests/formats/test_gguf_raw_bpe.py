"""GGUF vocabularies of BPE over characters, such as Gemma 4's, give the ids of a naive twin."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import tokkit
from gguf_files import ARRAY, BOOL, I32, U32, Typed, gguf, strings
from reference import raw_bpe
from tokkit.errors import FormatError, OptionError

Keys = dict[str, Any]
ALPHABET = "abcé中😀▁\n\n  \t0<x41>\r"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def vocabulary(rng: random.Random, *, bytes_: bool, newlines: bool) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Some characters, tokens that random merges make, and some that they do not."""
    tokens = ["<bos>", "<end_of_turn>", *(BYTES if bytes_ else ())]
    tokens += [character for character in dict.fromkeys(ALPHABET.replace(" ", "")) if rng.random() < 0.9]
    symbols = [token for token in tokens if len(token) == 1 and (newlines or token != "\n")]
    merges: list[tuple[str, str]] = []
    for _ in range(40):
        pair = (rng.choice(symbols), rng.choice(symbols))
        if "\n" in pair[0] + pair[1] and (pair[0] + pair[1]).strip("\n"):
            continue
        merges.append(pair)
        if pair[0] + pair[1] not in tokens:
            symbols.append(pair[0] + pair[1])
            tokens.append(pair[0] + pair[1])
    # No merge makes these; a line may be one of them.
    more = ["a0b", "▁é", *("\n" * n for n in (2, 3, 5)), "<0xzz>"]
    tokens += [text for text in more if text not in tokens]
    return {text: id_ for id_, text in enumerate(tokens)}, merges


def keys(model: str, pre: str, ids: dict[str, int], merges: list[tuple[str, str]], **more: Any) -> Keys:
    types = [6 if text in BYTES else 3 if text in ("<bos>", "<end_of_turn>") else 1 for text in ids]
    return {
        "tokenizer.ggml.model": model,
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": strings(list(ids)),
        "tokenizer.ggml.token_type": Typed(ARRAY, types, I32),
        "tokenizer.ggml.merges": strings([" ".join(pair) for pair in merges]),
        "tokenizer.ggml.bos_token_id": Typed(U32, 0),
        **{f"tokenizer.ggml.{name}": value for name, value in more.items()},
    }


def load(path: Path, found: Keys) -> tokkit.Tokenizer:
    (path / "model.gguf").write_bytes(gguf(found))
    return tokkit.load(path / "model.gguf")


def texts(rng: random.Random, n: int) -> list[str]:
    some = [
        "a0b",
        "▁é",
        "\n" * 5,
        "\n" * 7,
        "<0x41>",
        "<0x41>\n",
        " <0x0A>\n<0xzz>",
        "a\n\nb\n\n\n",
        "😀😀",
        "\x07",
        "ẞ İ",
    ]
    return [*some, *("".join(rng.choices(ALPHABET, k=rng.randrange(1, 20))) for _ in range(n))]


@pytest.mark.parametrize(
    ("model", "pre"),
    [("gemma4", "gemma4"), ("gemma4", "default"), ("gpt2", "gemma4"), ("gpt2", "granite-embed-multi-311m"),
     ("gpt2", "sarvam-moe")],
)  # fmt: skip
@pytest.mark.parametrize("bytes_", [True, False])
def test_lines_are_merged_as_in_the_naive_twin(tmp_path: Path, model: str, pre: str, bytes_: bool) -> None:
    for seed in range(6):
        rng = random.Random(seed)
        ids, merges = vocabulary(rng, bytes_=bytes_, newlines=seed % 2 == 0)
        tok = load(tmp_path, keys(model, pre, ids, merges))
        for text in texts(rng, 150):
            expected = raw_bpe.encode(text, ids, merges, whole_newlines=pre != "sarvam-moe")
            assert tok.encode(text) == expected, (seed, text)


@pytest.mark.parametrize("bytes_", [True, False])
def test_the_model_whitespace_merges_words_and_drops_what_is_between(tmp_path: Path, bytes_: bool) -> None:
    for seed in range(4):
        rng = random.Random(seed)
        ids, merges = vocabulary(rng, bytes_=bytes_, newlines=False)
        tok = load(tmp_path, keys("whitespace", "whitespace", ids, merges))
        lower = load(
            tmp_path, keys("whitespace", "whitespace", ids, merges, **{"normalizer.lowercase": Typed(BOOL, 1)})
        )
        for text in texts(rng, 100):
            expected = [id_ for word in text.split() for id_ in raw_bpe.piece(word, ids, merges, False)]
            assert tok.encode(text) == expected, (seed, text)
            small = "".join("i" if c == "İ" else c.lower() for c in text.upper())
            assert lower.encode(text.upper()) == tok.encode(small), (seed, text)


def test_a_split_at_white_space_keeps_it_in_the_model_gpt2(tmp_path: Path) -> None:
    ids, merges = vocabulary(random.Random(1), bytes_=True, newlines=False)
    tok = load(tmp_path, keys("gpt2", "whitespace", ids, merges))
    assert tok.encode("ab \n a") == [
        *raw_bpe.piece("ab", ids, merges, False), *raw_bpe.piece(" \n ", ids, merges, False), ids["a"],
    ]  # fmt: skip


def test_the_first_token_is_added_to_texts_of_gemma_4_whatever_the_file_says(tmp_path: Path) -> None:
    ids, merges = vocabulary(random.Random(2), bytes_=True, newlines=True)
    for model, pre, adds in (
        ("gemma4", "x", True),
        ("gpt2", "granite-embed-multi-311m", True),
        ("gpt2", "sarvam-moe", False),
    ):
        tok = load(tmp_path, keys(model, pre, ids, merges, add_bos_token=Typed(BOOL, 0)))
        assert tok("b").ids == [0] * adds + tok.encode("b")
        assert tok.encode("a<end_of_turn>", special="all")[-1] == 1


def test_text_is_decoded_with_its_spaces_and_bytes(tmp_path: Path) -> None:
    ids, merges = vocabulary(random.Random(3), bytes_=True, newlines=True)
    tok = load(tmp_path, keys("gemma4", "gemma4", ids, merges))
    for text in ("  a b\n\n\nc ", "\x07ẞ", "😀 é中"):
        assert tok.decode(tok.encode(text)) == text


def test_what_is_wrong_with_such_a_vocabulary_is_named(tmp_path: Path) -> None:
    ids, merges = vocabulary(random.Random(4), bytes_=True, newlines=False)
    good = keys("gemma4", "gemma4", ids, merges)
    (tmp_path / "model.gguf").write_bytes(gguf(good))
    with pytest.raises(OptionError, match="pattern= was given, but the model 'gemma4' does not split"):
        tokkit.load(tmp_path / "model.gguf", pattern="gpt2")
    tokens = ["[x]" if text == "<0x41>" else text for text in ids]
    with pytest.raises(FormatError, match=r"tokens: 255 of the tokens <0x00> to <0xFF>; <0x41> is missing"):
        load(tmp_path, {**good, "tokenizer.ggml.tokens": strings(tokens)})
    with pytest.raises(FormatError, match=r"merges: merge 0 joins 'a' and 'q'.* no token is"):
        load(tmp_path, {**good, "tokenizer.ggml.merges": strings(["a q"])})
    spelt = ("<", "0", "x", "4", "1", ">")
    pairs = [("".join(spelt[:n]), spelt[n]) for n in range(1, 6)]
    more = {text: id_ for id_, text in enumerate(dict.fromkeys([*ids, *spelt, *("".join(pair) for pair in pairs)]))}
    with pytest.raises(FormatError, match=r"merges: the tokens <0x00> to <0xFF> are made by merges"):
        load(tmp_path, keys("gemma4", "gemma4", more, pairs))
    load(tmp_path, keys("gpt2", "sarvam-moe", more, pairs))
    del good["tokenizer.ggml.bos_token_id"]
    with pytest.raises(FormatError, match=r"add_bos_token: true, but bos_token_id names no token"):
        load(tmp_path, good)


@pytest.mark.parametrize("model", ["plamo2", "hybriddna", "none"])
def test_models_that_cannot_be_exact_are_refused_with_the_reason(tmp_path: Path, model: str) -> None:
    with pytest.raises(FormatError, match=rf"ggml\.model: '{model}' is not supported, because .*tokenizer\.json"):
        load(tmp_path, {"tokenizer.ggml.model": model})


@pytest.mark.parametrize(("model", "pre"), [("gpt2", "sarvam-moe"), ("whitespace", "whitespace")])
@pytest.mark.parametrize("bytes_", [True, False])
def test_a_tokenizer_json_of_such_a_vocabulary_has_its_ids_in_tokenizers(
    tmp_path: Path, model: str, pre: str, bytes_: bool
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    ids, merges = vocabulary(random.Random(5), bytes_=bytes_, newlines=True)
    tok = load(tmp_path, keys(model, pre, ids, merges))
    tok.save(tmp_path / "tokenizer.json")
    again = tokkit.load(tmp_path / "tokenizer.json")
    rival = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    rival.encode_special_tokens = True
    for text in texts(random.Random(6), 100):
        expected = tok.encode(text)
        assert again.encode(text) == expected, text
        assert rival.encode(text, add_special_tokens=False).ids == expected, text
