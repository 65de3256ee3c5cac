"""What the core answers at once for tiktoken's `Encoding` is what the general way and the real library answer."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from conftest import Small
from strategies import adversarial, documents
from tokkit.compat import tiktoken as face

tiktoken = pytest.importorskip("tiktoken")

SPECIALS = {"<|endoftext|>": 2000, "<|end|>": 2001, "</s>": 2004, "é<é>": 2005, "<🙂>": 2006}
TEXTS = [
    *documents(4821, 60, surrogates=True),
    *(adversarial(seed, 300, surrogates=True) for seed in range(4822, 4826)),
    "",
    "a<|end|>!b</s>",
    "<|endoftext|>",
    "naïve é<é> 東京 <🙂> Привет",
    "\ud800 x \ud83d\ude42 <\ud83d\ude42>",
    "word " * 3000 + "<|end|>",
]
POLICIES: list[dict[str, Any]] = [
    {},
    {"disallowed_special": ()},
    {"disallowed_special": set()},
    {"allowed_special": "all"},
    {"allowed_special": set()},
    {"allowed_special": {"<|end|>"}},
    {"allowed_special": {"</s>"}, "disallowed_special": ()},
    {"allowed_special": "all", "disallowed_special": ()},
    {"disallowed_special": {"</s>"}},
]


class Text(str):
    """A str that the core leaves to the general way."""

    __slots__ = ()


def outcome(call: Any, *args: Any, **options: Any) -> Any:
    """What a call returns, or the built-in class of its error."""
    try:
        return call(*args, **options)
    except BaseException as error:
        return next(cls for cls in type(error).__mro__ if cls.__module__ == "builtins")


@pytest.fixture(scope="module", params=[r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+", r"(?<=a)b+|\w+|\W"])
def both(request: pytest.FixtureRequest, small: Small) -> tuple[Any, Any]:
    """Our encoding and the real one."""
    options = {"pat_str": request.param, "mergeable_ranks": small.ids, "special_tokens": SPECIALS}
    return face.Encoding("small", **options), tiktoken.Encoding("small", **options)


@pytest.mark.parametrize("policy", POLICIES)
def test_texts_are_encoded_as_in_the_general_way_under_each_policy(both: Any, policy: dict[str, Any]) -> None:
    ours, theirs = both
    for text in TEXTS:
        found = outcome(ours.encode, text, **policy)
        assert found == outcome(ours.encode, Text(text), **policy), (text, policy)
        assert found == outcome(theirs.encode, text, **policy), (text, policy)
        assert ours.encode_ordinary(text) == ours.encode_ordinary(Text(text)) == theirs.encode_ordinary(text)


def test_an_empty_special_token_is_refused_as_before(small: Small) -> None:
    made = face.Encoding("small", pat_str=r"\w+|\W", mergeable_ranks=small.ids, special_tokens={"<x>": 2000, "": 2000})
    assert outcome(made.encode, "plain") is outcome(made.encode, Text("plain")) is ValueError
    assert made.encode("plain", disallowed_special=()) == made.encode_ordinary("plain")


@pytest.mark.parametrize("given", [5, None, b"bytes", ["a"]])
def test_other_objects_than_str_are_refused(both: Any, given: object) -> None:
    assert outcome(both[0].encode, given) is outcome(both[0].encode_ordinary, given) is TypeError


def test_ids_decode_as_in_the_general_way(both: Any, small: Small) -> None:
    ours, theirs = both
    known, rng = [*small.ids.values(), *SPECIALS.values()], random.Random(4830)
    lists = [[rng.choice(known) for _ in range(rng.randrange(30))] for _ in range(200)]
    lists += [theirs.encode_ordinary(text) for text in TEXTS]
    for ids in lists:
        assert ours.decode(ids) == ours.decode(tuple(ids)) == theirs.decode(ids)
        assert ours.decode(np.array(ids, dtype=np.uint32)) == ours.decode(ids)
        assert ours.decode_bytes(ids) == theirs.decode_bytes(ids) == b"".join(ours.decode_tokens_bytes(ids))
        assert ours.decode_tokens_bytes(ids) == theirs.decode_tokens_bytes(ids)
        for errors in ("replace", "ignore", "strict"):
            assert outcome(ours.decode, ids, errors) == outcome(theirs.decode, ids, errors)
        found = outcome(ours.decode_with_offsets, ids)
        assert found == outcome(theirs.decode_with_offsets, ids) == outcome(ours.decode_with_offsets, tuple(ids))
    assert ours.decode_batch(lists) == theirs.decode_batch(lists)


@pytest.mark.parametrize("wrong", [2002, 1 << 31, -1, 1 << 32, 1 << 70, True, None, "a", 2.5])
def test_ids_without_a_token_are_refused_by_each_call(both: Any, wrong: Any) -> None:
    ours, theirs = both
    for name in ("decode", "decode_bytes", "decode_tokens_bytes", "decode_with_offsets"):
        found = outcome(getattr(ours, name), [wrong])
        assert isinstance(found, type), (name, wrong)
        if wrong is not True:  # which the real one takes for 1
            assert found == outcome(getattr(theirs, name), [wrong]) or found is KeyError, (name, wrong)
        assert outcome(getattr(ours, name), [0, wrong]) is found


def test_single_tokens_are_looked_up_and_kept(both: Any) -> None:
    ours, theirs = both
    for _ in range(2):
        for token in (b"a", "a", b"low", "<|end|>", b"</s>", "é<é>"):
            assert outcome(ours.encode_single_token, token) == outcome(theirs.encode_single_token, token)
        for token in (b"no such token", "no such token", "", b""):
            assert outcome(ours.encode_single_token, token) == outcome(theirs.encode_single_token, token)
    values = ours.token_byte_values()
    values.clear()  # a list of its own each time
    assert ours.token_byte_values() == theirs.token_byte_values()
    assert [ours.is_special_token(id_) for id_ in (0, 2000, 2003, 2004)] == [False, True, False, True]
    assert outcome(ours.is_special_token, "a") is AssertionError
