"""Bodies of requests: parameters by OpenAI's names and defaults, and errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tokkit.web import requests, tools
from tokkit.web.access import Limits
from tokkit.web.errors import RequestError

HELLO = [{"role": "user", "content": "hello"}]


def completion(**body: Any) -> requests.Asked:
    return requests.completion(json.dumps({"prompt": "a", **body}).encode(), Limits(new_tokens=100))


def chat(**body: Any) -> requests.Asked:
    return requests.chat(json.dumps({"messages": HELLO, **body}).encode(), Limits(new_tokens=100))


def test_defaults_are_those_of_openai() -> None:
    asked = completion()
    assert (asked.max_new_tokens, asked.n, asked.sampling.temperature, asked.sampling.top_p) == (16, 1, 1.0, 1.0)
    assert (asked.stream, asked.logprobs, asked.stop, asked.seed) == (False, False, (), None)
    assert chat().max_new_tokens is None


@pytest.mark.parametrize(
    ("given", "prompts"),
    [("a", ["a"]), (["a", "b"], ["a", "b"]), ([1, 2], [[1, 2]]), ([[1], [2, 3]], [[1], [2, 3]]), ("", [""])],
)
def test_prompts_are_texts_or_ids(given: Any, prompts: list[Any]) -> None:
    assert completion(prompt=given).prompts == prompts


def test_options_are_taken() -> None:
    asked = completion(
        max_tokens=5, n=2, stop="x", seed=3, logprobs=2, temperature=0, top_k=4, logit_bias={"7": -100}, user="me",
        presence_penalty=0.5, frequency_penalty=-0.5, suffix=None, best_of=2, stream=True,
        stream_options={"include_usage": True},
    )  # fmt: skip
    sampling = asked.sampling
    assert (asked.max_new_tokens, asked.n, asked.stop, asked.seed, asked.alternatives) == (5, 2, ("x",), 3, 2)
    assert (asked.stream, asked.include_usage, asked.logprobs) == (True, True, True)
    assert (sampling.temperature, sampling.top_k, dict(sampling.logit_bias or {})) == (0, 4, {7: -100})
    assert (sampling.presence_penalty, sampling.frequency_penalty) == (0.5, -0.5)
    asked = chat(max_completion_tokens=9, max_tokens=5, logprobs=True, top_logprobs=3, stop=["a", "b"], tools=[])
    assert (asked.max_new_tokens, asked.logprobs, asked.alternatives, asked.stop) == (9, True, 3, ("a", "b"))


def test_the_content_of_a_message_may_be_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert chat(messages=[{"role": "user", "content": parts, "name": "me"}]).messages[0] == {
        "role": "user", "content": "ab", "name": "me",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "not JSON"),
        (b"[]", "the body is an array; it must be an object"),
        (b"\xff", "not JSON"),
        (b'{"prompt": "a", "prompt": "b"}', "given twice"),
        (b'{"max_tokens": NaN}', "NaN"),
        (b"{}", "there is no prompt"),
        ({"prompt": []}, "prompt is"),
        ({"prompt": ["a", 1]}, "prompt is"),
        ({"prompt": [-1]}, "prompt is"),
        ({"prompt": [True]}, "prompt is"),
        ({"prompt": {"a": 1}}, "prompt is"),
        ({"prompt": "a", "max_tokens": 0}, "max_tokens is 0; it must be a whole number of at least 1"),
        ({"prompt": "a", "max_tokens": 101}, "this server generates at most 100"),
        ({"prompt": "a", "max_tokens": 1.5}, "max_tokens is 1.5"),
        ({"prompt": "a", "max_tokens": True}, "max_tokens is True"),
        ({"prompt": "a", "temperature": "hot"}, "temperature is 'hot'; it must be a number"),
        ({"prompt": "a", "temperature": -1}, "temperature is -1"),
        ({"prompt": "a", "top_p": 2}, "top_p is 2"),
        ({"prompt": "a", "top_k": 1.5}, "top_k"),
        ({"prompt": "a", "stop": ["a", ""]}, "stop is"),
        ({"prompt": "a", "stop": [str(i) for i in range(17)]}, "at most 16"),
        ({"prompt": "a", "logit_bias": {"x": 1}}, "keys are ids"),
        ({"prompt": "a", "logit_bias": {"1": "x"}}, "logit_bias"),
        ({"prompt": "a", "n": 0}, "n is 0"),
        ({"prompt": "a", "best_of": 3}, "best_of is not supported"),
        ({"prompt": "a", "echo": True}, "echo is True; that is not supported here"),
        ({"prompt": "a", "unheard_of": 1}, "unheard_of is 1; that is not supported here"),
        ({"prompt": "a", "logprobs": 21}, "at most 20"),
        ({"prompt": "a", "stream": "yes"}, "stream is 'yes'"),
    ],
)
def test_what_is_wrong_with_a_completion(body: Any, message: str) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(RequestError) as caught:
        requests.completion(data, Limits(new_tokens=100))
    assert message in caught.value.message
    assert caught.value.status == 400


ADD = {"type": "function", "function": {"name": "add", "parameters": {"properties": {"a": {"type": "integer"}}}}}
TELL = {"type": "function", "function": {"name": "tell"}}


@pytest.mark.parametrize(
    ("choice", "names", "must"),
    [
        (None, ["add", "tell"], []),
        ("auto", ["add", "tell"], []),
        ("none", [], []),
        ("required", ["add", "tell"], ["add", "tell"]),
        ({"type": "function", "function": {"name": "tell"}}, ["add", "tell"], ["tell"]),
    ],
)
def test_tools_may_or_must_be_called(choice: Any, names: list[str], must: list[str]) -> None:
    asked = chat(tools=[ADD, TELL], tool_choice=choice, parallel_tool_calls=True)
    assert [tool["function"]["name"] for tool in asked.tools] == names
    assert list(asked.must_call) == must
    schema = tools.call_schema(asked.tools, asked.must_call)
    assert [option["properties"]["name"]["const"] for option in schema["anyOf"]] == must


def test_calls_in_messages_have_objects_for_templates() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    said = chat(messages=[*HELLO, {"role": "assistant", "content": None, "tool_calls": [call]}]).messages[1]
    assert said["content"] == ""
    assert said["tool_calls"] == [{**call, "function": {"name": "add", "arguments": {"a": 1}}}]
    broken = {**call, "function": {"name": "add", "arguments": '{"a": '}}
    said = chat(messages=[*HELLO, {"role": "assistant", "tool_calls": [broken]}]).messages[1]
    assert said["tool_calls"] == [broken]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"tools": [TELL, TELL]}, "there are two tools with the name 'tell'"),
        ({"tools": [{"type": "function", "function": {"name": "a", "parameters": 1}}]}, "parameters are a JSON schema"),
        ({"tools": [TELL], "tool_choice": "always"}, "tool_choice is 'always'; it must be none, auto, required"),
        ({"tools": [TELL], "tool_choice": {"type": "function", "function": {"name": "add"}}}, "the tools are: tell"),
        ({"tool_choice": "required"}, "tool_choice is 'required'; the tools are: none"),
        (
            {"tools": [TELL], "tool_choice": "required", "response_format": {"type": "json_object"}},
            "exclude each other",
        ),
        ({"messages": [{"role": "assistant", "tool_calls": [{}]}]}, "tool_calls have a function with name"),
        ({"messages": []}, "no messages"),
        ({"messages": ["hello"]}, "role and content"),
        ({"messages": [{"role": "user"}]}, "the content of a message is None"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "parts that are not text"),
        ({"top_logprobs": 2}, "top_logprobs is given; it needs logprobs"),
        ({"tools": [{"type": "function"}]}, "tools is"),
        ({"response_format": {"type": "xml"}}, "response_format is"),
        ({"response_format": {"type": "json_schema"}}, "response_format is"),
    ],
)
def test_what_is_wrong_with_a_chat(body: Any, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        chat(**body)


def test_texts_to_embed_and_to_tokenize() -> None:
    asked = requests.embeddings(b'{"input": ["a", "b"], "encoding_format": "base64", "dimensions": 4}', 4)
    assert (asked.texts, asked.base64) == (["a", "b"], True)
    for body, message in [
        (b'{"input": [1]}', "input is"), (b"{}", "input is"), (b'{"input": []}', "input is"),
        (b'{"input": "a", "dimensions": 5}', "have 4"), (b'{"input": "a", "encoding_format": "x"}', "encoding_format"),
    ]:  # fmt: skip
        with pytest.raises(RequestError, match=message):
            requests.embeddings(body, 4)
    assert requests.tokenize(b'{"content": "a", "add_special": false}') == requests.AskedTokens(
        model="", text="a", special=False
    )
    with pytest.raises(RequestError, match="give the text as prompt"):
        requests.tokenize(b'{"prompt": "a", "text": "b"}')
    assert requests.detokenize(b'{"tokens": [1, 2]}').ids == [1, 2]
    with pytest.raises(RequestError, match="tokens is"):
        requests.detokenize(b'{"tokens": ["a"]}')
