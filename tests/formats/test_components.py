"""Every component of tokenizer.json is read, run and written as tokenizers does it.

Where we differ on purpose, tests/formats/test_differences.py has the test; the random pipelines leave it out.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pipelines
from both_pipelines import FAILED, Both, theirs_or_failed
from conftest import LONG
from pipelines import MAPS, Json
from strategies import adversarial, documents
from tokkit.formats import components, tokenizer_json

tokenizers = pytest.importorskip("tokenizers")

PATTERN = {"Regex": r"\s+|[aeiou]"}
LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
SPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
PAIR = {"sep": ["[SEP]", 5], "cls": ["<s>", 4]}


def special(name: str, type_id: int) -> Json:
    return {"SpecialToken": {"id": name, "type_id": type_id}}


def sequence(name: str, type_id: int) -> Json:
    return {"Sequence": {"id": name, "type_id": type_id}}


TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [special("<s>", 0), sequence("A", 0), special("two", 2), special("[SEP]", 1)],
    "pair": [special("two", 3), sequence("B", 1), special("[SEP]", 0), sequence("A", 0), special("<s>", 1)],
    "special_tokens": {
        "<s>": {"id": "<s>", "ids": [4], "tokens": ["<s>"]},
        "[SEP]": {"id": "[SEP]", "ids": [5], "tokens": ["[SEP]"]},
        "two": {"id": "two", "ids": [4, 7], "tokens": ["<s>", "x"]},
    },
}
BERT = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
EXAMPLES: dict[str, list[Json]] = {
    "normalizer": [
        BERT | {"lowercase": True},
        BERT | {"lowercase": False, "strip_accents": True},
        {"type": "Strip", "strip_left": True, "strip_right": False},
        *({"type": name} for name in ("StripAccents", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Nmt", "ByteLevel")),
        *({"type": "Precompiled", "precompiled_charsmap": text} for text in MAPS),
        {"type": "Replace", "pattern": {"String": "a"}, "content": "▁"},
        {"type": "Replace", "pattern": PATTERN, "content": ""},
        {"type": "Prepend", "prepend": "▁"},
        {"type": "Sequence", "normalizers": []},
        {"type": "Sequence", "normalizers": [{"type": "Sequence", "normalizers": [{"type": "NFD"}]}, {"type": "Nmt"}]},
    ],
    "pre_tokenizer": [
        *({"type": name} for name in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts")),
        LEVEL,
        LEVEL | {"add_prefix_space": False, "use_regex": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
        {"type": "CharDelimiterSplit", "delimiter": "e"},
        SPACE,
        SPACE | {"prepend_scheme": "never", "split": False},
        {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True},
        {"type": "Metaspace", "replacement": "▁", "str_rep": "▁", "add_prefix_space": True},
        {"type": "Metaspace", "replacement": "_", "add_prefix_space": False, "prepend_scheme": "never"},
        *({"type": "Split", "pattern": PATTERN, "behavior": name, "invert": False} for name in pipelines.BEHAVIORS),
        {"type": "Split", "pattern": {"String": "."}, "behavior": "Isolated", "invert": True},
        {"type": "Punctuation", "behavior": "MergedWithNext"},
        {"type": "Punctuation"},
        {"type": "Digits", "individual_digits": True},
        {"type": "FixedLength", "length": 3},
        {"type": "FixedLength"},
        {"type": "Sequence", "pretokenizers": []},
        {"type": "Sequence", "pretokenizers": [{"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}]}, LEVEL]},
    ],
    "post_processor": [
        {"type": "BertProcessing", **PAIR},
        {"type": "RobertaProcessing", **PAIR, "trim_offsets": True, "add_prefix_space": False},
        LEVEL,
        TEMPLATE,
        {"type": "Sequence", "processors": []},
        {"type": "Sequence", "processors": [LEVEL, {"type": "Sequence", "processors": [TEMPLATE]}]},
    ],
    "decoder": [
        LEVEL,
        {"type": "WordPiece", "prefix": "##", "cleanup": True},
        SPACE,
        {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True},
        {"type": "BPEDecoder", "suffix": "</w>"},
        {"type": "CTC", "pad_token": "<s>", "word_delimiter_token": "|", "cleanup": True},
        {"type": "Sequence", "decoders": []},
        {
            "type": "Sequence",
            "decoders": [{"type": "ByteFallback"}, {"type": "Sequence", "decoders": [{"type": "Fuse"}]}],
        },
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "Replace", "pattern": PATTERN, "content": "x"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 1},
        {"type": "ByteFallback"},
    ],
}
CASES = [(stage, example) for stage, examples in EXAMPLES.items() for example in examples]
MODELS: list[Json] = [
    {"type": "WordPiece", "unk_token": "<unk>", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100},
    {"unk_token": "<unk>", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9},
    {"type": "WordLevel", "unk_token": "<unk>"},
    {"unk_token": "<unk>"},
    {"type": "BPE", "merges": [["t", "h"], ["th", "e"]], "unk_token": "<unk>", "fuse_unk": True},
    {"merges": ["t h", "th e"], "dropout": None},
    {"type": "Unigram", "unk_id": 0},
    {"unk_id": 0, "byte_fallback": True},
]
TOKENS = [*pipelines.FIRST, *"bcdfghilnorstuw ▁Ġé中", "##e", "##s", "th", "the", "##the", "▁the", "Ġthe"]
TEXTS = [
    "",
    " ",
    "the  théme, The the.",
    "a b\n中é ŉ ſ\t",
    "<s>the [SEP] x1234 the",
    *documents(77, 12),
    adversarial(3, 300),
]

SHORT = [text[:20] for text in TEXTS[:8]]
"""Pairs that overflow do so in each combination of their parts."""


def added(content: str, id_: int, **flags: bool) -> Json:
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": id_, "content": content, **dict.fromkeys(names, False), **flags}


def made_of(model: Json = MODELS[4], **changes: Any) -> Json:
    """A small tokenizer.json."""
    vocab: Any = {token: id_ for id_, token in enumerate(TOKENS)}
    if "unk_id" in model:
        vocab = [[token, -1.5 - id_ / 7] for id_, token in enumerate(TOKENS)]
    parts = {"truncation": None, "padding": None, "added_tokens": []}
    stages = dict.fromkeys(components.STAGES)
    return {"version": "1.0", **parts, **stages, "model": {"vocab": vocab, **model}, **changes}


def test_every_kind_has_an_example() -> None:
    for stage, kinds in components.STAGES.items():
        assert {example["type"] for example in EXAMPLES[stage]} == set(kinds)


@pytest.mark.parametrize(("stage", "example"), CASES, ids=[f"{stage}-{e['type']}" for stage, e in CASES])
def test_a_component_runs_as_in_tokenizers_and_is_written_as_it_was_read(stage: str, example: Json) -> None:
    made = made_of(**{stage: example})
    both = Both(made)
    assert both.theirs is not FAILED
    assert both.everything(random.Random(1), TEXTS)
    written = json.loads(tokenizer_json.write(both.ours.definition))[stage]
    # tokenizers writes all fields too, and by their new names.
    assert written == json.loads(both.theirs.to_str())[stage]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.get('type', 'untyped')}-{len(model)}")
def test_a_model_with_or_without_its_type_runs_as_in_tokenizers(model: Json) -> None:
    both = Both(made_of(model, pre_tokenizer={"type": "WhitespaceSplit"}))
    assert both.theirs is not FAILED
    assert both.everything(random.Random(2), TEXTS)
    written = json.loads(tokenizer_json.write(both.ours.definition))["model"]
    theirs = json.loads(both.theirs.to_str())["model"]
    assert written == theirs


@pytest.mark.parametrize("strategy", ["LongestFirst", "OnlyFirst", "OnlySecond"])
@pytest.mark.parametrize("direction", ["Right", "Left"])
@pytest.mark.parametrize(("length", "stride"), [(0, 0), (7, 0), (8, 2), (30, 1)])
def test_truncation_is_that_of_tokenizers(strategy: str, direction: str, length: int, stride: int) -> None:
    cut = {"direction": direction, "max_length": length, "strategy": strategy, "stride": stride}
    for post in (None, TEMPLATE, {"type": "BertProcessing", **PAIR}):
        both = Both(made_of(truncation=cut, post_processor=post))
        both.everything(random.Random(3), SHORT)
        assert json.loads(tokenizer_json.write(both.ours.definition))["truncation"] == cut


@pytest.mark.parametrize("strategy", ["BatchLongest", {"Fixed": 9}, {"Fixed": 0}])
@pytest.mark.parametrize("direction", ["Right", "Left"])
@pytest.mark.parametrize("multiple", [None, 8])
def test_padding_is_that_of_tokenizers(strategy: object, direction: str, multiple: int | None) -> None:
    fill = {"strategy": strategy, "direction": direction, "pad_to_multiple_of": multiple}
    fill |= {"pad_id": 6, "pad_type_id": 3, "pad_token": "[PAD]"}
    cut = {"direction": direction, "max_length": 12, "strategy": "LongestFirst", "stride": 2}
    for truncation in (None, cut):
        both = Both(made_of(padding=fill, truncation=truncation, post_processor=TEMPLATE))
        assert both.everything(random.Random(4), SHORT)
        assert json.loads(tokenizer_json.write(both.ours.definition))["padding"] == fill


@pytest.mark.parametrize(
    ("flags", "normalizer"),
    [
        (flags, normalizer)
        for flags in range(32)
        for turn, normalizer in enumerate([None, BERT | {"lowercase": True}, {"type": "NFKC"}])
        if LONG or flags % 3 == turn
    ],
)
def test_added_tokens_of_all_flags_are_found_as_in_tokenizers(flags: int, normalizer: Json | None) -> None:
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    chosen = {name: bool(flags >> bit & 1) for bit, name in enumerate(names)}
    tokens = [
        added("The", len(TOKENS), **chosen),
        added("<m>", len(TOKENS) + 1, **chosen),
        added("é", TOKENS.index("é"), special=True),
    ]
    made = made_of(normalizer=normalizer, added_tokens=[tokens[2], *tokens[:2]], decoder=LEVEL)
    both = Both(made)
    assert both.theirs is not FAILED
    texts = ["The theThe the The  <m>\n<m> x", "<M>ſ THE é ", "the", " The ", "<m>", "e\u0301The.The_The"]
    assert both.everything(random.Random(flags), texts)
    written = json.loads(tokenizer_json.write(both.ours.definition))["added_tokens"]
    assert written == json.loads(both.theirs.to_str())["added_tokens"]


SPELLINGS: list[Json] = [
    {"pre_tokenizer": None},
    {"pre_tokenizer": LEVEL},
    {"pre_tokenizer": LEVEL | {"add_prefix_space": False}, "decoder": None},
    {"pre_tokenizer": LEVEL | {"add_prefix_space": False}, "decoder": LEVEL, "normalizer": {"type": "NFC"}},
    *(
        {"model": {name: value}}
        for name, value in (("end_of_word_suffix", "</w>"), ("fuse_unk", True), ("byte_fallback", True))
    ),
    *({"model": {name: value}} for name, value in (("unk_token", "absent"), ("ignore_merges", True), ("dropout", 0.0))),
    {"added_tokens": [added("Ġ", 32)]},
    {"added_tokens": [added("hell", 258, special=True)]},
    {
        "added_tokens": [added("ab", 263, normalized=True), added("<é>", 264, lstrip=True)],
        "normalizer": {"type": "Lowercase"},
    },
    {"vocab": {"a b": 263}},
    {"without": "b"},
]


@pytest.mark.parametrize("changes", SPELLINGS, ids=range(len(SPELLINGS)))
def test_what_is_almost_byte_level_runs_through_components(changes: Json, parsed: Json) -> None:
    for token in parsed["added_tokens"]:
        del parsed["model"]["vocab"][token["content"]]
    parsed["added_tokens"] = []
    parsed["model"] |= changes.pop("model", {}) if "model" in changes else {}
    parsed["model"]["vocab"] |= changes.get("vocab", {})
    parsed["model"]["vocab"].pop(changes.get("without"), None)
    both = Both(parsed | {name: value for name, value in changes.items() if name in parsed})
    assert both.theirs is not FAILED
    texts = [*TEXTS, "hello the hell ab  AB <é> Ġ\u0120", "  <é>ab a b", "e\u0301bé"]
    assert both.everything(random.Random(6), texts)


@settings(max_examples=1500 if LONG else 30)
@given(rng=st.randoms(use_true_random=False))
def test_random_pipelines_are_run_and_written_as_in_tokenizers(rng: random.Random) -> None:
    made = theirs_or_failed(lambda: pipelines.pipeline(rng))
    if made is not FAILED:
        Both(made).everything(rng, [pipelines.text_for(rng) for _ in range(3)])


def test_seeded_pipelines_are_run_and_written_as_in_tokenizers() -> None:
    ran = 0
    # Seed 90,001 cuts a text into 100,000 encodings, and takes ten times as long as all others.
    for seed in range(90_000, 93_000) if LONG else (90_000, *range(90_002, 90_018)):
        rng = random.Random(seed)
        made = theirs_or_failed(lambda rng=rng: pipelines.pipeline(rng))
        if made is not FAILED:
            ran += Both(made).everything(rng, [pipelines.text_for(rng) for _ in range(4)])
    assert ran > 8
