"""Reads and checks the files of settings next to a tokenizer: tokenizer_config.json and special_tokens_map.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokkit.compat.transformers.added_token import AddedToken
from tokkit.compat.transformers.special_tokens import ROLES
from tokkit.errors import FormatError
from tokkit.formats import files, strict_json
from tokkit.formats.strict_json import typed

_RULES = ("rstrip", "lstrip", "single_word", "normalized", "special")


def read(path: Path, *, of_tokenizer: bool = True) -> dict[str, Any]:
    """Return the object in a file, {} without a file; FormatError, which names the file, for a wrong value.

    A model's config.json (`of_tokenizer` false) may have other values under the same keys.
    """
    if not path.is_file():
        return {}
    value = strict_json.read_object(path)
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise FormatError(f"{files.show(path)}: {error.object[error.start]!a} is a lone surrogate, not text") from None
    if of_tokenizer:
        with files.naming(path):
            _check(value)
    return value


def _check(value: dict[str, Any]) -> None:
    for role in ROLES:
        if role in value and value[role] is not None:
            _check_token(value[role], role)
    for key, types in (
        ("extra_special_tokens", (list, dict)), ("additional_special_tokens", (list,)),
        ("model_specific_special_tokens", (dict,)), ("added_tokens_decoder", (dict,)),
    ):  # fmt: skip
        tokens = typed(value.get(key), key, *types, type(None)) or []
        named: Any = tokens.items() if isinstance(tokens, dict) else enumerate(tokens)
        for name, token in named:
            if key == "added_tokens_decoder" and not (name.isascii() and name.isdigit()):
                raise FormatError(f"{key}: {strict_json.brief(name)} is not an id")
            _check_token(token, f"{key}.{name}")
    for key in ("model_max_length", "max_len"):
        typed(value.get(key), key, int, float, type(None))
    names = typed(value.get("model_input_names", []), "model_input_names", list)
    for name in names:
        typed(name, "model_input_names", str)


def _check_token(token: Any, path: str) -> None:
    if isinstance(typed(token, path, str, dict), dict):
        typed(token.get("content"), f"{path}.content", str)
        for rule in _RULES:
            typed(token.get(rule, False), f"{path}.{rule}", bool)


def roles_of(settings: dict[str, Any]) -> tuple[dict[str, Any], list[Any], dict[str, Any], dict[int, AddedToken]]:
    """Return (roles, extra tokens, additional roles by name, added tokens by id) of settings."""
    roles = {role: _token_of(settings[role]) for role in ROLES if role in settings}
    extra: Any = settings.get("extra_special_tokens")
    if extra is None:
        extra = settings.get("additional_special_tokens")
    named = dict(settings.get("model_specific_special_tokens") or {})
    if isinstance(extra, dict):
        named, extra = {**named, **extra}, settings.get("additional_special_tokens")
    added = {int(id_): AddedToken.of(token) for id_, token in (settings.get("added_tokens_decoder") or {}).items()}
    return roles, [_token_of(token) for token in extra or ()], {k: _token_of(v) for k, v in named.items()}, added


def _token_of(value: Any) -> Any:
    """Return a token of a configuration: an object becomes an AddedToken, text and None are unchanged."""
    return AddedToken.of(value) if isinstance(value, dict) else value
