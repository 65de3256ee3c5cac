"""Inputs of every shape to tokenizers of transformers and tokkit's drop-in: equal results and classes of errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transformers_folders
from both_transformers import Both, Load, all_same, loader
from extras import extra

transformers = extra("transformers", minversion="5.24")

TEXTS: list[Any] = [
    None, "", "a b", [], (), ["a"], ["a", "b c"], ("a", "b c"), ["a", "b", "c"], ("a",), [""], [[]], [()], [["a"]],
    [["a", "b"]], [("a", "b")], (("a", "b"),), [("a", "b"), "c"], ["c", ("a", "b")], ["c", ["a", "b"]],
    [["a", "b"], "c"], [("a", "b"), ["c", "d"]], [["a", "b"], ["c", "d", "e"]], [["a"], ["b", "c"]],
    [[["a"], ["b", "c"]]], [(["a"], ["b", "c"])], [(["a"], ["b", "c"]), ["d", "e"]], [["d", "e"], (["a"], ["b", "c"])],
    [("a", "b"), ("c", "d")], [(("a",), ("b", "c"))], [["a", ["b"]]], [[["a"]]], [[["a", "b"]]], [[[["a"]]]], 5, [5],
    ["a", 5], [["a", 5]], b"a", {"a": 1}, {"a"}, np.array(["a", "b"]), [np.array(["a", "b"])], np.str_("a b"),
    [np.str_("a")], ["a", None], [None], [["a"], None], [("a", None)], True, ("a", "b", "c"), [("a", "b", "c")],
    [["a", "b"], []], [[], ["a", "b"]], ["a", ["b"]], [["a"], "b"], [("a",), ("b",)], [[""], [""]], "\ud800",
    ["\ud800"],
]  # fmt: skip
PAIRS: list[Any] = [
    None, "", "p q", [], ["p"], ["p", "q"], ("p", "q"), [["p", "q"]], [["p"], ["q", "r"]], [("p", "q")], 5, [5],
    np.array(["p", "q"]), ["p", None], [None],
]  # fmt: skip
MIXED: list[tuple[Any, bool]] = [
    ([("a b c d e", "x y z w"), "c d", ("one two three four five six", "p")], False),
    (["c d", ("a b c d e", "x y z w")], False),
    ([(["a", "b", "c", "d"], ["x", "y z"]), ["d", "e"], (["one", "two", "three"], ["p"])], True),
    (["", ("", ""), ("a", "")], False),
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"padding": True, "return_tensors": "np"},
    {"padding": True, "return_tensors": "pt", "return_special_tokens_mask": True},
    {"padding": "max_length", "max_length": 12, "truncation": True},
    {"padding": True, "padding_side": "left", "pad_to_multiple_of": 8, "return_offsets_mapping": True},
    {"truncation": True, "max_length": 5},
    {"truncation": True, "max_length": 3, "return_length": True},
    {"truncation": "only_first", "max_length": 6, "return_overflowing_tokens": True},
    {"truncation": "only_second", "max_length": 6},
    {"truncation": True, "max_length": 6, "stride": 1, "return_overflowing_tokens": True},
    {"return_tensors": "np"},
    {"add_special_tokens": False},
]


@pytest.fixture(scope="module")
def load(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Load:
    return loader(shared, tmp_path_factory.mktemp("folders"))


@pytest.fixture(scope="module", params=list(transformers_folders.CONFIGS))
def each(request: pytest.FixtureRequest, load: Load) -> Both:
    both = load(request.param)
    for tok in both:
        tok.pad_token = tok.pad_token or tok.eos_token
    return both


@pytest.mark.parametrize("words", [False, True])
def test_inputs_of_every_shape(each: Both, words: bool) -> None:
    all_same(
        each,
        [
            lambda t, text=text, pair=pair: dict(t(text, pair, is_split_into_words=words))
            for text in TEXTS
            for pair in PAIRS
            if text is not None or pair is not None
        ],
    )


def test_truncation_and_padding_of_the_backend(each: Both) -> None:
    def after(tok: Any, *options: Any) -> Any:
        tok.set_truncation_and_padding(*options)
        backend = tok.backend_tokenizer
        ids = [one.ids for one in backend.encode_batch(["a b c d e f g", "a"])]
        return backend.truncation, backend.padding, ids, dict(tok("a b c d e f g h"))

    wide, cut = transformers.utils.PaddingStrategy, transformers.tokenization_utils_base.TruncationStrategy
    options: list[tuple[Any, ...]] = [
        (wide.LONGEST, cut.LONGEST_FIRST, 6, 1, None, None),
        (wide.MAX_LENGTH, cut.ONLY_FIRST, 5, 0, 4, "left"),
        (wide.LONGEST, cut.DO_NOT_TRUNCATE, None, 0, None, None),
        (wide.DO_NOT_PAD, cut.DO_NOT_TRUNCATE, None, 0, None, None),
    ]
    all_same(each, [lambda t, given=given: after(t, *given) for given in options])


@pytest.mark.parametrize("text", ["a 日本 b🦜🦜 c", "x 🦜 <extra_id_0> 日", "日" * 5 + " a"])
def test_unknown_tokens_show_their_text(each: Both, text: str) -> None:
    def tokens(tok: Any, **options: Any) -> Any:
        return [(one.tokens, one.offsets) for one in tok(text, **options).encodings]

    cut = {"truncation": True, "max_length": 6, "return_overflowing_tokens": True}
    all_same(each, [tokens, lambda t: tokens(t, **cut), lambda t: t.tokenize(text, text)])


def test_single_texts_and_pairs_in_one_batch(each: Both) -> None:
    def columns(tok: Any, batch: Any, words: bool, options: dict[str, Any]) -> Any:
        made = tok(batch, is_split_into_words=words, **options)
        rows = range(len(made.encodings))
        return dict(made), [(made.tokens(i), made.word_ids(i), made.sequence_ids(i)) for i in rows], made.n_sequences

    all_same(
        each,
        [
            lambda t, batch=batch, words=words, options=options: columns(t, batch, words, options)
            for batch, words in MIXED
            for options in OPTIONS
        ],
    )
