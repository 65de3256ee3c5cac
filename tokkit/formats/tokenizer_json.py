"""Reads and writes tokenizer.json, with any of its components, as tokenizers 0.23 runs them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tokkit.definition import AddedToken, Definition, Split
from tokkit.encoding.length_rules import Padding, Truncation
from tokkit.engine.special_tokens import vanished
from tokkit.errors import FormatError, TokkitError
from tokkit.files import strict_json
from tokkit.files.strict_json import Section
from tokkit.formats import byte_level_json, components, model_json, model_text, table_text, tables
from tokkit.formats.differences import Rule
from tokkit.models.bpe import BPE
from tokkit.models.char_bpe import CharBPE
from tokkit.models.sentencepiece import SentencePieceModel

NULL = type(None)


def read(data: bytes, *, keep_ids: bool = False) -> Definition:
    """Return the parsed JSON of a tokenizer.json; FormatError names the path of an invalid or unknown value.

    `keep_ids` is for the JSON of a tokenizer object, whose added tokens have the ids given; the reader of tokenizers,
    and so this function, gives tokens in a file the next free ids.
    """
    return read_packed(data, keep_ids=keep_ids) or from_json(strict_json.loads(data), keep_ids=keep_ids)


def read_packed(data: bytes, *, keep_ids: bool = False) -> Definition | None:
    """Return the definition in a tokenizer.json, with its large tables read in C; for the usual files only.

    None for a file that is invalid or unusual in any way; `from_json` reads these too, or says what is wrong and where.
    """
    try:
        value = tables.loads(data)
        return None if value is None else from_json(value, keep_ids=keep_ids)
    except TokkitError:
        return None


def from_json(value: object, *, keep_ids: bool = False) -> Definition:
    """Return the definition from the parsed JSON of a tokenizer.json; `keep_ids` is that of `read`."""
    file = Section(value, "")
    file.expect("version", "1.0")
    around = read_lengths(file)
    stages = {
        stage: components.read(file.take(stage, dict, NULL, default=None), stage, kinds)
        for stage, kinds in components.STAGES.items()
    }
    around["normalizer"], around["postprocessor"] = stages["normalizer"], stages["post_processor"]
    listed = file.take("added_tokens", list, default=[])
    model = Section(file.take("model", dict), "model")
    file.finish()
    type_ = model_json.type_of(model)
    vocab = model_json.read_vocab(model, type_)
    added = model_json.read_added(listed, vocab, keep_ids=keep_ids)
    _check_vanished(added, stages["normalizer"])
    in_model = frozenset(vocab.ids.tolist()) if added else frozenset()
    added_ids = frozenset(token.id for token in added if token.id not in in_model)
    split = byte_level_json.split_of(stages["pre_tokenizer"], stages["decoder"]) if type_ == "BPE" else None
    if split is not None and not byte_level_json.has_options(model):
        given = {**around, "decoder": stages["decoder"], "added_ids": added_ids, "added_tokens": added}
        made = byte_level_json.read(model, vocab, split, given)
        if made is not None:
            return made
    packed = model_json.pack(vocab, added, "model.vocab", empty=True)
    made = Definition(
        packed,
        model_json.read(model, type_, vocab, packed, added_ids),
        stages["pre_tokenizer"],
        decoder=stages["decoder"],
        added_tokens=added,
        added_ids=added_ids,
        **around,
    )
    try:
        return _folded(made)
    except TokkitError:
        return made


def _check_vanished(added: Iterable[AddedToken], normalizer: Any) -> None:
    """Raise FormatError for an added token of which the normalizer leaves nothing; here, it would never be found."""
    if (token := vanished(added, normalizer)) is not None:
        raise FormatError(
            f"added_tokens: the normalizer, {type(normalizer).__name__}, leaves nothing of {token.content!r}, so that "
            'tokenizers cuts each text before every character: set "normalized" of this token to false, or remove it'
        )


def _folded(definition: Definition) -> Definition:
    """Restore definitions that were written with substitute components."""
    if not isinstance(definition.model, CharBPE) or definition.model.end_of_word_suffix:
        return definition
    from tokkit.formats import classic_bpe

    return classic_bpe.folded(definition)


def _lengths(value: object, name: str) -> Any:
    """Return the truncation or the padding in a file."""
    if value is None:
        return None
    section = Section(value, name)
    optional = name == "truncation"  # older files of tokenizers have no direction; it is the right end
    given: dict[str, Any] = {"direction": section.expect("direction", "Right", "Left", optional=optional).lower()}
    if name == "truncation":
        given["strategy"] = STRATEGIES[section.expect("strategy", *STRATEGIES, optional=False)]
        given["max_length"], given["stride"] = section.take("max_length", int), section.take("stride", int)
    else:
        strategy = section.take("strategy", str, dict)
        if isinstance(strategy, dict):
            fixed = Section(strategy, section.at("strategy"))
            given["length"] = fixed.take("Fixed", int)
            fixed.finish()
        elif strategy != "BatchLongest":
            strict_json.refuse(section.at("strategy"), strategy, ["BatchLongest", {"Fixed": 128}])
        given["pad_to_multiple_of"] = section.take("pad_to_multiple_of", int, NULL, default=None)
        for key, type_ in (("pad_id", int), ("pad_type_id", int), ("pad_token", str)):
            given[key] = section.take(key, type_)
    section.finish()
    try:
        return Truncation(**given) if name == "truncation" else Padding(**given)
    except TokkitError as error:
        raise FormatError(f"{name}: {error}") from None


STRATEGIES = {"LongestFirst": "longest_first", "OnlyFirst": "only_first", "OnlySecond": "only_second"}


# ---- writing


def in_components(definition: Definition) -> tuple[Definition, list[Rule]]:
    """Return a definition that a tokenizer.json can hold, and the rules by which it gives other ids."""
    if getattr(definition.model, "suffix_apart", False):
        from tokkit.formats import classic_bpe

        return classic_bpe.spelt(definition), []
    if not isinstance(definition.model, SentencePieceModel):
        return definition, []
    from tokkit.formats import sentencepiece_conversion

    return sentencepiece_conversion.components_of(definition)


def write(definition: Definition, *, added_apart: bool = False) -> bytes:
    """Return a tokenizer.json with which tokenizers 0.23 gives the definition's ids; FormatError if there is none.

    With `added_apart`, a byte-level model's vocabulary is written without tokens that were only added; ids are the
    same.
    """
    definition, rules = in_components(definition)
    if rules:
        raise FormatError(f"a tokenizer.json would give other ids: {rules[0].what}")
    _check_vanished(definition.added_tokens, definition.normalizer)
    by_bytes = isinstance(definition.model, BPE)
    model = model_text.write_bytes(definition, added_apart) if by_bytes else model_text.write_components(definition)
    given = {
        "normalizer": definition.normalizer,
        "post_processor": definition.postprocessor,
        "decoder": definition.decoder,
    }
    written = {name: components.write(part, components.STAGES[name]) for name, part in given.items()}
    if isinstance(definition.pretokenizer, Split):
        byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
        written["pre_tokenizer"] = byte_level_json.write_pretokenizer(definition)
        if definition.decoder is None:  # trained, or from a file without either
            written["decoder"], written["post_processor"] = byte_level, written["post_processor"] or byte_level
    else:
        written["pre_tokenizer"] = components.write(definition.pretokenizer, components.PRETOKENIZERS)
    head = {
        "version": "1.0",
        **write_lengths(definition.truncation, definition.padding),
        "added_tokens": model_text.write_added(definition, model.n_own, model.own),
        **{name: written[name] for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder")},
    }
    inner: list[tuple[bytes, bytes | table_text.Part]] = [(_dump(k), _dump(v)) for k, v in model.fields.items()]
    inner += [(_dump(key), table) for key, table in model.tables.items()]
    outer = [(_dump(key), value if callable(value) else _dump(value, 2)) for key, value in head.items()]
    outer.append((b'"model"', table_text.fields(inner, b"\n  ", b": ")))
    return table_text.written(table_text.fields(outer, b"\n", b": "), end=b"\n")


def write_lengths(truncation: Truncation | None, padding: Padding | None) -> dict[str, Any]:
    """Return a truncation and a padding as JSON data."""
    return {"truncation": _write_truncation(truncation), "padding": _write_padding(padding)}


def read_lengths(value: Section) -> dict[str, Any]:
    """Return the truncation and the padding in a file, by these names."""
    names = ("truncation", "padding")
    return {name: _lengths(value.take(name, dict, NULL, default=None), name) for name in names}


def _write_truncation(truncation: Truncation | None) -> dict[str, Any] | None:
    if truncation is None:
        return None
    names = {ours: theirs for theirs, ours in STRATEGIES.items()}
    return {
        "direction": truncation.direction.title(),
        "max_length": truncation.max_length,
        "strategy": names[truncation.strategy],
        "stride": truncation.stride,
    }


def _write_padding(padding: Padding | None) -> dict[str, Any] | None:
    if padding is None:
        return None
    return {
        "strategy": "BatchLongest" if padding.length is None else {"Fixed": padding.length},
        "direction": padding.direction.title(),
        "pad_to_multiple_of": padding.pad_to_multiple_of,
        "pad_id": padding.pad_id,
        "pad_type_id": padding.pad_type_id,
        "pad_token": padding.pad_token,
    }


def _dump(value: object, depth: int = 0) -> bytes:
    """Return JSON, indented by `depth` spaces."""
    text = json.dumps(value, ensure_ascii=False, indent=2 if depth else None)
    return text.replace("\n", "\n" + " " * depth).encode()
