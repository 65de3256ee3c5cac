"""Each decoder returns the text and the tokens that tokenizers 0.23 returns."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import LONG
from decoders.decoders import CHAINS, COMPONENTS, FRAGMENTS, TOKENS, rival
from tokkit import limits
from tokkit.decoders.base import Decoder
from tokkit.decoders.bpe import BPE
from tokkit.decoders.byte_level import ByteLevel
from tokkit.decoders.ctc import CTC
from tokkit.decoders.metaspace import Metaspace
from tokkit.decoders.replace import Replace
from tokkit.decoders.sequence import Sequence
from tokkit.decoders.strip import Strip
from tokkit.decoders.wordpiece import WordPiece
from tokkit.errors import OptionError, PatternError, TokkitError

tokenizers = pytest.importorskip("tokenizers")
SPACE, NEVER = "\ue000", "\ue001"


def ids(value: object) -> str:
    return repr(value)[:60]


def panics(decoder: Decoder, tokens: list[str]) -> bool:
    """Whether tokenizers' Strip dies of these tokens, or of what stands before it in a sequence."""
    return (
        isinstance(decoder, Strip) and decoder.stop > 0 and any(len(t) <= decoder.start + decoder.stop for t in tokens)
    )


def chain_of(theirs: Any) -> Any:
    """Their decoder with others behind it that show where tokens end: they have no decode_chain to call."""
    d = tokenizers.decoders
    return d.Sequence([theirs, d.Replace(" ", SPACE), d.WordPiece(prefix=NEVER, cleanup=False)])


@pytest.mark.parametrize("decoder", [*COMPONENTS, *CHAINS], ids=ids)
@settings(max_examples=500 if LONG else 15)
@given(tokens=TOKENS)
def test_a_decoder_gives_the_text_and_the_tokens_of_tokenizers(decoder: Decoder, tokens: list[str]) -> None:
    tokens = [token for token in tokens if not panics(decoder, [token])]
    theirs = rival(decoder)
    assert decoder.decode(tokens) == theirs.decode(tokens)
    shown = " ".join(token.replace(" ", SPACE) for token in decoder.decode_chain(tokens))
    assert shown == chain_of(theirs).decode(tokens)


@settings(max_examples=150)
@given(parts=st.lists(st.sampled_from([c for c in COMPONENTS if not getattr(c, "stop", 0)]), max_size=5), tokens=TOKENS)
def test_any_sequence_of_decoders_gives_the_text_of_tokenizers(parts: list[Decoder], tokens: list[str]) -> None:
    decoder = Sequence(parts)
    assert decoder.decode(tokens) == rival(decoder).decode(tokens)


@pytest.mark.parametrize("decoder", COMPONENTS, ids=ids)
def test_every_token_alone_decodes_as_in_tokenizers(decoder: Decoder) -> None:
    theirs = rival(decoder)
    for token in FRAGMENTS:
        if not panics(decoder, [token]):
            assert decoder.decode([token]) == theirs.decode([token]), token


def test_tokens_with_the_mark_that_lists_are_joined_with_keep_their_places() -> None:
    tokens = ["a\0", "\0", "", "▁\0▁", "x"]
    for decoder in (
        Metaspace(),
        WordPiece(),
        Replace({"String": "▁"}, "\0"),
        Replace({"String": "\0"}, "-"),
        BPE("\0"),
    ):
        assert decoder.decode(tokens) == rival(decoder).decode(tokens)
        assert len(decoder.decode_chain(tokens)) == len(tokens)


def test_no_tokens_are_no_text() -> None:
    for decoder in [*COMPONENTS, *CHAINS]:
        assert decoder.decode([]) == "" == rival(decoder).decode([])
        assert decoder.decode(iter(["a"])) == decoder.decode(("a",)) == decoder.decode(["a"])


@pytest.mark.parametrize(("start", "stop"), [(0, 1), (1, 1), (2, 2), (0, 3), (3, 3)])
def test_strip_leaves_nothing_where_tokenizers_panics(start: int, stop: int) -> None:
    strip = Strip(" ", start, stop)
    assert strip.decode_chain(["", " "]) == ["", ""]
    for n in range(8):
        assert strip.decode_chain([" " * n]) == [" " * max(0, n - start - stop)]
        assert strip.decode_chain([" " * n + "a" + " " * n]) == [" " * max(0, n - start) + "a" + " " * max(0, n - stop)]


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: BPE(None), OptionError, "suffix is .*must be text"),
        (lambda: ByteLevel(use_regex=1), OptionError, "use_regex is .*must be True or False"),
        (lambda: CTC(pad_token=0), OptionError, "pad_token is .*must be text"),
        (lambda: CTC(word_delimiter_token=None), OptionError, "word_delimiter_token"),
        (lambda: Metaspace("ab"), OptionError, "must be one character"),
        (lambda: Metaspace(""), OptionError, "one character"),
        (lambda: Metaspace("▁", "sometimes"), OptionError, "one of always, first, never"),
        (lambda: Replace("▁", " "), OptionError, "String"),
        (lambda: Replace({}, " "), OptionError, "String"),
        (lambda: Replace({"String": "a", "Regex": "b"}, " "), OptionError, "String"),
        (lambda: Replace({"Regex": 1}, " "), OptionError, "Regex is .*must be text"),
        (lambda: Replace({"Regex": "("}, " "), PatternError, "does not compile"),
        (lambda: Replace({"String": "a"}, None), OptionError, "content is .*must be text"),
        (lambda: Sequence([Metaspace(), "Fuse"]), OptionError, "'Fuse'"),
        (lambda: Strip("", 1, 0), OptionError, "one character"),
        (lambda: Strip(" ", -1, 0), OptionError, "start is .*must be a count"),
        (lambda: Strip(" ", 0, True), OptionError, "stop is .*must be a count"),
        (lambda: WordPiece(b"##"), OptionError, "prefix is .*must be text"),
        (lambda: WordPiece(cleanup="yes"), OptionError, "cleanup"),
    ],
)
def test_a_field_that_cannot_work_is_refused_by_name(make: Any, error: type[TokkitError], says: str) -> None:
    with pytest.raises(error, match=says):
        make()


def test_a_pattern_that_explodes_is_stopped() -> None:
    decoder = Replace({"Regex": r"(?:a+)+[bc]"}, "")
    with limits.using(pattern_seconds=0.2), pytest.raises(PatternError, match=r"took over 0\.\d+ s"):
        decoder.decode(["a" * 5000 + "d"])


@pytest.mark.parametrize("decoder", [*COMPONENTS, *CHAINS], ids=ids)
def test_decoders_are_values(decoder: Decoder) -> None:
    again = pickle.loads(pickle.dumps(decoder))
    assert again == decoder
    assert hash(again) == hash(decoder)
    with pytest.raises((AttributeError, TypeError)):  # dataclasses of Python 3.11 raise TypeError where they have slots
        decoder.anything = 1
