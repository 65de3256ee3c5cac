"""Tokenizer classes of BPE over the pieces of SentencePiece."""

from __future__ import annotations

from typing import Any

from tokkit.registry.tokenizer_classes import languages, parts
from tokkit.registry.tokenizer_classes.byte_level_rows import BART, post_init
from tokkit.registry.tokenizer_classes.piece_rows import FAIRSEQ, SPIECE
from tokkit.registry.tokenizer_classes.row import JSON, Given, Languages, Row, Scored, Template
from tokkit.registry.tokenizer_classes.tokens import AddedToken

_MODEL = {"vocab_file": "tokenizer.model"}
_ENDS: dict[str, Any] = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
_GEMMA_ROLES: dict[str, Any] = {
    **{"unk_token": "<unk>", "bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "mask_token": "<mask>"},
}
_INFILLING: dict[str, Any] = {
    **{"prefix_token": "\u2581<PRE>", "middle_token": "\u2581<MID>", "suffix_token": "\u2581<SUF>"},
    **{"eot_token": "\u2581<EOT>", "fill_token": "<FILL_ME>"},
}


def _llama(given: Given) -> JSON:
    prefix = given["add_prefix_space"] is None or bool(given["add_prefix_space"])
    scheme = ("always" if given["legacy"] else "first") if prefix else "never"
    return {
        "model": parts.bpe(given, fuse_unk=True, byte_fallback=True),
        "pre_tokenizer": parts.metaspace(scheme, split=False),
        "decoder": parts.byte_fallback_decoder(strips=prefix),
    }


def _code_llama(given: Given) -> JSON:
    prefix = True if given["add_prefix_space"] is None else given["add_prefix_space"]
    return {
        "model": parts.bpe(given, fuse_unk=True, byte_fallback=True, unk_token=given.text("unk_token")),
        "pre_tokenizer": parts.metaspace("first" if prefix else "never", split=False),
        "decoder": parts.byte_fallback_decoder(strips=True),
    }


def _gemma(given: Given, *before: JSON) -> JSON:
    space = parts.replace(" ", parts.SPACE)
    return {
        "model": parts.bpe(given, fuse_unk=True, byte_fallback=True, unk_token=given.text("unk_token")),
        "normalizer": parts.normalizers(*before, space) if before else space,
        "pre_tokenizer": parts.split(" ", "MergedWithPrevious", regex=False),
        "decoder": parts.byte_fallback_decoder(strips=False),
    }


def _fused(given: Given, space: JSON, normalizer: JSON | None) -> JSON:
    return {
        "model": parts.bpe(given, fuse_unk=True, unk_token=given.text("unk_token")),
        "normalizer": normalizer,
        "pre_tokenizer": space,
        "decoder": space,
    }


def _nllb(given: Given) -> JSON:
    charsmap = parts.precompiled(given)
    normalizer = parts.normalizers(*charsmap, parts.replace_all(" {2,}", " ")) if charsmap else None
    return _fused(given, parts.metaspace(), normalizer)


def _seamless(given: Given) -> JSON:
    normalizer = parts.normalizers(
        *(parts.replace_all(r"[\n\r\t]", " "), parts.NFKC, parts.strip(right=True)),
        *(parts.replace_all(f" +{parts.SPACE}", parts.SPACE), parts.replace_all(f"^{parts.SPACE}+$", "")),
        parts.replace_all(" {2,}", parts.SPACE),
    )
    return _fused(given, parts.metaspace("first"), normalizer)


# ---- vocabularies of a .model's pieces


def _nllb_pieces(given: Given, pieces: Scored) -> dict[str, int]:
    ids = {given.text(f"{role}_token"): id_ for id_, role in enumerate(("bos", "pad", "eos", "unk"))}
    for piece, _ in pieces:
        ids.setdefault(piece, len(ids))
    return ids


def _seamless_pieces(given: Given, pieces: Scored) -> dict[str, int]:
    ids = {"<pad>": 0, "<unk>": 1, "<s>": 2, "</s>": 3}
    return ids | {piece: id_ + 1 for id_, (piece, _) in enumerate(pieces)}


# ---- special tokens and what is put around texts


def _nllb_extra(given: Given) -> list[Any]:
    listed = given.get("extra_special_tokens")
    listed = given.get("additional_special_tokens") if listed is None else listed
    return list(languages.NLLB if listed is None else listed)


def _infilling_extra(given: Given) -> list[Any]:
    own = [given[name] for name in _INFILLING if given[name] is not None]
    return [*given.listed("additional_special_tokens"), *own]


def _nllb_around(lang: str, given: Given, is_target: bool) -> Template:
    if given["legacy_behaviour"]:
        return f"$A eos ={lang}", f"$A $B eos ={lang}"
    return f"={lang} $A eos", f"={lang} $A $B eos"


def _seamless_around(lang: str, given: Given, is_target: bool) -> Template:
    before = f"eos ={lang}" if is_target else f"={lang}"
    return f"{before} $A eos", f"{before} $A $B eos"


def _underscored(lang: str) -> str:
    return lang if "__" in lang else f"__{lang}__"


_NLLB_ROLES = {**BART, "mask_token": AddedToken("<mask>", normalized=True, lstrip=True, special=True)}

ROWS: dict[str, Row] = {
    "LlamaTokenizer": Row(
        roles=_ENDS, arguments={"legacy": False, "add_prefix_space": None}, files=_MODEL, model="BPE", parts=_llama,
        side="left",
    ),
    "CodeLlamaTokenizer": Row(
        roles={**_ENDS, **_INFILLING}, arguments={"add_prefix_space": True, "add_bos_token": True}, files=_MODEL,
        model="BPE", parts=_code_llama, extra=_infilling_extra, side="left", inputs_too="suffix",
    ),
    "GemmaTokenizer": Row(roles=_GEMMA_ROLES, model="BPE", parts=_gemma, side="left"),
    "Siglip2Tokenizer": Row(
        roles=_GEMMA_ROLES, model="BPE", parts=lambda given: _gemma(given, parts.LOWERCASE), side="left"
    ),
    "NllbTokenizer": Row(
        roles=_NLLB_ROLES, arguments={"legacy_behaviour": False}, files=FAIRSEQ, model="BPE", pieces=_nllb_pieces,
        parts=_nllb, extra=_nllb_extra, languages=Languages(source="eng_Latn", around=_nllb_around),
    ),
    "ReformerTokenizer": Row(
        roles={"eos_token": "</s>", "unk_token": "<unk>"}, files=SPIECE, model="BPE", parts=_nllb,
        extra=lambda given: given.listed("additional_special_tokens"), finish=post_init,
    ),
    "SeamlessM4TTokenizer": Row(
        roles={role: token for role, token in BART.items() if role != "mask_token"}, files=FAIRSEQ, model="BPE",
        arguments={"keep_accents": None}, pieces=_seamless_pieces, parts=_seamless,
        languages=Languages(source="eng", target="fra", around=_seamless_around, spell=_underscored),
    ),
}  # fmt: skip
