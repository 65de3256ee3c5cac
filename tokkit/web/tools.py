"""Tools in requests of OpenAI's API: their definitions, the choice among them, and calls in messages and answers."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tokkit.chat.tool_calls import ToolCall
from tokkit.files.strict_json import brief
from tokkit.web.errors import RequestError

Tool = Mapping[str, Any]


def checked(given: Sequence[Any], choice: Any) -> tuple[tuple[Tool, ...], tuple[str, ...]]:
    """Return the tools that a model may call, and the names of those of which it must call one, if it must."""
    named: dict[str, Tool] = {}
    for tool in given:
        function = tool.get("function") if isinstance(tool, dict) and tool.get("type") == "function" else None
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(function, dict) or not isinstance(name, str) or not name:
            raise _wrong("tools", tool, 'a list of {"type": "function", "function": {"name": …}}')
        if not isinstance(function.get("parameters", {}), dict):
            raise _wrong("tools", function["parameters"], "functions whose parameters are a JSON schema")
        if name in named:
            raise RequestError(f"there are two tools with the name {name!r}", param="tools")
        named[name] = tool
    if choice == "none":
        return (), ()
    if choice in ("auto", None):
        return tuple(named.values()), ()
    wanted = choice.get("function") if isinstance(choice, dict) and choice.get("type") == "function" else None
    name = wanted.get("name") if isinstance(wanted, dict) else None
    if choice != "required" and not isinstance(name, str):
        what = 'none, auto, required, or {"type": "function", "function": {"name": …}}'
        raise _wrong("tool_choice", choice, what)
    must = tuple(named) if choice == "required" else (str(name),)
    if not must or must[0] not in named:
        there = ", ".join(named) or "none"
        raise RequestError(f"tool_choice is {brief(choice)}; the tools are: {there}", param="tool_choice")
    return tuple(named.values()), must


def _wrong(name: str, value: object, what: str) -> RequestError:
    return RequestError(f"{name} is {brief(value)}; it must be {what}", param=name)


def call_schema(tools: Iterable[Tool], names: Sequence[str]) -> dict[str, Any]:
    """Return the JSON schema of a call of one of these tools, which makes a model call one."""
    options: list[dict[str, Any]] = []
    shared: dict[str, Any] = {}
    for tool in tools:
        function = tool["function"]
        if function["name"] in names:
            parameters = {"type": "object", **function.get("parameters", {})}
            # References begin at the root, which is not that of the parameters any more.
            shared |= parameters.pop("$defs", {})
            options.append({
                "type": "object", "properties": {"name": {"const": function["name"]}, "arguments": parameters},
                "required": ["name", "arguments"], "additionalProperties": False,
            })  # fmt: skip
    return {"anyOf": options, "$defs": shared}


def as_body(calls: Sequence[ToolCall], *, numbered: bool = False) -> list[dict[str, Any]]:
    """Return calls in the form of OpenAI's API, `numbered` in a stream."""
    return [
        ({"index": i} if numbered else {})
        | {
            "id": f"call_{uuid.uuid4().hex[:24]}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
        }
        for i, call in enumerate(calls)
    ]


def called(given: Any) -> list[dict[str, Any]]:
    """Return the calls of a message with arguments as objects, which templates turn into text in their own way."""
    made = []
    for call in given if isinstance(given, list) else [given]:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise _wrong("messages", call, "messages whose tool_calls have a function with name and arguments")
        arguments = function.get("arguments", {})
        if isinstance(arguments, str):
            with contextlib.suppress(ValueError, RecursionError):  # a model may have written anything
                arguments = json.loads(arguments or "{}")
        made.append({**call, "function": {**function, "arguments": arguments}})
    return made
