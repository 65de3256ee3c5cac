"""A chat with an open end shows the final message as it is, without a trace of the mark that finds its end."""

from __future__ import annotations

from typing import Any

import pytest

from tokkit.errors import OptionError

pytest.importorskip("jinja2", reason="chat templates need jinja2: pip install 'pytokkit[chat]'")

from tokkit.chat import ChatTemplate
from tokkit.chat.continuation import render_open_end

EACH = "{% for m in messages %}[WRITE]{% endfor %}"
CHAT = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": 'It "is"  '}]


def continued(written: str, chat: list[Any] = CHAT, field: str = "content", **variables: Any) -> str:
    return render_open_end(ChatTemplate(EACH.replace("WRITE", written)), chat, field, variables)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("{{ m.content }}", '[2+2?][It "is"  '),
        ("{{ m.content }} more", '[2+2? more][It "is"  '),
        ("{{ m.content | trim }}", '[2+2?][It "is"'),
        ("{{ m.role }}:{{ m['content'].strip() }}", '[user:2+2?][assistant:It "is"'),
        ("{{ m.content.split('|')[-1] }}", '[2+2?][It "is"  '),
        ("{{ m.content }}|{{ m.content | trim }}", '[2+2?|2+2?][It "is"  |It "is"'),
        ("{{ m.content | trim }}|{{ m.content }}", '[2+2?|2+2?][It "is"|It "is"  '),
    ],
)
def test_the_text_ends_with_the_message(written: str, text: str) -> None:
    assert continued(written) == text


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("{{ m.content | tojson }}", '["2+2?"]["Es är'),
        ("{{ m.content | lower }}", None),
        ("{{ m.content | upper }}", None),
        ("{{ m.content[:3] }}", None),
        ("{{ m.content[:-1] }}", None),
        ("{{ m.content | reverse }}", None),
        ("{{ m.content | length }} {{ m.content }}", None),
        ("{% if m.content == 'Es är' %}yes{% endif %}{{ m.content }}", None),
        ("content", None),
        ("{{ m.role }}", None),
    ],
)
def test_a_changed_message_is_refused(written: str, text: str | None) -> None:
    chat = [CHAT[0], {"role": "assistant", "content": "Es är"}]
    if text is not None:
        assert continued(written, chat) == text
        return
    with pytest.raises(OptionError, match="so it cannot be continued"):
        continued(written, chat)


@pytest.mark.parametrize(
    "written",
    ["{{ m | tojson(ensure_ascii=True) }}{# content #}", "{{ m }}{# content #}", "{{ m.content | urlencode }}"],
)
def test_no_spelling_of_the_mark_is_left(written: str) -> None:
    chat = [{"content": "a"}, {"content": "b", "after": "c"}]
    whole = ChatTemplate(EACH.replace("WRITE", written)).render(chat)
    text = continued(written, chat)
    assert text.endswith("b")
    assert whole.startswith(text)


def test_private_use_characters_of_a_chat_stay() -> None:
    chat = [{"content": "\U0010fffd"}, {"content": "a\U0010fffd \U0010fffcb"}]
    template = ChatTemplate("\U0010fffb" + EACH.replace("WRITE", "{{ m.content }}{{ x }}"))
    text = render_open_end(template, chat, "content", {"x": "\U0010fffa"})
    assert text == "\U0010fffb[\U0010fffd\U0010fffa][a\U0010fffd \U0010fffcb"


def test_an_empty_message_is_continued_where_the_template_would_leave_it_out() -> None:
    assert (
        continued("{% if m.content %}A:{{ m.content }}{% endif %}", [{"content": "x"}, {"content": ""}]) == "[A:x][A:"
    )


@pytest.mark.parametrize("name", ["reasoning", "thinking", "reasoning_content"])
@pytest.mark.parametrize("field", ["reasoning", "thinking", "reasoning_content"])
@pytest.mark.parametrize("read", ["thinking", "reasoning_content"])
def test_thoughts_are_continued_under_every_name(name: str, field: str, read: str) -> None:
    chat = [{"content": "q"}, {name: "let me", "content": "4"}]
    if field == "reasoning" != name:
        with pytest.raises(OptionError, match="there is no 'reasoning' to continue"):
            continued(f"{{{{ m.{read} }}}}", chat, field)
    else:
        assert continued(f"{{{{ m.{read} }}}}|{{{{ m.content }}}}", chat, field) == "[|q][let me"


def test_the_last_text_of_blocks_is_continued() -> None:
    blocks = [{"text": "a"}, {"text": "b"}, {"image": "i"}]
    each = "{% for b in m.content %}{{ b.text }}{% endfor %}"
    assert continued(each, [{"content": [{"text": "q"}]}, {"content": blocks}]) == "[q][ab"
    assert blocks[1] == {"text": "b"}
    for wrong in ([], [{"image": "i"}]):
        with pytest.raises(OptionError, match="no block with a text"):
            continued(each, [{"content": wrong}])
    with pytest.raises(TypeError, match="the content of the final message is 5"):
        continued("{{ m.content }}", [{"content": 5}])


def test_tools_may_be_functions() -> None:
    def add(a: int) -> int:
        """Add one.

        Args:
            a: a number
        """
        return a + 1

    assert continued("{{ tools | length }}{{ m.content }}", CHAT[:1], tools=[add]) == "[12+2?"
