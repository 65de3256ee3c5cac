"""Bad files and options raise an error that names the position, in bounded time, and never crash."""

from __future__ import annotations

import base64
import contextlib
import json
import random
import re
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

import tokkit
from normalizers.charsmaps import charsmap
from tokkit import limits
from tokkit.encoding.length_rules import Truncation
from tokkit.errors import FormatError, OptionError, PatternError, TokkitError
from tokkit.formats import tokenizer_json

Json = dict[str, Any]
EXPLODES = "(a+)+b"
LONG_TEXT = "a" * 5000


def made_of(model: Json, **parts: Any) -> bytes:
    return json.dumps({"version": "1.0", "added_tokens": [], "model": model, **parts}).encode()


def word_level(**parts: Any) -> bytes:
    return made_of({"type": "WordLevel", "vocab": {"x": 0, "y": 1}, "unk_token": "x"}, **parts)


def error_of(data: bytes) -> str:
    """The message of the error that a file is refused with."""
    with pytest.raises(FormatError) as caught:
        tokenizer_json.read(data)
    return str(caught.value)


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"type":'])
@pytest.mark.parametrize("depth", [1000, 100_000])
def test_deep_nesting_is_refused(opening: str, depth: int) -> None:
    for text in (opening * depth, f'{{"model": {opening * depth}'):
        assert "nested too deep" in error_of(text.encode()) or "not JSON" in error_of(text.encode())
    closed = "[" * depth + "]" * depth
    error_of(f'{{"version": "1.0", "model": {{"type": "BPE", "vocab": {{}}, "merges": {closed}}}}}'.encode())


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ('{"version": ' + "[" * 3_000_000, 1),
        ('{"model": {"vocab": {' + '"a":1,' * 300_000 + '"a":1}}}', 30),
        (
            '{"model": {"type": "BPE", "vocab": {'
            + ",".join(f'"a{i}":1' for i in range(100_000))
            + '}, "merges": []}}',
            30,
        ),
        ('{"version": [' + "[]," * 300_000 + "0]}", 40),
        ('{"model": {"vocab": {"a": ' + "1" * 3_000_000 + "}}}", 3),
    ],
    ids=["nested", "one key again and again", "one id", "many empty arrays", "one long number"],
)
def test_what_is_refused_takes_memory_in_proportion_to_the_file(text: str, times: int) -> None:
    data = text.encode()
    tracemalloc.start()
    try:
        error_of(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < times * len(data) + 1_000_000


@pytest.mark.parametrize("name", ["normalizer", "pre_tokenizer", "post_processor", "decoder"])
def test_sequences_nested_deep_are_run_or_refused(name: str) -> None:
    inner = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "post_processor": "processors"}
    said = []
    for depth in (50, 150, 300, 800):
        nested = f'{{"type": "Sequence", "{inner.get(name, "decoders")}": [' * depth + "]}" * depth
        data = word_level(**{name: "HERE"}).replace(b'"HERE"', nested.encode())
        try:
            tok = tokkit.Tokenizer(tokenizer_json.read(data))
            assert tok("x").ids == [0]
            assert tok.decode([0]) == "x"
        except TokkitError as error:
            said.append(str(error))
    assert all(name in message or "nested" in message for message in said)
    assert len(said) >= 3, "whatever the depth at which the interpreter's own limits lie"


@pytest.mark.parametrize(
    ("number", "message"),
    [
        ("1e400", "1e400 is too large"),
        ("-1e400", "-1e400 is too large"),
        ("1" + "0" * 5000, "not JSON that can be read"),
        ("1" + "0" * 4000, "it must be from 0 to 2097151"),
        ("1e308", "the id is a number; it must be an integer"),
        ("-1", "the id is -1; it must be from 0 to 2097151"),
        ("4294967296", "the id is 4294967296; it must be from 0 to 2097151"),
        ("NaN", "NaN is not JSON"),
    ],
    ids=lambda value: value[:12],
)
def test_numbers_too_large_are_refused(number: str, message: str) -> None:
    assert message in error_of(word_level().replace(b'"y": 1', f'"y": {number}'.encode()))


