"""Tokenizer classes that are Python code around SentencePiece in transformers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tokkit.definition import Definition
from tokkit.errors import FormatError, OptionError
from tokkit.files import files
from tokkit.models.sentencepiece import SentencePieceModel
from tokkit.registry.tokenizer_classes.byte_level_rows import BART
from tokkit.registry.tokenizer_classes.piece_rows import FAIRSEQ, SPIECE
from tokkit.registry.tokenizer_classes.row import Given, Row, Template
from tokkit.registry.tokenizer_classes.scripted import piece_definitions as make
from tokkit.registry.tokenizer_classes.scripted.number_words import NumberWords
from tokkit.registry.tokenizer_classes.scripted.piece_decoders import JoinedPieces, PiecesBetween
from tokkit.registry.tokenizer_classes.scripted.sentence_pieces import CaptionPieces, NumberPieces, Pieces
from tokkit.registry.tokenizer_classes.scripted.text_rules import Joined, Printed, WithoutPunctuation
from tokkit.registry.tokenizer_classes.tokens import AddedToken

Paths = Mapping[str, str]
_LEGACY: dict[str, Any] = {"legacy": True, "sp_model_kwargs": None}
_ENDS: dict[str, Any] = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
_SPACED = {**BART, "mask_token": AddedToken("<mask>", lstrip=True)}


def _model(given: Given, paths: Paths, name: str) -> SentencePieceModel:
    return make.model_of(given, make.path_of(paths, "vocab_file", name))


def _plain(given: Given, paths: Paths) -> Definition:
    return make.of_backend(given, _model(given, paths, "spiece.model"))


def _speech(given: Given, paths: Paths) -> Definition:
    rules = (NumberWords(),) if given["normalize"] else ()
    return make.of_backend(given, _model(given, paths, "spm_char.model"), rules=rules)


def _check_numbers(draft: Any, given: Given) -> None:
    """Refuse added tokens that normalization, which sees the whole text, could change or be changed by."""
    make.find_added(draft, given)
    if not given["normalize"]:
        return
    for token in draft.added.values():
        text = token.content
        ends = text[0] + text[-1]
        if any(c.isalnum() or c in "_.,-% " or ord(c) > 127 or c == "$" for c in ends):
            raise OptionError(
                f"normalize is set, and the added token {text!r} begins or ends with a character that belongs to a "
                "number; load without normalize, or give a token such as '<name>'"
            )


def _gpt_sw3(given: Given, paths: Paths) -> Definition:
    model = _model(given, paths, "spiece.model")
    name = str(given.get("name_or_path") or paths["vocab_file"])
    given["eos_token"] = given["eos_token"] or "<|endoftext|>"
    given["unk_token"] = given["unk_token"] or "<unk>"
    is_7b = "gpt-sw3-7b" in name
    for role, small, large in (("pad", "<pad>", "unk_token"), ("bos", "<s>", "eos_token")):
        if given[f"{role}_token"] is None:
            given[f"{role}_token"] = given[large] if is_7b else small
    ids = make.own_ids(model)
    pieces = Pieces(model=_legacy_or_not(given, model), ids=ids, unknown=model.unk_id, rules=(Printed(),))
    return Definition(
        make.vocab_of(ids), pieces, None, decoder=PiecesBetween(model=pieces.model, before=" ", strips=False)
    )


def _legacy_or_not(given: Given, model: SentencePieceModel) -> SentencePieceModel:
    return model if given["legacy"] else make.without_prefix(model)


def _special_texts(draft: Any) -> frozenset[str]:
    return frozenset(map(str, draft.special_tokens()))


def decodes_between(draft: Any, given: Given) -> None:
    """Tell the decoder which tokens are special, and the model which are added."""
    make.find_added(draft, given)
    decoder = replace(draft.whole.decoder, special=_special_texts(draft))
    draft.whole = replace(draft.whole, decoder=decoder)


def _siglip(given: Given, paths: Paths) -> Definition:
    model = _model(given, paths, "spiece.model")
    ids = make.own_ids(model)
    pieces = CaptionPieces(
        model=_legacy_or_not(given, model), ids=ids, unknown=model.unk_id, lead=given.text("unk_token"),
        rules=(WithoutPunctuation(bool(given["do_lower_case"])),),
    )  # fmt: skip
    return Definition(make.vocab_of(ids), pieces, None, decoder=PiecesBetween(model=pieces.model, before=" "))


def _siglip_finish(draft: Any, given: Given) -> None:
    decodes_between(draft, given)
    special = frozenset(draft.id_of(str(token)) for token in draft.special_tokens())
    draft.whole = replace(draft.whole, model=replace(draft.whole.model, special=special))
    draft.file["post_processor"]["type"] = "EndOnce"


def _bartpho(given: Given, paths: Paths) -> Definition:
    model = _model(given, paths, "sentencepiece.bpe.model")
    roles = [given.text(f"{role}_token") for role in ("bos", "pad", "eos", "unk", "sep", "cls")]
    words = _first_words(make.path_of(paths, "monolingual_vocab_file", "dict.txt"))
    tokens = list(dict.fromkeys(roles))
    again = set(tokens).intersection(words) or {word for word in words if words.count(word) > 1}
    if len(set(words)) < len(words) or again:
        raise FormatError(f"dict.txt has {min(again)!r} twice, or it is a special token too")
    tokens += words
    mask = given.text("mask_token")
    if mask not in tokens:
        tokens.append(mask)
    ids = {token: id_ for id_, token in enumerate(tokens)}
    given["pieces"] = make.own_ids(model)
    make.renumber(given, ids)
    return make.of_backend(given, model, ids, ids[given.text("unk_token")])


def _first_words(path: str) -> list[str]:
    with files.naming(path):
        lines = files.decode(files.read_bytes(path)).splitlines()
        for number, line in enumerate(lines, 1):
            if not line.strip():
                raise FormatError(f"line {number} is empty; each line needs a token")
        return [line.split()[0] for line in lines]


def _bartpho_ids(draft: Any, given: Given, new: list[str]) -> dict[str, int]:
    vocab, pieces = draft.whole.vocab, given["pieces"]
    made = pieces | make.number_new(draft, (token.decode() for token in vocab), new, pieces=pieces)
    return {token: vocab.get(token, made[token]) for token in new}


def _cpm(given: Given, paths: Paths) -> Definition:
    model = _model(given, paths, "spiece.model")
    rule = Joined(bool(given["remove_space"]), bool(given["keep_accents"]), bool(given["do_lower_case"]))
    ids = make.own_ids(model)
    pieces = NumberPieces(model=model, ids=ids, unknown=model.unk_id, rules=(rule,))
    marks = (("\u2582", " "), ("\u2583", "\n"))
    return Definition(make.vocab_of(ids), pieces, None, decoder=JoinedPieces(marks=marks))


_END: Template = ("$A eos", "$A $B eos")
_NONE: Template = ("$A", "$A $B")

ROWS: dict[str, Row] = {
    "BertGenerationTokenizer": Row(
        roles={**_ENDS, "sep_token": "<::::>"}, arguments=_LEGACY, files=SPIECE, scripted=_plain,
        finish=make.find_added, template=_NONE,
    ),
    "GPTSw3Tokenizer": Row(
        roles=dict.fromkeys(_ENDS), arguments={**_LEGACY, "do_lower_case": False}, files=SPIECE, scripted=_gpt_sw3,
        template=_NONE, finish=decodes_between,
    ),
    "SpeechT5Tokenizer": Row(
        roles=_ENDS, arguments={**_LEGACY, "normalize": False}, files={"vocab_file": "spm_char.model"},
        scripted=_speech, template=_END, finish=_check_numbers,
    ),
    "SiglipTokenizer": Row(
        roles={
            role: AddedToken(text, lstrip=True, rstrip=True, normalized=False, special=True)
            for role, text in (("eos_token", "</s>"), ("unk_token", "<unk>"), ("pad_token", "</s>"))
        },
        arguments={**_LEGACY, "do_lower_case": True, "model_max_length": 64}, files=SPIECE, scripted=_siglip,
        template=("$A eos", "$A eos $B eos"), finish=_siglip_finish,
    ),
    "BartphoTokenizer": Row(
        roles=_SPACED, arguments=_LEGACY, files={**FAIRSEQ, "monolingual_vocab_file": "dict.txt"}, scripted=_bartpho,
        finish=make.find_added,
        template=("cls $A sep", "cls $A sep sep $B sep"), numbers=_bartpho_ids,
    ),
    "CpmTokenizer": Row(
        roles={**_SPACED, "sep_token": "<sep>", "cls_token": "<cls>"},
        arguments={"do_lower_case": False, "remove_space": True, "keep_accents": False, "sp_model_kwargs": None},
        files=SPIECE, scripted=_cpm, finish=make.find_added, pad_type_id=3,
        template=("$A:0 sep:0 cls:2", "$A:0 sep:0 $B:1 sep:1 cls:2"),
        extra=lambda given: given.listed("additional_special_tokens") or ["<eop>", "<eod>"],
    ),
}  # fmt: skip
