"""Tokenizer classes of byte-level BPE, and of BPE over characters that ends words."""

from __future__ import annotations

from typing import Any

from tokkit.errors import OptionError
from tokkit.pretokenizers import patterns
from tokkit.registry.tokenizer_classes import parts
from tokkit.registry.tokenizer_classes.row import JSON, NO_TYPES, PAIR, Given, Row, Template
from tokkit.registry.tokenizer_classes.tokens import AddedToken

END = "<|endoftext|>"
BART: dict[str, Any] = {
    **{"bos_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "cls_token": "<s>"},
    **{"unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>"},
}
SQUARE: dict[str, Any] = {
    **{"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]"},
}
CLIP_SPLIT = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def gpt2_parts(given: Given) -> JSON:
    """Return the stages of GPT-2."""
    return {
        "model": parts.byte_level_bpe(given),
        "pre_tokenizer": parts.byte_level(given["add_prefix_space"]),
        "decoder": parts.SYMBOLS_DECODER,
    }


def _codegen(given: Given) -> JSON:
    if given["return_token_type_ids"]:
        raise OptionError(
            "return_token_type_ids is True for the tokenizer; give it in each call instead: tok(text, "
            "return_token_type_ids=True)"
        )
    return gpt2_parts(given)


def _neox(given: Given) -> JSON:
    pretokenizer = parts.byte_level(given["add_prefix_space"], trim=given["trim_offsets"])
    return {**gpt2_parts(given), "normalizer": parts.NFC, "pre_tokenizer": pretokenizer}


def _cohere(given: Given) -> JSON:
    prefix = given["add_prefix_space"]
    digits = {"type": "Digits", "individual_digits": True}
    return {
        **gpt2_parts(given),
        "normalizer": parts.NFC,
        "pre_tokenizer": parts.pretokenizers(digits, parts.byte_level(prefix)),
        "decoder": parts.byte_level(prefix),
    }


def _qwen(given: Given, pattern: str) -> JSON:
    return {
        "model": parts.byte_level_bpe(given),
        "normalizer": parts.NFC,
        "pre_tokenizer": parts.pretokenizers(
            parts.split(pattern, "Isolated"), parts.byte_level(given["add_prefix_space"] or False, regex=False)
        ),
        "decoder": parts.SYMBOLS_DECODER,
    }


def _clip(given: Given) -> JSON:
    return {
        "model": parts.bpe(
            given, continuing_subword_prefix="", end_of_word_suffix="</w>", unk_token=given.text("unk_token")
        ),
        "normalizer": parts.normalizers(parts.NFC, parts.replace_all(r"\s+", " "), parts.LOWERCASE),
        "pre_tokenizer": parts.pretokenizers(parts.split(CLIP_SPLIT, "Removed", invert=True), parts.byte_level(False)),
        "decoder": parts.SYMBOLS_DECODER,
    }


def _openai(given: Given) -> JSON:
    return {
        "model": parts.bpe(
            given, continuing_subword_prefix="", end_of_word_suffix="</w>", unk_token=given.text("unk_token")
        ),
        "normalizer": parts.bert_normalizer(True),
        "pre_tokenizer": parts.WORDS,
        "decoder": parts.EOW_DECODER,
    }


def _herbert(given: Given) -> JSON:
    return {
        "model": parts.bpe(given, end_of_word_suffix="</w>", unk_token=given.text("unk_token")),
        "normalizer": parts.bert_normalizer(False, strip_accents=False),
        "pre_tokenizer": parts.WORDS,
        "decoder": parts.EOW_DECODER,
    }


def _nougat(given: Given) -> JSON:
    # The third pattern is a regular expression that is given, and so compared, as a literal text.
    literal = r"[\(\)\[\]\{\}]|([!\"#\$%\&'\*\+,\-\./:;<=>\?\\\^_`\|\~])\1*"
    return {
        "model": parts.byte_level_bpe(given),
        "normalizer": parts.NFKC,
        "pre_tokenizer": parts.pretokenizers(
            parts.split("SPL1T-TH1S-Pl3A5E", "Removed", regex=False),
            {"type": "Digits", "individual_digits": True},
            parts.split(literal, "Isolated", regex=False),
            parts.split("\n", "Isolated", regex=False),
            parts.byte_level(False),
        ),
        "decoder": parts.SYMBOLS_DECODER,
    }


def _esmc(given: Given) -> JSON:
    amino = "LAGVSERTIDPKQNFYMHWCXBUZO.-|"
    tokens = ["<cls>", "<pad>", "<eos>", "<unk>", *amino, "<mask>"]
    given["vocab"], given["merges"] = {token: id_ for id_, token in enumerate(tokens)}, []
    return {"model": parts.bpe(given, unk_token=given.text("unk_token"))}


def _roberta_around(draft: Any, given: Given) -> JSON:
    return {
        "type": "RobertaProcessing",
        "sep": given.text("sep_token"),
        "cls": given.text("cls_token"),
        "trim_offsets": given["trim_offsets"],
        "add_prefix_space": given["add_prefix_space"],
    }


def _codegen_around(draft: Any, given: Given) -> JSON | None:
    if "add_bos_token" in given or "add_eos_token" in given:
        return None
    return given.get("post_processor") or parts.byte_level(True, trim=False)


def _clip_around(draft: Any, given: Given) -> JSON:
    ends = {"sep": given.text("eos_token"), "cls": given.text("bos_token")}
    return {"type": "RobertaProcessing", **ends, "trim_offsets": False, "add_prefix_space": False}


def _keep_special(draft: Any, given: Given) -> None:
    """Add the tokens of roles again, as special ones."""
    draft.add([AddedToken(str(token), special=True) for token in draft.special_tokens()])


def post_init(draft: Any, given: Given) -> None:
    """Add the tokens of roles and the extra ones again, then put bos and eos around texts."""
    draft.add_roles()
    if draft.updates_around:
        draft.update_around(given)


_ENDS: Template = ("cls $A sep", "cls $A sep sep $B sep")
_GPT2: dict[str, Any] = {"unk_token": END, "bos_token": END, "eos_token": END, "pad_token": None}
_PREFIX: dict[str, Any] = {"add_prefix_space": False}
_TRIM: dict[str, Any] = {"add_prefix_space": False, "trim_offsets": True}
_COHERE: dict[str, Any] = {
    **{"unk_token": "<UNK>", "bos_token": "<BOS_TOKEN>", "eos_token": "<|END_OF_TURN_TOKEN|>", "pad_token": "<PAD>"},
    **{"cls_token": "<CLS>", "sep_token": "<SEP>", "mask_token": "<MASK_TOKEN>"},
}
_QWEN: dict[str, Any] = {"unk_token": END, "bos_token": None, "eos_token": END, "pad_token": END}
_CLIP: dict[str, Any] = {"unk_token": END, "bos_token": "<|startoftext|>", "eos_token": END, "pad_token": END}
_ESMC: dict[str, Any] = {
    **{"unk_token": "<unk>", "cls_token": "<cls>", "pad_token": "<pad>", "mask_token": "<mask>", "eos_token": "<eos>"},
    **{"bos_token": None, "chain_break_token": "|"},
}


def _spaced_mask(roles: dict[str, Any]) -> dict[str, Any]:
    return {**roles, "mask_token": AddedToken(roles["mask_token"], lstrip=True, normalized=False)}


ROWS: dict[str, Row] = {
    "GPT2Tokenizer": Row(roles=_GPT2, arguments=_PREFIX, files=PAIR, model="BPE", parts=gpt2_parts),
    "CodeGenTokenizer": Row(
        roles=_GPT2, arguments={**_PREFIX, "return_token_type_ids": False}, files=PAIR, model="BPE", parts=_codegen,
        template=_codegen_around,
    ),
    "GPTNeoXTokenizer": Row(
        roles={**_GPT2, "pad_token": "<|padding|>"}, arguments=_TRIM, files=PAIR, model="BPE", parts=_neox,
        finish=lambda draft, given: draft.update_around(given),
    ),
    "RobertaTokenizer": Row(
        roles=BART, arguments=_TRIM, files=PAIR, model="BPE", parts=gpt2_parts, template=_roberta_around
    ),
    "BlenderbotTokenizer": Row(
        roles=_spaced_mask(BART), arguments={"add_prefix_space": True}, files=PAIR, model="BPE", parts=gpt2_parts
    ),
    "DebertaTokenizer": Row(
        roles={"bos_token": "[CLS]", "eos_token": "[SEP]", **SQUARE}, arguments=_PREFIX, files=PAIR, model="BPE",
        parts=gpt2_parts, template=_ENDS, inputs=(*NO_TYPES, "token_type_ids"),
    ),
    "CohereTokenizer": Row(
        roles=_COHERE, arguments=_PREFIX, files=PAIR, model="BPE", parts=_cohere, side="left", finish=post_init
    ),
    "Qwen2Tokenizer": Row(
        roles=_QWEN, arguments={"add_prefix_space": None}, files=PAIR, model="BPE",
        parts=lambda given: _qwen(given, patterns.QWEN2), finish=_keep_special,
    ),
    "Qwen3_5Tokenizer": Row(
        roles=_QWEN, arguments={"add_prefix_space": None}, model="BPE",
        parts=lambda given: _qwen(given, patterns.QWEN3_5),
    ),
    "CLIPTokenizer": Row(
        roles=_CLIP, files=PAIR, model="BPE", parts=_clip, template=_clip_around, word_end="</w>"
    ),
    "OpenAIGPTTokenizer": Row(roles={"unk_token": "<unk>"}, files=PAIR, model="BPE", parts=_openai),
    "HerbertTokenizer": Row(
        roles={k: BART[k] for k in ("cls_token", "unk_token", "pad_token", "mask_token", "sep_token")}, files=PAIR,
        model="BPE", parts=_herbert,
        template=lambda draft, given: {
            "type": "BertProcessing", "sep": [given.text("sep_token"), 2], "cls": [given.text("cls_token"), 0]
        },
    ),
    "NougatTokenizer": Row(
        roles={k: BART[k] for k in ("unk_token", "bos_token", "eos_token", "pad_token")}, model="BPE", parts=_nougat,
        template=("bos:0 $A:0 eos:0", "$A:0 $B:1"),
    ),
    "EsmcTokenizer": Row(
        roles=_ESMC, model="BPE", parts=_esmc, extra=lambda given: [], template=("cls $A eos", "$A:0 $B:1"),
        finish=lambda draft, given: draft.roles.update(bos_token=draft.roles["bos_token"] or draft.roles["cls_token"]),
    ),
}  # fmt: skip
