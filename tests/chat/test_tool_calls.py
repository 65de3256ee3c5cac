"""Tool calls are found in the output of models of several families, whole or streamed."""

from __future__ import annotations

import pytest

from tokkit.chat import ToolCall, ToolCallStream, parse_tool_calls

NAMES = ("add", "get_weather")
ADD = ToolCall("add", {"a": 1, "b": [0.1, "x"]})
JSON = '{"name": "add", "arguments": {"a": 1, "b": [0.1, "x"]}}'
CASES = {
    "hermes": (f"<tool_call>\n{JSON}\n</tool_call>", "", [ADD]),
    "hermes-after-text": (f"Let me see.\n<tool_call>{JSON}</tool_call>", "Let me see.\n", [ADD]),
    "several": (f"<tool_call>{JSON}</tool_call>\n<tool_call>{JSON}</tool_call>", "", [ADD, ADD]),
    "without-its-end": (f"\n<tool_call>\n{JSON}", "", [ADD]),
    "llama": (JSON.replace("arguments", "parameters"), "", [ADD]),
    "llama-marked": ("<|python_tag|>" + JSON.replace("arguments", "parameters"), "", [ADD]),
    "mistral": (f"[TOOL_CALLS] [{JSON}, {JSON}]", "", [ADD, ADD]),
    "mistral-unmarked": (f"[{JSON}]", "", [ADD]),
    "mistral-newer": ('get_weather{"city": "Oslo"}', "", [ToolCall("get_weather", {"city": "Oslo"})]),
    "mistral-newer-marked": ('[TOOL_CALLS]add[ARGS]{"a": 1}', "", [ToolCall("add", {"a": 1})]),
    "json-in-json": ('{"name": "add", "arguments": "{\\"a\\": 1}"}', "", [ToolCall("add", {"a": 1})]),
    "no-arguments": ('<tool_call>{"name": "add"}</tool_call>', "", [ToolCall("add", {})]),
    "exact-numbers": ('add{"a": -9.132585525512695}', "", [ToolCall("add", {"a": -9.132585525512695})]),
}
TEXTS = {
    "text": "Five and seven make twelve.",
    "json": '{"sum": 12}',
    "another-tool": '{"name": "subtract", "arguments": {}}',
    "a-call-and-none": f'[{JSON}, {{"name": "subtract"}}]',
    "broken": '<tool_call>{"name": "add", "arguments": {"a": 1}</tool_call>',
    "not-a-number": '{"name": "add", "arguments": {"a": NaN}}',
    "a-word-that-is-a-tool": "add five and seven",
    "begins-with-a-tool": "addition is easy",
    "deep": "[" * 100_000,
    "less-than": "1 <tool and 2 <",
    "empty": "",
}


@pytest.mark.parametrize("case", CASES)
def test_calls_are_taken_out_of_the_text(case: str) -> None:
    text, rest, calls = CASES[case]
    assert parse_tool_calls(text, NAMES) == (rest, calls)


@pytest.mark.parametrize("case", TEXTS)
def test_what_is_no_call_stays_text(case: str) -> None:
    assert parse_tool_calls(TEXTS[case], NAMES) == (TEXTS[case], [])


@pytest.mark.parametrize("size", [1, 3, 7])
@pytest.mark.parametrize("text", [case[0] for case in CASES.values()] + [text[:99] for text in TEXTS.values()])
def test_parts_give_what_the_whole_gives(text: str, size: int) -> None:
    stream = ToolCallStream(NAMES)
    shown = "".join(stream.step(text[at : at + size]) for at in range(0, len(text), size))
    rest, calls = stream.finish()
    assert (shown + rest, calls) == parse_tool_calls(text, NAMES)


def test_text_is_shown_as_soon_as_it_can_be_no_call() -> None:
    stream = ToolCallStream(NAMES)
    parts = ["  a", "dd", "ition ", "is <", "b> <tool_c", "all>", "x"]
    assert [stream.step(part) for part in parts] == ["", "", "  addition ", "is ", "<b> ", "", ""]
    assert stream.finish() == ("<tool_call>x", [])
