"""Chat templates render messages as transformers does, with clear errors and within bounds."""

from __future__ import annotations

import pickle
import sys
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.templates import CHATML, FORMS, LLAMA3, NAMES
from extras import extra
from tokkit import limits
from tokkit.errors import ChatError, OptionError

pytest.importorskip("jinja2", reason="chat templates need jinja2: pip install 'pytokkit[chat]'")

from tokkit.chat import ChatTemplate

TURNS = [
    {"role": "user", "content": " Hello,\nwörld & <b> 🦜 "},
    {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHi! <|eot_id|> "},
    {"role": "user", "content": "Bye"},
]
CONTENT = st.text(st.sampled_from("ab \n<|>/[]東🦜\"'{}%"), max_size=12)


def test_the_llama_3_form_is_rendered() -> None:
    template = ChatTemplate(LLAMA3, {"bos_token": "<|begin_of_text|>"})
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    assert template.render(turns, add_generation_prompt=True) == (
        "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
    )


def test_the_chatml_form_is_rendered() -> None:
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    assert ChatTemplate(CHATML).render(turns, add_generation_prompt=True) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    assert ChatTemplate(CHATML).render(turns).endswith("Hi<|im_end|>\n")


@pytest.mark.parametrize("name", ["reasoning", "thinking", "reasoning_content"])
def test_thoughts_have_every_name_that_templates_read(name: str) -> None:
    template = ChatTemplate("{{ messages[0].thinking }}|{{ messages[0].reasoning_content }}|{{ messages[0].content }}")
    message = {"role": "assistant", "thinking": None, "content": "4", name: "let me think"}
    assert template.render([message]) == "let me think|let me think|4"
    assert template.render_parts([message]).text == "let me think|let me think|4"
    assert template.render([{"content": "4"}]) == "||4"


def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    Args:
        a: the one
        b: the other
    """
    return a + b


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=40)
@given(contents=st.lists(CONTENT, min_size=1, max_size=4), prompt=st.booleans(), tooled=st.booleans())
def test_text_and_generated_spans_are_those_of_transformers(
    form: str, contents: list[str], prompt: bool, tooled: bool
) -> None:
    theirs = extra("transformers.utils.chat_template_utils")
    roles = ("user", "assistant")
    turns = [{"role": roles[i % 2], "content": content} for i, content in enumerate(contents)]
    more: dict[str, Any] = {"tools": [add, {"type": "function", "function": {"name": "<é>"}}]} if tooled else {}
    more["documents"] = [{"title": "a", "text": contents[0]}]
    template = ChatTemplate(FORMS[form], NAMES)
    (text,), spans = theirs.render_jinja_template(
        [turns], chat_template=FORMS[form], return_assistant_tokens_mask=True, add_generation_prompt=prompt, dated=True,
        **more, **NAMES,
    )  # fmt: skip
    assert template.render(turns, add_generation_prompt=prompt, dated=True, **more) == text
    rendered = template.render_parts(turns, add_generation_prompt=prompt, dated=True, **more)
    assert rendered.text == text
    assert list(rendered.generated) == [tuple(span) for span in spans[0]]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("  {% if true %}\n  a\n  {% endif %}\n", "  a\n"),  # trim_blocks and lstrip_blocks
        ("{% for i in [1, 2, 3] %}{% if i == 2 %}{% continue %}{% endif %}{{ i }}{% endfor %}", "13"),
        ("{{ {'b': '<é>', 'a': None} | tojson }}", '{"b": "<é>", "a": null}'),
        ("{{ [1, 2] | tojson(indent=2) }}", "[\n  1,\n  2\n]"),
        ("{{ {'b': 1, 'a': 2} | tojson(sort_keys=true, separators=(',', ':')) }}", '{"a":2,"b":1}'),
        ("{{ bos_token }}{{ eos_token }}{{ tools }}{{ nothing }}{{ more }}", "<s></s>None7"),
        ("{% generation %}a{% endgeneration %}", "a"),
        ("{{ strftime_now('%Y') }}", str(datetime.now().year)),
    ],
)
def test_templates_find_what_they_expect(source: str, text: str) -> None:
    assert ChatTemplate(source, NAMES).render([], more=7) == text


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("{% if %}", "line 1: Expected an expression"),
        ("a\n{{ b", "line 2"),
        ("{{ a | no }}", "No filter named 'no'"),
        ("{{ raise_exception('roles must alternate') }}", "rejects these messages: roles must alternate"),
        ("{{ messages.__class__.__mro__ }}", "unsafe"),
        ("{{ ''.__class__.__mro__ }}", "unsafe|undefined|no attribute"),
        ("{{ raise_exception.__globals__['x'] }}", "unsafe|undefined|no attribute"),
        ("{{ messages.append(1) }}", "unsafe"),
        ("{{ messages.x.y }}", "has no attribute 'x'"),
        ("{{ range(10 ** 9) }}", "template_size|Range too big"),
        ("{{ 'a' * 10 ** 9 }}", "over 134,217,728 characters"),
        ("{{ [1] * 10 ** 9 }}", "over 134,217,728 characters or items"),
        ("{{ 3 ** 1000000000 }}", "over 134,217,728"),
        ("{{ 1 / 0 }}", "ZeroDivisionError"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "too deep"),
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "over 20,000 steps"),
        ("{% include 'x' %}", "no loader"),
        ("{{ " + "(" * 500 + "1" + ")" * 500 + " }}", "too deep"),
    ],
)
def test_a_template_that_is_wrong_or_hostile_is_stopped_with_a_reason(source: str, says: str) -> None:
    with limits.using(template_steps=20_000), pytest.raises(ChatError, match=says):
        ChatTemplate(source).render([{"role": "user", "content": "x"}])


def test_a_template_cannot_reach_what_python_holds() -> None:
    for source in ("{{ ''.__class__ }}", "{{ lipsum.__globals__ }}", "{{ '{0.__class__}'.format(1) }}"):
        assert ChatTemplate(source).render([]) == ""


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ChatTemplate(None), "it must be text"),
        (lambda: ChatTemplate("", {"bos_token": None}), "bos_token"),
        (lambda: ChatTemplate("").render("hello"), "messages are str; they must be a list of mappings"),
        (lambda: ChatTemplate("").render([{"role": "user"}, "hello"]), r"messages\[1\]"),
        (lambda: ChatTemplate("").render([], tools=[3]), "it must be a function or a JSON schema"),
    ],
)
def test_what_is_no_template_and_no_message_is_refused(make: Any, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        make()


def test_without_jinja2_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "jinja2" or name == "tokkit.chat.sandbox"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ChatError, match=r"pip install 'pytokkit\[chat\]'"):
        ChatTemplate("")


def test_a_template_is_a_value_that_threads_and_processes_share() -> None:
    template = ChatTemplate(CHATML, NAMES)
    again = pickle.loads(pickle.dumps(template))
    assert again.render(TURNS) == template.render(TURNS)
    assert (again.source, again.special_tokens) == (CHATML, NAMES)
    with pytest.raises(TypeError):
        template.special_tokens["bos_token"] = "x"
