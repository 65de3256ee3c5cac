"""Renders messages with a chat template, and marks the special tokens that the template itself wrote.

The text of a special token in a message must not become a special id. `render_parts` distinguishes them:

1. The template runs. If the data has none of the characters that identify special tokens (<, |, [ …), all special
tokens are the template's own. 2. Else it runs again on data in which each such character is replaced by a private-use
character that occurs nowhere else. If the two texts differ only in these characters, they show what came from data. 3.
Else the template examines the data, for example for "</think>". Then each literal of the template is marked in the same
way, one after the other, and a token is special if all its characters provably come from literals. All others are text:
nothing that came from data is special, whatever the template does.

If a template puts letters and digits of data between its own brackets, as in "<|" + role + "|>", this makes a special
token in 1 and 2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit.chat.plain import replaced, texts_of, translated
from tokkit.chat.rendered import Rendered, Span, matches, matches_of
from tokkit.chat.schema import function_schema
from tokkit.errors import ChatError, OptionError

Tool = Callable[..., Any] | Mapping[str, Any]
PRIVATE = range(0xF0000, 0x10FFFE)
REASONING = ("reasoning_content", "thinking", "reasoning")
"""Names of the thoughts in a message, the preferred one first."""


class ChatTemplate:
    """A chat template in Jinja2's language, as in tokenizer_config.json. Immutable: threads may share it.

    `special_tokens` maps the names of tokens in the template (bos_token, eos_token …) to their texts.

    >>> template = ChatTemplate("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{{ eos_token }}{% endfor %}",
    ...                         {"eos_token": "</s>"})
    >>> template.render([{"role": "user", "content": "Hello"}])
    '<|user|>Hello</s>'
    """

    def __init__(self, source: str, special_tokens: Mapping[str, str] | None = None) -> None:
        if not isinstance(source, str):
            raise OptionError(f"a chat template is {type(source).__name__}; it must be text")
        for name, token in (special_tokens or {}).items():
            if not isinstance(name, str) or not isinstance(token, str):
                raise OptionError(f"special_tokens maps {name!r} to {token!r}; it must map names to text")
        try:
            from tokkit.chat.sandbox import Program
        except ModuleNotFoundError as error:
            if error.name != "jinja2":
                raise
            raise ChatError("chat templates need jinja2: pip install 'pytokkit[chat]'") from None
        self.source = source
        self.special_tokens = MappingProxyType(dict(special_tokens or {}))
        self._program = Program(source)

    @property
    def has_generation(self) -> bool:
        """Whether the template marks the assistant's text with `{% generation %}` blocks."""
        return self._program.has_generation

    @property
    def takes_tools(self) -> bool:
        """Whether the template uses tools."""
        return self._program.takes_tools

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Iterable[Tool] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        **kwargs: Any,
    ) -> str:
        """Return the text of a chat; ChatError if the template fails, or rejects the messages.

        `tools` are functions (described by `function_schema`) or JSON schemas; `kwargs` are additional variables of the
        template. Thoughts in a message, under one of the names `reasoning_content`, `thinking` and `reasoning`, are
        there for the template under the first two names.
        """
        data = variables_of(messages, tools, documents, add_generation_prompt, **kwargs)
        return self._run(data, datetime.now())

    def render_parts(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        special_tokens: Iterable[str] | None = None,
        tools: Iterable[Tool] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        **kwargs: Any,
    ) -> Rendered:
        """Return the text of a chat, and which special tokens in it came from the template and which from data.

        `special_tokens` are the texts of all special tokens of the tokenizer; those that the template names are always
        included. Data must be plain: mappings, lists, text, numbers.

        >>> template = ChatTemplate("<s>{{ messages[0].content }}</s>")
        >>> template.render_parts([{"content": "not </s> yet"}], special_tokens=["<s>", "</s>"]).parts
        [('<s>', True), ('not </s> yet', False), ('</s>', True)]
        """
        data = variables_of(messages, tools, documents, add_generation_prompt, **kwargs)
        tokens = {*(special_tokens or ()), *self.special_tokens.values()} - {""}
        return _Tracer(self, data, tokens).rendered()

    def _run(self, data: Mapping[str, Any], now: datetime, **options: Any) -> str:
        from tokkit.chat.sandbox import Run

        names = options.pop("names", self.special_tokens)
        return self._program.run({**names, **data}, Run(now, **options))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.source, dict(self.special_tokens))

    def __repr__(self) -> str:
        return f"<ChatTemplate of {len(self.source)} characters>"


def variables_of(
    messages: Sequence[Mapping[str, Any]],
    tools: Iterable[Tool] | None = None,
    documents: Sequence[Mapping[str, Any]] | None = None,
    add_generation_prompt: bool = False,
    **kwargs: Any,
) -> dict[str, Any]:
    """Return the variables of a template that come from the caller."""
    if isinstance(messages, (str, bytes)) or not isinstance(messages, Sequence):
        raise OptionError(f"messages are {type(messages).__name__}; they must be a list of mappings")
    for i, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise OptionError(
                f"messages[{i}] is {message!r:.80}; it must be a mapping such as {{'role': …, 'content': …}}"
            )
    schemas = None
    if tools is not None:
        schemas = [tool if isinstance(tool, Mapping) else function_schema(tool) for tool in tools]
    return {
        "messages": [with_reasoning(message) for message in messages],
        "tools": schemas,
        "documents": documents,
        "add_generation_prompt": add_generation_prompt,
        **kwargs,
    }


