"""Chats of transformers and of tokkit's drop-in: equal texts for thoughts, open ends and objects in messages."""

from __future__ import annotations

import collections
import enum
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from both_transformers import Both, all_same, loader
from chat.templates import FORMS
from extras import extra

extra("transformers", minversion="5.24")
extra("jinja2")


class Role(str, enum.Enum):  # noqa: UP042 - str() of its members is not their text
    USER = "user"
    ASSISTANT = "assistant"


USER = {"role": "user", "content": "2+2?"}
EACH = "{% for m in messages %}[WRITE]{% endfor %}"
WRITTEN = [
    "{{ m.role }}:{{ m.content }}", "{{ m.content | trim }}", "{{ m.content | upper }}", "{{ m.content | tojson }}",
    "{{ m.content | tojson(ensure_ascii=True) }}", "{{ m | tojson }}", "{{ m }}", "{{ m.content | urlencode }}",
    "{{ m.content.split('</think>')[-1] }}", "{{ m.content.split() | join('_') }}",
    "{{ m.content }}{% if not m.content.endswith('\n') %}\n{% endif %}", "{{ m.reasoning_content }}|{{ m.content }}",
    "{{ m.thinking }}|{{ m.content }}", "{{ m.reasoning }}|{{ m.content }}", "content{{ m.role }}",
    "{{ m.role }}{{ m['role'] == 'user' }}{{ x }}", "{{ m.content[0].text }}", "{{ 1 | groupby }}",
]  # fmt: skip
TEMPLATES = {
    **FORMS,
    **{written: EACH.replace("WRITE", written) for written in WRITTEN},
    "all": "{{ messages }}",
    "json": "{{ messages | tojson }}",
    "first": "{{ messages[0].role }}",
}
CHATS: dict[str, Any] = {
    **{
        repr(text): [USER, {"role": "assistant", "content": text}]
        for text in ("It is", "It is  \n", "  It is", "", "  ", "a\U0010fffdb", 'say "x" é', "<think>\na\n</think>\nb")
    },
    **{
        name: [USER, {"role": "assistant", name: "let me think", "content": "4"}]
        for name in ("reasoning", "thinking", "reasoning_content")
    },
    "all names": [{"role": "assistant", "reasoning_content": "A", "thinking": "B", "reasoning": "C", "content": "4"}],
    "two names": [{"role": "assistant", "thinking": "B", "reasoning": "C", "content": "4"}],
    "None": [{"role": "assistant", "thinking": None, "reasoning": "C", "content": "4"}],
    "only thoughts": [USER, {"role": "assistant", "reasoning": "C"}],
    "blocks": [USER, {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
    "images": [USER, {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "image"}]}],
    "no text": [USER, {"role": "assistant", "content": [{"type": "image"}]}],
    "int": [USER, {"role": "assistant", "content": 5}],
    "enumerations": [{"role": Role.USER, "content": "q"}, {"role": Role.ASSISTANT, "content": "r"}],
    "numpy": [
        {"role": "user", "content": np.str_("q")},
        {"role": "assistant", "content": "r", "x": np.bool_(False), "n": np.int64(3), "f": np.float32(0.5)},
    ],
    "objects": [
        {"role": "user", "content": "q", "image": np.zeros(2)},
        {"role": "assistant", "content": "r", "o": types.SimpleNamespace(a=1)},
    ],
    "mappings": [
        collections.OrderedDict(role="user", content="q"), types.MappingProxyType({"role": "assistant", "content": "r"})
    ],
    "tuples": ({"role": "user", "content": "q"}, {"role": "assistant", "content": ("r",)}),
}  # fmt: skip
OPTIONS: list[dict[str, Any]] = [
    {},
    {"x": Role.USER, "documents": [{"a": np.float32(1.5)}]},
    {"documents": ["a"]},
    {"sanitize_control_tokens": True},
    *({"continue_final_message": field} for field in (True, "reasoning_content", "reasoning", "thinking", "other")),
]


@pytest.fixture(scope="module")
def both(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Both:
    return loader(shared, tmp_path_factory.mktemp("folders"))("gpt2")


@pytest.mark.parametrize("template", TEMPLATES)
def test_chats_are_rendered_equally(both: Both, template: str) -> None:
    source = TEMPLATES[template]
    all_same(
        both,
        [
            lambda t, chat=chat, more=more: t.apply_chat_template(chat, chat_template=source, tokenize=False, **more)
            for chat in CHATS.values()
            for more in OPTIONS
        ],
    )
