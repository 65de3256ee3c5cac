"""Every pretokenizer, compared with tokenizers: pretokens, their text, and the alignment of each character."""

from __future__ import annotations

import pickle
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import LONG
from strategies import adversarial, code_points_in_context, documents, texts
from tokkit._core.align import AlignedText
from tokkit._core.split import AddedMatcher
from tokkit.errors import OptionError, PatternError
from tokkit.pretokenizers.behaviors import BEHAVIORS
from tokkit.pretokenizers.bert import Bert
from tokkit.pretokenizers.byte_level import ByteLevel
from tokkit.pretokenizers.char_delimiter_split import CharDelimiterSplit
from tokkit.pretokenizers.digits import Digits
from tokkit.pretokenizers.fixed_length import FixedLength
from tokkit.pretokenizers.metaspace import SCHEMES, Metaspace
from tokkit.pretokenizers.punctuation import Punctuation
from tokkit.pretokenizers.sequence import Sequence
from tokkit.pretokenizers.split import Split
from tokkit.pretokenizers.unicode_scripts import UnicodeScripts
from tokkit.pretokenizers.whitespace import Whitespace
from tokkit.pretokenizers.whitespace_split import WhitespaceSplit

tokenizers = pytest.importorskip("tokenizers")
theirs = tokenizers.pre_tokenizers

Pair = tuple[Any, Any]
PATTERNS = (
    r"\s+", r"\p{L}+|\p{N}", r"[a-z]+\s?", r"a*", r"(?=a)", r"(?<=[a-z])b|a", r"x|", r"[0-9]{1,3}(?!\p{L}{2})",
    r"[^\s]b?",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
)  # fmt: skip


# Blocks of 2,048; where little is assigned, one in 16.
FAR = range(0x20000, 0x110000, 0x800 if LONG else 0x8000)
CODE_POINTS = (*range(0, 0xD800, 0x800), *range(0xE000, 0x20000, 0x800), *FAR)


def snake(name: str) -> str:
    return re.sub("(?<!^)([A-Z])", r"_\1", name).lower()


def split_pair(pattern: str, behavior: str, invert: bool, *, literal: bool = False) -> Pair:
    if literal:
        return Split({"String": pattern}, behavior, invert), theirs.Split(pattern, snake(behavior), invert)
    rival = theirs.Split(tokenizers.Regex(pattern), snake(behavior), invert)
    return Split({"Regex": pattern}, behavior, invert), rival


PAIRS: dict[str, Pair] = {
    "Bert": (Bert(), theirs.BertPreTokenizer()),
    "Whitespace": (Whitespace(), theirs.Whitespace()),
    "WhitespaceSplit": (WhitespaceSplit(), theirs.WhitespaceSplit()),
    "UnicodeScripts": (UnicodeScripts(), theirs.UnicodeScripts()),
    "Digits": (Digits(), theirs.Digits(False)),
    "Digits one by one": (Digits(True), theirs.Digits(True)),
    "FixedLength 1": (FixedLength(1), theirs.FixedLength(length=1)),
    "FixedLength 5": (FixedLength(), theirs.FixedLength(length=5)),
    **{f"Punctuation {b}": (Punctuation(b), theirs.Punctuation(snake(b))) for b in BEHAVIORS},
    **{f"CharDelimiterSplit {c}": (CharDelimiterSplit(c), theirs.CharDelimiterSplit(c)) for c in "a 漢\n🙂"},
    **{
        f"ByteLevel {prefix} {regex}": (
            ByteLevel(add_prefix_space=prefix, use_regex=regex),
            theirs.ByteLevel(add_prefix_space=prefix, use_regex=regex),
        )
        for prefix in (False, True)
        for regex in (False, True)
    },
    **{
        f"Metaspace {character} {scheme} {split}": (
            Metaspace(character, scheme, split),
            theirs.Metaspace(character, scheme, split),
        )
        for character in "▁_ "
        for scheme in SCHEMES
        for split in (False, True)
    },
    **{f"Split {p} {b} {i}": split_pair(p, b, i) for p in PATTERNS for b in BEHAVIORS for i in (False, True)},
    **{
        f"Split String {p} {b} {i}": split_pair(p, b, i, literal=True)
        for p in (" ", "aa", "", ".", "漢字", "\\")
        for b in BEHAVIORS
        for i in (False, True)
    },
}


def ours_of(component: Any, text: str) -> list[tuple[str, tuple[int, int]]]:
    """Pieces, each with the bytes of the original it comes from."""
    aligned = AlignedText(text)
    component.pretokenize(aligned)
    return list(zip(aligned.pieces, map(tuple, aligned.piece_spans().tolist()), strict=True))


def theirs_of(component: Any, text: str) -> list[tuple[str, tuple[int, int]]]:
    """The same; a text without characters has no pieces for us, and may be one for them."""
    made = tokenizers.PreTokenizedString(text)
    component.pre_tokenize(made)
    return [(piece, span) for piece, span, _ in made.get_splits("original", "byte") if piece]


def check(pair: Pair, text: str) -> None:
    ours, rival = pair
    assert ours_of(ours, text) == theirs_of(rival, text), text
    # Characters one by one show where each comes from.
    ours, rival = Sequence([ours, FixedLength(1)]), theirs.Sequence([rival, theirs.FixedLength(length=1)])
    assert ours_of(ours, text) == theirs_of(rival, text), text


