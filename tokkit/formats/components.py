"""Reads and writes the components of a tokenizer.json, from a table with one line per component.

Unknown keys and values are refused with their path in the file, so that nothing that could change an id is ignored.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tokkit.checks import is_text
from tokkit.errors import FormatError, PatternError, TokkitError
from tokkit.files import strict_json
from tokkit.files.strict_json import Section
from tokkit.formats import split_patterns
from tokkit.formats.split_patterns import ONIGURUMA

logger = logging.getLogger("tokkit")

NULL = type(None)
MAX_NESTED = 100
"""Maximum depth of nested sequences: each takes several levels of Python's recursion limit, in reading and running."""
_REQUIRED: Any = object()


class Field(NamedTuple):
    """How one field is read and written; without a default, it is required."""

    read: Callable[[Any, str], Any]
    write: Callable[[Any], Any]
    default: Any = _REQUIRED


def _same(value: Any) -> Any:
    return value


def _typed(*types: type, default: Any = _REQUIRED) -> Field:
    def read(value: Any, path: str) -> Any:
        return strict_json.typed(value, path, *types)

    return Field(read, _same, default)


def _text(default: Any = _REQUIRED) -> Field:
    def read(value: Any, path: str) -> str:
        if not is_text(strict_json.typed(value, path, str)):
            raise FormatError(f"{path}: {value!a} is not text")
        return str(value)

    return Field(read, _same, default)


def _pattern(value: Any, path: str) -> dict[str, str]:
    """Return {"String": …} or {"Regex": …}; FormatError for a construct that tokenizers would read differently."""
    section = Section(value, path)
    kind = "String" if "String" in section else "Regex"
    text = _text().read(section.take(kind), section.at(kind))
    section.finish()
    if kind == "Regex":
        try:
            text = split_patterns.read(text, ONIGURUMA)
        except PatternError as error:
            raise FormatError(f"{section.at(kind)}: {error}") from None
    return {kind: text}


def _write_pattern(pattern: Any) -> dict[str, str]:
    kind, text = next(iter(pattern.items())) if isinstance(pattern, Mapping) else pattern
    return {kind: split_patterns.write(text, ONIGURUMA) if kind == "Regex" else text}


def _pair(value: Any, path: str) -> tuple[str, int]:
    if not isinstance(value, list) or [type(item) for item in value] != [str, int]:
        raise FormatError(f"{path}: a token and its id are needed, as an array, not {strict_json.brief(value)}")
    return value[0], value[1]


def _parts(kinds: Callable[[], Mapping[str, Kind]]) -> Field:
    def read_all(value: Any, path: str) -> list[Any]:
        strict_json.typed(value, path, list)
        items = [(strict_json.typed(item, f"{path}[{i}]", dict), f"{path}[{i}]") for i, item in enumerate(value)]
        return [read(item, place, kinds()) for item, place in items]

    return Field(read_all, lambda parts: [write(part, kinds()) for part in parts])


@dataclass(frozen=True)
class Kind:
    """A type of component: the location of its class, and its fields by their names in the file."""

    target: str
    fields: Mapping[str, Field]
    read: Callable[[Section], dict[str, Any]] | None = None
    write: Callable[[Any], dict[str, Any]] | None = None
    """Functions for components whose fields in a file differ from those of the class."""

    @property
    def made_by(self) -> type:
        """The class, imported on demand, because a file uses only a few."""
        module, name = self.target.split(":")
        made: type = getattr(importlib.import_module(f"tokkit.{module}"), name)
        return made


def kind(target: str, **fields: Field) -> Kind:
    """Return a type whose class takes these fields."""
    return Kind(target, fields)


def read(value: object, path: str, kinds: Mapping[str, Kind]) -> Any:
    """Return the component that a value of a file describes; None for null."""
    if value is None:
        return None
    if path.count("[") > MAX_NESTED:
        stage = path.partition(".")[0]
        raise FormatError(f"{stage} is nested too deep; at most {MAX_NESTED} sequences may be nested")
    section = Section(value, path)
    name = section.take("type", str)
    if name not in kinds:
        raise FormatError(f"{path}.type: {strict_json.brief(name)} is unknown; it must be one of {', '.join(kinds)}")
    chosen = kinds[name]
    given = chosen.read(section) if chosen.read is not None else {}
    if chosen.read is None:
        for key, field in chosen.fields.items():
            if key in section or field.default is _REQUIRED:
                given[key] = field.read(section.take(key), section.at(key))
            else:
                given[key] = field.default
    section.finish()
    try:
        return _folded(chosen.made_by(**given))
    except (PatternError, RecursionError) as error:
        place = f"{path}.pattern.Regex" if "pattern" in given else path
        said = "nested too deep" if isinstance(error, RecursionError) else error
        raise FormatError(f"{place}: {said}") from None
    except TokkitError as error:
        raise FormatError(f"{path}: {error}") from None


