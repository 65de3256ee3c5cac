"""Spoilt tokenizer.json files in, errors out that name the place: nothing is dropped, nothing else is raised."""

from __future__ import annotations

import contextlib
import json
import random
import re
from typing import Any

import pytest

from tokkit.errors import FormatError, OptionError, VocabError
from tokkit.formats import tokenizer_json

CHANGES: list[tuple[str, object, str]] = [
    # path, value (… deletes), message
    ("version", "2.0", 'version: "2.0" is not supported; "1.0" is'),
    ("truncation", {"max_length": 3}, "truncation: an object is not supported; null is"),
    ("padding", {}, "padding: an object is not supported; null is"),
    ("normalizer", {"type": "NFC"}, 'normalizer.type: "NFC" is not supported'),
    ("normalizer", [], "normalizer: an object or null is needed, not an array"),
    ("extra", 1, "extra: unknown key"),
    ("pre_tokenizer", ..., "pre_tokenizer: null is not supported"),
    ("pre_tokenizer", None, "pre_tokenizer: null is not supported"),
    ("pre_tokenizer", "ByteLevel", "pre_tokenizer: an object or null is needed, not a string"),
    ("pre_tokenizer.type", ..., "pre_tokenizer.type: missing"),
    (
        "pre_tokenizer.type",
        "Metaspace",
        'pre_tokenizer.type: "Metaspace" is not supported; "ByteLevel" or "Sequence" is',
    ),
    ("pre_tokenizer.type", ["ByteLevel"], "pre_tokenizer.type: a string is needed, not an array"),
    ("pre_tokenizer.add_prefix_space", True, "pre_tokenizer.add_prefix_space: true is not supported; false is"),
    ("pre_tokenizer.add_prefix_space", ..., "pre_tokenizer.add_prefix_space: missing"),
    ("pre_tokenizer.add_prefix_space", 0, "pre_tokenizer.add_prefix_space: 0 is not supported"),
    ("pre_tokenizer.use_regex", 1, "pre_tokenizer.use_regex: a boolean is needed, not an integer"),
    ("pre_tokenizer.other", 1, "pre_tokenizer.other: unknown key"),
    ("post_processor.type", "TemplateProcessing", 'post_processor.type: "TemplateProcessing" is not supported'),
    ("post_processor.trim_offsets", None, "post_processor.trim_offsets: a boolean is needed, not null"),
    ("decoder", None, "decoder: null is not supported"),
    ("decoder.type", "WordPiece", 'decoder.type: "WordPiece" is not supported; "ByteLevel" is'),
    ("model", None, "model: an object is needed, not null"),
    ("model", ..., "model: missing"),
    ("model.type", "Unigram", 'model.type: "Unigram" is not supported; "BPE" is'),
    ("model.dropout", 0.1, "model.dropout: 0.1 is not supported"),
    ("model.unk_token", 3, "model.unk_token: a string or null is needed, not an integer"),
    ("model.continuing_subword_prefix", "##", 'model.continuing_subword_prefix: "##" is not supported; null or "" is'),
    ("model.end_of_word_suffix", "</w>", 'model.end_of_word_suffix: "</w>" is not supported'),
    ("model.fuse_unk", True, "model.fuse_unk: true is not supported"),
    ("model.byte_fallback", True, "model.byte_fallback: true is not supported"),
    ("model.ignore_merges", None, "model.ignore_merges: a boolean is needed, not null"),
    ("model.vocab", [], "model.vocab: an object is needed, not an array"),
    ("model.vocab", {}, "added_tokens[0].id: 263 is not the id that tokenizers gives this token, 0"),
    ("model.vocab.a", ..., "model.vocab: no token 'a', the symbol of the byte 0x61"),
    ("model.vocab.a", "97", "model.vocab['a']: an id is an integer, not a string"),
    ("model.vocab.a", True, "model.vocab['a']: an id is an integer, not a boolean"),
    ("model.vocab.a", 97.0, "model.vocab['a']: an id is an integer, not a number"),
    ("model.vocab.a", -97, "model.vocab['a']: ids run from 0 to 2097151, not -97"),
    ("model.vocab.a", 10**30, "model.vocab['a']: ids run from 0 to 2097151, not 10000"),
    ("model.vocab.a", 98, "model.vocab: 'a' and 'b' both have id 98"),
    ("model.vocab.a b", 500, "model.vocab['a b']: ' ' (U+0020) is not one of the 256 byte symbols"),
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
    ("model.merges.1", "h e", "model.merges[1]: the pair 'h' 'e' stands earlier too"),
    ("added_tokens", {}, "added_tokens: an array is needed, not an object"),
    ("added_tokens.0", None, "added_tokens[0]: an object is needed, not null"),
    ("added_tokens.0.special", False, "added_tokens[0].special: false is not supported"),
    ("added_tokens.0.special", ..., "added_tokens[0].special: missing"),
    ("added_tokens.0.lstrip", True, "added_tokens[0].lstrip: true is not supported; false is"),
    ("added_tokens.0.rstrip", True, "added_tokens[0].rstrip: true is not supported; false is"),
    ("added_tokens.0.single_word", True, "added_tokens[0].single_word: true is not supported; false is"),
    ("added_tokens.0.normalized", True, "added_tokens: some are normalized and some are not"),
    ("added_tokens.0.content", "", "added_tokens[0].content: '' is no text that a token can have"),
    ("added_tokens.0.content", "a\udfff", "added_tokens[0].content: 'a\\udfff' is no text"),
    ("added_tokens.1.content", "<|end|>", "added_tokens[1].content: '<|end|>' stands earlier too"),
    ("added_tokens.0.content", "h", "added_tokens[0].id: 263 is not the id that tokenizers gives this token, 104"),
    ("added_tokens.0.id", True, "added_tokens[0].id: an integer is needed, not a boolean"),
    ("added_tokens.0.id", -1, "added_tokens[0].id: -1 is not the id that tokenizers gives this token, 263"),
    ("added_tokens.1.id", 263, "added_tokens[1].id: 263 is the id of an added token before it"),
    ("added_tokens.0.color", "red", "added_tokens[0].color: unknown key"),
]
SPLITS: list[tuple[object, str]] = [
    ([], "pre_tokenizer.pretokenizers: 0 components are not supported"),
    ([1, 2, 3], "pre_tokenizer.pretokenizers: 3 components are not supported"),
    ([None, None], "pre_tokenizer.pretokenizers[0]: null is not supported"),
    (["SPLIT", "SPLIT"], 'pre_tokenizer.pretokenizers[1].type: "Split" is not supported; "ByteLevel" is'),
    (["SPLIT"], 'pre_tokenizer.pretokenizers[0].type: "Split" is not supported; "ByteLevel" is'),
    (["SPLIT", "REGEX"], "pre_tokenizer.pretokenizers[1].use_regex: true is not supported"),
    ([{"behavior": "Removed"}, "PLAIN"], "pre_tokenizer.pretokenizers[0].invert: false is not supported; true is"),
    ([{"behavior": "Contiguous"}, "PLAIN"], 'pretokenizers[0].behavior: "Contiguous" is not supported'),
    ([{"invert": True}, "PLAIN"], "pre_tokenizer.pretokenizers[0].invert: true is not supported; false is"),
    ([{"pattern": "a"}, "PLAIN"], "pre_tokenizer.pretokenizers[0].pattern: an object is needed, not a string"),
    ([{"pattern": {"String": "a"}}, "PLAIN"], "pre_tokenizer.pretokenizers[0].pattern.Regex: missing"),
    ([{"pattern": {"Regex": 1}}, "PLAIN"], "pre_tokenizer.pretokenizers[0].pattern.Regex: a string is needed"),
    (
        [{"pattern": {"Regex": "("}}, "PLAIN"],
        "pre_tokenizer.pretokenizers[0].pattern.Regex: the pattern '(' does not compile: missing )",
    ),
    (
        [{"pattern": {"Regex": "(" * 3000 + ")" * 3000}}, "PLAIN"],
        "pre_tokenizer.pretokenizers[0].pattern.Regex: maximum recursion depth",
    ),
    (
        [{"pattern": {"Regex": r"\h+"}}, "PLAIN"],
        r"pretokenizers[0].pattern.Regex: pattern, at 0: '\\h+' is not read alike",
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
        ('{"version": 1e999}', "version: Infinity is not supported"),
        ('{"version": "1.0",\n "version": "1.0"}', "the key 'version' stands twice in one object"),
        ('{"model": {"vocab": {"a": 1, "a": 2}}}', "the key 'a' stands twice in one object"),
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


def test_a_byte_s_symbol_as_special_token_is_refused(parsed: dict[str, Any]) -> None:
    parsed["added_tokens"][0].update(content="Ġ", id=32)
    del parsed["added_tokens"][1]
    assert "special token 'Ġ' is also the symbol of the byte 0x20" in error_of(parsed)


def test_a_special_token_that_merges_make_is_refused(parsed: dict[str, Any]) -> None:
    parsed["added_tokens"][0].update(content="hell", id=258)
    assert error_of(parsed).startswith("model.merges[2]: the result 'hell' is a special token")


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
