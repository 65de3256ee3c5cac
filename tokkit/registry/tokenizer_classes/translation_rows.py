"""Tokenizer classes of translation and speech that are Python code around SentencePiece in transformers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from tokkit.definition import Definition
from tokkit.errors import FormatError, OptionError
from tokkit.registry.tokenizer_classes import languages, sources
from tokkit.registry.tokenizer_classes.byte_level_rows import BART
from tokkit.registry.tokenizer_classes.piece_rows import FAIRSEQ
from tokkit.registry.tokenizer_classes.row import Given, Languages, Row, Template
from tokkit.registry.tokenizer_classes.scripted import piece_definitions as make
from tokkit.registry.tokenizer_classes.scripted.piece_decoders import PiecesBetween
from tokkit.registry.tokenizer_classes.scripted.sentence_pieces import LanguagePieces, Pieces
from tokkit.registry.tokenizer_classes.sentencepiece_rows import decodes_between
from tokkit.registry.tokenizer_classes.tokens import AddedToken
from tokkit.vocab import Vocab

Paths = Mapping[str, str]
_SPM = {"vocab_file": "vocab.json", "spm_file": "sentencepiece.bpe.model"}
_MARIAN_FILES = {
    **{"source_spm": "source.spm", "target_spm": "target.spm", "vocab": "vocab.json"},
    "target_vocab_file": "target_vocab.json",
}
_ENDS: dict[str, Any] = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}


def _vocabulary(given: Given, paths: Paths, argument: str, name: str) -> dict[str, int]:
    ids = sources.read_vocabulary(make.path_of(paths, argument, name))
    make.require(ids, given, "unk_token")
    return ids


# ---- Marian: a .model for each side, and one vocabulary or two


def _marian_side(given: Given, paths: Paths, *, is_target: bool) -> Definition:
    side = "target" if is_target else "source"
    model = make.model_of(given, make.path_of(paths, f"{side}_spm", f"{side}.spm"))
    source = _vocabulary(given, paths, "vocab", "vocab.json")
    separate = bool(given["separate_vocabs"])
    target = _vocabulary(given, paths, "target_vocab_file", "target_vocab.json") if separate else source
    ids = target if is_target else source
    pieces = LanguagePieces(model=model, ids=ids, unknown=ids[given.text("unk_token")])
    # Both sides are decoded with one model: the source's, or with two vocabularies the target's.
    decoded = make.model_of(given, make.path_of(paths, "target_spm", "target.spm")) if separate else model
    if is_target and not separate:
        decoded = make.model_of(given, make.path_of(paths, "source_spm", "source.spm"))
    renamed: dict[str, str] = {}
    if separate and not is_target:
        # An id that the target's vocabulary lacks is read as one of its .model.
        texts = {id_: piece.decode() for piece, id_ in decoded.pieces.items()}
        texts |= {id_: token for token, id_ in target.items()}
        renamed = {token: texts[id_] for token, id_ in source.items() if texts.get(id_, token) != token}
    decoder = PiecesBetween(model=decoded, after=" ", replaces_spaces=True, renamed=renamed)
    return Definition(make.vocab_of(ids), pieces, None, decoder=decoder)


def _marian_target(given: Given, paths: Paths, draft: Any) -> Definition:
    made = _marian_side(given, paths, is_target=True)
    special = frozenset(map(str, draft.special_tokens()))
    # Added tokens keep the ids that they have for the source.
    names = {id_: token.content.encode() for id_, token in draft.added.items()}
    tokens = {id_: token for token, id_ in made.vocab.items() if id_ not in names} | names
    by_text = {token: id_ for id_, token in tokens.items()}
    return dataclasses.replace(
        made, vocab=Vocab.from_mapping(by_text), decoder=dataclasses.replace(made.decoder, special=special)
    )


# ---- M2M100


def _m2m100(given: Given, paths: Paths) -> Definition:
    codes = languages.M2M100.get(given["language_codes"])
    if codes is None:
        raise OptionError(
            f"language_codes is {given['language_codes']!r}; it must be one of {', '.join(languages.M2M100)}"
        )
    ids = _vocabulary(given, paths, "vocab_file", "vocab.json")
    model = make.model_of(given, make.path_of(paths, "spm_file", "sentencepiece.bpe.model"))
    numbered = {f"__{code}__": len(ids) + i for i, code in enumerate(codes)}
    given["lang_codes"], given["own"], given["n_own"] = codes, ids, len(ids)
    pieces = Pieces(model=model, ids=ids | numbered, unknown=ids[given.text("unk_token")])
    return Definition(make.vocab_of(ids | numbered), pieces, None, decoder=PiecesBetween(model=model))


def _m2m100_numbers(draft: Any, given: Given, new: list[str]) -> dict[str, int]:
    """Number new tokens after vocab.json; these are the ids of the languages, which must be listed first."""
    n, texts = given["n_own"], {id_: token.decode() for token, id_ in draft.whole.vocab.items()}
    made = make.number_new(draft, (texts.get(i, given.text("unk_token")) for i in range(n)), new, pieces=given["own"])
    made = {token: given["own"].get(token, made.get(token)) for token in new}
    for token, id_ in made.items():
        if texts.get(id_, token) != token:
            raise FormatError(
                f"the special token {token!r} would have the id {id_} of the language token {texts[id_]!r}, as in "
                "transformers; list the language tokens in additional_special_tokens, before others"
            )
    return made


def _m2m100_around(lang: str, given: Given, is_target: bool) -> Template:
    if lang not in given["lang_codes"]:
        raise OptionError(f"the language is {lang!r}; it must be one of {', '.join(given['lang_codes'])}")
    return f"=__{lang}__ $A eos", f"=__{lang}__ $A $B eos"


# ---- PLBart

_PLBART: dict[str, tuple[str, ...]] = {
    "base": ("java", "python", "en_XX"),
    "multi": ("java", "python", "en_XX", "javascript", "php", "ruby", "go"),
}


def _plbart_token(lang: str) -> str:
    return f"__{lang}__" if lang in _PLBART["multi"] else lang


def _plbart(given: Given, paths: Paths) -> Definition:
    which = given["language_codes"]
    if which not in _PLBART:
        raise OptionError(f"language_codes is {which!r}; it must be one of {', '.join(_PLBART)}")
    if which == "multi" and given["mask_token"] is not None:
        raise OptionError(
            'language_codes is "multi", which has no mask; pass mask_token=None, because transformers reads "<mask>" '
            "as the unknown token then"
        )
    model = make.model_of(given, make.path_of(paths, "vocab_file", "sentencepiece.bpe.model"))
    own = make.own_ids(model)
    if model.unk_id != 0 or own.get("<s>") != 1 or own.get("</s>") != 2:
        raise FormatError("the first pieces of the .model must be the unknown one, <s> and </s>")
    ids = {piece: id_ + 1 for piece, id_ in own.items() if id_}
    ids |= {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
    codes = [_plbart_token(code) for code in _PLBART[which]]
    ids |= {code: len(own) + 1 + i for i, code in enumerate(codes)}
    if which == "base":
        ids["<mask>"] = len(own) + len(codes) + 1
    given["lang_codes"], given["pieces"] = codes, own
    make.renumber(
        given, {token: ids[token] for token in ("<s>", "<pad>", "</s>", "<unk>", "<mask>", *codes) if token in ids}
    )
    return make.of_backend(given, model, ids, ids["<unk>"])


def _plbart_numbers(draft: Any, given: Given, new: list[str]) -> dict[str, int]:
    own, pieces = {"<s>", "<pad>", "</s>", "<unk>", "<mask>", *given["lang_codes"]}, given["pieces"]
    made = pieces | make.number_new(draft, {*pieces, "<pad>"}, new, pieces=pieces)
    return {token: draft.whole.vocab[token] if token in own else made[token] for token in new}


def _plbart_finish(draft: Any, given: Given) -> None:
    """Take the id of the role for unknown pieces."""
    make.find_added(draft, given)
    unknown = draft.text("unk_token")
    if unknown is None:
        raise FormatError("unk_token is None; PLBartTokenizer needs it for unknown pieces")
    model = dataclasses.replace(draft.whole.model, unknown=draft.id_of(unknown))
    draft.whole = dataclasses.replace(draft.whole, model=model)


def _plbart_around(lang: str | None, given: Given, is_target: bool) -> Template:
    if lang is None and given["language_codes"] == "multi" and not is_target:
        lang = "__en_XX__"
    if lang is not None and lang not in given["lang_codes"]:
        raise OptionError(f"the language is {lang!r}; it must be one of {', '.join(given['lang_codes'])}")
    after = "eos" if lang is None else f"eos ={lang}"
    return f"$A {after}", f"$A $B {after}"


# ---- Speech2Text


def _speech2text(given: Given, paths: Paths) -> Definition:
    ids = _vocabulary(given, paths, "vocab_file", "vocab.json")
    model = make.model_of(given, make.path_of(paths, "spm_file", "sentencepiece.bpe.model"))
    given["lang_tokens"] = {}
    if given["lang_codes"] is not None:
        codes = languages.MUSTC.get(given["lang_codes"])
        if codes is None:
            raise OptionError(f"lang_codes is {given['lang_codes']!r}; it must be one of {', '.join(languages.MUSTC)}")
        texts = {id_: token for token, id_ in ids.items()}
        for code in codes:
            # The id is that of the piece in the .model, whatever token has it in vocab.json.
            id_ = model.pieces.get(f"<lang:{code}>")
            given["lang_tokens"][code] = texts.get(model.unk_id if id_ is None else id_)
    pieces = Pieces(model=model, ids=ids, unknown=ids[given.text("unk_token")])
    decoder = PiecesBetween(model=model, after=" ", in_capitals=bool(given["do_upper_case"]))
    return Definition(make.vocab_of(ids), pieces, None, decoder=decoder)


def _speech2text_extra(given: Given) -> list[Any]:
    return [*(f"<lang:{code}>" for code in given["lang_tokens"]), *given.listed("additional_special_tokens")]


def _speech2text_around(lang: str | None, given: Given, is_target: bool) -> Template:
    tokens = given["lang_tokens"]
    if not tokens:
        return "$A eos", "$A $B eos"
    lang = given.get("tgt_lang") or next(iter(tokens))
    if tokens.get(lang) is None:
        raise OptionError(f"tgt_lang is {lang!r}; it must be one of {', '.join(tokens)}, with a piece <lang:{lang}>")
    return f"={tokens[lang]} $A eos", f"={tokens[lang]} $A $B eos"


_BETWEEN: Callable[[Any, Given], None] = decodes_between

ROWS: dict[str, Row] = {
    "MarianTokenizer": Row(
        roles={role: token for role, token in _ENDS.items() if role != "bos_token"}, files=_MARIAN_FILES,
        arguments={
            **{"separate_vocabs": False, "sp_model_kwargs": None, "model_max_length": 512},
            **{"source_lang": None, "target_lang": None},
        },
        scripted=lambda given, paths: _marian_side(given, paths, is_target=False), target=_marian_target,
        template=("$A eos", "$A $B eos"), finish=_BETWEEN,
    ),
    "M2M100Tokenizer": Row(
        roles={**_ENDS, "sep_token": "</s>"}, files=_SPM, scripted=_m2m100, finish=_BETWEEN,
        numbers=_m2m100_numbers,
        arguments={"language_codes": "m2m100", "num_madeup_words": 8, "sp_model_kwargs": None},
        languages=Languages(source="en", around=_m2m100_around),
    ),
    "PLBartTokenizer": Row(
        roles={**BART, "mask_token": AddedToken("<mask>", lstrip=True)}, files=FAIRSEQ, scripted=_plbart,
        arguments={
            **{"language_codes": "base", "legacy": True, "sp_model_kwargs": None},
            "clean_up_tokenization_spaces": True,
        },
        extra=lambda given: list(dict.fromkeys([*given["lang_codes"], *given.listed("additional_special_tokens")])),
        numbers=_plbart_numbers, finish=_plbart_finish,
        languages=Languages(source=None, around=_plbart_around, spell=_plbart_token),
    ),
    "Speech2TextTokenizer": Row(
        roles=_ENDS, files=_SPM, scripted=_speech2text, extra=_speech2text_extra, finish=_BETWEEN,
        arguments={
            **{"do_upper_case": False, "do_lower_case": False, "lang_codes": None, "sp_model_kwargs": None},
        },
        languages=Languages(source=None, around=_speech2text_around),
    ),
}  # fmt: skip