def write(component: Any, kinds: Mapping[str, Kind]) -> dict[str, Any] | None:
    """Return a component as JSON data; FormatError for one that a file cannot have."""
    if component is None:
        return None
    component = _spelt(component)
    for name, kind_ in kinds.items():
        module, cls = kind_.target.split(":")
        if type(component).__name__ == cls and type(component).__module__ == f"tokkit.{module}":
            if kind_.write is not None:
                return {"type": name, **kind_.write(component)}
            return {"type": name, **{key: f.write(getattr(component, key)) for key, f in kind_.fields.items()}}
    raise FormatError(f"{type(component).__name__} is not a component that a tokenizer.json can hold")


def _folded(component: Any) -> Any:
    """Return the component that `_spelt` wrote as several steps; any other component unchanged."""
    if not (steps := getattr(component, "normalizers", ())):
        return component
    from tokkit.normalizers.longest_rules import MARKER

    if not getattr(steps[0], "content", "").startswith(MARKER):
        return component
    from tokkit.formats import charsmap_steps

    return charsmap_steps.rules_of(steps) or component


def _spelt(component: Any) -> Any:
    """Return an equivalent component of tokenizers; FormatError if no components have the effect of a charsmap."""
    if type(component).__name__ != "LongestRules":
        return component
    from tokkit.formats import charsmap_steps
    from tokkit.normalizers.sequence import Sequence

    if (steps := charsmap_steps.steps_of(component.charsmap)) is None:
        raise FormatError("no components of a tokenizer.json do what the rules of this charsmap do")
    return Sequence(steps)


# ---- components whose fields in a file differ from those of their class


def _read_metaspace(section: Section) -> dict[str, Any]:
    """Read old files too, which have add_prefix_space, and the replacement twice."""
    given = {"replacement": _text().read(section.take("replacement"), section.at("replacement"))}
    section.take("str_rep", str, default="")
    prefix = section.take("add_prefix_space", bool, default=None)
    scheme = section.take("prepend_scheme", str, default=None)
    schemes = {"always": "always", "first": "first", "never": "never"}
    if scheme is not None and scheme not in schemes:
        strict_json.refuse(section.at("prepend_scheme"), scheme, schemes)
    if prefix is False and scheme not in (None, "never"):
        raise FormatError(f'{section.at("add_prefix_space")}: false is only allowed with the prepend_scheme "never"')
    given["prepend_scheme"] = scheme or ("never" if prefix is False else "always")
    given["split"] = section.take("split", bool, default=True)
    return given


def _read_template(section: Section) -> dict[str, Any]:
    """Ignore the flags of a ByteLevel that the template replaced (Cohere's files), as tokenizers does."""
    from tokkit.postprocessors.template import Piece, SpecialToken

    for name in BYTE_LEVEL_FLAGS:
        if name in section:
            value = section.take(name, bool)
            logger.info("%s: %s is ignored; a TemplateProcessing has no such key", section.at(name), value)
    given: dict[str, Any] = {}
    for name in ("single", "pair"):
        pieces = []
        for i, item in enumerate(section.take(name, list)):
            place = Section(item, f"{section.at(name)}[{i}]")
            what = "SpecialToken" if "SpecialToken" in place else "Sequence"
            inner = Section(place.take(what, dict), place.at(what))
            id_, type_id = inner.take("id", str), inner.take("type_id", int)
            inner.finish()
            place.finish()
            if what == "Sequence" and id_ not in ("A", "B"):
                strict_json.refuse(inner.at("id"), id_, ["A", "B"])
            pieces.append(_checked(inner.path, Piece, id_ if what == "SpecialToken" else "AB".index(id_), type_id))
        given[name] = tuple(pieces)
    tokens = []
    for name, item in section.take("special_tokens", dict).items():
        token = Section(item, f"{section.at('special_tokens')}[{strict_json.brief(name)}]")
        id_, ids, texts = token.take("id", str), token.take("ids", list), token.take("tokens", list)
        token.finish()
        if id_ != name:
            raise FormatError(f"{token.at('id')}: it is {id_!r}; it must be {name!r}, the name of the token")
        tokens.append(_checked(token.path, SpecialToken, id_, tuple(ids), tuple(texts)))
    given["special_tokens"] = tuple(tokens)
    return given


def _checked(path: str, make: Callable[..., Any], *args: object) -> Any:
    try:
        return make(*args)
    except TokkitError as error:
        raise FormatError(f"{path}: {error}") from None


def _write_template(template: Any) -> dict[str, Any]:
    def place(piece: Any) -> dict[str, Any]:
        if isinstance(piece.what, str):
            return {"SpecialToken": {"id": piece.what, "type_id": piece.type_id}}
        return {"Sequence": {"id": "AB"[piece.what], "type_id": piece.type_id}}

    tokens = {t.id: {"id": t.id, "ids": list(t.ids), "tokens": list(t.tokens)} for t in template.special_tokens}
    return {
        "single": [place(piece) for piece in template.single],
        "pair": [place(piece) for piece in template.pair],
        "special_tokens": tokens,
    }


# ---- the tables

