"""Tokenizer classes without a learned vocabulary: ids of bytes, or of characters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tokkit.definition import Definition
from tokkit.errors import FormatError, OptionError
from tokkit.files import strict_json
from tokkit.models.byte_ids import ByteIds, byte_vocab
from tokkit.registry.tokenizer_classes.row import TYPES, Given, Row, Template
from tokkit.registry.tokenizer_classes.scripted import code_units
from tokkit.registry.tokenizer_classes.scripted.code_units import CodePoints
from tokkit.registry.tokenizer_classes.scripted.decoders import ByteCharacters, Join
from tokkit.registry.tokenizer_classes.tokens import AddedToken
from tokkit.registry.tokenizer_classes.wordpiece_rows import BERT_AROUND
from tokkit.vocab import Vocab

_BYTES = re.compile(r"[0-9a-f]{2}(?: [0-9a-f]{2})*")
_CODE_POINTS = {0: "[PAD]", 0xE000: "[CLS]", 0xE001: "[SEP]", 0xE002: "[BOS]", 0xE003: "[MASK]", 0xE004: "[RESERVED]"}
_ENDS: Template = ("$A:0 eos:0", "$A:0 eos:0 $B:0 eos:0")


def _first_ids(given: Given, *tokens: Any, **rules: bool) -> None:
    """Give tokens the ids from 0, unless the files have others there; text gets the rules."""
    if any(token is None for token in tokens):
        raise OptionError("a special token is None, and this class has an id for it; give its text")
    own = {id_: AddedToken(token, **rules) if isinstance(token, str) else token for id_, token in enumerate(tokens)}
    given["added_tokens_decoder"] = {**own, **(given.get("added_tokens_decoder") or {})}


def _sentinels(given: Given) -> list[Any]:
    """Return the extra special tokens of ByT5 and its successor: `extra_ids` sentinels, or those of the files."""
    n, listed = given["extra_ids"], given.get("additional_special_tokens")
    if listed is None:
        return [f"<extra_id_{i}>" for i in range(n)]
    found = {str(token) for token in listed if "extra_id" in str(token)}
    if n > 0 and listed and len(found) != n:
        raise OptionError(
            f"extra_ids is {n}, and additional_special_tokens has {len(found)} tokens with extra_id; the numbers must "
            "be equal"
        )
    return list(listed)


def _end_once(draft: Any, given: Given) -> None:
    draft.file["post_processor"]["type"] = "EndOnce"


def _byt5(given: Given, paths: Mapping[str, str]) -> Definition:
    _first_ids(given, given["pad_token"], given["eos_token"], given["unk_token"], lstrip=True, rstrip=True)
    return Definition(byte_vocab(3), ByteIds(3), None, decoder=ByteCharacters("ignore"))


def _perceiver(given: Given, paths: Mapping[str, str]) -> Definition:
    _first_ids(given, *(given[f"{role}_token"] for role in ("pad", "bos", "eos", "mask", "cls", "sep")))
    return Definition(byte_vocab(6), ByteIds(6), None, decoder=ByteCharacters())


def _dia(given: Given, paths: Mapping[str, str]) -> Definition:
    offset = given["offset"]
    if offset not in range(4):
        raise OptionError(f"offset is {offset!r}; it must be an int from 0 to 3, the number of tokens before the bytes")
    _first_ids(given, given["pad_token"], "[S1]", "[S2]")
    return Definition(byte_vocab(offset, 3), ByteIds(offset), None, decoder=Join(""))


def _canine(given: Given, paths: Mapping[str, str]) -> Definition:
    listed = (given.get("added_tokens_decoder") or {}).values()
    special = [given[role] for role in (*_CANINE_ROLES,) if given[role] is not None]
    own = {str(token) for token in (*special, *listed)}
    renamed = {chr(code): name for code, name in _CODE_POINTS.items() if chr(code) not in own}
    return Definition(code_units.character_vocab(), CodePoints(), None, decoder=Join("", renamed=renamed))


def _myt5(given: Given, paths: Mapping[str, str]) -> Definition:
    if "vocab_file" not in paths:
        raise FormatError("the rules are missing: this class needs byte_maps.json")
    maps = strict_json.read_object(paths["vocab_file"])
    decomposed, merged = (_rules(maps, name) for name in ("decompose_map", "merge_map"))
    _first_ids(given, given["pad_token"], given["eos_token"], given["unk_token"], lstrip=True, rstrip=True)
    backwards = [{new: old for old, new in rules.items()} for rules in (merged, decomposed)]
    vocab = Vocab.from_list([b"", b"", b"", *(f"{byte:02x}".encode() for byte in range(256))])
    decoder = code_units.RewrittenBytesDecoder(*backwards)
    return Definition(vocab, code_units.RewrittenBytes(decomposed, merged), None, decoder=decoder)


def _rules(maps: Mapping[str, Any], name: str) -> dict[tuple[str, ...], tuple[str, ...]]:
    value = maps.get(name)
    if not isinstance(value, dict):
        raise FormatError(f"byte_maps.json: {name} must be an object of bytes to bytes")
    for text in (text for rule in value.items() for text in rule):
        if not isinstance(text, str) or not _BYTES.fullmatch(text):
            raise FormatError(f"byte_maps.json: {name} has {strict_json.brief(text)}, which is not bytes like 'c3 a9'")
    return {tuple(old.split(" ")): tuple(new.split(" ")) for old, new in value.items()}


_T5_ROLES: dict[str, Any] = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
_PERCEIVER_ROLES: dict[str, Any] = {
    **{"pad_token": "[PAD]", "bos_token": "[BOS]", "eos_token": "[EOS]", "mask_token": "[MASK]"},
    **{"cls_token": "[CLS]", "sep_token": "[SEP]"},
}
_CANINE_ROLES: dict[str, Any] = {
    **{"bos_token": "\ue000", "eos_token": "\ue001", "sep_token": "\ue001", "cls_token": "\ue000"},
    **{"pad_token": "\0", "mask_token": "\ue003"},
}
_BYT5 = Row(
    roles=_T5_ROLES, arguments={"extra_ids": 125}, extra=_sentinels, scripted=_byt5, template=_ENDS, finish=_end_once
)  # fmt: skip

ROWS: dict[str, Row] = {
    "ByT5Tokenizer": _BYT5,
    "MyT5Tokenizer": replace(_BYT5, files={"vocab_file": "byte_maps.json"}, scripted=_myt5),
    "PerceiverTokenizer": Row(
        roles=_PERCEIVER_ROLES, arguments={"model_max_length": 2048}, scripted=_perceiver, template=BERT_AROUND
    ),
    "CanineTokenizer": Row(
        roles=_CANINE_ROLES, arguments={"model_max_length": 2048}, scripted=_canine, inputs=TYPES,
        template=("cls:0 $A:0 sep:0", "cls:0 $A:0 sep:0 $B:0 sep:0"),
    ),
    "DiaTokenizer": Row(
        roles={"pad_token": "<pad>", "unk_token": "<pad>"}, arguments={"offset": 0, "max_length": 1024}, scripted=_dia,
        template=("$A:0", "$A:0 $B:0"),
    ),
}  # fmt: skip
