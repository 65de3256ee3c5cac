"""Finds tool calls in generated text."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

BEGIN, END = "<tool_call>", "</tool_call>"
MARKS = ("[TOOL_CALLS]", "<|python_tag|>")
"""Prefixes that may come before calls; usually they are special tokens, which are not in the text."""
_BLOCK = re.compile(f"{BEGIN}(.*?)(?:{END}|$)", re.DOTALL)


class ToolCall(NamedTuple):
    """A call of a tool: its name, and its arguments by their names."""

    name: str
    arguments: dict[str, Any]


def parse_tool_calls(text: str, names: Collection[str]) -> tuple[str, list[ToolCall]]:
    """Return the generated text without tool calls, and the calls of tools with these names.

    Supported are JSON in <tool_call> (Hermes, Qwen), and texts that consist only of calls: JSON of one call or a list,
    with "arguments" or "parameters" (Llama 3, Mistral), or a name and JSON (newer Mistral). Anything that does not name
    a tool or is not JSON stays text.

    >>> parse_tool_calls('Let me see. <tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>', ["add"])
    ('Let me see. ', [ToolCall(name='add', arguments={'a': 1})])
    """
    bare = text.strip()
    for mark in MARKS:
        bare = bare.removeprefix(mark).lstrip()
    whole = _calls(bare, names) or _named(bare, names)
    if whole:
        return "", whole
    found: list[ToolCall] = []

    def taken(block: re.Match[str]) -> str:
        calls = _calls(block[1], names)
        found.extend(calls)
        return "" if calls else block[0]

    rest = _BLOCK.sub(taken, text)
    return (rest if not found or rest.strip() else ""), found


class ToolCallStream:
    """Reads a text in parts, and releases text that cannot be a call before the text has ended.

    >>> stream = ToolCallStream(["add"])
    >>> [stream.step(part) for part in ("Let me", " see. <tool", '_call>{"name": "add", ', '"arguments": {}}')]
    ['Let me', ' see. ', '', '']
    >>> stream.finish()
    ('', [ToolCall(name='add', arguments={})])
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names, self._text, self._shown = names, "", 0

    def step(self, part: str) -> str:
        """Add a part; return the text that can be shown now and was not shown before."""
        self._text += part
        end = self._sure()
        made = self._text[self._shown : end]
        self._shown = max(self._shown, end)
        return made

    def finish(self) -> tuple[str, list[ToolCall]]:
        """Return the rest of the text that was not shown, and its calls."""
        rest, calls = parse_tool_calls(self._text, self._names)
        return rest[self._shown :], calls

    def _sure(self) -> int:
        """Return the number of characters that are certainly not part of a call."""
        bare = self._text.strip()
        if not self._shown and (
            any(bare.startswith(mark) or mark.startswith(bare) for mark in ("{", "[", BEGIN, *MARKS))
            or any(name.startswith(bare) or _goes_on(bare, name) for name in self._names)
        ):
            return 0
        at = self._text.find(BEGIN)
        if at >= 0:
            return at
        return next(len(self._text) - n for n in range(len(BEGIN), -1, -1) if self._text.endswith(BEGIN[:n]))


def _goes_on(text: str, name: str) -> bool:
    return text.startswith(name) and text.removeprefix(name).lstrip()[:1] in ("", "{", "[")


def _calls(text: str, names: Collection[str]) -> list[ToolCall]:
    """Return the calls in a text of JSON; empty if it is something else."""
    value = _json(text)
    made = list(_read(value if isinstance(value, list) else [value], names))
    return [] if None in made else [call for call in made if call is not None]


def _read(values: list[Any], names: Collection[str]) -> Iterator[ToolCall | None]:
    for value in values:
        given = value if isinstance(value, dict) else {}
        arguments = given.get("arguments", given.get("parameters", {}))
        if isinstance(arguments, str):  # JSON inside a JSON string, as in OpenAI's API
            arguments = _object(arguments)
        name = given.get("name")
        known = isinstance(name, str) and name in names
        yield ToolCall(str(name), arguments) if known and isinstance(arguments, dict) else None


def _named(text: str, names: Collection[str]) -> list[ToolCall]:
    """Return the call for a name and JSON arguments."""
    for name in sorted(names, key=len, reverse=True):
        if text.startswith(name):
            arguments = _object(text.removeprefix(name).strip().removeprefix("[ARGS]"))
            return [] if arguments is None else [ToolCall(name, arguments)]
    return []


def _object(text: str) -> dict[str, Any] | None:
    value = _json(text)
    return value if isinstance(value, dict) else None


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return None


def _refused(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