BOOL, TRUE = _typed(bool), _typed(bool, default=True)
PATTERN = Field(_pattern, _write_pattern)
PAIR = Field(_pair, list)
METASPACE = {"replacement": _text(), "prepend_scheme": _text(), "split": TRUE}
BYTE_LEVEL_FLAGS = {"add_prefix_space": BOOL, "trim_offsets": BOOL, "use_regex": TRUE}

NORMALIZERS: dict[str, Kind] = {
    "BertNormalizer": kind(
        "normalizers.bert:Bert",
        clean_text=BOOL,
        handle_chinese_chars=BOOL,
        strip_accents=_typed(bool, NULL, default=None),
        lowercase=BOOL,
    ),
    "Strip": kind("normalizers.strip:Strip", strip_left=BOOL, strip_right=BOOL),
    "StripAccents": kind("normalizers.strip_accents:StripAccents"),
    **{form: kind(f"normalizers.unicode:{form}") for form in ("NFC", "NFD", "NFKC", "NFKD")},
    "Sequence": kind("normalizers.sequence:Sequence", normalizers=_parts(lambda: NORMALIZERS)),
    "Lowercase": kind("normalizers.lowercase:Lowercase"),
    "Nmt": kind("normalizers.nmt:Nmt"),
    "Precompiled": kind("normalizers.precompiled:Precompiled", precompiled_charsmap=_text()),
    "Replace": kind("normalizers.replace:Replace", pattern=PATTERN, content=_text()),
    "Prepend": kind("normalizers.prepend:Prepend", prepend=_text()),
    "ByteLevel": kind("normalizers.byte_level:ByteLevel"),
}
PRETOKENIZERS: dict[str, Kind] = {
    "BertPreTokenizer": kind("pretokenizers.bert:Bert"),
    "ByteLevel": kind("pretokenizers.byte_level:ByteLevel", **BYTE_LEVEL_FLAGS),
    "CharDelimiterSplit": kind("pretokenizers.char_delimiter_split:CharDelimiterSplit", delimiter=_text()),
    "Metaspace": Kind("pretokenizers.metaspace:Metaspace", METASPACE, _read_metaspace),
    "Whitespace": kind("pretokenizers.whitespace:Whitespace"),
    "WhitespaceSplit": kind("pretokenizers.whitespace_split:WhitespaceSplit"),
    "Sequence": kind("pretokenizers.sequence:Sequence", pretokenizers=_parts(lambda: PRETOKENIZERS)),
    "Split": kind("pretokenizers.split:Split", pattern=PATTERN, behavior=_text(), invert=BOOL),
    "Punctuation": kind("pretokenizers.punctuation:Punctuation", behavior=_text(default="Isolated")),
    "Digits": kind("pretokenizers.digits:Digits", individual_digits=BOOL),
    "UnicodeScripts": kind("pretokenizers.unicode_scripts:UnicodeScripts"),
    "FixedLength": kind("pretokenizers.fixed_length:FixedLength", length=_typed(int, default=5)),
}
POSTPROCESSORS: dict[str, Kind] = {
    "BertProcessing": kind("postprocessors.bert:Bert", sep=PAIR, cls=PAIR),
    "RobertaProcessing": kind(
        "postprocessors.roberta:Roberta", sep=PAIR, cls=PAIR, trim_offsets=BOOL, add_prefix_space=BOOL
    ),
    "ByteLevel": kind("postprocessors.byte_level:ByteLevel", **BYTE_LEVEL_FLAGS),
    "TemplateProcessing": Kind("postprocessors.template:Template", {}, _read_template, _write_template),
    "Sequence": kind("postprocessors.sequence:Sequence", processors=_parts(lambda: POSTPROCESSORS)),
}
DECODERS: dict[str, Kind] = {
    "ByteLevel": kind("decoders.byte_level:ByteLevel", **BYTE_LEVEL_FLAGS),
    "WordPiece": kind("decoders.wordpiece:WordPiece", prefix=_text(), cleanup=BOOL),
    "Metaspace": Kind("decoders.metaspace:Metaspace", METASPACE, _read_metaspace),
    "BPEDecoder": kind("decoders.bpe:BPE", suffix=_text()),
    "CTC": kind("decoders.ctc:CTC", pad_token=_text(), word_delimiter_token=_text(), cleanup=BOOL),
    "Sequence": kind("decoders.sequence:Sequence", decoders=_parts(lambda: DECODERS)),
    "Replace": kind("decoders.replace:Replace", pattern=PATTERN, content=_text()),
    "Fuse": kind("decoders.fuse:Fuse"),
    "Strip": kind("decoders.strip:Strip", content=_text(), start=_typed(int), stop=_typed(int)),
    "ByteFallback": kind("decoders.byte_fallback:ByteFallback"),
}

STAGES: dict[str, Mapping[str, Kind]] = {
    "normalizer": NORMALIZERS,
    "pre_tokenizer": PRETOKENIZERS,
    "post_processor": POSTPROCESSORS,
    "decoder": DECODERS,
}
"""Key of a tokenizer.json → the types of components that may be there."""
