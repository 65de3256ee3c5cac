"""Tokenizer classes that read entities, boxes or markup besides text; their text is encoded as there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tokkit.errors import OptionError
from tokkit.registry.tokenizer_classes import parts
from tokkit.registry.tokenizer_classes.byte_level_rows import BART, gpt2_parts
from tokkit.registry.tokenizer_classes.piece_rows import FAIRSEQ, fairseq_pieces
from tokkit.registry.tokenizer_classes.row import JSON, NO_TYPES, PAIR, Given, Row
from tokkit.registry.tokenizer_classes.tokens import AddedToken
from tokkit.registry.tokenizer_classes.vocabularies import index_of
from tokkit.registry.tokenizer_classes.wordpiece_rows import ROWS as WORDPIECE

_BOXES: dict[str, Any] = {
    **{"cls_token_box": [0, 0, 0, 0], "sep_token_box": [1000] * 4, "pad_token_box": [0, 0, 0, 0]},
    **{"pad_token_label": -100, "only_label_first_subword": True},
}
_ENTITIES: dict[str, Any] = {
    **{"task": None, "max_entity_length": 32, "max_mention_length": 30, "entity_vocab": None},
    **{"entity_token_1": None, "entity_token_2": None},
    "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output": True,
}
_ENTITY_ROLES: dict[str, Any] = {
    **{"entity_1_token": "<ent>", "entity_2_token": "<ent2>", "entity_unk_token": "[UNK]"},
    **{"entity_pad_token": "[PAD]", "entity_mask_token": "[MASK]", "entity_mask2_token": "[MASK2]"},
}
_MARKED = {role: AddedToken(token, lstrip=role == "mask_token") for role, token in BART.items()}


# ---- entities


def _with_entities(given: Given) -> list[Any]:
    """Return the extra tokens; entity tokens that the files give are only names for tokens, as in transformers."""
    listed = given.listed("extra_special_tokens") + given.listed("additional_special_tokens")
    entities = []
    for i, default in ((1, "<ent>"), (2, "<ent2>")):
        token = given[f"entity_token_{i}"] or default
        token = AddedToken(given["entity_mark"] + token) if isinstance(token, str) else token
        given[f"entity_{i}_token"] = str(token)
        entities.append(token)
    known = {str(token) for token in listed}
    return [*listed, *(token for token in (*entities, *_entity_specials(given)) if str(token) not in known)]


def _entity_specials(given: Given) -> list[AddedToken]:
    """Return the entity tokens that MLuke adds to its extra tokens."""
    if not given["entity_mark"]:
        return []
    names = ("entity_unk_token", "entity_pad_token", "entity_mask_token", "entity_mask2_token")
    return [AddedToken(given[name], normalized=False, special=True) for name in names]


def _luke_around(draft: Any, given: Given) -> JSON:
    ends = {"sep": draft.text("sep_token"), "cls": draft.text("cls_token")}
    return {"type": "RobertaProcessing", **ends, "trim_offsets": True, "add_prefix_space": True}


def _mluke(given: Given) -> JSON:
    space = parts.metaspace()
    quotes = parts.normalizers(parts.replace("``", '"'), parts.replace("''", '"'))
    return {"model": parts.unigram(given, 0), "normalizer": quotes, "pre_tokenizer": space, "decoder": space}


# ---- boxes and markup


def _layoutlmv3_around(draft: Any, given: Given) -> JSON:
    ends = {"sep": draft.text("sep_token"), "cls": draft.text("cls_token")}
    prefix = bool(given["add_prefix_space"])
    return {"type": "RobertaProcessing", **ends, "trim_offsets": True, "add_prefix_space": prefix}


def _layoutxlm(given: Given) -> JSON:
    space = parts.metaspace("always" if given["add_prefix_space"] else "never")
    steps = parts.normalizers(parts.strip(right=True), parts.replace_all(" {2,}", parts.SPACE))
    return {"model": parts.unigram(given, 3), "normalizer": steps, "pre_tokenizer": space, "decoder": space}


def _udop(given: Given) -> JSON:
    found = index_of(given["vocab"], given.text("unk_token"))
    space = parts.metaspace()
    return {
        "model": parts.unigram(given, 2 if found is None else found),
        "normalizer": None,
        "pre_tokenizer": parts.pretokenizers(parts.WHITESPACE_SPLIT, space),
        "decoder": space,
    }


def _markuplm(given: Given) -> JSON:
    if not isinstance(given["tags_dict"], dict):
        raise OptionError(f"tags_dict is {given['tags_dict']!r:.80}; it must be an object of tag to number")
    return gpt2_parts(given)


def _tipsv2(given: Given) -> JSON:
    space = parts.metaspace()
    lower = [parts.LOWERCASE] if given["do_lower_case"] else []
    return {
        "model": parts.bpe(given, fuse_unk=True, byte_fallback=True),
        "normalizer": parts.normalizers(*lower, *parts.precompiled(given)),
        "pre_tokenizer": parts.pretokenizers(parts.WHITESPACE_SPLIT, space),
        "decoder": parts.sequence("decoders", space, {"type": "ByteFallback"}, {"type": "Fuse"}),
    }


ROWS: dict[str, Row] = {
    "LukeTokenizer": Row(
        roles={**BART, **_ENTITY_ROLES}, files={**PAIR, "entity_vocab_file": "entity_vocab.json"}, model="BPE",
        arguments={"add_prefix_space": False, "entity_mark": "", **_ENTITIES}, parts=gpt2_parts,
        extra=_with_entities, adds_extra=True, template=_luke_around, inputs_too="entities and entity_spans",
    ),
    "MLukeTokenizer": Row(
        roles={**BART, "mask_token": AddedToken("<mask>", lstrip=True), **_ENTITY_ROLES}, model="Unigram",
        files={**FAIRSEQ, "entity_vocab_file": "entity_vocab.json"}, parts=_mluke,
        arguments={"entity_mark": parts.SPACE, **_ENTITIES}, extra=_with_entities, adds_extra=True,
        template=("cls:0 $A:0 sep:0", "cls:0 $A:0 sep:0 sep:0 $B:1 sep:1"), inputs_too="entities and entity_spans",
        finish=lambda draft, given: draft.add_roles(),
    ),
    "LayoutLMv2Tokenizer": replace(
        WORDPIECE["BertTokenizer"], inputs=(*NO_TYPES, "token_type_ids"), inputs_too="boxes and word_labels",
        arguments={**WORDPIECE["BertTokenizer"].arguments, **_BOXES, "model_max_length": 512},
    ),
    "LayoutLMv3Tokenizer": Row(
        roles=BART, arguments={"add_prefix_space": True, **_BOXES, "sep_token_box": [0] * 4}, files=PAIR, model="BPE",
        parts=gpt2_parts, template=_layoutlmv3_around, inputs=(*NO_TYPES, "bbox"),
        inputs_too="boxes and word_labels",
    ),
    "LayoutXLMTokenizer": Row(
        roles={**BART, "mask_token": AddedToken("<mask>", lstrip=True)}, files=FAIRSEQ, model="Unigram",
        pieces=fairseq_pieces,
        arguments={"add_prefix_space": True, **_BOXES}, parts=_layoutxlm, inputs_too="boxes and word_labels",
        template=("cls $A sep", "cls $A sep sep $B sep"),
    ),
    "UdopTokenizer": Row(
        roles={"eos_token": "</s>", "sep_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"},
        files={"vocab_file": "spiece.model"}, model="Unigram", arguments=_BOXES, parts=_udop,
        template=("$A eos", "$A eos $B eos"), inputs_too="boxes and word_labels",
    ),
    "MarkupLMTokenizer": Row(
        roles=_MARKED, files=PAIR, model="BPE", parts=_markuplm, template=("cls $A sep", "cls $A sep $B sep"),
        arguments={
            **{"tags_dict": None, "add_prefix_space": False, "trim_offsets": False, "max_depth": 50},
            **{"max_width": 1000, "pad_width": 1001, "pad_token_label": -100, "only_label_first_subword": True},
        },
        inputs=("input_ids", "token_type_ids", "attention_mask"), inputs_too="xpaths and node_labels",
        inputs_always=True,
    ),
    "Tipsv2Tokenizer": Row(
        roles={"unk_token": "<unk>", "pad_token": "<pad>", "bos_token": None, "eos_token": None}, model="BPE",
        arguments={"do_lower_case": True, "model_max_length": 64}, files={"vocab_file": "tokenizer.model"},
        parts=_tipsv2,
    ),
}  # fmt: skip
