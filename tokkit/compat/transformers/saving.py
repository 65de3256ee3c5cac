"""Writes a tokenizer as a folder that AutoTokenizer can load, here and in transformers."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokkit import formats
from tokkit.compat.transformers.chat import Chat
from tokkit.errors import OptionError
from tokkit.formats import tokenizer_json
from tokkit.registry.tokenizer_classes.tokens import AddedToken

_LOG = logging.getLogger("tokkit")
_NOT_SAVED = frozenset((
    *("chat_template", "name_or_path", "tokenizer_object", "tokenizer_file", "vocab_file", "merges_file"),
    *("added_tokens_decoder", "additional_special_tokens", "extra_special_tokens", "model_specific_special_tokens"),
))  # fmt: skip
"""Settings that are written elsewhere, or that belong to this machine."""


class Save(Chat):
    """`save_pretrained`."""

    init_kwargs: dict[str, Any]
    _class_name: str

    def save_pretrained(
        self,
        save_directory: Any,
        legacy_format: bool | None = None,
        filename_prefix: str | None = None,
        push_to_hub: bool = False,
        **kwargs: Any,
    ) -> tuple[str, ...] | None:
        """Write tokenizer.json, tokenizer_config.json and chat templates into a folder; return the files' paths."""
        if push_to_hub:
            raise OptionError("push_to_hub is True; tokkit uploads nothing: huggingface_hub's upload_folder does")
        folder = Path(os.fspath(save_directory))
        if folder.is_file():
            _LOG.error("%s is a file; save_pretrained needs a folder", folder)
            return None
        folder.mkdir(parents=True, exist_ok=True)
        start = f"{filename_prefix}-" if filename_prefix else ""
        config, templates = self._config(), self.chat_template
        written: dict[Path, str] = {}
        if templates is not None and not kwargs.get("save_jinja_files", True):
            config["chat_template"] = templates
            if isinstance(templates, Mapping):
                config["chat_template"] = [{"name": k, "template": v} for k, v in templates.items()]
        elif templates is not None:
            named = dict(templates) if isinstance(templates, Mapping) else {"default": templates}
            if "default" in named:
                written[folder / f"{start}chat_template.jinja"] = named.pop("default")
            for name in named:
                if not name or name != os.path.basename(name) or name in (".", "..") or "\\" in name:
                    raise OptionError(f"a chat template has the name {name!r}; it must be a valid file name")
            written |= {folder / "additional_chat_templates" / f"{k}.jinja": v for k, v in named.items()}
        text = json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        for path, content in {folder / f"{start}tokenizer_config.json": text, **written}.items():
            path.parent.mkdir(exist_ok=True)
            formats.write_atomically(path, content.encode())
        tokenizer = folder / f"{start}tokenizer.json"
        formats.write_atomically(tokenizer, tokenizer_json.write(self._tok.definition, added_apart=True))
        return tuple(map(str, (folder / f"{start}tokenizer_config.json", *written, tokenizer)))

    def _config(self) -> dict[str, Any]:
        """Return the contents of tokenizer_config.json."""
        config = {key: _plain(value) for key, value in self.init_kwargs.items() if key not in _NOT_SAVED}
        for key in (*config, "model_max_length"):
            if hasattr(self, key):
                config[key] = _plain(getattr(self, key))
        config |= self.special_tokens_map
        roles = [role for role in self.SPECIAL_TOKENS_ATTRIBUTES if role not in type(self).SPECIAL_TOKENS_ATTRIBUTES]
        if roles:
            config["model_specific_special_tokens"] = {role: config.pop(role) for role in roles if role in config}
        if self._extra:
            config["extra_special_tokens"] = self.extra_special_tokens
        config["tokenizer_class"] = self._class_name
        return config


def _plain(value: Any) -> Any:
    """Return a value in a form that JSON can hold."""
    if isinstance(value, AddedToken):
        return {"__type": "AddedToken", **value.as_dict()}
    return value
