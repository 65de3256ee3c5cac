"""Reads the vocabulary files of the tokenizer classes in Python, with the lines that Python's files have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokkit.errors import FormatError
from tokkit.files import files, strict_json
from tokkit.registry.tokenizer_classes.draft import ROLES
from tokkit.registry.tokenizer_classes.row import Given
from tokkit.vocab import Vocab


def path_of(paths: Mapping[str, str], argument: str, name: str) -> str:
    """Return the path of a file; FormatError if it is missing."""
    if argument not in paths:
        raise FormatError(f"the vocabulary is missing: this class needs {name}")
    return paths[argument]


def text_of(path: str) -> str:
    """Return the text of a file; all line ends become newlines."""
    with files.naming(path):
        return files.decode(files.read_bytes(path)).replace("\r\n", "\n").replace("\r", "\n")


def lines_of(path: str) -> list[str]:
    """Return the lines of a file; only a newline ends one."""
    return text_of(path).removesuffix("\n").split("\n")


def ids_of(path: str) -> dict[str, int]:
    """Return the token → id of a vocab.json."""
    value = strict_json.read_object(path)
    if not all(type(id_) is int for id_ in value.values()):
        raise FormatError(f"{files.show(path)}: an object of token to id is needed")
    return value


def ids_of_lines(lines: list[str], path: str) -> dict[str, int]:
    """Return token → id of lines; FormatError for a token that is there twice."""
    found: dict[str, int] = {}
    for id_, line in enumerate(lines):
        if line in found:
            raise FormatError(f"{files.show(path)}: lines {found[line] + 1} and {id_ + 1} are both {line!r:.60}")
        found[line] = id_
    return found


def vocab_of(ids: Mapping[str, int]) -> Vocab:
    """Return the vocabulary of token → id; an empty token, which no model returns, is left out."""
    return Vocab.from_mapping({token.encode(): id_ for token, id_ in ids.items() if token})


def ranks_of(path: str, *, skipped: int, width: int | None = None) -> dict[tuple[str, ...], int]:
    """Return the pairs of a file of merges with their order; the last line counts only if a newline ends it.

    `skipped` first lines are left out, and `width` is the number of columns that are read: None for all, -1 for all but
    the last.
    """
    lines = text_of(path).split("\n")[skipped:-1]
    return {tuple(line.split()[:width]): rank for rank, line in enumerate(lines)}


def special_texts(given: Given) -> tuple[str, ...]:
    """Return the texts of all special tokens: those of roles, the extra ones, and those with a name of their own."""
    found: list[Any] = [given.get(role) for role in ROLES]
    extra = given.get("extra_special_tokens")
    if extra is None:
        extra = given.get("additional_special_tokens")
    named = {key: value for key, value in given.items() if key.endswith("_token") and key not in ROLES}
    for tokens in (extra, given.get("model_specific_special_tokens"), named):
        found += list(tokens.values()) if isinstance(tokens, Mapping) else list(tokens or ())
    return tuple(dict.fromkeys(str(token) for token in found if token is not None))
