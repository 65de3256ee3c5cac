"""Tokenizer classes of WordPiece: BERT and its successors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tokkit.registry.tokenizer_classes import parts
from tokkit.registry.tokenizer_classes.byte_level_rows import BART, SQUARE
from tokkit.registry.tokenizer_classes.row import JSON, LINES, NO_TYPES, TYPES, Given, Row, Template
from tokkit.registry.tokenizer_classes.tokens import AddedToken

BERT_AROUND: Template = ("cls:0 $A:0 sep:0", "cls:0 $A:0 sep:0 $B:1 sep:1")
_ARGUMENTS: dict[str, Any] = {"do_lower_case": True, "tokenize_chinese_chars": True, "strip_accents": None}
_FUNNEL: dict[str, Any] = {
    **{"unk_token": "<unk>", "sep_token": "<sep>", "pad_token": "<pad>", "cls_token": "<cls>", "mask_token": "<mask>"},
    **{"bos_token": "<s>", "eos_token": "</s>"},
}


def _bert(given: Given) -> JSON:
    return {
        "model": parts.wordpiece(given),
        "normalizer": parts.bert_normalizer(
            given["do_lower_case"],
            clean_text=given.get("clean_text", True),
            chinese=given["tokenize_chinese_chars"],
            strip_accents=given["strip_accents"],
        ),
        "pre_tokenizer": parts.WORDS,
        "decoder": {**parts.WORDPIECE_DECODER, "prefix": given.get("wordpieces_prefix", "##")},
    }


def _mpnet_around(draft: Any, given: Given) -> JSON:
    ends = {"sep": draft.text("sep_token"), "cls": draft.text("cls_token")}
    return {"type": "RobertaProcessing", **ends, "trim_offsets": True, "add_prefix_space": False}


def _splinter_around(draft: Any, given: Given) -> Template | JSON:
    question, dot = f"={given.text('question_token')}", "=."
    if given.get("padding_side", "right") == "right":
        return "cls:0 $A:0 sep:0", f"cls:0 $A:0 {question} {dot} sep:0 $B:1 sep:1"
    return "cls:0 $A:0 sep:0", f"cls:0 $A:0 sep:0 $B:1 {question} {dot} sep:1"


_BERT = Row(
    roles=SQUARE, arguments=_ARGUMENTS, files=LINES, model="WordPiece", parts=_bert, template=BERT_AROUND, inputs=TYPES
)  # fmt: skip
_MPNET_ROLES = {
    **{role: AddedToken(token) for role, token in BART.items() if role != "mask_token"},
    "unk_token": AddedToken("[UNK]"),
    "mask_token": AddedToken("<mask>", lstrip=True),
}

# These classes take do_lower_case, but do not pass it on.
_DPR = replace(
    _BERT,
    arguments={name: value for name, value in _ARGUMENTS.items() if name != "do_lower_case"},
    parts=lambda given: _bert(Given({**given, "do_lower_case": True})),
)

ROWS: dict[str, Row] = {
    "BertTokenizer": _BERT,
    "ConvBertTokenizer": replace(_BERT, keeps_file=True),
    **dict.fromkeys(("DPRContextEncoderTokenizer", "DPRQuestionEncoderTokenizer"), _DPR),
    "DistilBertTokenizer": replace(_BERT, inputs=NO_TYPES),
    "DPRReaderTokenizer": replace(_DPR, inputs=NO_TYPES, inputs_too="titles and texts"),
    "FunnelTokenizer": Row(
        roles=_FUNNEL, arguments={**_ARGUMENTS, "clean_text": True, "wordpieces_prefix": "##"}, files=LINES,
        model="WordPiece", parts=_bert, template=("cls:2 $A:0 sep:0", "cls:2 $A:0 sep:0 $B:1 sep:1"),
    ),
    "MPNetTokenizer": Row(
        roles=_MPNET_ROLES, arguments=_ARGUMENTS, files=LINES, model="WordPiece", parts=_bert, template=_mpnet_around
    ),
    "SplinterTokenizer": Row(
        roles={**SQUARE, "question_token": "[QUESTION]"}, arguments=_ARGUMENTS, files=LINES, model="WordPiece",
        parts=_bert, template=_splinter_around,
    ),
}  # fmt: skip
