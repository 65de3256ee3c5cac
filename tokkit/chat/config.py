"""Finds a model's chat template in its tokenizer's folder or tokenizer_config.json."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokkit.chat import gguf
from tokkit.chat.template import ChatTemplate
from tokkit.errors import ChatError, FormatError
from tokkit.files import files, strict_json
from tokkit.files.strict_json import Section

CONFIG, JINJA, MORE, OLDER = (
    *("tokenizer_config.json", "chat_template.jinja", "additional_chat_templates", "special_tokens_map.json"),
)
NULL = type(None)
NAMES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


def load_chat_template(
    path: str | os.PathLike[str], *, name: str | None = None, with_tools: bool = False
) -> ChatTemplate:
    """Return the chat template of a tokenizer: a folder, a tokenizer_config.json, a .gguf, or a template in a .jinja.

    chat_template.jinja takes precedence over the template in tokenizer_config.json. A model may have several templates:
    `name` chooses one; the default is "tool_use" with `with_tools`, if there is one, else "default". FormatError for an
    invalid file, ChatError if there is no such template.
    """
    path = Path(path)
    if path.suffix == ".jinja":
        return ChatTemplate(_text(path), special_tokens_of(path.parent))
    folder = path if path.is_dir() else path.parent
    if path.suffix.lower() == ".gguf":
        templates, special_tokens = gguf.read(path)
        where = f"the file has no {gguf.KEY}"
    else:
        templates = templates_of(folder, path if path.is_file() else folder / CONFIG)
        special_tokens = special_tokens_of(folder, path if path.is_file() else None) if templates else {}
        where = f"{CONFIG} has none, and there is no {JINJA}"
    if not templates:
        raise ChatError(f"{files.show(path)}: no chat template; {where}")
    chosen = name or ("tool_use" if with_tools and "tool_use" in templates else "default")
    if name is None and len(templates) == 1:
        (chosen,) = templates
    if chosen not in templates:
        raise ChatError(f"{files.show(path)}: there is no chat template {chosen!r}; it has {', '.join(templates)}")
    return ChatTemplate(templates[chosen], special_tokens)


def templates_of(folder: Path, config: Path) -> dict[str, str]:
    """Return the templates of a tokenizer by name."""
    templates: dict[str, str] = {}
    if config.is_file():
        value = strict_json.read_object(config).get("chat_template")
        with files.naming(config):
            templates = read_templates(value)
    if (folder / JINJA).is_file():
        templates["default"] = _text(folder / JINJA)
    if (folder / MORE).is_dir():
        templates |= {path.stem: _text(path) for path in sorted((folder / MORE).glob("*.jinja"))}
    return templates


def read_templates(value: object) -> dict[str, str]:
    """Return name → source of the value of "chat_template": text, or a list of named templates.

    >>> read_templates([{"name": "default", "template": "{{ messages }}"}])
    {'default': '{{ messages }}'}
    """
    if value is None:
        return {}
    if isinstance(value, str):
        return {"default": value}
    if not isinstance(value, list):
        raise FormatError(f"chat_template: a string or an array is needed, not {strict_json.kind(value)}")
    templates: dict[str, str] = {}
    for i, item in enumerate(value):
        section = Section(item, f"chat_template[{i}]")
        name = section.take("name", str)
        if name in templates:
            raise FormatError(f"{section.at('name')}: {name!r} is given twice")
        templates[name] = section.take("template", str)
        section.finish()
    return templates


def special_tokens_of(folder: Path, config: Path | None = None) -> dict[str, str]:
    """Return bos_token, eos_token … from tokenizer_config.json or special_tokens_map.json."""
    found: dict[str, str] = {}
    for path in (folder / OLDER, config or folder / CONFIG):
        if path.is_file():
            settings = strict_json.read_object(path)
            with files.naming(path):
                found |= read_special_tokens(settings)
    return found


def read_special_tokens(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the named special tokens of a configuration; each is text, or an added token with a content.

    >>> read_special_tokens({"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": False}, "pad_token": None})
    {'bos_token': '<s>', 'eos_token': '</s>'}
    """
    found: dict[str, str] = {}
    extra = config.get("extra_special_tokens")  # named too, in newer files: image_token …
    named = {name: config[name] for name in NAMES if name in config} | (extra if isinstance(extra, dict) else {})
    for name, value in named.items():
        if isinstance(value, dict):
            value = value.get("content", value)
        if isinstance(value, str):
            found[name] = value
        elif value is not None:
            raise FormatError(
                f"{name}: text or an added token with its content is needed, not {strict_json.kind(value)}"
            )
    return found


def _text(path: Path) -> str:
    with files.naming(path):
        return files.decode(files.read_bytes(path))
