"""The bytes of a tokenizer.json in, a definition out, and back: byte-level BPE as tokenizers runs it.

One function reads each kind of component; what no function reads is refused with its path in the file. Nothing
that could change an id is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from tokkit.definition import Definition, Split
from tokkit.errors import FormatError, PatternError
from tokkit.formats import conversion, oniguruma, strict_json, symbol_tables
from tokkit.formats.strict_json import Section
from tokkit.pretokenizers import patterns
from tokkit.pretokenizers.choice import choose
from tokkit.vocab import MAX_ID

NULL = type(None)


def read(data: bytes) -> Definition:
    """Return what a tokenizer.json says; FormatError names the path of what is malformed or not supported yet."""
    return from_json(strict_json.loads(data))


def from_json(value: object) -> Definition:
    """Return the definition that parsed JSON of a tokenizer.json says."""
    file = Section(value, "")
    file.expect("version", "1.0")
    for key in ("truncation", "padding"):
        file.expect(key, None)
    normalizer = file.take("normalizer", dict, NULL, default=None)
    if normalizer is not None:
        strict_json.refuse("normalizer.type", normalizer.get("type"), [None], "no normalizer is read for now")
    split = _component(file.take("pre_tokenizer", dict, NULL, default=None), "pre_tokenizer", PRETOKENIZERS)
    post_processor = file.take("post_processor", dict, NULL, default=None)
    if post_processor is not None:  # that of byte-level models trims offsets and adds no token
        _component(post_processor, "post_processor", {"ByteLevel": _flags})
    _component(file.take("decoder", dict, NULL, default=None), "decoder", {"ByteLevel": _flags})
    added = file.take("added_tokens", list, default=[])
    model = Section(file.take("model", dict), "model")
    file.finish()
    return _bpe(model, added, split)


T = TypeVar("T")


def _component(value: object, path: str, readers: Mapping[str, Callable[[Section], T]]) -> T:
    """Read a component with the reader of its type."""
    if value is None:
        strict_json.refuse(path, None, readers, "byte-level BPE has one")
    component = Section(value, path)
    name = component.take("type", str)
    if name not in readers:
        strict_json.refuse(f"{path}.type", name, readers)
    made = readers[name](component)
    component.finish()
    return made


# ---- components


def _flags(component: Section) -> None:
    """A ByteLevel decoder or post-processor: its flags bear on offsets or on nothing."""
    for key in ("add_prefix_space", "trim_offsets", "use_regex"):
        component.take(key, bool, default=True)


def _byte_level(component: Section) -> Split:
    component.expect("add_prefix_space", False, optional=False)
    component.take("trim_offsets", bool, default=True)
    return Split(patterns.BYTE_LEVEL if component.take("use_regex", bool, default=True) else None)


def _sequence(component: Section) -> Split:
    """ByteLevel alone, or a Split by a pattern (or DeepSeek's three) and then a ByteLevel that does not split."""
    path = component.at("pretokenizers")
    parts = component.take("pretokenizers", list)
    if len(parts) == 1 + len(patterns.DEEPSEEK_V3_IN_TURN):
        return _in_turn(parts, path)
    readers = [{"ByteLevel": _byte_level}] if len(parts) == 1 else [{"Split": _split}, {"ByteLevel": _byte_level}]
    if len(parts) != len(readers):
        raise FormatError(
            f"{path}: {len(parts)} components are not supported; Split and ByteLevel, or one of them, are"
        )
    splits = [_component(parts[i], f"{path}[{i}]", reader) for i, reader in enumerate(readers)]
    if len(splits) == 2 and splits[1].pattern is not None:
        strict_json.refuse(f"{path}[1].use_regex", True, [False], "a second split behind a Split")
    return splits[0]


def _in_turn(parts: list[Any], path: str) -> Split:
    for i, pattern in enumerate(patterns.DEEPSEEK_V3_IN_TURN):
        split = Section(parts[i], f"{path}[{i}]")
        split.expect("type", "Split", optional=False)
        text = Section(split.take("pattern", dict), split.at("pattern"))
        regex = text.take("Regex", str)
        text.finish()
        if regex.replace("\r", r"\r").replace("\n", r"\n") != pattern:
            raise FormatError(
                f"{text.at('Regex')}: several splits are supported as in DeepSeek V3 only: {pattern!r} here"
            )
        split.expect("behavior", "Isolated", optional=False)
        split.expect("invert", False, optional=False)
        split.finish()
    last = f"{path}[{len(parts) - 1}]"
    if _component(parts[-1], last, {"ByteLevel": _byte_level}).pattern is not None:
        strict_json.refuse(f"{last}.use_regex", True, [False], "a split behind DeepSeek's")
    return Split(patterns.DEEPSEEK_V3)


def _split(component: Section) -> Split:
    pattern = Section(component.take("pattern", dict), component.at("pattern"))
    text = pattern.take("Regex", str)
    pattern.finish()
    behavior = component.expect("behavior", "Isolated", "Removed", optional=False)
    # Isolated keeps what the pattern does not match; Removed inverted drops it, which is tiktoken's manner.
    component.expect("invert", behavior == "Removed", optional=False)
    try:
        ours = oniguruma.from_file(text)
    except FormatError as error:
        raise FormatError(f"{pattern.at('Regex')}: {error}") from None
    # The published patterns match all text, so that nothing is left to keep.
    split = Split(ours, keep_unmatched=behavior == "Isolated" and ours not in patterns.SCANNERS)
    try:
        choose(ours, keep_unmatched=split.keep_unmatched)
    except (PatternError, RecursionError) as error:
        raise FormatError(f"{pattern.at('Regex')}: {error}") from None
    return split


PRETOKENIZERS: dict[str, Callable[[Section], Split]] = {"ByteLevel": _byte_level, "Sequence": _sequence}


# ---- model and added tokens


def _bpe(model: Section, added: list[Any], split: Split) -> Definition:
    model.expect("type", "BPE")
    model.expect("dropout", None, 0.0, 0)
    # With a token for every byte nothing is unknown, so it is all one which token would stand for it.
    model.take("unk_token", str, NULL, default=None)
    model.expect("continuing_subword_prefix", None, "")
    model.expect("end_of_word_suffix", None, "")
    model.expect("fuse_unk", False)
    model.expect("byte_fallback", False)
    whole_piece = model.take("ignore_merges", bool, default=False)
    vocab = model.take("vocab", dict)
    merges = model.take("merges", list)
    model.finish()
    symbol_tables.check_ids(vocab, "model.vocab")
    special = _added_tokens(added, vocab)
    return symbol_tables.read(vocab, _merges(merges), special, whole_piece=whole_piece, split=split, path="model.vocab")


def _merges(merges: list[Any]) -> Iterator[tuple[str, str, str]]:
    for index, merge in enumerate(merges):
        parts = merge.split(" ") if isinstance(merge, str) else merge
        if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(p, str) and p for p in parts):
            shown = strict_json.brief(merge)
            raise FormatError(f'model.merges[{index}]: two tokens are needed, as "a b" or ["a", "b"], not {shown}')
        yield f"model.merges[{index}]", parts[0], parts[1]


