"""Reads the vocabulary files of a folder in the forms that the rows of tokenizer classes take."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from typing import Any

from tokkit.errors import FormatError
from tokkit.files import files, strict_json
from tokkit.files.strict_json import Section
from tokkit.formats import gpt2, model_json, sentencepiece, tables
from tokkit.models.sentencepiece import CONTROL, USER_DEFINED, SentencePieceModel
from tokkit.registry.tokenizer_classes.row import JSON, Given, Row, Scored
from tokkit.registry.tokenizer_classes.tokens import AddedToken
from tokkit.registry.tokenizer_classes.vocabularies import merges_of, of_model

FILE, SPIECE = "tokenizer.json", ".model"
_WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029"
    "\u202f\u205f\u3000"
)
"""Characters with Unicode's property White_Space; Python's str.rstrip takes more."""
_TOKENS_OF_ROLES = (
    *("pad_token", "unk_token", "bos_token", "eos_token", "sep_token", "cls_token", "mask_token"),
    *("additional_special_tokens", "extra_special_tokens"),
)


def read_file(path: str | os.PathLike[str]) -> JSON:
    """Return the contents of a tokenizer.json, its large tables packed if they are of the usual form."""
    with files.naming(path):
        data = files.read_bytes(path)
        value = tables.loads(data)
        if value is None:
            value = strict_json.loads(data)
        if not isinstance(value, dict) or not isinstance(value.get("model"), dict):
            raise FormatError("an object with a model is needed")
        return value


def from_file(value: JSON, row: Row, name: str, given: Given) -> None:
    """Take the vocabulary, merges, charsmap and postprocessor of a tokenizer.json for a class."""
    model = value["model"]
    if "vocab" not in model:
        raise FormatError("model.vocab is missing")
    has, needs = model_json.type_of(Section(dict(model), "model")), row.model or "Unigram"
    if has != needs:
        raise FormatError(
            f"{FILE} has a {has} model, and the class {name} needs {needs}; name the class of this file in "
            "tokenizer_config.json, or load the file by its own path"
        )
    given["vocab"] = of_model(model["vocab"], needs, name)
    given["merges"] = model.get("merges", []) if row.model == "BPE" else []
    given["charsmap"] = _charsmap_in(value.get("normalizer"))
    given["post_processor"] = value.get("post_processor")


def _charsmap_in(normalizer: Any) -> str | None:
    """Return the first charsmap of a normalizer, or of the steps of a sequence."""
    if not isinstance(normalizer, dict):
        return None
    steps = normalizer.get("normalizers", []) if normalizer.get("type") == "Sequence" else [normalizer]
    maps = (step["precompiled_charsmap"] for step in steps if step.get("type") == "Precompiled")
    return next(maps, None)


def from_vocabulary(row: Row, name: str, given: Given, paths: Mapping[str, str]) -> SentencePieceModel | None:
    """Take the vocabulary of the class's own files, or of the arguments `vocab` and `merges`: objects or paths.

    Returns the SentencePiece model, if the file is one. FormatError if there is no vocabulary.
    """
    vocab, merges = given.get("vocab"), given.get("merges")
    path = paths.get("vocab_file") if vocab is None else vocab if _is_path(vocab) else None
    if path is not None and os.fspath(path).endswith(SPIECE):
        return _from_pieces(row, name, given, os.fspath(path))
    if path is not None:
        given["vocab_file"] = os.fspath(path)
        vocab = read_vocabulary(given["vocab_file"])
    if merges is None and "merges_file" in paths:
        merges = paths["merges_file"]
    if vocab is None:
        raise FormatError(f"{name} has no vocabulary: it needs tokenizer.json{_or_files(row)}")
    given["vocab"] = of_model(vocab, row.model or ("BPE" if isinstance(vocab, dict) else "Unigram"), name)
    if merges is None and row.model == "BPE":
        merges = merges_of(given["vocab"], _special_texts(given)) if path is None else []
    if isinstance(merges, (str, os.PathLike)):
        given["merges"] = _merges(os.fspath(merges))
    else:
        given["merges"] = [tuple(pair) for pair in merges or ()]
    given["charsmap"] = given.get("charsmap")
    return None


def _or_files(row: Row) -> str:
    return f" or {' with '.join(row.files.values())}" if row.files else ""


def _special_texts(given: Given) -> frozenset[str]:
    """Return the special tokens that take no part in implied merges."""
    values = [given[name] for name in _TOKENS_OF_ROLES if given.get(name) is not None and name in given.own]
    listed = [value if isinstance(value, (list, tuple)) else [value] for value in values]
    return frozenset(str(token) for tokens in listed for token in tokens)


def _is_path(value: object) -> bool:
    return isinstance(value, (str, os.PathLike))


def read_vocabulary(path: str) -> dict[str, int]:
    """Return token → id of a vocab.json, or of the lines of a vocab.txt."""
    with files.naming(path):
        data = files.read_bytes(path)
        if path.endswith(".json"):
            value = strict_json.loads(data)
            if not isinstance(value, dict) or not all(type(id_) is int for id_ in value.values()):
                raise FormatError("an object of token to id is needed")
            return value
        # As tokenizers reads it: white space at the ends of lines is no part of the tokens, the last of two counts.
        return {
            line.rstrip(_WHITE_SPACE): id_ for id_, line in enumerate(files.decode(data).removesuffix("\n").split("\n"))
        }


def _merges(path: Any) -> list[tuple[str, str]]:
    with files.naming(path):
        return [(left, right) for _, left, right in gpt2.merges_in(files.decode(files.read_bytes(path)))]


def _from_pieces(row: Row, name: str, given: Given, path: str) -> SentencePieceModel:
    """Take the pieces of a .model: the vocabulary that the class makes of them, the charsmap, the special pieces."""
    with files.naming(path):
        model = sentencepiece.read_model(files.read_bytes(path))
    pieces: Scored = [(model.pieces[id_].decode(), score) for id_, score in enumerate(model.scores.tolist())]
    made = row.model or ("Unigram" if model.kind == "unigram" else "BPE")
    given["unk_id"] = model.unk_id
    given["additional_special_tokens"] = [
        AddedToken(pieces[id_][0], normalized=False, special=bool(model.types[id_] == CONTROL))
        for id_ in model.ids_of(CONTROL, USER_DEFINED)
    ]
    given["charsmap"] = base64.b64encode(model.normalizer.charsmap).decode() or None
    in_order = {piece: id_ for id_, (piece, _) in enumerate(pieces)}
    given["merges"] = merges_of(in_order) if made == "BPE" else []
    vocab: Any = pieces if row.pieces is None else row.pieces(given, pieces)
    given["vocab"] = of_model(vocab, made, name)
    return model
