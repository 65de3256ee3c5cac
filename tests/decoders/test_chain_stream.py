"""Decoder streams return only text that later ids do not change; concatenated, it is the text of decoding at once."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conftest import LONG
from decoders.decoders import CHAINS, COMPONENTS, TOKENS
from reference.decode_stream import text_of_stream
from tokkit.decoders.base import Decoder
from tokkit.decoders.bpe import BPE
from tokkit.decoders.byte_fallback import ByteFallback
from tokkit.decoders.byte_level import ByteLevel
from tokkit.decoders.ctc import CTC
from tokkit.decoders.fuse import Fuse
from tokkit.decoders.metaspace import Metaspace
from tokkit.decoders.replace import Replace
from tokkit.decoders.sequence import Sequence
from tokkit.decoders.spaced import Spaced
from tokkit.decoders.streaming import ChainStream
from tokkit.decoders.strip import Strip
from tokkit.decoders.wordpiece import WordPiece

METASPACE = Sequence([Replace({"String": "▁"}, " "), ByteFallback(), Fuse(), Strip(" ", 1, 0)])


def stream(decoder: Decoder, tokens: list[str]) -> list[str]:
    """The text of each step, and of the flush."""
    steps = ChainStream(decoder, tokens.__getitem__)
    return [*(steps.step(id_) for id_ in range(len(tokens))), steps.flush()]


@pytest.mark.parametrize("decoder", [Spaced(), *COMPONENTS, *CHAINS], ids=lambda decoder: repr(decoder)[:60])
@settings(max_examples=500 if LONG else 15)
@given(tokens=TOKENS)
def test_a_stream_gives_the_text_of_decode(decoder: Decoder, tokens: list[str]) -> None:
    assert "".join(stream(decoder, tokens)) == text_of_stream(decoder, tokens)


@settings(max_examples=1000 if LONG else 200)
@given(
    before=st.lists(st.sampled_from(COMPONENTS), max_size=2),
    fuse=st.sampled_from([Fuse(), ByteLevel()]),
    behind=st.lists(st.sampled_from(COMPONENTS), max_size=3),
    tokens=TOKENS,
)
@example(before=[], fuse=Fuse(), behind=[CTC(), CTC("", "")], tokens=[])  # one drops the empty token, one would fill it
@example(before=[], fuse=Fuse(), behind=[CTC(), Replace({"String": "a"}, "b"), CTC("", "")], tokens=[""])
def test_a_stream_of_any_chain_gives_the_text_of_decode(
    before: list[Decoder], fuse: Decoder, behind: list[Decoder], tokens: list[str]
) -> None:
    decoder = Sequence([*before, fuse, *behind])
    steps = ChainStream(decoder, tokens.__getitem__)
    for _ in range(2):  # a stream begins anew behind its flush
        assert "".join([*map(steps.step, range(len(tokens))), steps.flush()]) == text_of_stream(decoder, tokens)


@pytest.mark.parametrize(
    ("decoder", "tokens", "texts"),
    [
        (METASPACE, ["▁a", "▁", "<0xE6>", "<0x9D>", "<0xB1>", "▁b"], ["a", " ", "", "", "東", " b", ""]),
        (METASPACE, ["▁", "▁", "x", "<0xE6>"], ["", " ", "x", "", "\ufffd"]),
        (METASPACE, ["<0xC3>", "<0xA9>", "<0xE6>", "<0x41>", "a"], ["", "é", "", "\ufffd\ufffd", "a", ""]),
        (METASPACE, ["<0xE6>", "<0xC3>", "<0xA9>", "a"], ["", "\ufffd\ufffd", "\ufffd", "a", ""]),
        (METASPACE, ["<0xE6>", "<0x9D>", "a", "<0xC3>", "<0xA9>"], ["", "", "\ufffd\ufffda", "", "é", ""]),
        (METASPACE, ["▁", "<0x20>", "<0x41>"], ["", " ", "A", ""]),
        (ByteFallback(), ["<0xF0>", "<0x9F>", "<0x98>", "<0x80>"], ["", "", "", "😀", ""]),
        # A decoder that looks at tokens must see a run as one token, and a pattern the whole text.
        (Sequence([ByteFallback(), Strip("A", 1, 0)]), ["<0x41>", "<0x41>", "b"], ["", "", "Ab", ""]),
        (
            Sequence([ByteFallback(), Fuse(), Replace({"Regex": "A+"}, "-")]),
            ["<0x41>", "<0xFF>", "b"],
            ["", "", "", "\ufffd\ufffdb"],
        ),
        (ByteLevel(), ["ĠÃ", "©", "ð", "Ł", "a"], [" ", "é", "", "", "\ufffda", ""]),
        (BPE(), ["a", "b</w>", "c</w>"], ["a", "", "b ", "c"]),
        (Metaspace(), ["▁a▁", "▁b"], ["a", " b", ""]),
        (WordPiece(), ["a", "##b", ".", "c"], ["a", "b", ".", " c", ""]),
        (
            Sequence([Fuse(), Replace({"String": "abc"}, "-")]),
            ["xa", "b", "ab", "c", "ab"],
            ["x", "", "ab", "-", "", "ab"],
        ),
        (Sequence([Fuse(), Strip(" ", 1, 1)]), [" ", " a ", " ", "b "], ["", " a", " ", " b", ""]),
        (Sequence([Fuse(), Replace({"Regex": "a+"}, "-")]), ["aa", "b"], ["", "", "-b"]),
    ],
)
def test_a_step_gives_all_that_is_sure(decoder: Decoder, tokens: list[str], texts: list[str]) -> None:
    assert stream(decoder, tokens) == texts


def test_a_stream_keeps_the_characters_before_an_invalid_byte() -> None:
    """The only texts of streams that are not those of decoding at once, which makes the whole run U+FFFD."""
    tokens = ["a", "<0xC3>", "<0xA9>", "<0xFF>", "<0x41>", "b"]
    assert METASPACE.decode(tokens) == "a\ufffd\ufffd\ufffd\ufffdb"
    assert "".join(stream(METASPACE, tokens)) == "aé\ufffd\ufffdb"
    held = Sequence([METASPACE, Replace({"Regex": "x"}, "y")])  # which returns nothing before its end
    assert "".join(stream(held, tokens)) == held.decode(tokens)


def test_an_unknown_id_leaves_the_stream_as_it_was() -> None:
    steps = ChainStream(METASPACE, {0: "<0xC3>", 1: "<0xA9>", 2: "a"}.__getitem__)
    assert steps.step(0) == ""
    with pytest.raises(KeyError):
        steps.step(7)
    assert steps.step(1) + steps.step(2) == "éa"


@pytest.mark.parametrize("text", ["Hello, wörld! 東京 🦜👩‍💻 e\u0301", "a  b   c", "🦜" * 5, ""])
@pytest.mark.parametrize("decoder", [METASPACE, ByteLevel(), Sequence([ByteFallback(), Fuse()])], ids=repr)
def test_a_stream_of_real_text_gives_that_of_tokenizers_streams(decoder: Decoder, text: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    from decoders.decoders import rival

    if isinstance(decoder, ByteLevel):
        pre = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokens = [c for word, _ in pre.pre_tokenize_str(text) for c in word]
    else:
        spaced = ("▁" + text.replace(" ", "▁")) if decoder is METASPACE else text
        tokens = [
            t for c in spaced for t in ([c] if c < "\u0300" or c == "▁" else [f"<0x{b:02X}>" for b in c.encode()])
        ]
    vocab = {token: id_ for id_, token in enumerate(dict.fromkeys(["?", *tokens]))}
    theirs = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocab, "?"))
    theirs.decoder = rival(decoder)
    their_stream = tokenizers.decoders.DecodeStream()
    their_text = "".join(their_stream.step(theirs, vocab[token]) or "" for token in tokens)
    assert "".join(stream(decoder, tokens)) == their_text == text