def _added_tokens(added: list[Any], vocab: Mapping[str, int]) -> dict[str, int]:
    """Return the special tokens, text → id."""
    special: dict[str, int] = {}
    normalized: set[bool] = set()
    for index, value in enumerate(added):
        token = Section(value, f"added_tokens[{index}]")
        id_, text = token.take("id", int), token.take("content", str)
        token.expect("special", True, optional=False, why="only special tokens are read for now")
        for flag in ("single_word", "lstrip", "rstrip"):
            token.expect(flag, False)
        normalized.add(token.take("normalized", bool, default=False))
        token.finish()
        if not text or not conversion.is_encodable(text):
            raise FormatError(f"{token.at('content')}: {text!a} is no text that a token can have")
        if text in special:
            raise FormatError(f"{token.at('content')}: {text!r} stands earlier too")
        if id_ in special.values():
            raise FormatError(f"{token.at('id')}: {id_} is the id of an added token before it")
        expected = _id_in_tokenizers(text, special, vocab)
        if id_ != expected or not 0 <= id_ <= MAX_ID:
            raise FormatError(f"{token.at('id')}: {id_} is not the id that tokenizers gives this token, {expected}")
        special[text] = id_
    if len(normalized) > 1:
        raise FormatError("added_tokens: some are normalized and some are not; all must be alike")
    return special


def _id_in_tokenizers(text: str, added: Mapping[str, int], vocab: Mapping[str, int]) -> int:
    """Return the id that an added token gets, whatever id the file states: the vocabulary's, or the next one free."""
    if text in vocab:
        return vocab[text]
    return max(len(vocab), *(id_ + 1 for id_ in added.values()), 0)


# ---- writing


def write(definition: Definition) -> bytes:
    """Return a tokenizer.json that tokenizers 0.23 runs with the definition's ids; FormatError where none does."""
    vocab, merges, whole_piece = symbol_tables.write(definition)
    added = [
        {
            "id": id_,
            "content": text,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for text, id_ in sorted(definition.special_tokens.items(), key=lambda item: item[1])
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": whole_piece,
    }
    head = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": _pretokenizer(definition.pretokenizer),
        "post_processor": byte_level,
        "decoder": byte_level,
    }
    lines = [f"{_dump(key)}: {_dump(value, 2)}" for key, value in head.items()]
    inner = [f"{_dump(key)}: {_dump(value)}" for key, value in model.items()]
    inner += [f'"vocab": {_dump_lines(vocab)}', f'"merges": {_dump_lines(merges)}']
    lines.append('"model": {\n    ' + ",\n    ".join(inner) + "\n  }")
    return ("{\n  " + ",\n  ".join(lines) + "\n}\n").encode("utf-8")


def _pretokenizer(split: Split) -> dict[str, Any]:
    family = patterns.SCANNERS.get(split.pattern)
    splits = family == patterns.SCANNERS[patterns.BYTE_LEVEL]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": splits}
    if split.pattern is None or splits:
        return byte_level
    keep = split.keep_unmatched or family is not None
    in_turn = split.pattern == patterns.DEEPSEEK_V3
    texts = patterns.DEEPSEEK_V3_IN_TURN if in_turn else [oniguruma.to_file(split.pattern)]
    behavior = {"behavior": "Isolated" if keep else "Removed", "invert": not keep}
    by_pattern = [{"type": "Split", "pattern": {"Regex": text}, **behavior} for text in texts]
    return {"type": "Sequence", "pretokenizers": [*by_pattern, byte_level]}


def _dump(value: object, depth: int = 0) -> str:
    """Return JSON, indented to stand `depth` spaces deep."""
    return json.dumps(value, ensure_ascii=False, indent=2 if depth else None).replace("\n", "\n" + " " * depth)


def _dump_lines(table: dict[str, int] | list[str]) -> str:
    """Return JSON of a great table, an entry a line; by separators, as `indent` would take the slow encoder."""
    text = json.dumps(table, ensure_ascii=False, separators=(",\n      ", ": "))
    return f"{text[0]}\n      {text[1:-1]}\n    {text[-1]}" if table else text
