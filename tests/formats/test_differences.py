"""Where we differ from tokenizers on purpose: its panics, random results and errors, each with both results."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

import tokkit
from both_pipelines import FAILED, theirs_or_failed
from pipelines import Json
from tokkit.errors import FormatError, OptionError
from tokkit.formats import tokenizer_json
from tokkit.normalizers.strip import Strip

tokenizers = pytest.importorskip("tokenizers")

VOCAB = {token: id_ for id_, token in enumerate(("<unk>", "a", "b", "x", "ab", "▁", "<0xC3>", "<0xA9>", "<0x2F>"))}
BPE: Json = {"type": "BPE", "vocab": VOCAB, "merges": [["a", "b"]], "unk_token": "<unk>"}
LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def made(model: Json = BPE, **parts: Any) -> Json:
    bare = dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"))
    return {"version": "1.0", "added_tokens": [], **bare, "model": model, **parts}


def added(content: str, id_: int, **flags: bool) -> Json:
    names = ("single_word", "lstrip", "rstrip", "special")
    return {"id": id_, "content": content, **dict.fromkeys(names, False), "normalized": True, **flags}


def ours(given: Json) -> tokkit.Tokenizer:
    return tokkit.Tokenizer(tokenizer_json.read(json.dumps(given).encode()))


def theirs(given: Json) -> Any:
    return tokenizers.Tokenizer.from_str(json.dumps(given))


def test_tokens_and_surfaces_of_added_tokens_are_what_the_normalized_text_has() -> None:
    given = made(added_tokens=[added("X", 9, lstrip=True)], normalizer={"type": "Lowercase"})
    mine, other = ours(given)("a  X b"), theirs(given).encode("a  X b")
    assert mine.ids == other.ids == [1, 9, 0, 2]
    assert mine.tokens == other.tokens == ["a", "  x", "<unk>", "b"]
    assert mine.column("surfaces")[:2] == [b"a", b"  x"]
    assert mine.token_bytes == [b"a", b"X", b"<unk>", b"b"]


def test_an_added_token_of_which_nothing_is_left_is_refused() -> None:
    given = made(added_tokens=[added("\u0301", 9)], normalizer={"type": "StripAccents"})
    with pytest.raises(FormatError, match=r"the normalizer, StripAccents, leaves nothing of .*: set \"normalized\" of"):
        ours(given)
    assert theirs(given).encode("ab").ids == [1, 2]  # cut before each character
    assert theirs_or_failed(lambda: theirs(given).encode("éa")) is FAILED  # and beyond the text
    strip = {"type": "Strip", "strip_left": True, "strip_right": True}
    given = made(added_tokens=[added("\n\n", 9)], normalizer=strip)
    with pytest.raises(FormatError, match=r"Strip, leaves nothing of '\\n\\n'"):
        ours(given)
    assert theirs(given).encode("ab").ids == [1, 2]
    given["added_tokens"][0]["normalized"] = False
    assert ours(given)("ab\n\na").ids == theirs(given).encode("ab\n\na").ids == [4, 9, 1]
    # One that is added in a program is never found; a file cannot say so.
    definition = ours(made()).definition
    token = tokkit.AddedToken("\n\n", 9, normalized=True)
    vocab = definition.vocab.with_tokens({9: b"\n\n"})
    never = dataclasses.replace(definition, vocab=vocab, added_tokens=(token,), normalizer=Strip(True, True))
    assert tokkit.Tokenizer(never)("\n\nab\n\n").ids == [4]
    with pytest.raises(FormatError, match="leaves nothing of"):
        tokenizer_json.write(never)


def test_of_two_tokens_that_are_normalized_alike_the_first_is_found() -> None:
    given = made(added_tokens=[added("AX", 9), added("aX", 10)], normalizer={"type": "Lowercase"})
    assert {ours(given)("ax").ids[0] for _ in range(5)} == {9}
    assert {theirs(given).encode("ax").ids[0] for _ in range(5)} <= {9, 10}  # either, by chance


def test_bytes_of_a_suffix_that_fall_back_have_offsets_in_the_text() -> None:
    model = BPE | {"end_of_word_suffix": "é", "byte_fallback": True, "merges": []}
    mine, other = ours(made(model))("/"), theirs(made(model)).encode("/")
    assert mine.ids == other.ids == [8, 6, 7]
    assert max(end for _, end in mine.offsets) == 1 < max(end for _, end in other.offsets)


def test_nothing_put_before_the_first_character_takes_no_place_from_it() -> None:
    empty = {"type": "Prepend", "prepend": ""}
    assert ours(made(normalizer=empty))("xa").offsets == [(0, 1), (1, 2)]
    assert theirs(made(normalizer=empty)).encode("xa").offsets == [(0, 0), (1, 2)]
    nothing = {"type": "Replace", "pattern": {"Regex": "x*"}, "content": "b"}
    for normalizer in (empty, nothing):
        given = made(normalizer=normalizer, pre_tokenizer=LEVEL)
        assert theirs_or_failed(lambda given=given: theirs(given).encode("éaa")) is FAILED
        assert ours(given)("éaa").offsets[-1] == (2, 3)


def test_a_chain_of_processors_without_room_is_refused_where_tokenizers_panics() -> None:
    place = [{"SpecialToken": {"id": "a", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    pair = [*place, {"Sequence": {"id": "B", "type_id": 1}}]
    tokens = {"a": {"id": "a", "ids": [1], "tokens": ["a"]}}
    template = {"type": "TemplateProcessing", "single": place, "pair": pair, "special_tokens": tokens}
    given = made(post_processor={"type": "Sequence", "processors": [template, template]})
    assert ours(given)("b").ids == theirs(given).encode("b").ids == [1, 1, 2]
    assert theirs_or_failed(lambda: theirs(given).encode("b", "b")) is FAILED
    with pytest.raises(OptionError, match="the postprocessors before it leave 3 parts; it must get one text or two"):
        ours(given)("b", "b")


def test_keys_that_are_unknown_or_stand_twice_are_refused() -> None:
    given = made(normalizer={"type": "Lowercase", "locale": "tr"})
    assert theirs(given).encode("A").ids == [1]
    with pytest.raises(FormatError, match=r"normalizer\.locale: unknown key"):
        ours(given)
    twice = json.dumps(made())[:-1] + ', "normalizer": {"type": "NFC"}}'
    assert theirs_or_failed(lambda: tokenizers.Tokenizer.from_str(twice)) is not FAILED
    with pytest.raises(FormatError, match="the key 'normalizer' is given twice"):
        tokenizer_json.read(twice.encode())


def test_an_old_metaspace_without_a_prefix_is_read_as_it_was_meant() -> None:
    old = {"type": "Metaspace", "replacement": "▁", "add_prefix_space": False}
    assert theirs_or_failed(lambda: theirs(made(pre_tokenizer=old))) is FAILED
    assert ours(made(pre_tokenizer=old))("a a").ids == [1, 5, 1]


@pytest.mark.parametrize("flag", ["single_word", "lstrip", "rstrip", "normalized", "special"])
def test_an_added_token_without_one_of_its_flags_is_refused_by_both(flag: str) -> None:
    token = added("zz", 9)
    del token[flag]
    assert theirs_or_failed(lambda: theirs(made(added_tokens=[token]))) is FAILED
    with pytest.raises(FormatError, match=rf"added_tokens\[0\]\.{flag}: missing"):
        ours(made(added_tokens=[token]))
