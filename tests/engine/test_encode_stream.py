"""Encode streams give the ids of the whole text; completions are those of tiktoken."""

from __future__ import annotations

import pickle
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokkit
from conftest import LONG, SPECIALS
from strategies import adversarial, documents, texts
from tokkit.definition import AddedToken
from tokkit.errors import VocabError
from tokkit.models.char_bpe import CharBPE
from tokkit.models.wordlevel import WordLevel
from tokkit.normalizers.prepend import Prepend
from tokkit.normalizers.replace import Replace
from tokkit.normalizers.sequence import Sequence
from tokkit.pretokenizers.whitespace_split import WhitespaceSplit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import tiktoken


def parts_of(text: str, rng: random.Random) -> list[str]:
    cuts = sorted(rng.choices(range(len(text) + 1), k=rng.randint(0, 1 + len(text) // 3)))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def streamed(tok: tokkit.Tokenizer, parts: list[str] | list[bytes], special: object = "text") -> list[int]:
    stream = tok.encode_stream(special=special)
    return [id_ for part in parts for id_ in stream.feed(part)] + stream.flush()


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k", "qwen2", r"\w+|\W", "none"])
def test_a_stream_gives_the_ids_of_the_whole(make_tokenizer: Callable[..., tokkit.Tokenizer], pattern: str) -> None:
    tok = make_tokenizer("rank", pattern, SPECIALS)
    rng = random.Random(701)
    for text in [*documents(703, 60), adversarial(705, 3000)]:
        text = text.encode("utf-8", "replace").decode()
        for special in ("text", "all", {"<|end|>"}):
            assert streamed(tok, parts_of(text, rng), special) == tok.encode(text, special=special)


@given(text=texts(max_size=30), seed=st.integers(0, 1 << 30))
@settings(max_examples=200 if LONG else 80)
def test_a_stream_of_bytes_gives_the_ids_of_the_whole(tok: tokkit.Tokenizer, text: str, seed: int) -> None:
    utf8, rng = text.encode("utf-8", "replace"), random.Random(seed)
    cuts = sorted(rng.choices(range(len(utf8) + 1), k=5))
    parts = [utf8[a:b] for a, b in zip([0, *cuts], [*cuts, len(utf8)], strict=True)]
    assert streamed(tok, parts, "all") == tok.encode(utf8, special="all")


@pytest.mark.parametrize("pattern", [r"[a-z]+(?=\d)|\d+", r"[a-z]+(?=\d)|[a-z]|\d", r"\s+(?=\S)|\w+|\S", r"\w+(?=\d)"])
def test_a_stream_is_cut_only_where_a_pattern_lets_a_text_end(pattern: str) -> None:
    # Behind what looks ahead for a digit, the rest of the text is what makes it a piece.
    vocab = tokkit.Vocab.from_list([*(bytes([byte]) for byte in range(256)), b"ab", b"abc", b"c1", b"  "])
    for keep_unmatched in (True, False):
        split = tokkit.Split(pattern, keep_unmatched=keep_unmatched)
        tok = tokkit.Tokenizer(tokkit.Definition(vocab=vocab, model=tokkit.BPE(), pretokenizer=split))
        text = "abc1  " * 4000 + "abc1" * 6000
        for length in (17000, 17001, 17002, 17003, 25000, 30001):
            assert streamed(tok, [text[:length], text[length:]]) == tok.encode(text)


def test_special_tokens_come_whole_out_of_a_stream_of_characters(tok: tokkit.Tokenizer) -> None:
    text = "a <|end|>! b<|endoftext|></s> c <|en d"
    for special in ("text", "all", ["</s>"]):
        assert streamed(tok, list(text), special) == tok.encode(text, special=special)
    with pytest.raises(tokkit.SpecialTokenError):
        streamed(tok, list(text), "raise")


def test_words_come_when_the_next_begins(tok: tokkit.Tokenizer) -> None:
    stream = tok.encode_stream()
    assert stream.feed("Hello") == []
    assert stream.feed(" wor") == tok.encode("Hello")
    assert stream.feed("ld ") == tok.encode(" world")
    assert stream.flush() == tok.encode(" ")
    assert stream.flush() == []


def test_bytes_that_are_no_text_are_an_error_and_what_came_before_stays(tok: tokkit.Tokenizer) -> None:
    stream = tok.encode_stream()
    assert stream.feed("one two") == tok.encode("one")
    with pytest.raises(ValueError, match="UTF-8"):
        stream.feed(b" \xff\xff three four")
    assert stream.feed(" three") == tok.encode(" two")
    with pytest.raises(TypeError):
        stream.feed(None)


def test_a_pipeline_of_components_streams_by_its_cut_rule() -> None:
    tok = tokkit.train(iter(["low lower"]), model="wordpiece", vocab_size=40)
    stream = tok.encode_stream()
    assert stream.feed("low lo") == tok.encode("low")
    assert stream.feed("wer") == []
    assert stream.flush() == tok.encode("lower")


def test_a_text_is_not_cut_beside_an_added_token_where_the_text_between_two_begins_otherwise() -> None:
    # Prepend puts its mark before what follows "ab", which a part that goes on behind "ab" would not get.
    tokens = ["<unk>", "ab", "▁", "a", "b", "▁b"]
    tok = tokkit.Tokenizer(
        tokkit.Definition(
            vocab=tokkit.Vocab.from_list([token.encode() for token in tokens]),
            model=CharBPE(merges=[(2, 4, 5)], unk_token="<unk>"),
            pretokenizer=None,
            normalizer=Sequence([Prepend("▁"), Replace({"String": " "}, "▁")]),
            added_tokens=(AddedToken("ab", 1, normalized=False),),
        )
    )
    text = "ab b aabb"
    ids = [1, 2, 5, 2, 3, 1, 5]
    assert tok.encode(text) == ids
    assert {tuple(streamed(tok, [text[:cut], text[cut:]])) for cut in range(len(text))} == {tuple(ids)}
    for before in range(len(text)):  # parts of a long text of a batch end at other places of it
        long = "a" * before + text * 30_000
        assert tok.encode_batch([long], threads=2)[0].tolist() == tok.encode(long)


def test_a_word_without_a_token_is_named_by_a_stream_and_for_a_file(tmp_path: Path) -> None:
    vocab = tokkit.Vocab.from_list([b"low", b"lower"])
    tok = tokkit.Tokenizer(tokkit.Definition(vocab, WordLevel(unk_token="absent"), WhitespaceSplit()))
    with pytest.raises(VocabError, match="'newest', has characters without a token"):
        streamed(tok, ["low lower ", "newest lo", "w low"])
    (tmp_path / "in.txt").write_text("low lower newest low")
    with pytest.raises(VocabError, match=r"in.txt, in the block from byte 0 on: pretoken 2, 'newest', has characters"):
        tok.encode_file(str(tmp_path / "in.txt"), str(tmp_path / "out.npy"))
    assert not (tmp_path / "out.npy").exists()


# ---- completions

ENDS = ("hello fanta", "", " ", "a", "x  ", "\n \n", "naïve caf", "we'l", "12", "12345 ", "<|en", "end<|endoftext|>")
MORE = ("東京", "東京 ", "🙂", "def f(x):\n    ", "a\u3000", "a\xa0", "\t\t", "…", "e\u0301", "  \n", ".\r", "'", " '")


def same_completions(ours: tokkit.Tokenizer, theirs: tiktoken.Encoding, text: str, special: object) -> None:
    wanted = theirs.encode_with_unstable(
        text, allowed_special="all" if special == "all" else set(), disallowed_special=()
    )
    stable, completions = ours.encode_with_unstable(text, special=special)
    assert stable == wanted[0], text
    assert {tuple(ids) for ids in completions} == {tuple(ids) for ids in wanted[1]}, text
    assert len({tuple(ids) for ids in completions}) == len(completions)


@pytest.mark.parametrize("special", ["text", "all"])
def test_completions_are_those_of_tiktoken(tok: tokkit.Tokenizer, rival: tiktoken.Encoding, special: str) -> None:
    for text in [*ENDS, *MORE, *documents(711, 300 if LONG else 80, longest=40)]:
        same_completions(tok, rival, text.encode("utf-8", "replace").decode(), special)


@pytest.mark.parametrize("name", ["r50k_base", "o200k_base", *["cl100k_base"] * LONG])
def test_completions_in_published_vocabularies_are_those_of_tiktoken(
    load_shared: Callable[[str], tokkit.Tokenizer], load_tiktoken: Callable[[str], tiktoken.Encoding], name: str
) -> None:
    for text in [*ENDS, *MORE] if LONG else [*ENDS[:4], *ENDS[7:], *MORE[::2]]:
        same_completions(load_shared(name), load_tiktoken(name), text, "text")


def test_completions_begin_with_what_is_not_stable(tok: tokkit.Tokenizer) -> None:
    text = "The quick brown fo"
    stable, completions = tok.encode_with_unstable(text)
    assert text.encode().startswith(tok.decode_bytes(stable))
    assert completions
    assert all(tok.decode_bytes(stable + ids).startswith(text.encode()) for ids in completions)


def test_completions_are_for_byte_level_bpe_and_a_tokenizer_that_has_them_can_be_pickled(tok: tokkit.Tokenizer) -> None:
    words = tokkit.train(iter(["low lower"]), model="wordpiece", vocab_size=40)
    with pytest.raises(tokkit.OptionError, match="need byte-level BPE"):
        words.encode_with_unstable("low")
    tok.encode_with_unstable("low")
    assert pickle.loads(pickle.dumps(tok)).encode_with_unstable("lo") == tok.encode_with_unstable("lo")


@pytest.mark.parametrize("text", ["\ud83d\ude00", "a\ud83d\ude00b", "\ud83d", "\ud83da", "\ud83d\ud83d\ude00"])
def test_halves_of_surrogate_pairs_that_come_one_by_one_give_what_the_whole_gives(
    tok: tokkit.Tokenizer, text: str
) -> None:
    stream = tok.encode_stream()
    ids = [id_ for half in text for id_ in stream.feed(half)] + stream.flush()
    assert ids == tok.encode(text)
    assert stream.flush() == []
    assert stream.feed("\ud83d") + stream.feed(b"a") + stream.flush() == tok.encode("\ud83da")