@pytest.mark.parametrize("score", ["NaN", "Infinity", "-Infinity", "1e400", '"1"', "null", "true", "[1]"])
def test_scores_that_are_no_numbers_are_refused(score: str) -> None:
    data = made_of({"type": "Unigram", "vocab": [["x", 0.0], ["y", "SCORE"]], "unk_id": 0})
    assert error_of(data.replace(b'"SCORE"', score.encode()))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"type": "WordLevel", "vocab": {"x": 0, "y": 0}, "unk_token": "x"}, "model.vocab: 'x' and 'y' both have id 0"),
        ({"type": "WordLevel", "vocab": {"x": 0}}, "model.unk_token: missing"),
        ({"type": "Unigram", "vocab": [["x", 0.0], ["x", 1.0]], "unk_id": 0}, "model.vocab[1]: the token 'x' is"),
        ({"type": "Unigram", "vocab": [["x", 0.0]], "unk_id": 1}, "model: unk_id is 1; the ids of this model"),
        ({"type": "Unigram", "vocab": [["x", 0.0]], "unk_id": -1}, "model: unk_id is -1"),
        ({"type": "Unigram", "vocab": [["x"]], "unk_id": 0}, "model.vocab[0]: a token and its score are needed"),
        ({"type": "BPE", "vocab": {"x": 0}, "merges": ["x z"]}, "model.merges[0]: the part 'z' is not in model.vocab"),
        ({"type": "BPE", "vocab": {"x": 0}, "merges": [["x", "x"]]}, "model.merges[0]: the result 'xx' is not in"),
        ({"type": "BPE", "vocab": {"x": 0}, "merges": [["x", "x", "x"]]}, "model.merges[0]: two tokens are needed"),
        ({"type": "BPE", "vocab": {"x": 0}, "merges": ["x x", ["x", "x"]]}, "model.merges[0]: the result 'xx' is not"),
        ({"type": "BPE", "vocab": {"x": 0, "xx": 1}, "merges": ["x x", 1]}, "model.merges[1]: two tokens are needed"),
        (
            {"type": "BPE", "vocab": {"x": 0}, "merges": [], "dropout": -1},
            "model: dropout is -1; it must be a probability",
        ),
        (
            {
                "type": "WordPiece",
                "vocab": {"x": 0},
                "unk_token": "x",
                "continuing_subword_prefix": "##",
                "max_input_chars_per_word": -1,
            },
            "model: max_input_chars_per_word is -1; it must be a number of characters",
        ),
    ],
)
def test_vocabularies_that_cannot_work_are_refused_by_place(model: Json, message: str) -> None:
    assert error_of(made_of(model)).startswith(message)


def test_added_tokens_that_cannot_have_ids_are_refused() -> None:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    tokens = [{"id": 2, "content": "x", "special": True, **flags}]
    for id_ in (10**30, 1 << 32, -1):
        tokens[0]["id"] = id_
        assert error_of(word_level(added_tokens=tokens)) == (
            f"added_tokens[0].id: {id_} is not an id; it must be from 0 to {(1 << 32) - 1}"
        )
    tokens = [{"id": 2, "content": "x", "special": True, **flags}, {"id": 2, "content": "x", "special": False, **flags}]
    assert error_of(word_level(added_tokens=tokens)).startswith("added_tokens[1].content: 'x' is given twice, once")


