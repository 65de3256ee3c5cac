"""Builds the tokenizer of a class from its files and arguments, as the constructors of transformers 5.24 do."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tokkit.definition import Definition
from tokkit.errors import FormatError, OptionError
from tokkit.registry.tokenizer_classes import plain_pieces, sources
from tokkit.registry.tokenizer_classes.draft import ROLES, Draft
from tokkit.registry.tokenizer_classes.row import BASE_ARGUMENTS, JSON, KEPT_ARGUMENTS, Given, Languages, Row, Template
from tokkit.registry.tokenizer_classes.table import CLASSES
from tokkit.registry.tokenizer_classes.tokens import AddedToken, is_token

_LOG = logging.getLogger("tokkit")
_EXTRA, _OLDER_EXTRA, _NAMED = "extra_special_tokens", "additional_special_tokens", "model_specific_special_tokens"


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """A tokenizer of a class: its definition, special tokens by role, extra ones, and the arguments it was made with.

    `named` are roles besides the usual ones, with their tokens; `settings` the arguments as given. `target` encodes
    and decodes the texts of the other language, for a class that has another vocabulary for them.
    """

    name: str
    row: Row
    definition: Definition
    roles: dict[str, AddedToken | str | None]
    extra: list[Any]
    named: list[str]
    given: Given
    settings: dict[str, Any]
    paths: dict[str, str]
    target: Definition | None = None


def row_of(name: str) -> Row:
    """Return the row of a class; OptionError for one that is unknown or refused."""
    if name not in CLASSES:
        raise OptionError(
            f"there is no tokenizer class {name}; a folder with a tokenizer.json can be loaded without one, and the "
            "classes are listed in docs/coming-from/transformers.md"
        )
    row = CLASSES[name]
    if row.refused:
        raise OptionError(f"{name} is not supported: {row.refused}")
    return row


def arguments(row: Row, settings: Mapping[str, Any]) -> Given:
    """Return the arguments of a class: its defaults, and those of its files and its caller."""
    given = Given({**row.roles, **row.arguments, **settings})
    given.own = frozenset(settings)
    for role, default in row.roles.items():
        value = given[role]
        if isinstance(default, AddedToken) and isinstance(value, str):  # text gets the rules of the default
            given[role] = copy.copy(default)
            given[role].content = value
    return given


def warn_unknown(name: str, row: Row, settings: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Warn of arguments that change nothing: those of the caller, and those of files that no class knows."""
    known = {*row.roles, *row.arguments, *BASE_ARGUMENTS, *ROLES, "vocab", "merges", "name_or_path"}
    known |= {"src_lang", "tgt_lang"} if row.languages is not None else set()
    kept = KEPT_ARGUMENTS | {"bos_token_id", "eos_token_id", "pad_token_id"}
    for key in settings:
        if key in known or (key.endswith("_token") and is_token(settings[key])):
            continue
        if (key in asked and key not in ("use_fast", "from_slow")) or key not in kept:
            _LOG.warning("%s does not know the argument %s; it changes nothing", name, key)


def build(
    name: str,
    settings: Mapping[str, Any],
    paths: Mapping[str, str],
    file: JSON | None = None,
    whole: Draft | None = None,
) -> Built:
    """Return the tokenizer of a class.

    `settings` are arguments: of tokenizer_config.json and of the caller, in transformers' form; `paths` are the files
    of the class that exist, by argument; `file` is the parsed tokenizer.json, if there is one, and `whole` a tokenizer
    that is used as it is. FormatError if the tokenizer cannot be built.
    """
    row = row_of(name)
    given = arguments(row, settings)
    if row.scripted is None and file is not None and isinstance(file.get("padding"), Mapping):
        given.setdefault("pad_token", file["padding"].get("pad_token"))
    draft = whole or _draft(name, row, given, paths, file)
    named = _take_roles(draft, row, given, settings)
    _add_tokens(draft, row, given)
    _put_around(draft, row, given)
    if row.languages is not None:
        take_language(draft, row.languages, given)
    if row.finish is not None:
        row.finish(draft, given)
    made = draft.definition()
    target = None if row.target is None else draft.definition_of(row.target(given, paths, draft))
    return Built(name, row, made, draft.roles, draft.extra, named, given, dict(settings), dict(paths), target)


def _put_around(draft: Draft, row: Row, given: Given) -> None:
    """Put the template of the class around texts, or bos and eos as the arguments say."""
    around = row.template(draft, given) if callable(row.template) else row.template
    if around is not None and row.template_first and not draft.is_kept and draft.file.get("post_processor") is None:
        put_around(draft, around)
    draft.updates_around |= "add_bos_token" in given or "add_eos_token" in given
    draft.updates_around |= draft.file.get("post_processor") is None
    if row.scripted is None and draft.updates_around:
        draft.update_around(given)
    if around is not None and not row.template_first:
        put_around(draft, around)


