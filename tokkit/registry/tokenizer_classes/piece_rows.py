"""Tokenizer classes of Unigram over the pieces of SentencePiece."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tokkit.errors import FormatError
from tokkit.registry.tokenizer_classes import languages, parts
from tokkit.registry.tokenizer_classes.byte_level_rows import BART, SQUARE, post_init
from tokkit.registry.tokenizer_classes.row import JSON, NO_TYPES, Given, Languages, Row, Scored, Template
from tokkit.registry.tokenizer_classes.tokens import AddedToken
from tokkit.registry.tokenizer_classes.vocabularies import index_of, scored, start_of
from tokkit.registry.tokenizer_classes.wordpiece_rows import BERT_AROUND

SPIECE = {"vocab_file": "spiece.model"}
FAIRSEQ = {"vocab_file": "sentencepiece.bpe.model"}
_MADE_UP = tuple(f"<madeupword{i}>" for i in range(7))
_QUOTES = (parts.replace("``", '"'), parts.replace("''", '"'))
_NO_ACCENTS = (parts.NFKD, parts.STRIP_ACCENTS)


def _scheme(given: Given) -> str:
    return "always" if given["add_prefix_space"] else "never"


def _pieces(given: Given, unk_id: int | None, *, scheme: str = "always", words: bool = False, **stages: Any) -> JSON:
    """Return Unigram with Metaspace, after a split at white space with `words`; `stages` are the others."""
    space = parts.metaspace(scheme)
    return {
        "model": parts.unigram(given, unk_id),
        "pre_tokenizer": parts.pretokenizers(parts.WHITESPACE_SPLIT, space) if words else space,
        "decoder": space,
        **stages,
    }


def _one_charsmap(given: Given) -> JSON | None:
    return next(iter(parts.precompiled(given)), None)


# ---- the classes' stages


def _albert(given: Given) -> JSON:
    steps = [*_QUOTES, *(() if given["keep_accents"] else _NO_ACCENTS)]
    steps += [parts.LOWERCASE] * bool(given["do_lower_case"]) + parts.precompiled(given)
    return _pieces(given, 1, scheme=_scheme(given), words=True, normalizer=parts.normalizers(*steps))


def _rembert(given: Given) -> JSON:
    steps = [*_QUOTES, parts.replace_all(" {2,}", " "), *(() if given["keep_accents"] else _NO_ACCENTS)]
    steps += [parts.LOWERCASE] * bool(given["do_lower_case"]) + parts.precompiled(given)
    return _pieces(given, 2, scheme=_scheme(given), normalizer=parts.normalizers(*steps))


def _xlnet(given: Given) -> JSON:
    steps = [*_QUOTES, *_NO_ACCENTS, *[parts.LOWERCASE] * bool(given["do_lower_case"]), *parts.precompiled(given)]
    return _pieces(given, given["unk_id"], words=True, normalizer=parts.normalizers(*steps))


def _barthez(given: Given) -> JSON:
    steps = parts.replace_all(r"\s{2,}|[\n\r\t]", " "), parts.NFC, parts.strip(right=True)
    return _pieces(given, 3, scheme=_scheme(given), normalizer=parts.normalizers(*steps))


def _deberta(given: Given) -> JSON:
    unk_id = index_of(given["vocab"], given.text("unk_token"), score=0.0)
    scheme = "always" if given["add_prefix_space"] else "first"
    split = [{"type": "Punctuation", "behavior": "Isolated"}] if given["split_by_punct"] else []
    steps = parts.replace_all(r"\s{2,}|[\n\r\t]", " "), parts.NFC, parts.strip(right=True)
    lower = [parts.LOWERCASE] if given["do_lower_case"] else []
    return {
        **_pieces(given, given["unk_id"] if unk_id is None else unk_id, scheme=scheme),
        "normalizer": parts.normalizers(*lower, *steps),
        "pre_tokenizer": parts.pretokenizers(*split, parts.metaspace(scheme)),
    }


def _bigbird(given: Given) -> JSON:
    unk_id = index_of(given["vocab"], given.text("unk_token"), score=0.0)
    steps = parts.strip(), parts.replace_all(" {2,}", parts.SPACE)
    return _pieces(
        given, 100 if unk_id is None else unk_id, scheme=_scheme(given), normalizer=parts.normalizers(*steps)
    )


def _camembert(given: Given) -> JSON:
    unk_id = index_of(given["vocab"], given.text("unk_token")) or 0
    return _pieces(given, unk_id, scheme=_scheme(given), words=True, normalizer=_one_charsmap(given))


def _xlm_roberta(given: Given) -> JSON:
    return _pieces(given, 3, scheme=_scheme(given), words=True, normalizer=_one_charsmap(given))


def _mbart(given: Given) -> JSON:
    return _pieces(given, 3, words=True)


def _mbart50(given: Given) -> JSON:
    if not any(index_of(given["vocab"], code) is not None for code in languages.MBART50):
        given["vocab"] = _with_codes(given, scored(given["vocab"]), languages.MBART50, start="cls_token")
    steps = [*parts.precompiled(given), parts.replace_all(" {2,}", " ")]
    return _pieces(given, 3, normalizer=parts.normalizers(*steps))


def _xglm(given: Given) -> JSON:
    steps = [*parts.precompiled(given), parts.replace_all(" {2,}", " ")]
    return _pieces(given, 3, scheme=_scheme(given), normalizer=parts.normalizers(*steps))


def _pegasus(given: Given) -> JSON:
    unk_id = index_of(given["vocab"], given.text("unk_token"), score=0.0, start=1)
    if unk_id is None:
        raise FormatError(
            f"no piece after the first is {given.text('unk_token')} with the score 0, which PegasusTokenizer needs"
        )
    first = parts.precompiled(given) or [parts.replace_all(r"\n", " ")]
    return _pieces(given, unk_id, normalizer=parts.normalizers(*first, parts.replace_all(" {2,}", " ")))


def _t5(given: Given) -> JSON:
    return _pieces(given, 2, words=True, normalizer=_one_charsmap(given))


def _lasr(given: Given) -> JSON:
    return _pieces(given, 3, words=True, normalizer=_one_charsmap(given))


# ---- vocabularies of a .model's pieces


def fairseq_pieces(given: Given, pieces: Scored) -> Scored:
    """Return the special tokens in the order of fairseq, the pieces, and the mask."""
    return [*start_of(given, "bos", "pad", "eos", "unk"), *pieces[3:], (given.text("mask_token"), 0.0)]


def _with_codes(given: Given, pieces: Scored, codes: tuple[str, ...], *, start: str = "bos_token") -> Scored:
    first = start_of(given, start.removesuffix("_token"), "pad", "eos", "unk")
    return [*first, *pieces[3:], *((code, 0.0) for code in codes), (given.text("mask_token"), 0.0)]


def _camembert_pieces(given: Given, pieces: Scored) -> Scored:
    (pad, unk), unused = start_of(given, "pad", "unk"), -100.0
    first = [("<s>NOTUSED", 0.0), pad, ("</s>NOTUSED", 0.0), unk, ("<unk>NOTUSED", unused)]
    return [*first, *pieces[1:], (given.text("mask_token"), 0.0)]


def _xglm_pieces(given: Given, pieces: Scored) -> Scored:
    raise FormatError(
        "XGLMTokenizer of transformers 5.24 reads no .model, and makes every word unknown; put the tokenizer.json of "
        "the model into the folder"
    )


def _pegasus_pieces(given: Given, pieces: Scored) -> Scored:
    # The constructor's defaults of both masks are the other way round.
    mask, sentence = str(given.stated("mask_token", "<mask_1>")), str(given.stated("mask_token_sent", "<mask_2>"))
    masks = [(token, 0.0) for token in dict.fromkeys((mask, sentence)) if token != "None"]
    unknown = [(f"<unk_{i}>", -100.0) for i in range(2, given.stated("offset", 103))]
    return [*start_of(given, "pad", "eos"), *masks, *unknown, *pieces[2:]]


def _t5_pieces(given: Given, pieces: Scored) -> Scored:
    extra = _sentinels(given)[::-1]
    given.setdefault("additional_special_tokens", extra)
    return [*pieces, *((token, 0.0) for token in extra)]


# ---- extra special tokens


def _sentinels(given: Given) -> list[Any]:
    return [f"<extra_id_{i}>" for i in range(given["extra_ids"])]


def _t5_extra(given: Given) -> list[Any]:
    listed = given.get("additional_special_tokens")
    if listed is None:
        return _sentinels(given)
    n, wanted = sum("<extra_id_" in str(token) for token in listed), given["extra_ids"]
    if n and wanted > 0 and n != wanted:
        raise FormatError(
            f"extra_ids is {wanted}, and additional_special_tokens has {n} tokens <extra_id_…>; both must agree"
        )
    return list(listed) if n else [*listed, *_sentinels(given)]


def _pegasus_extra(given: Given) -> list[Any]:
    listed, sentence = given.listed("additional_special_tokens"), given["mask_token_sent"]
    own = [sentence] if sentence is not None and sentence not in listed else []
    return own + [f"<unk_{i}>" for i in range(2, given["offset"])]


def _mbart_extra(given: Given) -> list[Any]:
    return list(dict.fromkeys([*languages.MBART, *given.listed("additional_special_tokens")]))


def _or_default(*tokens: str) -> Any:
    def extra(given: Given) -> list[Any]:
        listed = given.get("additional_special_tokens")
        return list(tokens if listed is None else listed)

    return extra


def _xglm_extra(given: Given) -> list[Any]:
    return list(dict.fromkeys([*given.listed("additional_special_tokens"), *_MADE_UP]))


def _mbart50_finish(draft: Any, given: Given) -> None:
    known = {str(token) for token in draft.extra}
    draft.extra += [AddedToken(code, special=True) for code in languages.MBART50 if code not in known]


# ---- what is put around texts

_LAST: Template = ("$A eos", "$A eos $B eos")
_FAIRSEQ_AROUND: Template = ("bos $A eos", "bos $A eos eos $B eos")


def _mbart_around(lang: str, given: Given, is_target: bool) -> Template:
    return f"$A eos ={lang}", f"$A $B eos ={lang}"


def _mbart50_around(lang: str, given: Given, is_target: bool) -> Template:
    return f"={lang} $A eos", f"={lang} $A $B eos"


_MASK = AddedToken("<mask>", lstrip=True)
_PREFIX: dict[str, Any] = {"add_prefix_space": True}
_SPACED = {**BART, "mask_token": _MASK}
_T5_ROLES: dict[str, Any] = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
_T5_ARGUMENTS: dict[str, Any] = {"extra_ids": 100}
_ALBERT_ROLES: dict[str, Any] = {
    **{"bos_token": "[CLS]", "eos_token": "[SEP]"}, **SQUARE, **{"unk_token": "<unk>", "pad_token": "<pad>"},
}  # fmt: skip
_XLNET_ROLES: dict[str, Any] = {**_SPACED, "sep_token": "<sep>", "cls_token": "<cls>"}
_BIGBIRD_ROLES: dict[str, Any] = {
    **{role: AddedToken(token) for role, token in BART.items()},
    **{"sep_token": AddedToken("[SEP]"), "cls_token": AddedToken("[CLS]")},
    "mask_token": AddedToken("[MASK]", lstrip=True),
}
_NO_BOS = {role: token for role, token in _SPACED.items() if role != "bos_token"}
_ALBERT = Row(
    roles=_ALBERT_ROLES, arguments={**_PREFIX, "do_lower_case": True, "keep_accents": False, "trim_offsets": True},
    files=SPIECE, model="Unigram", parts=_albert,
    template=BERT_AROUND, template_first=True,
)  # fmt: skip

ROWS: dict[str, Row] = {
    "AlbertTokenizer": _ALBERT,
    "FNetTokenizer": replace(
        _ALBERT, inputs=("input_ids", "token_type_ids"), keeps_file=True
    ),
    "RemBertTokenizer": Row(
        roles=_ALBERT_ROLES,
        arguments={**_PREFIX, "do_lower_case": False, "keep_accents": True, "remove_space": True},
        files={"vocab_file": "sentencepiece.model"}, model="Unigram", parts=_rembert, template=BERT_AROUND,
        finish=post_init,
    ),
    "XLNetTokenizer": Row(
        roles=_XLNET_ROLES, files=SPIECE, model="Unigram", parts=_xlnet, side="left", pad_type_id=3,
        arguments={"unk_id": 0, "do_lower_case": False, "remove_space": True, "keep_accents": False},
        extra=_or_default("<eop>", "<eod>"),
        template=("$A:0 sep:0 cls:2", "$A:0 sep:0 $B:1 sep:1 cls:2"),
    ),
    "BarthezTokenizer": Row(roles=_SPACED, arguments=_PREFIX, files=FAIRSEQ, parts=_barthez),
    "DebertaV2Tokenizer": Row(
        roles={"bos_token": "[CLS]", "eos_token": "[SEP]", **SQUARE}, files={"vocab_file": "spm.model"},
        arguments={**_PREFIX, "do_lower_case": False, "split_by_punct": False, "unk_id": 1}, model="Unigram",
        parts=_deberta, template=BERT_AROUND, inputs=(*NO_TYPES, "token_type_ids"),
    ),
    "BigBirdTokenizer": Row(
        roles=_BIGBIRD_ROLES, arguments=_PREFIX, files=SPIECE, model="Unigram", parts=_bigbird, template=BERT_AROUND
    ),
    "CamembertTokenizer": Row(
        roles={**BART, "mask_token": AddedToken("<mask>", lstrip=True, special=True)}, arguments=_PREFIX,
        files=FAIRSEQ, pieces=_camembert_pieces, parts=_camembert, template=_FAIRSEQ_AROUND,
        extra=_or_default("<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"),
    ),
    "XLMRobertaTokenizer": Row(
        roles=BART, arguments=_PREFIX, files=FAIRSEQ, model="Unigram", pieces=fairseq_pieces, parts=_xlm_roberta,
        template=_FAIRSEQ_AROUND,
    ),
    "MBartTokenizer": Row(
        roles=_SPACED, files=FAIRSEQ, model="Unigram", parts=_mbart, extra=_mbart_extra,
        pieces=lambda given, pieces: _with_codes(given, pieces, languages.MBART),
        languages=Languages(source="en_XX", around=_mbart_around),
    ),
    "MBart50Tokenizer": Row(
        roles=_NO_BOS, files=FAIRSEQ, model="Unigram", parts=_mbart50,
        pieces=lambda given, pieces: _with_codes(given, pieces, languages.MBART50, start="cls_token"),
        extra=lambda given: [*given.listed("additional_special_tokens"), *languages.MBART50],
        languages=Languages(source="en_XX", around=_mbart50_around), finish=_mbart50_finish,
    ),
    "XGLMTokenizer": Row(
        roles={role: token for role, token in BART.items() if role != "mask_token"}, arguments=_PREFIX,
        files=FAIRSEQ, model="Unigram", pieces=_xglm_pieces, parts=_xglm, extra=_xglm_extra,
        template=("eos $A", "eos $A eos eos $B"),
    ),
    "PegasusTokenizer": Row(
        roles={**_T5_ROLES, "mask_token": "<mask_2>"}, files=SPIECE, model="Unigram", pieces=_pegasus_pieces,
        arguments={"mask_token_sent": "<mask_1>", "offset": 103}, parts=_pegasus, extra=_pegasus_extra,
        template=("$A eos", "$A $B eos"),
    ),
    "T5Tokenizer": Row(
        roles=_T5_ROLES, arguments=_T5_ARGUMENTS, files=SPIECE, model="Unigram", pieces=_t5_pieces, parts=_t5,
        extra=_t5_extra, template=_LAST,
    ),
    "VideoPrismTokenizer": Row(
        roles=_T5_ROLES, arguments=_T5_ARGUMENTS, files=SPIECE, model="Unigram", pieces=_t5_pieces, parts=_t5,
        extra=_t5_extra,
    ),
    "LasrTokenizer": Row(
        roles=_T5_ROLES, arguments=_T5_ARGUMENTS, files=SPIECE, model="Unigram", parts=_lasr, extra=_t5_extra,
        template=_LAST, groups_repeats=True,
    ),
}  # fmt: skip
