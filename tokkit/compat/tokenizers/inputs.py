"""Reads the inputs of `encode` and `encode_batch`: str, pairs, lists of words, numpy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

from tokkit.checks import is_text
from tokkit.compat.tokenizers.values import wrong_type

Text = str | list[str]
Batch = tuple[list[Any], list[Text | None] | None]
"""Texts, and the pair of each, or None if none has one."""


def sequence(value: Any, words: bool) -> Text:
    """Return one text, or one list of words; TypeError for another value."""
    if not words:
        if _is_text(value):
            return value
        raise wrong_type("a text (TextInputSequence must be str)", value, "a str, unless is_pretokenized")
    listed = _listed(value)
    if listed is None or not _are_texts(listed):
        raise wrong_type("a text (PreTokenizedInputSequence must be Union[List[str], Tuple[str]])", value, "its words")
    return listed


def batch(values: Any, words: bool) -> Batch:
    """Return the texts of a batch, and the pair of each, or None if none has one."""
    if isinstance(values, (str, bytes)) or (items := _listed(values)) is None:
        raise wrong_type("input", values, "a sequence of texts or pairs")
    if not words and _are_texts(items):
        return items, None
    both = [_item(item, words) for item in items]
    pairs = [pair for _, pair in both]
    return [text for text, _ in both], None if all(pair is None for pair in pairs) else pairs


def _item(item: Any, words: bool) -> tuple[Text, Text | None]:
    if not words and isinstance(item, str):
        return sequence(item, words), None
    parts = _listed(item)
    if parts is not None:
        if words and _are_texts(parts):
            return parts, None
        if len(parts) == 2:
            return sequence(parts[0], words), sequence(parts[1], words)
    what = "words, or a pair of such lists" if words else "a str, or a pair of str"
    raise wrong_type("an item of the input (TextEncodeInput)", item, what)


def _are_texts(values: list[Any]) -> bool:
    try:
        if "".join(values).isascii():
            return True
    except TypeError:
        return False
    return all(map(_is_text, values))


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and (value.isascii() or is_text(value))


def _listed(value: Any) -> list[Any] | None:
    """Return the items of a list, a tuple or an array; None for other values."""
    if isinstance(value, (list, tuple)):
        return list(value)
    if hasattr(value, "tolist"):
        made = value.tolist()
        return made if isinstance(made, list) else None
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return list(value)
    return None
