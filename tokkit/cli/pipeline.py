"""Shows a definition's pipeline as a tree, and a text after each stage."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokkit.definition import Definition

Node = tuple[str, str, list["Node"]]
"""A component: its name, a description, and its parts."""
MAX_WIDTH = 90


def nodes(definition: Definition) -> list[Node]:
    """Return the stages, in the order in which they run."""
    from tokkit.definition import Split
    from tokkit.formats import components

    split = definition.pretokenizer
    cut = _split(split) if isinstance(split, Split) else _component(split, components.PRETOKENIZERS)
    return [
        ("added tokens", _added(definition), []),
        ("normalizer", *_rules(definition)),
        ("pretokenizer", *cut),
        ("model", _model(definition), []),
        ("postprocessor", *_postprocessor(definition)),
        ("decoder", *_component(definition.decoder, components.DECODERS)),
        ("truncation", str(definition.truncation or "none"), []),
        ("padding", str(definition.padding or "none"), []),
    ]


def _added(definition: Definition) -> str:
    added = definition.added_tokens
    special = sum(token.special for token in added)
    return f"{len(added)}, {special} of them special" if added else "none"


def _split(split: Any) -> tuple[str, list[Node]]:
    from tokkit.pretokenizers import patterns

    names = [name for name, pattern in patterns.NAMES.items() if pattern == split.pattern]
    return f"split {names[0] if names else split.pattern or 'none'}, then bytes", []


def _model(definition: Definition) -> str:
    from tokkit.models.bpe import BPE
    from tokkit.models.names import name_of

    model = definition.model
    if isinstance(model, BPE):
        ranks = model.merges is None
        return "byte-level BPE, " + ("ranks (the least id merges first)" if ranks else "a list of merges")
    hidden = ("merges", "scores", "types", "pieces", "normalizer")
    shown = [f"{name}={_brief(value)}" for name, value in _fields(model) if name not in hidden]
    return f"{name_of(model)}({', '.join(shown)})"


def _rules(definition: Definition) -> tuple[str, list[Node]]:
    """Describe the normalizer: a component, or the rules in a SentencePiece model."""
    from tokkit.formats import components
    from tokkit.models.sentencepiece import SentencePieceModel

    if not isinstance(definition.model, SentencePieceModel):
        return _component(definition.normalizer, components.NORMALIZERS)
    rules = definition.model.normalizer
    flags = [f"{name}={_brief(value)}" for name, value in _fields(rules) if name not in ("name", "charsmap")]
    size = f"a charsmap of {len(rules.charsmap)} bytes" if rules.charsmap else "no charsmap"
    return f"rules of the model, {rules.name or 'without a name'}: {size}, {', '.join(flags)}", []


def model_line(model: Any) -> str:
    """Return a line that describes a model component; BPE without merges is a hybrid of words and characters."""
    from tokkit.models.char_bpe import CharBPE
    from tokkit.models.names import name_of

    if isinstance(model, CharBPE) and model.ignore_merges and not len(model.merges):
        return f"whole words, else their parts ({name_of(model)} without merges)"
    return name_of(model)


def _fields(part: Any) -> Iterator[tuple[str, Any]]:
    from dataclasses import fields

    return ((field.name, getattr(part, field.name)) for field in fields(part) if field.init and field.compare)


def _component(part: Any, kinds: Any) -> tuple[str, list[Node]]:
    from tokkit.errors import FormatError
    from tokkit.formats import components

    if part is None:
        return "none", []
    try:
        written = components.write(part, kinds) or {}
    except FormatError:  # a component of the user
        return repr(part), []
    return _written(written)


def _written(written: dict[str, Any]) -> tuple[str, list[Node]]:
    shown, parts = [], []
    for name, value in written.items():
        if isinstance(value, list) and value and all(isinstance(item, dict) and "type" in item for item in value):
            parts += [("", *_written(item)) for item in value]
        elif name != "type" and value != []:
            shown.append(f"{name}={_brief(value)}")
    return written["type"] + (f"({', '.join(shown)})" if shown else ""), parts


def _brief(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, (str, dict, list, bool)) else str(value)
    return text if len(text) <= MAX_WIDTH else f"{text[: MAX_WIDTH // 2]}…{text[-MAX_WIDTH // 2 :]}"


def _postprocessor(definition: Definition) -> tuple[str, list[Node]]:
    """Describe the special tokens around a text and around a pair, for any postprocessor."""
    from tokkit.errors import OptionError
    from tokkit.formats import components

    said, parts = _component(definition.postprocessor, components.POSTPROCESSORS)
    if definition.postprocessor is None:
        return said, parts
    name = said.split("(")[0]
    for pair in (False, True):
        try:
            layout = definition.postprocessor.layout(pair=pair)
            words = " ".join(_place(part) for part in layout.parts)
        except OptionError as error:  # it does not support this
            words = str(error)
        parts.append(("pair" if pair else "text", words, []))
    return name, parts


def _place(part: Any) -> str:
    if hasattr(part, "number"):
        return f"{'AB'[part.number]}:{part.type_id}"
    return " ".join(f"{token.decode('utf-8', 'replace')}:{part.type_id}" for token in part.tokens)


def lines(tree: Iterable[Node], before: str = "") -> Iterator[str]:
    """Yield the lines of a tree."""
    tree = list(tree)
    for i, (name, said, parts) in enumerate(tree):
        last = i == len(tree) - 1
        yield f"{before}{'└─' if last else '├─'} {f'{name:<15}' if name else ''}{said}"
        yield from lines(parts, before + ("   " if last else "│  "))


def as_json(tree: Iterable[Node]) -> list[dict[str, Any]]:
    """Return a tree as objects."""
    return [{"stage": name, "is": said, "parts": as_json(parts)} for name, said, parts in tree]
