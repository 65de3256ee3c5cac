"""The stages of a .model without a class of its own: those that encode as SentencePiece, of tokenizers' components."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from tokkit.errors import FormatError
from tokkit.files import files
from tokkit.formats import sentencepiece
from tokkit.models.sentencepiece import CONTROL, NORMAL, USER_DEFINED, SentencePieceModel
from tokkit.registry.tokenizer_classes import parts as component
from tokkit.registry.tokenizer_classes import sources
from tokkit.registry.tokenizer_classes.row import JSON, Given
from tokkit.registry.tokenizer_classes.tokens import AddedToken
from tokkit.registry.tokenizer_classes.vocabularies import of_model


def parts(name: str, model_type: str, given: Given, paths: Mapping[str, str]) -> JSON:
    """Return the contents of a tokenizer.json without added tokens, and set the special tokens of the file.

    `model_type` is "Unigram", "BPE", or "" for that of the file.
    """
    path = paths.get("vocab_file")
    if path is None or not path.endswith(sources.SPIECE):
        raise FormatError(f"{name} has no vocabulary: it needs tokenizer.json or a SentencePiece .model")
    with files.naming(path):
        model = sentencepiece.read_model(files.read_bytes(path))
    renamed = {id_: token.content for id_, token in (given.get("added_tokens_decoder") or {}).items()}
    made = model_type or ("Unigram" if model.kind == "unigram" else "BPE")
    texts = _texts(model, renamed if made == "BPE" else {})
    user_defined = [texts[id_] for id_ in model.ids_of(USER_DEFINED)]
    _set_special(model, given, texts)
    legacy = given.get("legacy", True)
    return {
        "model": _model(model, made, texts, name, ignores=bool(user_defined)),
        "normalizer": component.normalizers(*_normalizers(model, legacy=legacy)),
        "pre_tokenizer": _pretokenizer(model, user_defined, legacy=legacy),
        "decoder": _decoder(model),
    }


def _texts(model: SentencePieceModel, renamed: Mapping[int, str]) -> list[str]:
    """Return the pieces; those that the files give other names get them, unless a piece that stays has that name."""
    texts = [model.pieces[id_].decode() for id_ in range(len(model.pieces))]
    kept = {text for id_, text in enumerate(texts) if id_ not in renamed}
    return [
        renamed[id_] if renamed.get(id_, text) not in kept and id_ in renamed else text
        for id_, text in enumerate(texts)
    ]


def _set_special(model: SentencePieceModel, given: Given, texts: list[str]) -> None:
    listed = [
        AddedToken(model.pieces[id_].decode(), normalized=False, special=bool(model.types[id_] == CONTROL))
        for id_ in model.ids_of(CONTROL, USER_DEFINED)
    ]
    user_defined = {model.pieces[id_].decode() for id_ in model.ids_of(USER_DEFINED)}
    given["additional_special_tokens"] = [token for token in listed if token.content not in user_defined]
    for role in ("bos", "eos", "unk"):
        if getattr(model, f"{role}_id") >= 0:
            piece = getattr(model, f"{role}_piece")
            given[f"{role}_token"] = given[f"{role}_token"] if f"{role}_token" in given.own else piece
    if model.normalizer.add_dummy_prefix and given.get("added_tokens_decoder"):
        listed_by_id = given["added_tokens_decoder"].items()
        given["added_tokens_decoder"] = {
            id_: AddedToken(**{**token.as_dict(), "normalized": False}) for id_, token in listed_by_id
        }


def _model(model: SentencePieceModel, made: str, texts: list[str], name: str, *, ignores: bool) -> JSON:
    scores = model.scores.tolist()
    if made == "Unigram":
        vocab = of_model(list(zip(texts, scores, strict=True)), "Unigram", name)
        return {"type": "Unigram", "unk_id": model.unk_id, "vocab": vocab, "byte_fallback": model.byte_fallback}
    ids = {text: id_ for id_, text in enumerate(texts)}
    normal = {text: (-scores[id_], id_) for text, id_ in ids.items() if model.types[id_] == NORMAL}
    merges = sorted(
        (*rank, text[:at], text[at:])
        for text, rank in normal.items()
        for at in range(1, len(text))
        if text[:at] in normal and text[at:] in normal
    )
    given = Given(vocab=ids, merges=[(left, right) for *_, left, right in merges])
    flags = {"fuse_unk": True, "byte_fallback": model.byte_fallback, "ignore_merges": ignores}
    return component.bpe(given, unk_token=model.unk_piece, **flags)


def _normalizers(model: SentencePieceModel, *, legacy: bool) -> list[JSON]:
    rules = model.normalizer
    steps: list[JSON] = []
    if rules.charsmap:
        charsmap = base64.b64encode(rules.charsmap).decode()
        steps.append({"type": "Precompiled", "precompiled_charsmap": charsmap})
    if rules.remove_extra_whitespaces:
        steps += [component.replace_all(r"\A +| +\z", ""), component.replace_all(" {2,}", " ")]
    if rules.escape_whitespaces:
        steps.append(component.replace(" ", component.SPACE))
    if rules.add_dummy_prefix and legacy:
        # Metaspace leaves out the prefix if the text begins with one already; SentencePiece does not.
        steps.append(component.replace_all(rf"\A{component.SPACE}", 2 * component.SPACE))
    return steps


def _pretokenizer(model: SentencePieceModel, user_defined: list[str], *, legacy: bool) -> JSON | None:
    steps: list[JSON] = []
    if model.normalizer.add_dummy_prefix:
        steps.append(component.metaspace("always" if legacy else "first", split=False))
    if user_defined:
        longest_first = sorted(user_defined, key=len, reverse=True)
        steps.append(component.split("|".join(map(re.escape, longest_first)), "Isolated"))
    return component.pretokenizers(*steps) if steps else None


def _decoder(model: SentencePieceModel) -> JSON:
    steps: list[Any] = [component.replace(component.SPACE, " ")]
    steps += [{"type": "ByteFallback"}] if model.byte_fallback else []
    if model.normalizer.add_dummy_prefix:
        steps += [{"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]
    elif model.byte_fallback:
        steps.append({"type": "Fuse"})
    return component.sequence("decoders", *steps)
