"""Chats are truncated to a token limit: the oldest turns go, required messages stay."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from chat.templates import FORMS, NAMES, SPECIALS
from tokkit.errors import ChatError, OptionError

if TYPE_CHECKING:
    import tokkit

pytest.importorskip("jinja2", reason="chat templates need jinja2: pip install 'pytokkit[chat]'")

from tokkit.chat import ChatTemplate, encode_chat, fit_chat
from tokkit.chat.fit import droppable

CALL = {"function": {"name": "look_up", "arguments": {"word": "low"}}}


@pytest.fixture(scope="module")
def chat_tok(make_tokenizer: Callable[..., tokkit.Tokenizer]) -> tokkit.Tokenizer:
    """A tokenizer that has all the templates' special tokens."""
    return make_tokenizer("rank", "cl100k", {token: 2000 + i for i, token in enumerate(SPECIALS)})


def chat_of(roles: str, seed: int = 0) -> list[dict[str, Any]]:
    """A message for each letter (s, u, a, c: an assistant that calls a tool, t: a tool), of random lengths."""
    rng = random.Random(seed)
    names = {"s": "system", "u": "user", "a": "assistant", "c": "assistant", "t": "tool"}
    texts = [
        " ".join([f"{letter}{i}", *["words <|im_end|> of it"] * rng.randrange(9)]) for i, letter in enumerate(roles)
    ]
    return [
        {"role": names[letter], "content": text, **({"tool_calls": [CALL]} if letter == "c" else {})}
        for letter, text in zip(roles, texts, strict=True)
    ]


def turns_of(messages: list[dict[str, Any]]) -> str:
    return "".join("c" if "tool_calls" in message else message["role"][0] for message in messages)


@pytest.mark.parametrize("form", FORMS)
def test_as_many_turns_stay_as_fit(chat_tok: tokkit.Tokenizer, form: str) -> None:
    template = ChatTemplate(FORMS[form], NAMES)
    for seed in range(2):
        messages = chat_of("ua" * 5 + "u", seed)
        sizes = [len(encode_chat(chat_tok, template, messages[2 * k :]).ids) for k in range(6)]
        for limit in {sizes[-1], *(size + d for size in sizes for d in (-1, 0, 1) if size + d >= sizes[-1])}:
            fitted = fit_chat(chat_tok, template, messages, limit)
            k = next(k for k in range(6) if sizes[k] <= limit)
            assert fitted.messages == messages[2 * k :]
            assert fitted.n_dropped == 2 * k
            assert fitted.encoded == encode_chat(chat_tok, template, messages[2 * k :])
        with pytest.raises(ChatError, match=f"into {sizes[-1] - 1} tokens: 1 of its 11 messages.* have {sizes[-1]}"):
            fit_chat(chat_tok, template, messages, sizes[-1] - 1)


@pytest.mark.parametrize(
    ("roles", "least"),
    [
        ("suaua", "sua"),
        ("suau", "su"),
        ("uasu", "su"),
        ("auau", "u"),
        ("uctau", "u"),
        ("uuu", "u"),
        ("suct", "suct"),
        ("suctctt", "suctt"),
        ("uactcta", "ua"),
        ("sa", "sa"),
        ("s", "s"),
    ],
)
def test_what_must_stay_stays(chat_tok: tokkit.Tokenizer, roles: str, least: str) -> None:
    template = ChatTemplate(FORMS["thinking"])
    messages = chat_of(roles)
    dropped = {i for group in droppable(messages) for i in group}
    minimum = [message for i, message in enumerate(messages) if i not in dropped]
    assert turns_of(minimum) == least
    n = len(encode_chat(chat_tok, template, minimum, add_generation_prompt=True).ids)
    assert fit_chat(chat_tok, template, messages, n, add_generation_prompt=True).messages == minimum


def test_results_of_tools_stay_with_their_calls(chat_tok: tokkit.Tokenizer) -> None:
    template, messages = ChatTemplate(FORMS["thinking"]), chat_of("suctacttauctctt")
    least = len(encode_chat(chat_tok, template, [*messages[:1], messages[9], *messages[12:]]).ids)
    whole = len(encode_chat(chat_tok, template, messages).ids)
    limits = [least, *range(least, whole, 20), whole]
    kept = {turns_of(fit_chat(chat_tok, template, messages, limit).messages) for limit in limits}
    assert kept == {"suctacttauctctt", "suctctt", "suctt"}


def test_tools_count_too(chat_tok: tokkit.Tokenizer) -> None:
    template, messages = ChatTemplate(FORMS["thinking"]), chat_of("uau")
    schema = {"type": "function", "function": {"name": "look_up", "parameters": {}}}
    n = len(encode_chat(chat_tok, template, messages).ids)
    assert fit_chat(chat_tok, template, messages, n).n_dropped == 0
    # An iterator of tools is used for every try.
    assert fit_chat(chat_tok, template, messages, n, tools=iter([schema])).n_dropped == 2


@pytest.mark.parametrize("limit", [0, -1, True, 2.5, "9"])
def test_a_limit_that_is_none_is_refused(chat_tok: tokkit.Tokenizer, limit: Any) -> None:
    with pytest.raises(OptionError, match=r"limit is .*; it must be an int of at least 1"):
        fit_chat(chat_tok, ChatTemplate("x"), [], limit)
