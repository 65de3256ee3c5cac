"""Definitions of tokenizer classes that run SentencePiece on the text between added tokens."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from typing import Any

from tokkit.definition import Definition
from tokkit.errors import FormatError, OptionError
from tokkit.files import files
from tokkit.formats import sentencepiece
from tokkit.models.sentencepiece import SentencePieceModel
from tokkit.registry.tokenizer_classes.row import Given
from tokkit.registry.tokenizer_classes.scripted.piece_decoders import JoinedPieces
from tokkit.registry.tokenizer_classes.scripted.sentence_pieces import Pieces
from tokkit.registry.tokenizer_classes.tokens import AddedToken
from tokkit.vocab import Vocab


def path_of(paths: Mapping[str, str], argument: str, name: str) -> str:
    """Return the path of a file of a class; FormatError, which names the file, if it is missing."""
    if argument not in paths:
        raise FormatError(f"the file {name} is missing; this class reads it, not tokenizer.json")
    return paths[argument]


def model_of(given: Given, path: str) -> SentencePieceModel:
    """Return the model in a .model file; OptionError for options of SentencePiece that tokkit does not have."""
    if given.get("sp_model_kwargs"):
        raise OptionError(
            f"sp_model_kwargs is {given['sp_model_kwargs']!r:.80}; only {{}} is supported, because SentencePiece's own "
            "options make ids random or add tokens; to sample, use Tokenizer.sampler"
        )
    with files.naming(path):
        return sentencepiece.read_model(files.read_bytes(path))


def own_ids(model: SentencePieceModel) -> dict[str, int]:
    """Return the id of each piece in the model."""
    return {piece.decode(): id_ for piece, id_ in model.pieces.items()}


def without_prefix(model: SentencePieceModel) -> SentencePieceModel:
    """Return a model that puts no space before a text."""
    return replace(model, normalizer=replace(model.normalizer, add_dummy_prefix=False))


def of_backend(
    given: Given,
    model: SentencePieceModel,
    ids: Mapping[str, int] | None = None,
    unknown: int | None = None,
    **more: Any,
) -> Definition:
    """Return the definition of a class on SentencePieceBackend; `ids` are those of the pieces if not the model's own.

    If `legacy` is off, no space is put before a text, and spaces at its start are kept.
    """
    if not given["legacy"]:
        more.setdefault("lead", given.text("unk_token"))
        model = without_prefix(model)
    ids = own_ids(model) if ids is None else ids
    pieces = Pieces(model=model, ids=ids, unknown=model.unk_id if unknown is None else unknown, **more)
    return Definition(vocab_of(ids), pieces, None, decoder=JoinedPieces())


def vocab_of(ids: Mapping[str, int]) -> Vocab:
    """Return the vocabulary of tokens and ids."""
    return Vocab.from_mapping({token.encode(): id_ for token, id_ in ids.items()})


def require(ids: Mapping[str, int], given: Given, *roles: str) -> None:
    """Raise FormatError if the vocabulary lacks the token of a role."""
    for role in roles:
        if given.text(role) not in ids:
            raise FormatError(f"{role} is {given.text(role)!r}, and the vocabulary lacks it")


def renumber(given: Given, ids: Mapping[str, int]) -> None:
    """Give the added tokens of the files the ids that a class has for them."""
    listed: Mapping[int, AddedToken] = given.get("added_tokens_decoder") or {}
    given["added_tokens_decoder"] = {ids.get(token.content, id_): token for id_, token in listed.items()}


def find_added(draft: Any, given: Given) -> None:
    """Let a piece whose text is an added token have its id, as when a rule makes that text of another one."""
    model = draft.whole.model
    own, special = frozenset(model.ids.values()), {str(token) for token in draft.special_tokens()}
    own_special = frozenset(id_ for id_, token in draft.added.items() if id_ in own and token.content in special)
    ids = {**model.ids, **{token.content: id_ for id_, token in draft.added.items()}}
    draft.whole = replace(draft.whole, model=replace(model, ids=ids, own_special=own_special))


def number_new(draft: Any, known: Iterable[str], new: Iterable[str], *, pieces: Container[str] = ()) -> dict[str, int]:
    """Return the ids of new tokens: the number of all `known` and added tokens, and so on; `pieces` get none."""
    n = len({*known, *(token.content for token in draft.added.values())})
    return {token: n + i for i, token in enumerate(token for token in new if token not in pieces)}
