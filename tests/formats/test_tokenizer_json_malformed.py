"""Errors for malformed tokenizer.json files name the place; nothing is dropped."""

from __future__ import annotations

import contextlib
import json
import random
import re
from typing import Any

import pytest

from tokkit.errors import FormatError, OptionError, VocabError
from tokkit.formats import tokenizer_json

CUT = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
FILL = {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None}
FILL |= {"pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "[S]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"[S]": {"id": "[S]", "ids": [1], "tokens": ["[S]"]}},
}
SECOND = "normalizer.normalizers[1]"


def in_turn(*normalizers: object) -> dict[str, object]:
    return {"type": "Sequence", "normalizers": list(normalizers)}


def replace(pattern: dict[str, str]) -> dict[str, object]:
    return {"type": "Replace", "pattern": pattern, "content": ""}


CHANGES: list[tuple[str, object, str]] = [
    # path, value (… deletes), message
    ("version", "2.0", 'version: "2.0" is not supported; it must be "1.0"'),
    ("truncation", {"max_length": 3}, "truncation.strategy: missing"),
    ("truncation", CUT | {"max_length": -1}, "truncation: truncation: max_length is -1; it must be an int from 0 to"),
    ("truncation", CUT | {"max_length": 3.0}, "truncation.max_length: an integer is needed, not a number"),
    ("truncation", CUT | {"stride": 8}, "truncation: truncation: stride is 8; it must be less than max_length, 8"),
    ("truncation", CUT | {"strategy": "Longest"}, 'truncation.strategy: "Longest" is not supported; it must be "'),
    ("truncation", CUT | {"direction": "Up"}, 'truncation.direction: "Up" is not supported; it must be "'),
    ("truncation", CUT | {"more": 1}, "truncation.more: unknown key"),
    ("padding", {}, "padding.direction: missing"),
    ("padding", FILL | {"strategy": "Longest"}, 'padding.strategy: "Longest" is not supported; it must be "'),
    ("padding", FILL | {"strategy": {"Fixed": "8"}}, "padding.strategy.Fixed: an integer is needed, not a string"),
    ("padding", FILL | {"strategy": {"Fixed": 1 << 70}}, "padding: padding: length is 11805"),
    ("padding", FILL | {"pad_id": -1}, "padding: padding: pad_id is -1; it must be an int from 0"),
    ("padding", FILL | {"pad_token": "\ud800"}, "padding: padding: pad_token is '\\ud800'; it must be str"),
    ("normalizer", {"type": "NFX"}, "normalizer.type: 'NFX' is unknown; it must be one of BertNormalizer, Strip, "),
    ("normalizer", {"type": "NFC", "form": 1}, "normalizer.form: unknown key"),
    ("normalizer", {"type": "Strip", "strip_left": True}, "normalizer.strip_right: missing"),
    ("normalizer", in_turn({"type": "Lowercase"}, {"type": "Prepend", "prepend": 1}), f"{SECOND}.prepend: a string"),
    ("normalizer", in_turn({"type": "NFC"}, None), f"{SECOND}: an object is needed, not null"),
    ("normalizer", in_turn({"type": "NFC"}, in_turn({"type": "x"})), f"{SECOND}.normalizers[0].type: 'x' is unknown"),
    ("normalizer", {"type": "Precompiled", "precompiled_charsmap": "AAA"}, "normalizer: precompiled_charsmap cannot"),
    (
        "normalizer",
        {"type": "Precompiled", "precompiled_charsmap": "\n\n\n"},
        "normalizer: precompiled_charsmap cannot",
    ),
    ("normalizer", {"type": "Replace", "pattern": "a", "content": ""}, "normalizer.pattern: an object is needed"),
    (
        "normalizer",
        replace({"Regex": "[["}),
        "normalizer.pattern.Regex: pattern, at 2: a class without end",
    ),
    ("normalizer", replace({"Regex": "a)"}), "normalizer.pattern.Regex: pattern, at 1: an unbalanced parenthesis: ')'"),
    ("normalizer", replace({"String": "a", "Regex": "a"}), "normalizer.pattern.Regex: unknown key"),
    ("normalizer", [], "normalizer: an object or null is needed, not an array"),
    ("extra", 1, "extra: unknown key"),
    ("pre_tokenizer", "ByteLevel", "pre_tokenizer: an object or null is needed, not a string"),
    ("pre_tokenizer.type", ..., "pre_tokenizer.type: missing"),
    ("pre_tokenizer.type", "Metaspace", "pre_tokenizer.replacement: missing"),
    ("pre_tokenizer.type", "MetaSpace", "pre_tokenizer.type: 'MetaSpace' is unknown; it must be one of Bert"),
    ("pre_tokenizer.type", ["ByteLevel"], "pre_tokenizer.type: a string is needed, not an array"),
    ("pre_tokenizer.add_prefix_space", ..., "pre_tokenizer.add_prefix_space: missing"),
    ("pre_tokenizer.add_prefix_space", 0, "pre_tokenizer.add_prefix_space: a boolean is needed, not an integer"),
    ("pre_tokenizer.use_regex", 1, "pre_tokenizer.use_regex: a boolean is needed, not an integer"),
    ("pre_tokenizer.other", 1, "pre_tokenizer.other: unknown key"),
    (
        "pre_tokenizer",
        METASPACE | {"replacement": "ab"},
        "pre_tokenizer: replacement is 'ab'; it must be one character",
    ),
    ("pre_tokenizer", METASPACE | {"prepend_scheme": "last"}, 'pre_tokenizer.prepend_scheme: "last" is not supported'),
    (
        "pre_tokenizer",
        METASPACE | {"add_prefix_space": False},
        "pre_tokenizer.add_prefix_space: false is only allowed with the",
    ),
    (
        "pre_tokenizer",
        {"type": "FixedLength", "length": 0},
        "pre_tokenizer: length is 0; it must be an int of at least",
    ),
    (
        "pre_tokenizer",
        {"type": "CharDelimiterSplit", "delimiter": ""},
        "pre_tokenizer: delimiter is ''; it must be one",
    ),
    ("pre_tokenizer", {"type": "Punctuation", "behavior": "Alone"}, "pre_tokenizer: behavior is 'Alone'; it must be"),
    ("post_processor.type", "TemplateProcessing", "post_processor.single: missing"),
    (
        "post_processor",
        {"type": "BertProcessing", "sep": "[SEP]", "cls": ["[CLS]", 1]},
        "post_processor.sep: a token and",
    ),
    ("post_processor", {"type": "BertProcessing", "sep": ["[SEP]", "1"], "cls": []}, "post_processor.sep: a token and"),
    ("post_processor", TEMPLATE | {"special_tokens": {}}, "post_processor: Template: '[S]' is not"),
    (
        "post_processor",
        TEMPLATE | {"single": [{"Sequence": {"id": "C", "type_id": 0}}]},
        "post_processor.single[0].Sequ",
    ),
    ("post_processor", TEMPLATE | {"single": [{}]}, "post_processor.single[0].Sequence: missing"),
    ("post_processor", TEMPLATE | {"pair": None}, "post_processor.pair: an array is needed, not null"),
    ("post_processor.special_tokens", {}, "post_processor.special_tokens: unknown key"),
    ("post_processor.trim_offsets", None, "post_processor.trim_offsets: a boolean is needed, not null"),
    ("decoder.type", "WordPiece", "decoder.prefix: missing"),
    (
        "decoder",
        {"type": "Strip", "content": " ", "start": 1.5, "stop": 0},
        "decoder.start: an integer is needed, not a",
    ),
    (
        "decoder",
        {"type": "Strip", "content": "ab", "start": 1, "stop": 0},
        "decoder: content is 'ab'; it must be one character",
    ),
    ("model", None, "model: an object is needed, not null"),
    ("model", ..., "model: missing"),
    ("model.type", "Unigram", "model.vocab: an array is needed, not an object"),
    ("model.type", "Markov", 'model.type: "Markov" is not supported; it must be "BPE" or "Unigram" or'),
    ("model.type", "WordPiece", "model.unk_token: a string is needed, not null"),
    ("model.type", "WordLevel", "model.unk_token: a string is needed, not null"),
    ("model.dropout", "0.1", "model.dropout: a number or an integer or null is needed, not a string"),
    ("model.dropout", 1.5, "model: dropout is 1.5; it must be a probability from 0 to 1, or None"),
    ("model.unk_token", 3, "model.unk_token: a string or null is needed, not an integer"),
    ("model.continuing_subword_prefix", "##", "model: merge 0 joins 'h' and 'e', which is shorter than the prefix"),
    ("model.continuing_subword_prefix", "\ud800", "model.continuing_subword_prefix: '\\ud800' is not text"),
    ("model.continuing_subword_prefix", 2, "model.continuing_subword_prefix: a string or null is needed, not an"),
    ("model.end_of_word_suffix", [], "model.end_of_word_suffix: a string or null is needed, not an array"),
    ("model.fuse_unk", 0, "model.fuse_unk: a boolean is needed, not an integer"),
    ("model.byte_fallback", "yes", "model.byte_fallback: a boolean is needed, not a string"),
    ("model.ignore_merges", None, "model.ignore_merges: a boolean is needed, not null"),
    ("model.vocab", [], "model.vocab: an object is needed, not an array"),
    ("model.vocab", {}, "model.merges[0]: the part 'h' is not in model.vocab"),
    ("model.vocab.h", ..., "model.merges[0]: the part 'h' is not in model.vocab"),
    ("model.vocab.\ud800", 500, "model.vocab['\\ud800']: a lone surrogate is not text"),
    ("model.vocab.a", "97", "model.vocab['a']: the id is a string; it must be an integer"),
    ("model.vocab.a", True, "model.vocab['a']: the id is a boolean; it must be an integer"),
    ("model.vocab.a", 97.0, "model.vocab['a']: the id is a number; it must be an integer"),
    ("model.vocab.a", -97, "model.vocab['a']: the id is -97; it must be from 0 to 2097151"),
    ("model.vocab.a", 10**30, "model.vocab['a']: the id is 10000"),
    ("model.vocab.a", 98, "model.vocab: 'a' and 'b' both have id 98"),
    ("model.vocab.he", ..., "model.merges[0]: the result 'he' is not in model.vocab"),
    ("model.merges", {}, "model.merges: an array is needed, not an object"),
    ("model.merges.0", "h", "model.merges[0]: two tokens are needed"),
    ("model.merges.0", "h e l", "model.merges[0]: two tokens are needed"),
    ("model.merges.0", ["h"], "model.merges[0]: two tokens are needed"),
    ("model.merges.0", ["h", ""], "model.merges[0]: two tokens are needed"),
    ("model.merges.0", ["h", 1], "model.merges[0]: two tokens are needed"),
    ("model.merges.0", None, "model.merges[0]: two tokens are needed"),
    ("model.merges.0", "zz e", "model.merges[0]: the part 'zz' is not in model.vocab"),
    ("model.merges.0", "\ud800 e", "model.merges[0]: the part '\\ud800' is not in model.vocab"),
    ("model.merges.1", "h e", "model.merges[1]: the pair 'h' 'e' is given twice"),
    ("added_tokens", {}, "added_tokens: an array is needed, not an object"),
    ("added_tokens.0", None, "added_tokens[0]: an object is needed, not null"),
    ("added_tokens.0.special", 0, "added_tokens[0].special: a boolean is needed, not an integer"),
    ("added_tokens.0.special", ..., "added_tokens[0].special: missing"),
    ("added_tokens.0.lstrip", 0, "added_tokens[0].lstrip: a boolean is needed, not an integer"),
    ("added_tokens.0.rstrip", 0, "added_tokens[0].rstrip: a boolean is needed, not an integer"),
    ("added_tokens.0.single_word", 0, "added_tokens[0].single_word: a boolean is needed, not an integer"),
    ("added_tokens.0.normalized", 0, "added_tokens[0].normalized: a boolean is needed, not an integer"),
    ("added_tokens.0.content", "", "added_tokens[0].content: '' is not text that a token can have"),
    ("added_tokens.0.content", "a\udfff", "added_tokens[0].content: 'a\\udfff' is not text"),
    ("added_tokens.0.id", True, "added_tokens[0].id: an integer is needed, not a boolean"),
    ("added_tokens.0.color", "red", "added_tokens[0].color: unknown key"),
]
SPLITS: list[tuple[object, str]] = [
    ([1, 2, 3], "pre_tokenizer.pretokenizers[0]: an object is needed, not an integer"),
    ([None, None], "pre_tokenizer.pretokenizers[0]: an object is needed, not null"),
    (["SPLIT", None], "pre_tokenizer.pretokenizers[1]: an object is needed, not null"),
    ([{"behavior": "Alone"}, "PLAIN"], "pretokenizers[0]: behavior is 'Alone'; it must be one of Removed, Iso"),
    ([{"invert": None}, "PLAIN"], "pre_tokenizer.pretokenizers[0].invert: a boolean is needed, not null"),
    ([{"pattern": {}}, "PLAIN"], "pre_tokenizer.pretokenizers[0].pattern.Regex: missing"),
    ([{"pattern": "a"}, "PLAIN"], "pre_tokenizer.pretokenizers[0].pattern: an object is needed, not a string"),
    (
        [{"pattern": {"String": "\ud800"}}, "PLAIN"],
        "pre_tokenizer.pretokenizers[0].pattern.String: '\\ud800' is not text",
    ),
    ([{"pattern": {"Regex": 1}}, "PLAIN"], "pre_tokenizer.pretokenizers[0].pattern.Regex: a string is needed"),
    (
        [{"pattern": {"Regex": "("}}, "PLAIN"],
        "pre_tokenizer.pretokenizers[0].pattern.Regex: pattern, at 1: an unbalanced parenthesis",
    ),
    (
        [{"pattern": {"Regex": "(" * 3000 + ")" * 3000}}, "PLAIN"],
        "pre_tokenizer.pretokenizers[0].pattern.Regex: pattern, at 41: groups nested too deep",
    ),
    (
        [{"pattern": {"Regex": r"\X+"}}, "PLAIN"],
        r"pretokenizers[0].pattern.Regex: pattern, at 0: a cluster of characters",
    ),
]


