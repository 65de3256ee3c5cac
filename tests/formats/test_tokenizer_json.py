"""tokenizer.json files are read and written as by tokenizers."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import LONG, PUBLISHED, slice_of
from strategies import adversarial
from tokkit import Tokenizer, formats
from tokkit.definition import Definition
from tokkit.errors import FormatError, VocabError
from tokkit.formats import gpt2, tiktoken, tokenizer_json
from tokkit.pretokenizers import patterns

Make = Callable[..., Definition]
Same = Callable[[Definition, Definition], bool]
WORDPIECE = {"type": "WordPiece", "unk_token": "u", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def read(value: dict[str, Any]) -> Definition:
    return tokenizer_json.read(json.dumps(value).encode())


@pytest.mark.parametrize("pattern", [None, *(p for p in patterns.NAMES.values() if p != patterns.R50K)])
@pytest.mark.parametrize("whole_piece", [True, False])
def test_a_definition_comes_back(pattern: str | None, whole_piece: bool, make: Make, same: Same) -> None:
    definition = make(pattern=pattern, whole_piece=whole_piece)
    assert same(tokenizer_json.read(tokenizer_json.write(definition)), definition)


@pytest.mark.parametrize("keep_unmatched", [True, False])
def test_a_pattern_of_one_s_own_comes_back(keep_unmatched: bool, make: Make, same: Same) -> None:
    definition = make(pattern=r"\p{L}+|\p{N}{1,2}|\s+(?!\S)", keep_unmatched=keep_unmatched)
    assert same(tokenizer_json.read(tokenizer_json.write(definition)), definition)


def test_the_r50k_pattern_is_written_as_the_byte_level_split_that_it_equals(make: Make, same: Same) -> None:
    read_back = tokenizer_json.read(tokenizer_json.write(make(pattern=patterns.R50K)))
    assert same(read_back, make(pattern=patterns.BYTE_LEVEL))


def test_written_text_is_stable_and_plain_json(make: Make) -> None:
    data = tokenizer_json.write(make())
    value = json.loads(data)
    assert tokenizer_json.write(tokenizer_json.read(data)) == data
    assert value["model"]["merges"][:3] == ["h e", "l l", "he ll"]
    assert value["model"]["vocab"]["Ġthe"] == 261
    assert [token["content"] for token in value["added_tokens"]] == ["<|end|>", "<é>"]
    assert json.loads(tokenizer_json.write(make(special={}, merges=[])))["model"]["merges"] == []


def test_gpt_2_s_own_file_says_what_its_two_files_say(shared: Path, same: Same) -> None:
    folder = shared / "vocabs" / "gpt2"
    one = tokenizer_json.read((folder / "tokenizer.json").read_bytes())
    two = gpt2.read((folder / "encoder.json").read_bytes(), (folder / "vocab.bpe").read_bytes())
    assert same(one, two)
    assert tiktoken.write(one) == (shared / "vocabs" / "r50k_base.tiktoken").read_bytes()


@pytest.mark.parametrize("form", ["pairs", "no type", "sequence of one", "extra flags", "merges as text"])
def test_other_spellings_of_the_same_are_read(form: str, parsed: dict[str, Any], make: Make, same: Same) -> None:
    model = parsed["model"]
    if form == "pairs":
        model["merges"] = [merge.split(" ") for merge in model["merges"]]
    elif form == "no type":
        for key in ("type", "byte_fallback", "ignore_merges"):
            del model[key]
        model.update(continuing_subword_prefix="", end_of_word_suffix="", unk_token="<|end|>", dropout=0.0)
    elif form == "sequence of one":
        parsed["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [parsed["pre_tokenizer"]]}
    elif form == "extra flags":
        parsed["post_processor"] = None
        parsed["decoder"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
        del parsed["pre_tokenizer"]["use_regex"]
        parsed["added_tokens"] = [{**token, "normalized": True} for token in parsed["added_tokens"]]
    assert same(read(parsed), make())


def test_added_tokens_that_the_vocabulary_lacks_take_the_next_ids(
    parsed: dict[str, Any], make: Make, same: Same, caplog: pytest.LogCaptureFixture
) -> None:
    for token in parsed["added_tokens"]:
        del parsed["model"]["vocab"][token["content"]]
    assert same(read(parsed), make())
    assert not caplog.records
    parsed["added_tokens"][1]["id"] = 300
    with caplog.at_level(logging.WARNING, "tokkit"):
        assert same(read(parsed), make())
    (record,) = caplog.records
    text = parsed["added_tokens"][1]["content"]
    assert record.message == (
        f"added_tokens[1].id: 300 is ignored; {text!r} is not in the vocabulary and gets the next free id, 264"
    )


def ids_match(definition: Definition, path: Path, encode: Callable[[str], list[int]], texts: list[str]) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    formats.write(definition, path)
    theirs = tokenizers.Tokenizer.from_file(str(path))
    for text in texts:
        ids = theirs.encode(text, add_special_tokens=False).ids
        assert ids == encode(text), text[:80]
        assert theirs.decode(ids, skip_special_tokens=False) == text


@pytest.mark.parametrize("name", PUBLISHED if LONG else ["o200k_base", "r50k_base"])
def test_tokenizers_gives_the_ids_of_tiktoken_from_our_file_of_its_ranks(
    name: str,
    shared: Path,
    tmp_path: Path,
    bundled: str,
    corpora: dict[str, Path],
    load_tiktoken: Callable[[str], Any],
) -> None:
    definition = formats.read(shared / "vocabs" / f"{name}.tiktoken")
    rival = load_tiktoken(name)
    texts = [bundled, "a <|endoftext|>b", *(slice_of(path, 3_000) for path in corpora.values())]
    texts += [adversarial(seed, 3_000).encode("utf-8", "replace").decode() for seed in range(20 if LONG else 7)]
    path = tmp_path / "tokenizer.json"
    # tokenizers reads the text of special tokens as these tokens everywhere.
    ids_match(definition, path, lambda text: list(rival.encode(text, allowed_special="all")), texts)
    again = formats.read(path)
    assert again.vocab == definition.vocab
    assert again.special_tokens == definition.special_tokens
    assert tiktoken.write(again) == (shared / "vocabs" / f"{name}.tiktoken").read_bytes()


@pytest.mark.parametrize("kind", ["rank", "merges"])
@pytest.mark.parametrize("pattern", [*patterns.NAMES, "none", r"\p{L}+|\s+|[^\s\p{L}]"])
def test_tokenizers_gives_our_ids_from_our_file(
    kind: str, pattern: str, tmp_path: Path, bundled: str, make_tokenizer: Callable[..., Any]
) -> None:
    tok = make_tokenizer(kind, pattern, {"<|end|>": 2000, "<x y>": 2003})
    texts = [bundled[:20_000], "", " ", "a<|end|> b <x y>", *(adversarial(seed, 1_000) for seed in range(10))]
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    ids_match(tok.definition, tmp_path / "a.json", lambda text: list(tok.encode(text, special="all")), texts)


@pytest.mark.parametrize("keep_unmatched", [True, False])
def test_tokenizers_keeps_or_drops_unmatched_text_as_we_do(
    keep_unmatched: bool, tmp_path: Path, make_tokenizer: Callable[..., Any]
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tok = make_tokenizer("merges", r"\p{L}+", {}, keep_unmatched=keep_unmatched)
    tok.save(tmp_path / "a.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "a.json"))
    for text in ["a, b! c", "...", "été – hiver\n", "12 ab 34"]:
        assert theirs.encode(text).ids == tok.encode(text)
        assert tok.decode(tok.encode(text)) == (text if keep_unmatched else "".join(filter(str.isalpha, text)))


def test_a_token_that_merging_never_makes_is_written_with_ignore_merges(tmp_path: Path, make: Make) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    definition = make("rank", tokens=[*[*make().vocab][:263], b"xyz"], special={})
    formats.write(definition, tmp_path / "a.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "a.json"))
    assert theirs.encode("xyz xyz").ids == [263, ord(" "), *b"xyz"]
    assert formats.read(tmp_path / "a.json").model.whole_piece
    formats.write(make("rank"), tmp_path / "a.json")
    assert not formats.read(tmp_path / "a.json").model.whole_piece


def test_what_the_file_cannot_say_is_refused(make: Make) -> None:
    every = [bytes([byte]) for byte in range(256)]
    no_merges = {"tokens": every, "merges": []}
    for special in ({"h": 256}, {"é": 256}):
        with pytest.raises(FormatError, match="is written like the ordinary token with id"):
            tokenizer_json.write(make(**no_merges, special=special))
    with pytest.raises(FormatError, match="the special token 'Ã©' is written like the token 'é'"):
        tokenizer_json.write(make(**no_merges, special={"Ã©": 256}, whole_piece=True))
    with pytest.raises(FormatError, match="the ids 256 and 257 have the same bytes, b'ab'"):
        tokenizer_json.write(make(tokens=[*every, b"ab", b"ab"], merges=[(97, 98, 256)], special={}))
    with pytest.raises(VocabError, match="merge 0, 97 and 98 to 99, does not join"):
        tokenizer_json.write(make(tokens=every, merges=[(97, 98, 99)], special={}))
    with pytest.raises(FormatError, match="no equivalent that is known in the syntax of oniguruma"):
        tokenizer_json.write(make(pattern=r"(?x)\p{N} +"))


def test_reading_is_independent_of_the_order_of_the_vocabulary(parsed: dict[str, Any], make: Make, same: Same) -> None:
    parsed["model"]["vocab"] = dict(reversed(parsed["model"]["vocab"].items()))
    definition = read(parsed)
    assert same(definition, make())
    assert definition.model.merges is not None
    assert definition.model.merges.dtype == np.uint32


def test_neither_the_order_of_added_tokens_nor_a_vocabulary_without_tokens_matters() -> None:
    flags = {"single_word": False, "lstrip": True, "rstrip": False, "normalized": False, "special": True}
    marks = [{"id": id_, "content": text, **flags} for id_, text in ((1, "<b>"), (0, "<a>"))]
    model = {"type": "WordLevel", "vocab": {"<a>": 0, "<b>": 1, "c": 2}, "unk_token": "c"}
    orders = [read({"added_tokens": order, "model": model}) for order in (marks, marks[::-1])]
    assert len({Tokenizer(definition).fingerprint() for definition in orders}) == 1
    empty = Tokenizer(read({"model": WORDPIECE | {"vocab": {}}}))
    ids, offsets = empty.encode_batch(["", ""])
    assert (ids.tolist(), offsets.tolist()) == ([], [0, 0, 0])


def test_bytes_that_no_text_has_need_no_token(make: Make) -> None:
    texts = [byte for byte in range(256) if byte not in (0xC0, 0xC1, *range(0xF5, 0x100))]
    definition = make(tokens=[bytes([byte]) for byte in texts], merges=[], special={"<s>": len(texts)})
    again = tokenizer_json.read(tokenizer_json.write(definition))
    assert again.vocab == definition.vocab
    apart = json.loads(tokenizer_json.write(again, added_apart=True))
    assert "<s>" in apart["model"]["vocab"]  # it was among the model's own


def test_added_tokens_that_a_file_had_outside_of_the_model_may_stay_there(make: Make) -> None:
    file = json.loads(
        tokenizer_json.write(make(tokens=[bytes([b]) for b in range(256)], merges=[], special={"<s>": 256}))
    )
    del file["model"]["vocab"]["<s>"]
    definition = tokenizer_json.from_json(file)
    assert definition.added_ids == {256}
    assert "<s>" in json.loads(tokenizer_json.write(definition))["model"]["vocab"]
    apart = tokenizer_json.write(definition, added_apart=True)
    assert "<s>" not in json.loads(apart)["model"]["vocab"]
    assert tokenizer_json.read(apart).added_vocab == {"<s>": 256}
