"""Reads the chat templates in a GGUF file, and the special tokens that they use."""

from __future__ import annotations

from pathlib import Path

from tokkit.errors import FormatError
from tokkit.files import files, gguf_file
from tokkit.formats import gguf_vocabulary

KEY = "tokenizer.chat_template"
ROLES = {"bos": "bos_token", "eos": "eos_token", "unknown": "unk_token", "padding": "pad_token"}
"""Name of a special token in the keys of the file → its name in templates."""


def read(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the templates by name, and the texts of special tokens by their names in templates.

    tokenizer.chat_template is the default, tokenizer.chat_template.NAME another one.
    """
    with files.naming(path):
        with files.open_regular(path, "a GGUF file") as file:
            keys = gguf_file.read(file, gguf_vocabulary.is_read)
        vocabulary = gguf_vocabulary.read(keys)
        templates = {
            name.removeprefix(KEY).removeprefix(".") or "default": _text(name, value)
            for name, value in keys.items()
            if name == KEY or name.startswith(f"{KEY}.")
        }
    tokens = {theirs: vocabulary.tokens[vocabulary.ids[role]] for role, theirs in ROLES.items()
              if role in vocabulary.ids}  # fmt: skip
    return templates, tokens


def _text(name: str, value: gguf_file.Value) -> str:
    if not isinstance(value, bytes):
        raise FormatError(f"{name}: a string is needed")
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: not UTF-8, at byte {error.start}") from None