def put(value: Any, path: str, new: object) -> None:
    *parents, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    for key in parents:
        value = value[key]
    if new is ...:
        del value[last]
    else:
        value[last] = new


def error_of(value: object) -> str:
    with pytest.raises(FormatError) as caught:
        tokenizer_json.read(json.dumps(value).encode())
    return str(caught.value)


def test_a_score_beyond_floats_and_a_second_empty_token_are_refused() -> None:
    model: dict[str, Any] = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", 10**400]]}
    assert error_of({"model": model}).startswith("model.vocab[1][1]: 1000")
    twice = b'{"model": {"type": "BPE", "vocab": {"": 0, "a": 1, "": 2}, "merges": []}}'
    with pytest.raises(FormatError, match="the key '' is given twice"):
        tokenizer_json.read(twice)


@pytest.mark.parametrize(("path", "new", "message"), CHANGES, ids=[f"{path}={new!a:.20}" for path, new, _ in CHANGES])
def test_what_is_wrong_is_named_by_its_path(path: str, new: object, message: str, parsed: dict[str, Any]) -> None:
    put(parsed, path, new)
    assert error_of(parsed).startswith(message)


@pytest.mark.parametrize(("parts", "message"), SPLITS)
def test_splits_that_are_not_run_are_named_by_their_path(
    parts: list[Any], message: str, parsed: dict[str, Any]
) -> None:
    split = {"type": "Split", "pattern": {"Regex": r"\s+|\S+"}, "behavior": "Isolated", "invert": False}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    known = {"SPLIT": split, "PLAIN": byte_level, "REGEX": {**byte_level, "use_regex": True}}
    filled = [
        known[part] if isinstance(part, str) else {**split, **part} if isinstance(part, dict) else part
        for part in parts
    ]
    parsed["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": filled}
    assert message in error_of(parsed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: not JSON"),
        ("{", "line 1, column 2: not JSON"),
        ("[]", "the file: an object is needed, not an array"),
        ("null", "the file: an object is needed, not null"),
        ('{"version": NaN}', "NaN is not JSON"),
        ('{"version": -Infinity}', "-Infinity is not JSON"),
        ('{"version": 1e999}', "1e999 is too large for a float"),
        ('{"version": "1.0",\n "version": "1.0"}', "the key 'version' is given twice in one object"),
        ('{"model": {"vocab": {"a": 1, "a": 2}}}', "the key 'a' is given twice in one object"),
        ('{"version": ' + "[" * 200_000, "the JSON is nested too deep"),
        ('{"version": ' + '{"a":' * 200_000, "the JSON is nested too deep"),
        ('{"version": ' + "1" * 5000 + "}", "not JSON that can be read"),
        ("\ufeff\ufeff{}", "line 1, column 1: not JSON"),
    ],
    ids=lambda value: value[:24],
)
def test_what_is_no_json_is_refused(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=re.escape(message)):
        tokenizer_json.read(text.encode())