def _draft(name: str, row: Row, given: Given, paths: Mapping[str, str], file: JSON | None) -> Draft:
    """Return the stages and the vocabulary, without special tokens."""
    if row.scripted is not None:
        return Draft({}, row.scripted(given, paths))
    if file is not None:
        if row.parts is None or row.keeps_file:
            return Draft.of_file(file)
        sources.from_file(file, row, name, given)
        lengths = {key: file.get(key) for key in ("truncation", "padding")}
        return Draft({**row.parts(given), **lengths, "post_processor": given["post_processor"]})
    is_pieces = paths.get("vocab_file", "").endswith(sources.SPIECE)
    if row.parts is None or (row.keeps_file and is_pieces):
        return Draft(plain_pieces.parts(name, row.model, given, paths), is_kept=True)
    sources.from_vocabulary(row, name, given, paths)
    return Draft({**row.parts(given), "post_processor": None})


# ---- special tokens


def _take_roles(draft: Draft, row: Row, given: Given, settings: Mapping[str, Any]) -> list[str]:
    """Set the roles and the extra tokens; return the names of roles besides the usual ones."""
    for role in ROLES:
        value = given.get(role)
        if value is not None and not is_token(value):
            raise OptionError(f"{role} is {value!r:.80}; it must be a str or an AddedToken")
        draft.roles[role] = value
    extra = settings.get(_EXTRA)
    if _EXTRA not in settings or row.adds_extra:
        extra = row.extra(given) if row.extra is not None else given.get(_OLDER_EXTRA)
    named = {
        key: value for key, value in given.items() if key.endswith("_token") and key not in ROLES and is_token(value)
    }
    if isinstance(extra, Mapping):
        named, extra = {**extra, **named}, None
    named |= given.get(_NAMED) or {}
    draft.roles |= named
    draft.extra = list(extra or ())
    return list(named)


def _add_tokens(draft: Draft, row: Row, given: Given) -> None:
    """Add the tokens of the files, by their ids, then those of roles and extra ones that are still missing."""
    if draft.whole is not None and not draft.is_kept:
        draft.add_with_ids(given.get("added_tokens_decoder") or {})
        more = [AddedToken(str(token), special=True) for token in draft.special_tokens() if draft.is_new(token)]
        if row.numbers is None:
            draft.add(more)
        else:
            ids = row.numbers(draft, given, [token.content for token in more if token.content])
            draft.add_numbered((ids[token.content], token) for token in more if token.content in ids)
        return
    known = {repr(token) for token in draft.added.values()}
    listed = given.get("added_tokens_decoder") or {}
    new: list[Any] = [token for _, token in sorted(listed.items()) if repr(token) not in known]
    contents = {token.content for token in draft.added.values()} | {str(token) for token in new}
    for token in (*draft.roles.values(), *draft.extra):
        if token is not None and str(token) not in contents and token not in new:
            new.append(token)
    roles = {str(token) for token in draft.roles.values() if token is not None}
    draft.add(
        AddedToken.of(token, special=True if isinstance(token, str) or str(token) in roles else None) for token in new
    )


# ---- what is put around texts


def put_around(draft: Draft, around: Template | JSON) -> None:
    """Put a template around texts: places "$A", roles ("cls") and other tokens ("=[CLS]"); or a component as JSON."""
    if isinstance(around, Mapping):
        ends = {key: _with_id(draft, around[key]) for key in ("sep", "cls") if key in around}
        draft.file["post_processor"] = {**around, **ends}
        return
    sides = [[_spelt(draft, place) for place in _places(side)] for side in around]
    draft.put_around(*sides)


def _places(side: str | list[str]) -> list[str]:
    return side.split() if isinstance(side, str) else side


def _spelt(draft: Draft, place: str) -> str:
    name, colon, type_id = place.rpartition(":")
    name, type_id = (name, type_id) if colon and type_id.isdecimal() else (place, "0")
    if name.startswith("$"):
        return f"{name}:{type_id}"
    if name.startswith("="):
        return f"{name[1:]}:{type_id}"
    text = draft.text(f"{name}_token")
    if text is None:
        raise FormatError(f"{name}_token is not set, and it is put around texts")
    return f"{text}:{type_id}"


def _with_id(draft: Draft, token: Any) -> list[Any]:
    return list(token) if isinstance(token, list) else [token, draft.id_of(token)]


def take_language(draft: Draft, languages: Languages, given: Given) -> None:
    """Put the template of the source language around texts."""
    for key, default in (("src_lang", languages.source), ("tgt_lang", languages.target)):
        chosen = given.get(key)
        given[key] = default if chosen is None else chosen
        if given[key] is not None:
            given[key] = languages.spell(given[key])
        if chosen is not None and given[key] != (default and languages.spell(default)):
            check_language(draft, languages, given, key)
    put_around(draft, languages.around(given["src_lang"], given, False))


def check_language(draft: Draft, languages: Languages, given: Given, key: str) -> None:
    """Raise OptionError if the language of `key` ("src_lang", "tgt_lang") has no token in the vocabulary."""
    single, _ = languages.around(given[key], given, key == "tgt_lang")
    missing = [place[1:] for place in _places(single) if place.startswith("=") and draft.find(place[1:]) is None]
    if missing:
        raise OptionError(f"{key} is {given[key]!r}, and {missing[0]!r} is not a token of this vocabulary")
