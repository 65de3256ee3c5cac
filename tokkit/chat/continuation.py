"""Renders a chat with an open end: up to the end of its final message, which a model continues.

The final message is rendered with a mark at its end, a private-use character that is neither in the data nor in the
template, and the text ends at the last mark. It is rendered without the mark too: both texts must be the same up to
there, else the template examined the marked message, and the text would show the mark's effects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from tokkit.chat.plain import texts_of
from tokkit.chat.template import PRIVATE, REASONING, ChatTemplate, variables_of, with_reasoning
from tokkit.errors import OptionError


def render_open_end(
    template: ChatTemplate, messages: Sequence[Mapping[str, Any]], field: str, variables: Mapping[str, Any]
) -> str:
    """Return the text of a chat up to the end of a field of its final message: "content", or a name of its thoughts.

    Of content in blocks, the last text is continued. White space at its end is kept if the template keeps it.
    `variables` are the other arguments of `ChatTemplate.render`. OptionError if the final message has no such text, or
    if the template does not write it as it is.

    >>> template = ChatTemplate("{% for m in messages %}[{{ m.content }}]{% endfor %}")
    >>> render_open_end(template, [{"content": "2 + 2"}, {"content": "It is "}], "content", {})
    '[2 + 2][It is '
    """
    final = with_reasoning(messages[-1])
    fields = [name for name in REASONING if final.get(name) == final.get(field)] if field in REASONING else [field]
    if final.get(field) is None:
        named = ", ".join(map(repr, final)) or "nothing"
        raise OptionError(f"there is no {field!r} to continue in the final message, which has {named}")
    if not any(name in template.source for name in fields):
        raise OptionError(f"the chat template does not use {field!r}, so it cannot be continued")
    mark = _free(template, messages, variables)
    marked, text = _marked(final, fields, mark)
    now = datetime.now()

    def render(final: Mapping[str, Any]) -> str:
        return template._run(variables_of([*messages[:-1], final], **variables), now)

    rendered = render(marked)
    spelt = _spelt(mark)
    found = list(spelt.finditer(rendered))
    head = rendered[: found[-1].start()] if found else ""
    if not found or text.strip() not in head:
        raise OptionError(
            "the chat template does not write the end of the final message as it is, so it cannot be continued"
        )
    # A template that strips messages would also strip this one.
    head = head if rendered[found[-1].end() :].startswith(" ") else head.rstrip()
    head = re.sub(rf"(?:{spelt.pattern}) |\s*(?:{spelt.pattern})(?! )", "", head)
    # Templates often leave out an empty message, which the mark makes visible.
    if text.strip() and not render(final).startswith(head):
        raise OptionError(
            f"the chat template examines {field!r} of the final message, or writes its end more than once, so it "
            "cannot be continued"
        )
    return head


def _free(template: ChatTemplate, messages: Sequence[Mapping[str, Any]], variables: Mapping[str, Any]) -> str:
    """Return a character that is neither in the template nor in the data."""
    given = texts_of(_texts_only([messages, variables]), "data")
    seen = set(template.source).union(*given, *template.special_tokens.values())
    return next(chr(point) for point in reversed(PRIVATE) if chr(point) not in seen)


def _texts_only(value: Any) -> Any:
    """Return data without values that are no text: tools may be functions."""
    if isinstance(value, Mapping):
        return {str(key): _texts_only(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_texts_only(item) for item in value]
    return value if isinstance(value, str) else None


def _marked(final: Mapping[str, Any], fields: Sequence[str], mark: str) -> tuple[dict[str, Any], str]:
    """Return the final message with the mark after each of these fields, and the text before the mark."""
    value, end = final[fields[0]], f"{mark} "
    if isinstance(value, str):
        return {**final, **dict.fromkeys(fields, value + end)}, value
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"the {fields[0]} of the final message is {value!r:.80}; it must be text, or a list of blocks")
    blocks = [dict(block) if isinstance(block, Mapping) else block for block in value]
    block = next((one for one in reversed(blocks) if isinstance(one, dict) and isinstance(one.get("text"), str)), None)
    if block is None:
        raise OptionError(f"the {fields[0]} of the final message has no block with a text to continue")
    text = block["text"]
    block["text"] += end
    return {**final, **dict.fromkeys(fields, blocks)}, text


def _spelt(mark: str) -> re.Pattern[str]:
    """Return a pattern of the mark as text, as JSON in ASCII, as Python writes it in a list, and as part of a URL."""
    return re.compile("|".join(map(re.escape, (mark, json.dumps(mark)[1:-1], repr(mark)[1:-1], quote(mark)))))
