"""A chat template and messages: a text, whose parts say what is special, or a ChatError; in bounded time and memory."""

from __future__ import annotations

import json
import re

from mutate_json import CHANGE
from tokkit.chat import ChatTemplate
from tokkit.errors import TokkitError

__all__ = ["CHANGE", "check"]

SPECIAL = ("<s>", "</s>", "<|im_start|>", "<|im_end|>")
MAKES_ANGLES = ("<", "\\", "token", ":c", "%c")
"""What a template may write a "<" by that is none of the data's."""
VARIES = ("strftime_now", "lipsum", "random")
"""What gives another text each time."""
ADDRESS = re.compile(r"(?: |%(?:25)*20)0x[0-9a-f]+")
"""Where an object is in memory: in the text of a generator, as of `batch`, and another one each time. `urlencode` makes
%20 of its space, and %2520 if it is used twice."""


def check(data: bytes) -> None:
    try:
        value = json.loads(data)
        source, messages = value["template"], value["messages"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return
    if not isinstance(source, str) or not isinstance(messages, list):
        return
    try:
        template = ChatTemplate(source, {"bos_token": "<s>", "eos_token": "</s>"})
        text = template.render(messages, add_generation_prompt=True)
        rendered = template.render_parts(messages, special_tokens=SPECIAL, add_generation_prompt=True)
    except TokkitError:
        return
    if not any(word in source for word in VARIES):
        assert ADDRESS.sub("", rendered.text) == ADDRESS.sub("", text)
    assert "".join(part for part, _ in rendered.parts) == rendered.text
    if not any(sign in source for sign in MAKES_ANGLES):
        assert not any(own and token in part for part, own in rendered.parts for token in SPECIAL), rendered