def test_bytes_that_are_not_utf_8_are_refused() -> None:
    with pytest.raises(FormatError, match="not UTF-8"):
        tokenizer_json.read(b'{"version": "\xff"}')


def test_a_value_nested_almost_too_deep_is_still_an_error_of_ours() -> None:
    for depth in range(100, 3000, 50):
        with pytest.raises(FormatError):
            tokenizer_json.read(b'{"extra": ' + b"[" * depth + b"]" * depth + b', "version": "1.0"}')


SCALARS: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    97,
    1 << 40,
    0.5,
    "",
    "a",
    "Ġ",
    "\ud800",
    "漢",
    [],
    {},
    ["h", "e"],
    {"a": 1},
]


def spots(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of parsed JSON."""
    if not isinstance(value, (dict, list)):
        return []
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    return [(value, key) for key in keys] + [spot for key in keys for spot in spots(value[key])]


def test_random_changes_of_values_give_definitions_or_errors_of_ours(parsed: dict[str, Any]) -> None:
    text = json.dumps(parsed)
    outcomes = {True: 0, False: 0}
    for seed in range(600):
        rng = random.Random(seed)
        value = json.loads(text)
        # The 263 entries of the vocabulary would otherwise take most of the changes.
        everywhere = spots(value)
        few = [spot for spot in everywhere if spot[0] is not value["model"]["vocab"]]
        for _ in range(rng.randint(1, 2)):
            container, key = rng.choice(few if rng.random() < 0.8 else everywhere)
            if rng.random() < 0.2 and isinstance(container, dict):
                container.pop(key, None)
            elif isinstance(container, dict) or key < len(container):
                container[key] = rng.choice(SCALARS)
        try:
            tokenizer_json.read(json.dumps(value).encode())
            outcomes[True] += 1
        except (FormatError, OptionError, VocabError):
            outcomes[False] += 1
    assert min(outcomes.values()) > 20


def test_random_changes_of_bytes_give_definitions_or_errors_of_ours(parsed: dict[str, Any]) -> None:
    data = json.dumps(parsed, ensure_ascii=False).encode()
    for seed in range(600):
        rng = random.Random(seed)
        spoilt = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(spoilt))
            spoilt[at : at + rng.choice([0, 1, 1, 5])] = rng.choice(
                [b"", b'"', b"{", b"]", b",", b"0", rng.randbytes(2)]
            )
        cut = rng.choice([len(spoilt), rng.randrange(len(spoilt))])
        with contextlib.suppress(FormatError, OptionError, VocabError):
            tokenizer_json.read(bytes(spoilt[:cut]))