@pytest.mark.parametrize("rest", ["Isolated", "Removed"])
def test_a_split_that_explodes_is_compiled_or_stopped_and_named(rest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    split = {"type": "Split", "pattern": {"Regex": EXPLODES}, "behavior": rest, "invert": False}
    assert tokkit.Tokenizer(tokenizer_json.read(word_level(pre_tokenizer=split))).encode(LONG_TEXT) == [0]
    monkeypatch.setenv("TOKKIT_SPLIT", "regex")  # which is what patterns that are not regular are left to
    stopped(word_level(pre_tokenizer=split), "the pattern '(a+)+b' took over 0.3 s, the limit for a text of 5,000 cha")


def test_a_replacement_that_explodes_is_stopped_and_named() -> None:
    replace = {"type": "Replace", "pattern": {"Regex": EXPLODES}, "content": ""}
    assert tokkit.Tokenizer(tokenizer_json.read(word_level(normalizer=replace))).encode(LONG_TEXT) == [0]  # compiled
    beyond = replace | {"pattern": {"Regex": EXPLODES + "(?=cd)"}}  # two characters ahead: not compiled
    stopped(word_level(normalizer=beyond), "took over 0.3 s, the limit for a text of 5,000 characters")
    model = {"type": "WordLevel", "vocab": {LONG_TEXT: 0}, "unk_token": "x"}
    tok = tokkit.Tokenizer(tokenizer_json.read(made_of(model, decoder=replace)))
    is_stopped(lambda: tok.decode([0]), "the pattern '(a+)+b' took over 0.3 s, the limit for a text of 5,000 cha")


def stopped(data: bytes, message: str) -> None:
    tok = tokkit.Tokenizer(tokenizer_json.read(data))
    is_stopped(lambda: tok(LONG_TEXT), message)


def is_stopped(call: Callable[[], object], message: str) -> None:
    with limits.using(pattern_seconds=0.2), pytest.raises(PatternError, match=re.escape(message)):
        call()


def template(**changes: Any) -> Json:
    places = [{"SpecialToken": {"id": "[S]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    second = [*places, {"Sequence": {"id": "B", "type_id": 1}}]
    tokens = {"[S]": {"id": "[S]", "ids": [0, 1], "tokens": ["x", "y"]}}
    return {"type": "TemplateProcessing", "single": places, "pair": second, "special_tokens": tokens, **changes}


def test_a_length_below_that_of_the_special_tokens_is_an_error_of_each_call() -> None:
    cut = {"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0}
    tok = tokkit.Tokenizer(tokenizer_json.read(word_level(post_processor=template(), truncation=cut)))
    for call in (
        lambda: tok("x"),
        lambda: tok("x", "y"),
        lambda: tok.encodings(["x"]),
        lambda: tok.encode_padded(["x"]),
        lambda: tok("x", truncation=0),
    ):
        with pytest.raises(OptionError, match=r"max_length is \d; it must be at least 2"):
            call()
    assert tok("x", truncation=2).ids == [0, 1]


def test_a_stride_that_leaves_nothing_new_is_an_error() -> None:
    for stride in (2, 3, 1 << 40):
        cut = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": stride}
        assert "must be less than max_length, 2" in error_of(word_level(truncation=cut))
    tok = tokkit.Tokenizer(
        tokenizer_json.read(word_level(post_processor=template(), pre_tokenizer={"type": "FixedLength", "length": 1}))
    )
    with pytest.raises(OptionError, match="stride is 1; it must be less than the 1 tokens that remain"):
        tok("xyxy", truncation=Truncation(max_length=3, stride=1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"special_tokens": {}}, "post_processor: Template: '[S]' is not among its special tokens"),
        (
            {"special_tokens": {"[S]": {"id": "[T]", "ids": [0], "tokens": ["x"]}}},
            "post_processor.special_tokens['[S]'].id",
        ),
        (
            {"special_tokens": {"[S]": {"id": "[S]", "ids": [0], "tokens": []}}},
            "post_processor.special_tokens['[S]']: ",
        ),
        (
            {"special_tokens": {"[S]": {"id": "[S]", "ids": [-1], "tokens": ["x"]}}},
            "post_processor.special_tokens['[S]']",
        ),
        (
            {"special_tokens": {"[S]": {"id": "[S]", "ids": ["0"], "tokens": ["x"]}}},
            "post_processor.special_tokens['[S]']",
        ),
        ({"single": [{"Sequence": {"id": "A", "type_id": -1}}]}, "post_processor.single[0].Sequence"),
        ({"single": [{"Sequence": {"id": "A", "type_id": 1 << 40}}]}, "post_processor.single[0].Sequence"),
    ],
)
def test_templates_that_cannot_work_are_refused_by_place(changes: Json, message: str) -> None:
    assert error_of(word_level(post_processor=template(**changes))).startswith(message)


def test_garbage_for_a_charsmap_is_refused_or_does_no_harm() -> None:
    whole = charsmap({b"a": b"b", "é".encode(): b"e", b"abc": b""})
    ran, said = 0, []
    for seed in range(300):
        rng = random.Random(seed)
        spoilt = bytearray(whole[: rng.choice((len(whole), rng.randrange(len(whole))))])
        for _ in range(rng.choice((0, 1, 8, 200))):
            if spoilt:
                spoilt[rng.randrange(len(spoilt))] = rng.randrange(256)
        text = base64.b64encode(bytes(spoilt) if seed % 3 else rng.randbytes(rng.randrange(3000))).decode()
        text = text[: -rng.randrange(1, 4)] if seed % 7 == 0 else text
        normalizer = {"type": "Precompiled", "precompiled_charsmap": text}
        try:
            tok = tokkit.Tokenizer(tokenizer_json.read(word_level(normalizer=normalizer)))
            tok("abcé a" * 20 + "\0漢")
            ran += 1
        except TokkitError as error:
            said.append(str(error))
    assert all("normalizer: precompiled_charsmap cannot be read" in message for message in said)
    assert min(ran, len(said)) > 10


NAMES = ("gpt2", "bert-base-uncased", "t5", "mistral-v1")


@pytest.mark.parametrize("name", NAMES)
def test_random_bytes_in_real_files_are_read_or_refused(name: str, shared: Any) -> None:
    path = shared / "vocabs" / name / "tokenizer.json"
    if not path.is_file():
        pytest.skip(f"needs {name} in the folder of TOKKIT_SHARED_DATA")
    data = path.read_bytes()
    at_model = data.find(b'"model"')
    for seed in range(12):
        rng = random.Random(seed)
        spoilt = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            # What stands before the vocabulary is small and says most.
            at = rng.randrange(at_model + 400 if rng.random() < 0.8 else len(spoilt))
            spoilt[at : at + rng.choice([0, 1, 1, 5])] = rng.choice(
                [b"", b'"', b"{", b"]", b"0", b"1e400", rng.randbytes(2)]
            )
        with contextlib.suppress(TokkitError):
            tok = tokkit.Tokenizer(tokenizer_json.read(bytes(spoilt)))
            tok("Some text, 12 <s> é中.")