def with_reasoning(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message whose thoughts have all names that templates read, in the order of keys of transformers."""
    given = [message[name] for name in REASONING if message.get(name) is not None]
    if not given:
        return message
    thinking = next(one for one in (message.get("thinking"), given[0]) if one is not None)
    return {"thinking": thinking, **message, **{"thinking": thinking, "reasoning_content": given[0]}}


class _Tracer:
    """One chat, rendered repeatedly to find out where its special tokens come from."""

    def __init__(self, template: ChatTemplate, data: Mapping[str, Any], tokens: set[str]) -> None:
        self.template, self.data, self.tokens = template, data, tokens
        self.now = datetime.now()
        self.text = template._run(data, self.now)
        self.given = [text for name, value in data.items() for text in texts_of(value, name)]

    def rendered(self) -> Rendered:
        """Return the chat with all spans."""
        generated = self._generated() if self.template.has_generation else ()
        found = matches(self.text, self.tokens)
        if not found:
            return Rendered(self.text, generated=generated)
        marks = recognised_by(self.tokens)
        if not any(mark in text for text in self.given for mark in marks):
            return Rendered(self.text, tuple(found), (), generated)
        from_data = self._traced(marks)
        traced = from_data is not None
        allowed = self._shown() if from_data is None else ~from_data
        special = matches_of(self.text, self.tokens, found, allowed)
        rest = sorted({*found} - {*special})
        return Rendered(self.text, tuple(special), tuple(rest), generated, traced)

    def _twins(self, characters: Iterable[str]) -> dict[int, int]:
        """Code point of each character → a private-use one that is neither in the data nor in the template."""
        characters = sorted(set(characters))
        seen = set(self.text).union(self.template.source, *self.given)
        free = (point for point in PRIVATE if chr(point) not in seen)
        return dict(zip(map(ord, characters), free, strict=False))

    def _compared(self, other: str, twins: Mapping[int, int]) -> NDArray[np.bool_] | None:
        """Return which characters of a second text were replaced; None if the texts differ in other ways."""
        if len(other) != len(self.text) or replaced(other, {twin: point for point, twin in twins.items()}) != self.text:
            return None
        points = np.frombuffer(other.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        return np.isin(points, list(twins.values()))

    def _traced(self, marks: set[str]) -> NDArray[np.bool_] | None:
        """Return which of the characters that identify special tokens came from data; None if unknown."""
        twins = self._twins(marks)
        data = {name: translated(value, twins) for name, value in self.data.items()}
        try:
            return self._compared(self.template._run(data, self.now), twins)
        except ChatError:  # the template rejects the changed data
            return None

    def _shown(self) -> NDArray[np.bool_]:
        """Return which characters provably come from the template's literals or its named tokens."""
        twins = self._twins("".join(self.tokens))
        shown = np.zeros(len(self.text), dtype=np.bool_)
        own = {name: replaced(token, twins) for name, token in self.template.special_tokens.items()}
        changes: list[dict[str, Any]] = [{"names": {**self.template.special_tokens, name: own[name]}} for name in own]
        for number, literal in enumerate(self.template._program.literals):
            marked = replaced(literal, twins)
            if marked != literal:
                changes.append({"literals": {number: marked}})
        for change in changes:
            try:
                found = self._compared(self.template._run(self.data, self.now, **change), twins)
            except ChatError:
                continue
            if found is not None:
                shown |= found
        return shown

    def _generated(self) -> tuple[Span, ...]:
        """Return the spans of generation blocks: the chat is rendered with a character before and after each."""
        before, behind = map(chr, list(self._twins("()").values()))
        marked = self.template._run(self.data, self.now, marks=(before, behind))
        spans: list[Span] = []
        parts, at, start = [], 0, -1
        for part in re.split(f"([{before}{behind}])", marked):
            if part == before and start < 0:
                start = at
            elif part == behind and start >= 0:
                spans.append((start, at))
                start = -1
            elif part in (before, behind):
                raise ChatError("the chat template has nested generation blocks, which are not supported")
            else:
                parts.append(part)
                at += len(part)
        if "".join(parts) != self.text or start >= 0:
            raise ChatError("the chat template changes the output of its generation blocks, so it cannot be located")
        return tuple(spans)


def recognised_by(tokens: Iterable[str]) -> set[str]:
    """Return characters that identify special tokens: every special token contains at least one of them.

    They are all characters except letters, digits, underscores, quotes and white space; for a token with only such
    characters, all of its characters.

    >>> sorted(recognised_by(["<|im_start|>", "[SEP]", "EOT"]))
    ['<', '>', 'E', 'O', 'T', '[', ']', '|']
    """
    marks: set[str] = set()
    for token in tokens:
        signs = {c for c in token if not (c.isalnum() or c.isspace() or c in "_\"'\\")}
        marks |= signs or set(token)
    return marks
