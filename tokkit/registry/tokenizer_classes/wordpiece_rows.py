"""Tokenizer classes of WordPiece: BERT and its successors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tokkit.registry.tokenizer_classes import parts
from tokkit.registry.tokenizer_classes.byte_level_rows import BART, SQUARE
from tokkit.registry.tokenizer_classes.row import JSON, LINES, NO_TYPES, TYPES, Given, Row, Template
from tokkit.registry.tokenizer_classes.scripted.chinese_words import ChineseWords
from tokkit.registry.tokenizer_classes.scripted.other_programs import module
from tokkit.registry.tokenizer_classes.tokens import AddedToken
from tokkit.registry.tokenizer_classes.vocabularies import tokens_of

BERT_AROUND: Template = ("cls:0 $A:0 sep:0", "cls:0 $A:0 sep:0 $B:1 sep:1")
_ARGUMENTS: dict[str, Any] = {"do_lower_case": True, "tokenize_chinese_chars": True, "strip_accents": None}
_FUNNEL: dict[str, Any] = {
    **{"unk_token": "<unk>", "sep_token": "<sep>", "pad_token": "<pad>", "cls_token": "<cls>", "mask_token": "<mask>"},
    **{"bos_token": "<s>", "eos_token": "</s>"},
}


def _bert(given: Given, *, lowercase: bool | None = None) -> JSON:
    return {
        "model": parts.wordpiece(given),
        "normalizer": parts.bert_normalizer(
            given["do_lower_case"] if lowercase is None else lowercase,
            chinese=given["tokenize_chinese_chars"],
            strip_accents=given["strip_accents"],
        ),
        "pre_tokenizer": parts.WORDS,
        "decoder": parts.WORDPIECE_DECODER,
    }


def _dpr(given: Given) -> JSON:
    # Its constructor takes do_lower_case away from BERT's, which then has its default.
    return _bert(given, lowercase=True)


def _funnel(given: Given) -> JSON:
    made = _bert(given)
    made["normalizer"]["clean_text"] = given["clean_text"]
    return {**made, "decoder": {**parts.WORDPIECE_DECODER, "prefix": given["wordpieces_prefix"]}}


def _mpnet_around(draft: Any, given: Given) -> JSON:
    ends = {"sep": draft.text("sep_token"), "cls": draft.text("cls_token")}
    return {"type": "RobertaProcessing", **ends, "trim_offsets": True, "add_prefix_space": False}


def _roformer(given: Given) -> JSON:
    module("rjieba")  # refuses the class without it
    return {
        **_bert(given),
        "normalizer": parts.bert_normalizer(
            given["do_lower_case"], chinese=False, strip_accents=given["strip_accents"]
        ),
    }


def _roformer_words(draft: Any, given: Given) -> None:
    # With vocab.txt, transformers looks words up in the path of that file, so that Chinese ones are always split.
    path = given.get("vocab_file")
    vocab = path if path is not None else frozenset(tokens_of(given["vocab"]))
    draft.components["pretokenizer"] = ChineseWords(vocab)


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

# do_lower_case changes nothing here; a caller who gives it is warned.
_DPR = replace(
    _BERT, arguments={name: value for name, value in _ARGUMENTS.items() if name != "do_lower_case"}, parts=_dpr
)

ROWS: dict[str, Row] = {
    "BertTokenizer": _BERT,
    "ConvBertTokenizer": replace(_BERT, keeps_file=True),
    **dict.fromkeys(("DPRContextEncoderTokenizer", "DPRQuestionEncoderTokenizer"), _DPR),
    "DistilBertTokenizer": replace(_BERT, inputs=NO_TYPES),
    "DPRReaderTokenizer": replace(_DPR, inputs=NO_TYPES, inputs_too="titles and texts"),
    "FunnelTokenizer": Row(
        roles=_FUNNEL, arguments={**_ARGUMENTS, "clean_text": True, "wordpieces_prefix": "##"}, files=LINES,
        model="WordPiece", parts=_funnel, template=("cls:2 $A:0 sep:0", "cls:2 $A:0 sep:0 $B:1 sep:1"),
    ),
    "MPNetTokenizer": Row(
        roles=_MPNET_ROLES, arguments=_ARGUMENTS, files=LINES, model="WordPiece", parts=_bert, template=_mpnet_around
    ),
    "RoFormerTokenizer": replace(_BERT, parts=_roformer, finish=_roformer_words, inputs=NO_TYPES),
    "SplinterTokenizer": Row(
        roles={**SQUARE, "question_token": "[QUESTION]"}, arguments=_ARGUMENTS, files=LINES, model="WordPiece",
        parts=_bert, template=_splinter_around,
    ),
}  # fmt: skip