HAND_MADE = (
    "", " ", "a", "Hello, world! it's 2026…", "  two  spaces ",
    "déjà vu\u00a0là\n\n", "漢字かな交じりカー文 abc。",
    "a▁b ▁ c_d",
    "aab bab aaa baaab", "1a22b333ccc٣٤", "🙂🙂 a🙂漢\u3000漢", "\u0378\u0378a \u0378漢 b", "don't stop\tnow\r\n",
    "..a..b.,c.",
    "x\\y\\\\z.", "\x1c\x85\u200b\u200c\ufeff", "²½Ⅷ①⑳", "ab 漢字漢字 aa aa",
)  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_a_component_cuts_as_tokenizers_does(name: str) -> None:
    for text in (
        *HAND_MADE,
        *documents(len(name), 50 if LONG else 3, longest=120),
        adversarial(sum(map(ord, name)), 800),
    ):
        check(PAIRS[name], text)


@settings(max_examples=30)
@given(text=texts(max_size=30), name=st.sampled_from(sorted(PAIRS)))
def test_components_cut_any_text_as_tokenizers_does(text: str, name: str) -> None:
    check(PAIRS[name], text)


@settings(max_examples=60)
@given(
    text=st.text("ab 1.漢▁\n", max_size=25),
    names=st.lists(st.sampled_from(sorted(PAIRS)), min_size=2, max_size=3),
)
def test_components_in_turn_cut_as_tokenizers_does(text: str, names: list[str]) -> None:
    check((Sequence([PAIRS[n][0] for n in names]), theirs.Sequence([PAIRS[n][1] for n in names])), text)


@pytest.mark.parametrize("name", ["Bert", "Whitespace", "WhitespaceSplit", "UnicodeScripts", "Digits one by one"])
def test_every_code_point_is_what_tokenizers_takes_it_for(name: str) -> None:
    ours, rival = PAIRS[name]
    step = 1 if LONG else 4
    for first in CODE_POINTS:
        text = "".join(f"a{chr(cp)}漢{chr(cp)}1" for cp in range(first + len(name) % step, first + 0x800, step))
        assert ours_of(ours, text) == theirs_of(rival, text), hex(first)


def test_punctuation_of_every_code_point_is_that_of_tokenizers() -> None:
    ours, rival = PAIRS["Punctuation Removed"]
    for first in CODE_POINTS:
        text = "".join(f"a{chr(cp)}" for cp in range(first, first + 0x800))
        assert ours_of(ours, text) == theirs_of(rival, text), hex(first)


@pytest.mark.parametrize("name", ["Bert", "Whitespace", "ByteLevel True True", "Metaspace ▁ first True"])
def test_code_points_in_context_are_cut_as_tokenizers_does(name: str) -> None:
    rng = random.Random(5)
    points = [cp for cp in rng.sample(range(0x30000), 60) if not 0xD800 <= cp < 0xE000]
    for cp in points:
        for text in code_points_in_context(cp):
            check(PAIRS[name], text)


@pytest.mark.parametrize("name", ["Bert", "ByteLevel True True", "Metaspace ▁ always True", "Split \\s+ Removed False"])
def test_a_piece_that_is_an_added_token_is_left_alone(name: str) -> None:
    text = AlignedText("ab <s>! c")
    AddedMatcher([(b"<s>!", 7, False, False, False)]).cut(text)
    PAIRS[name][0].pretokenize(text)
    assert [(piece, id_) for piece, id_ in zip(text.pieces, text.ids, strict=True) if id_ is not None] == [("<s>!", 7)]
    assert len(text.pieces) >= 3


def test_a_long_text_is_cut_in_linear_time() -> None:
    for name in ("Bert", "ByteLevel True True", "Split a* Isolated False", "Split String aa Removed False"):
        aligned = AlignedText("a" * 200_001)
        PAIRS[name][0].pretokenize(aligned)
        assert aligned.piece_spans()[-1].tolist()[1] == 200_001


@pytest.mark.parametrize("engine", ["scanner", "compiled", "regex"])
def test_each_engine_splits_alike(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKKIT_SPLIT", engine)
    for pattern in (PATTERNS[-1], r"\p{N}{1,3}|[a-z]+"):
        for behavior in BEHAVIORS:
            for text in documents(3, 12, longest=80):
                check(split_pair(pattern, behavior, True), "".join(c for c in text if ord(c) < 0x2000))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Split("a", "Dropped"), OptionError, "behavior is 'Dropped'; it must be one of Removed"),
        (lambda: Split({"Text": "a"}, "Removed"), OptionError, "pattern is .*it must be"),
        (lambda: Split({"Regex": "("}, "Removed"), PatternError, "does not compile"),
        (lambda: Split({"Regex": "\ud800"}, "Removed"), PatternError, "a lone surrogate"),
        (lambda: Split("\ud800", "Removed"), PatternError, "a lone surrogate"),
        (lambda: Punctuation("x"), OptionError, "behavior is 'x'"),
        (lambda: CharDelimiterSplit("ab"), OptionError, "delimiter is 'ab'; it must be one character"),
        (lambda: CharDelimiterSplit("\ud800"), OptionError, "must be one character"),
        (lambda: Metaspace(""), OptionError, "replacement is ''; it must be one character"),
        (lambda: Metaspace(prepend_scheme="last"), OptionError, "prepend_scheme is 'last'; it must be one of"),
        (lambda: FixedLength(0), OptionError, "length is 0; it must be an int of at least 1"),
        (lambda: Sequence([1]), OptionError, "1 is not a pretokenizer"),
    ],
)
def test_options_that_cannot_work_are_refused(make: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("name", ["Bert", "Digits", "Metaspace ▁ first True", "Split \\s+ Removed False"])
def test_components_are_values_that_can_be_pickled(name: str) -> None:
    component = PAIRS[name][0]
    copy = pickle.loads(pickle.dumps(component))
    assert copy == component
    assert hash(copy) == hash(component)
    assert ours_of(copy, "a b.1") == ours_of(component, "a b.1")
