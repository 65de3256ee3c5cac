"""Reads what the files of a folder say of its tokenizer class, in the form and precedence of transformers 5.24."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokkit.errors import FormatError
from tokkit.files import files, strict_json
from tokkit.files.strict_json import typed
from tokkit.registry.tokenizer_classes.draft import ROLES
from tokkit.registry.tokenizer_classes.tokens import RULES, AddedToken, is_token

CONFIG, MAP, MODEL, ADDED = "tokenizer_config.json", "special_tokens_map.json", "config.json", "added_tokens.json"
_EXTRA, _OLDER_EXTRA, _NAMED = "extra_special_tokens", "additional_special_tokens", "model_specific_special_tokens"


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
        (_EXTRA, (list, dict)), (_OLDER_EXTRA, (list,)), (_NAMED, (dict,)), ("added_tokens_decoder", (dict,)),
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
        for rule in RULES:
            typed(token.get(rule, False), f"{path}.{rule}", bool)


def gather(
    stated: Mapping[str, Any], folder: Path | None, file: Mapping[str, Any] | None, asked: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a class from its files and from the caller, whose arguments come first.

    `stated` is tokenizer_config.json, `file` the parsed tokenizer.json. Tokens that are objects become AddedTokens.
    Without `added_tokens_decoder`, the older special_tokens_map.json and added_tokens.json and the added tokens of the
    tokenizer.json are read.
    """
    found = {key: value for key, value in stated.items() if key not in ("tokenizer_class", "init_inputs")}
    if file is not None:
        for key in ("add_bos_token", "add_eos_token"):
            found.pop(key, None)
    found |= asked
    if _OLDER_EXTRA in found and not found.get(_EXTRA):
        found[_EXTRA] = found.pop(_OLDER_EXTRA)
    named = {
        key: found.pop(key)
        for key in list(found)
        if key.endswith("_token") and key not in ROLES and is_token(_token_of(found[key]))
    }
    if isinstance(found.get(_EXTRA), dict):
        named |= found.pop(_EXTRA)
    if named:
        found[_NAMED] = named
    listed, by_text = _added_tokens(found, folder, file, asked)
    found = {key: _tokens_in(key, value) for key, value in found.items()}
    found["added_tokens_decoder"] = listed
    for role in ROLES:
        if by_text and found.get(role) is not None:
            found[role] = by_text.get(str(found[role]), found[role])
    return found


def _added_tokens(
    found: dict[str, Any], folder: Path | None, file: Mapping[str, Any] | None, asked: Mapping[str, Any]
) -> tuple[dict[int, AddedToken], dict[str, AddedToken]]:
    """Return id → added token and text → added token; also reads older files into `found`."""
    listed: dict[int, AddedToken] = {}
    if "added_tokens_decoder" in found:
        listed = {int(id_): AddedToken.of(token) for id_, token in (found["added_tokens_decoder"] or {}).items()}
        return listed, {token.content: token for token in listed.values()}
    older = {} if folder is None else read(folder / MAP)
    for key, value in older.items():
        if not asked.get(key):
            found[key] = _older_value(key, value, found)
    if isinstance(found.get(_EXTRA), dict):
        found[_NAMED] = {**(found.get(_NAMED) or {}), **found.pop(_EXTRA)}
    by_text: dict[str, AddedToken] = {}
    # Tokens that tokenizer_config.json gives as objects are compared as objects there, so that none is special.
    special = {str(found[role]) for role in ROLES if found.get(role)}
    special |= {str(token) for token in found.get(_EXTRA) or ()}
    for text, id_ in _added_by_text(folder).items():
        is_special = text in special
        listed[id_] = by_text[text] = AddedToken(text, normalized=not is_special, special=is_special)
    for token in (file or {}).get("added_tokens") or ():
        made = AddedToken.of(token)
        listed[token["id"]] = by_text[made.content] = made
    return listed, by_text


def _older_value(key: str, value: Any, found: Mapping[str, Any]) -> Any:
    """Return what a key of special_tokens_map.json stands for: its tokens are special."""
    if isinstance(value, dict) and key not in (_EXTRA, _NAMED):
        return AddedToken.of(value, special=True)
    if key == _EXTRA and isinstance(value, list):
        known = [_token_of(token) for token in found.get(_EXTRA) or ()]
        tokens = [AddedToken.of(token, special=True) if isinstance(token, dict) else token for token in value]
        return [*known, *(token for token in tokens if token not in known)]
    return value


def _added_by_text(folder: Path | None) -> dict[str, int]:
    value = {} if folder is None else read(folder / ADDED, of_tokenizer=False)
    for text, id_ in value.items():
        if type(id_) is not int or id_ < 0:
            raise FormatError(f"{ADDED}: the id of {strict_json.brief(text)} is {strict_json.brief(id_)}")
    return value


def _token_of(value: Any) -> Any:
    """Return a token of a configuration: an object becomes an AddedToken; others are unchanged."""
    return AddedToken.of(value) if isinstance(value, dict) and "content" in value else value


def _tokens_in(key: str, value: Any) -> Any:
    if key == _NAMED and isinstance(value, dict):
        return {name: _token_of(token) for name, token in value.items()}
    if isinstance(value, (list, tuple)):
        return [_token_of(item) for item in value]
    return _token_of(value)
