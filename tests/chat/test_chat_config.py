"""Chat templates are found in the folders of tokenizers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tokkit.errors import ChatError, FormatError

pytest.importorskip("jinja2", reason="chat templates need jinja2: pip install 'pytokkit[chat]'")

from tokkit.chat import load_chat_template


def config(folder: Path, **content: Any) -> Path:
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_a_template_comes_with_the_special_tokens_beside_it(tmp_path: Path) -> None:
    path = config(
        tmp_path,
        chat_template="{{ bos_token }}{{ messages[0].content }}{{ eos_token }}{{ pad_token }}{{ image_token }}",
        bos_token="<s>",
        eos_token={"__type": "AddedToken", "content": "</s>", "lstrip": False},
        pad_token=None,
        extra_special_tokens={"image_token": "<image>"},
    )
    for place in (path, tmp_path, str(tmp_path)):
        template = load_chat_template(place)
        assert template.render([{"content": "a"}]) == "<s>a</s><image>"
        assert template.special_tokens == {"bos_token": "<s>", "eos_token": "</s>", "image_token": "<image>"}


def test_an_older_map_of_special_tokens_fills_what_the_configuration_leaves_out(tmp_path: Path) -> None:
    config(tmp_path, chat_template="x", bos_token="<s>")
    (tmp_path / "special_tokens_map.json").write_text('{"bos_token": "<old>", "eos_token": {"content": "</s>"}}')
    assert load_chat_template(tmp_path).special_tokens == {"bos_token": "<s>", "eos_token": "</s>"}


def test_a_file_beside_the_configuration_goes_first(tmp_path: Path) -> None:
    config(tmp_path, chat_template="old", bos_token="<s>")
    (tmp_path / "chat_template.jinja").write_text("new{{ bos_token }}", encoding="utf-8")
    assert load_chat_template(tmp_path).render([]) == "new<s>"
    assert load_chat_template(tmp_path / "chat_template.jinja").render([]) == "new<s>"
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "rag.jinja").write_text("rag", encoding="utf-8")
    assert load_chat_template(tmp_path, name="rag").render([]) == "rag"
    assert load_chat_template(tmp_path).render([]) == "new<s>"


def test_one_of_several_templates_is_chosen_by_name_or_for_tools(tmp_path: Path) -> None:
    named = [{"name": name, "template": name} for name in ("default", "tool_use", "rag")]
    config(tmp_path, chat_template=named)
    assert load_chat_template(tmp_path).render([]) == "default"
    assert load_chat_template(tmp_path, with_tools=True).render([]) == "tool_use"
    assert load_chat_template(tmp_path, name="rag", with_tools=True).render([]) == "rag"
    with pytest.raises(ChatError, match="there is no chat template 'other'; it has default, tool_use, rag"):
        load_chat_template(tmp_path, name="other")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"chat_template": 7}, "chat_template: a string or an array is needed, not an integer"),
        ({"chat_template": [{"name": "a"}]}, r"chat_template\[0\].template: missing"),
        ({"chat_template": ["a"]}, r"chat_template\[0\]: an object is needed"),
        ({"chat_template": [{"name": "a", "template": "x", "more": 1}]}, "unknown key"),
        ({"chat_template": [{"name": "a", "template": "x"}] * 2}, "'a' is given twice"),
        ({"chat_template": "x", "bos_token": 1}, "bos_token: text or an added token"),
        ({"chat_template": "x", "bos_token": {"id": 1}}, "bos_token: text or an added token"),
    ],
)
def test_a_malformed_configuration_is_an_error_that_names_the_place(tmp_path: Path, content: Any, says: str) -> None:
    config(tmp_path, **content)
    with pytest.raises(FormatError, match=says):
        load_chat_template(tmp_path)


def test_what_is_no_configuration_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(ChatError, match="no chat template"):
        load_chat_template(tmp_path)
    config(tmp_path)
    with pytest.raises(ChatError, match=r"tokenizer_config\.json has none"):
        load_chat_template(tmp_path)
    for data in (b"[]", b"{", b"\xff", b""):
        (tmp_path / "tokenizer_config.json").write_bytes(data)
        with pytest.raises(FormatError, match=r"tokenizer_config\.json: "):
            load_chat_template(tmp_path)
