"""Writes a tokenizer as a folder that AutoTokenizer can load, here and in transformers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokkit.compat.transformers.chat import Chat
from tokkit.compat.transformers.vocabulary import LOG
from tokkit.errors import OptionError
from tokkit.files import files
from tokkit.formats import tokenizer_json
from tokkit.registry.tokenizer_classes.tokens import AddedToken

_NOT_SAVED = frozenset((
    *("chat_template", "name_or_path", "tokenizer_object", "tokenizer_file", "vocab_file", "merges_file"),
    *("added_tokens_decoder", "additional_special_tokens", "extra_special_tokens", "model_specific_special_tokens"),
))  # fmt: skip
"""Settings that are written elsewhere, or that belong to this machine."""


class Save(Chat):
    """`save_pretrained` and `save_vocabulary`."""

    init_kwargs: dict[str, Any]
    _class_name: str
    _files: Mapping[str, str]

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
            LOG.error("%s is a file; save_pretrained needs a folder", folder)
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
            files.write_atomically(path, content.encode())
        if self.row.scripted is not None:  # no tokenizer.json can hold what is Python code
            copied = [_copied(Path(file), folder / f"{start}{Path(file).name}") for file in self._files.values()]
            return tuple(map(str, (folder / f"{start}tokenizer_config.json", *written, *copied)))
        tokenizer = folder / f"{start}tokenizer.json"
        files.write_atomically(tokenizer, tokenizer_json.write(self._tok.definition, added_apart=True))
        return tuple(map(str, (folder / f"{start}tokenizer_config.json", *written, tokenizer)))

    def save_vocabulary(self, save_directory: Any, filename_prefix: str | None = None) -> tuple[str, ...] | None:
        """Copy the vocabulary's file into a folder, a SentencePiece model as tokenizer.model; return its path.

        OptionError if the tokenizer was not loaded from a folder with such a file: save_pretrained writes a
        tokenizer.json.
        """
        folder = Path(os.fspath(save_directory))
        if not folder.is_dir():
            LOG.error("%s is not a folder; save_vocabulary needs one", folder)
            return None
        given = getattr(self, "vocab_file", None) or self.init_kwargs.get("vocab_file")
        if not isinstance(given, (str, os.PathLike)) or not Path(given).is_file():
            raise OptionError(
                "there is no file of a vocabulary to copy, only a tokenizer.json; save_pretrained writes that"
            )
        name = "tokenizer.model" if Path(given).suffix == ".model" else Path(given).name
        target = folder / (f"{filename_prefix}-{name}" if filename_prefix else name)
        return (str(_copied(Path(given), target)),)

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
        if self.row.scripted is not None:
            config["added_tokens_decoder"] = {str(id_): t.as_dict() for id_, t in self.added_tokens_decoder.items()}
        config["tokenizer_class"] = self._class_name
        return config


def _copied(source: Path, target: Path) -> Path:
    """Copy a file, unless it is there already, and return the path of the copy."""
    if not (target.exists() and target.samefile(source)):
        files.write_atomically(target, source.read_bytes())
    return target


def _plain(value: Any) -> Any:
    """Return a value in a form that JSON can hold."""
    if isinstance(value, AddedToken):
        return {"__type": "AddedToken", **value.as_dict()}
    return value
