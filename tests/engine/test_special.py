"""The text of special tokens becomes ids, plain text or an error, as the policy says."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from conftest import SPECIALS
from strategies import documents
from tokkit.errors import OptionError, SpecialTokenError, TokkitError

if TYPE_CHECKING:
    import tiktoken

    import tokkit

TEXTS = [
    "<|endoftext|>",
    "a<|endoftext|>b",
    "a <|endoftext|>  b\n<|end|>\n",
    "<|endoftext|><|endoftext|>",
    "<|end|>! <|end|> ! </s>",
    "<|endoftext",
    "|endoftext|>",
    "<|<|endoftext|>|>",
    "<<|end|>>",
    "  \n<|end|>\n  x",
    "it<|end|>'s 12<|end|>34",
    "\u0301<|end|>\u0301",
    "<|end|>" * 1000,
]


def test_special_text_is_ordinary_text_by_default(tok: tokkit.Tokenizer, rival: tiktoken.Encoding) -> None:
    for text in TEXTS:
        ids = tok.encode(text)
        assert ids == rival.encode_ordinary(text) == tok.encode(text, special="text") == tok.encode_ordinary(text)
        assert not set(ids) & set(SPECIALS.values())
        assert tok.count(text) == len(ids)
        assert tok(text).ids == ids


def test_special_text_becomes_ids_where_all_are_allowed(tok: tokkit.Tokenizer, rival: tiktoken.Encoding) -> None:
    assert tok.encode("a<|endoftext|>b", special="all") == [*tok.encode("a"), 2000, *tok.encode("b")]
    # tiktoken takes the first that its alternation lists; overlaps are tested below by our own rule.
    for text in [text for text in TEXTS if "<|end|>!" not in text] + documents(211, 200):
        if "<|end|>!" not in text:
            wanted = rival.encode(text, allowed_special="all")
            assert tok.encode(text, special="all") == wanted, repr(text)
            assert tok.encode_to_numpy(text, special="all").tolist() == wanted
            assert tok.count(text, special="all") == len(wanted)


def test_the_leftmost_and_then_longest_special_token_wins(tok: tokkit.Tokenizer) -> None:
    assert tok.encode("<|end|>!", special="all") == [2002]
    assert tok.encode("<|end|> !", special="all") == [2001, *tok.encode(" !")]
    assert tok.encode("<|end|>!", special=["<|end|>"]) == [2001, *tok.encode("!")]


def test_only_the_special_tokens_that_are_named_become_ids(tok: tokkit.Tokenizer, rival: tiktoken.Encoding) -> None:
    for allowed in ({"<|endoftext|>"}, ["<|end|>"], ("</s>", "<|end|>"), frozenset(), {"<|endoftext|>": 1}):
        for text in TEXTS:
            if "<|end|>!" in text:
                continue
            wanted = rival.encode(text, allowed_special=set(allowed), disallowed_special=())
            assert tok.encode(text, special=allowed) == wanted, (allowed, text)


def test_special_text_is_an_error_where_the_caller_asks_for_that(tok: tokkit.Tokenizer) -> None:
    with pytest.raises(SpecialTokenError, match=r"<\|endoftext\|>"):
        tok.encode("hello <|endoftext|>", special="raise")
    with pytest.raises(SpecialTokenError):
        tok.encode_to_numpy("<|end|>", special="raise")
    with pytest.raises(SpecialTokenError):
        tok.count("</s>", special="raise")
    with pytest.raises(SpecialTokenError):
        tok.encode_batch(["a", "</s>"], special="raise", threads=2)
    assert tok.encode("hello <|endoftext", special="raise") == tok.encode("hello <|endoftext")
    assert issubclass(SpecialTokenError, ValueError)


@pytest.mark.parametrize(
    "policy", ["", "none", "ALL", "<|endoftext|>", 3, None, ["<|unknown|>"], [3], {"a", "<|end|>"}]
)
def test_a_policy_that_means_nothing_is_an_error(tok: tokkit.Tokenizer, policy: object) -> None:
    # Also where the text has no special token in it: a wrong option must not wait for its day.
    for encode in (tok.encode, tok.encode_to_numpy, tok.count):
        with pytest.raises((OptionError, TypeError)):
            encode("text", special=policy)


def test_each_slice_between_special_tokens_is_split_alone(tok: tokkit.Tokenizer) -> None:
    # `$` and look-ahead see the end of the slice: the spaces before the token end a text.
    for left, right in (("a  ", "  b"), ("a\n ", "\n"), ("it", "'s"), ("12", "345"), (" ", " "), ("", ""), ("x'", "s")):
        wanted = [*tok.encode(left), 2001, *tok.encode(right)]
        assert tok.encode(f"{left}<|end|>{right}", special="all") == wanted


def test_special_tokens_decode_to_their_text(tok: tokkit.Tokenizer) -> None:
    for text in TEXTS:
        ids = tok.encode(text, special="all")
        assert tok.decode(ids) == text
        assert tok.decode_bytes(ids) == text.encode()


def test_the_vocabulary_holds_the_special_tokens(tok: tokkit.Tokenizer) -> None:
    assert tok.special_tokens == SPECIALS
    for text, id_ in SPECIALS.items():
        assert tok.vocab[id_] == text.encode() == tok.token_bytes(id_)
        assert tok.vocab[text.encode()] == id_


def test_special_tokens_cannot_be_changed_in_place(tok: tokkit.Tokenizer) -> None:
    with pytest.raises((TypeError, AttributeError)):
        tok.special_tokens["<|new|>"] = 5


def test_with_special_tokens_returns_a_new_tokenizer(make_tokenizer: Callable[..., tokkit.Tokenizer]) -> None:
    plain = make_tokenizer()
    more = plain.with_special_tokens({"<|new|>": 2100})
    assert more.encode("a<|new|>", special="all") == [*plain.encode("a"), 2100]
    assert plain.encode("a<|new|>", special="all") == plain.encode("a<|new|>") == more.encode("a<|new|>")
    assert not plain.special_tokens
    assert more.n_ids == 2101
    assert more.fingerprint() != plain.fingerprint()


@pytest.mark.parametrize(
    "tokens",
    [
        {"": 2000},
        {"<|a|>": 0},
        {"<|a|>": -1},
        {"<|a|>": 2000, "<|b|>": 2000},
        {"<|a|>": 10**9},
        {3: 2000},
        {"<|a|>": "x"},
    ],
)
def test_a_special_token_that_cannot_be_is_an_error(
    make_tokenizer: Callable[..., tokkit.Tokenizer], tokens: dict[str, int]
) -> None:
    with pytest.raises((TokkitError, TypeError)):
        make_tokenizer().with_special_tokens(tokens)


def test_special_tokens_of_any_characters_are_found(make_tokenizer: Callable[..., tokkit.Tokenizer]) -> None:
    odd = {"é": 2000, "\n\n": 2001, " ": 2002, "🦜🏽": 2003, "a": 2004, "中文": 2005, ".*": 2006, "\0": 2007}
    ours = make_tokenizer("rank", "cl100k", odd)
    for text, id_ in odd.items():
        assert ours.encode(text, special="all") == [id_]
        assert ours.encode(f"x{text}y", special=[text]) == [*ours.encode("x"), id_, *ours.encode("y")]
        assert ours.decode([id_]) == text
    assert ours.encode("x.*y\n\n\n", special=[".*", "\n\n"])[1:4:2] == [2006, 2001]
    # The letter without its accent, as first bytes of the token, is not the token.
    assert 2000 not in ours.encode("è", special="all")


def test_a_special_token_whose_text_is_also_a_token_keeps_both_ids(
    make_tokenizer: Callable[..., tokkit.Tokenizer], small: object
) -> None:
    word = next(t.decode() for t in small.tokens[256:] if t.isalpha() and len(t) > 2)
    ours = make_tokenizer("rank", "cl100k", {word: 2000})
    assert ours.encode(word) == [small.ids[word.encode()]]
    assert ours.encode(word, special="all") == [2000]
    assert ours.decode([2000]) == word == ours.decode(ours.encode(word))


def test_many_special_tokens_are_found_at_once(make_tokenizer: Callable[..., tokkit.Tokenizer]) -> None:
    many = {f"<|reserved_{i}|>": 2000 + i for i in range(1000)}
    ours = make_tokenizer("rank", "cl100k", many)
    assert ours.encode("".join(many), special="all") == list(many.values())
    assert ours.encode("<|reserved_1000|>", special="all") == ours.encode("<|reserved_1000|>")
