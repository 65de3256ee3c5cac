"""A SentencePiece model in, components of tokenizer.json with equal ids out, and back; or why there are none.

The components are those of GGUF files (gguf_kinds.py), with what is said there of exactness: sums in double precision,
a charsmap that goes by grapheme clusters, special tokens that cut a text in two. Postprocessors, truncation and padding
have no place in a model file and are left out of it.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import numpy as np

from tokkit._core.sp_normalize import Normalizer
from tokkit.definition import Definition
from tokkit.errors import FormatError, TokkitError
from tokkit.formats import gguf_kinds, sentencepiece
from tokkit.formats.gguf_vocabulary import GGML, Vocabulary
from tokkit.models.char_bpe import CharBPE
from tokkit.models.unigram import Unigram
from tokkit.normalizers.precompiled import Precompiled
from tokkit.normalizers.prepend import Prepend
from tokkit.normalizers.replace import Replace
from tokkit.normalizers.sequence import Sequence
from tokkit.pretokenizers.metaspace import Metaspace
from tokkit.pretokenizers.sequence import Sequence as PretokenizerSequence
from tokkit.pretokenizers.whitespace_split import WhitespaceSplit
from tokkit.sentencepiece_model import (
    BYTE,
    CONTROL,
    NORMAL,
    SPACE,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    SentencePieceModel,
    SentencePieceNormalizer,
)
from tokkit.vocab import Vocab

MARK = SPACE.decode()
_WHITE_SPACE = (*range(0x09, 0x0E), 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)
"""What WhitespaceSplit cuts at, but for U+0085: SentencePiece's own rules leave that, which no text has, alone."""
_BYTES = {b"<0x%02X>" % byte for byte in range(256)}

# ---- to components


def components_of(definition: Definition) -> Definition:
    """Return a definition of components that gives the ids that a SentencePiece model gives; FormatError for none."""
    model = definition.model
    if not isinstance(model, SentencePieceModel):
        return definition
    _check_can_be_components(model)
    tokens = [piece.decode() for piece in model.pieces]
    bpe, rules = model.kind == "bpe", model.normalizer
    vocabulary = Vocabulary(
        model="llama" if bpe else "t5",
        split=None,
        tokens=tokens,
        types=model.types,
        scores=model.scores,
        merges=[],
        ids={"unknown": model.unk_id},
        flags={
            "add_space_prefix": rules.add_dummy_prefix,
            "remove_extra_whitespaces": rules.remove_extra_whitespaces,
            "add_bos_token": False,
            "add_eos_token": False,
        },
        charsmap=rules.charsmap,
    )
    try:
        made = (gguf_kinds.sentencepiece_bpe if bpe else gguf_kinds.unigram)(vocabulary)
    except FormatError as error:
        raise FormatError(f"this model cannot be components: {str(error).replace(GGML, '')}") from None
    added = {token.content: token.id for token in definition.added_tokens if token.id >= model.pieces.n_ids}
    made = made.with_special_tokens(added) if added else made
    around = {name: getattr(definition, name) for name in ("name", "postprocessor", "truncation", "padding")}
    if not bpe:
        # In a tokenizer.json all tokens have scores.
        made = replace(made, foreign=frozenset(range(model.pieces.n_ids, made.vocab.n_ids)))
    return replace(made, special_tokens={}, **around)


def _check_can_be_components(model: SentencePieceModel) -> None:
    refused = {
        "it is a model of the kind " + model.kind: model.kind not in ("unigram", "bpe"),
        "spaces are put behind words": model.treat_whitespace_as_suffix,
        "spaces are not escaped": not model.normalizer.escape_whitespaces,
        "some pieces are unused": model.kind == "unigram" and bool(model.ids_of(UNUSED)),
        "without extra spaces removed, its rules make two spaces of CR LF, and those of components one": (
            not model.normalizer.remove_extra_whitespaces and _lines_differ(model.normalizer)
        ),
        "decoded text is changed by rules": model.denormalizer is not None and bool(model.denormalizer.charsmap),
        "user-defined pieces are weighed with others, or leave the space before a text where it is": bool(
            model.ids_of(USER_DEFINED)
        ),
    }
    if reason := next((why for why, is_so in refused.items() if is_so), None):
        raise FormatError(f"this model cannot be components of a tokenizer.json: {reason}")


def _lines_differ(rules: SentencePieceNormalizer) -> bool:
    core = Normalizer(rules.charsmap, add_prefix=False, remove_extra=False, escape=False)
    return core.normalize("\r\n") != b"\r\n"


# ---- from components


def model_of(definition: Definition) -> SentencePieceModel:
    """Return a model that gives the ids that components give; FormatError says why there is none."""
    made = _model(definition)
    if made.kind == "bpe":
        # Scores say which neighbours merge, and a list of merges may leave some of them out.
        given: Any = definition.model
        try:
            merges: Any = components_of(Definition(made.pieces, made, None)).model
        except TokkitError as error:
            raise _refusal(str(error)) from None
        if not np.array_equal(merges.merges, given.merges):
            raise _refusal("its merges are not those that scores of pieces make")
    return made


def _refusal(reason: str) -> FormatError:
    return FormatError(f"these components cannot be a {sentencepiece.SUFFIX}: {reason}")


def _model(definition: Definition) -> SentencePieceModel:
    model, vocab = definition.model, definition.vocab
    if not isinstance(model, (Unigram, CharBPE)):
        raise _refusal(f"the model is {type(model).__name__}, not Unigram or BPE over characters")
    if len(vocab) != vocab.n_ids:
        raise _refusal(f"no token has the id {int(np.argmin(np.diff(vocab.offsets)))}, and ids run without a gap")
    unknown = _unknown(definition)
    types = np.full(vocab.n_ids, NORMAL, dtype=np.uint8)
    for token in definition.added_tokens:
        if not token.special or not token.plain:
            raise _refusal(f"the added token {token.content!r} is found in text as no piece is")
        types[token.id] = CONTROL
    types[unknown] = UNKNOWN
    if model.byte_fallback:
        ids = [vocab.get(name) for name in sorted(_BYTES)]
        if None in ids:
            raise _refusal("there is byte_fallback, and not a token for each byte")
        types[[id_ for id_ in ids if id_ is not None]] = BYTE
    if not (types == NORMAL).any():
        raise _refusal("no token is of the model alone")
    rules = _rules(definition)
    try:
        return SentencePieceModel(
            kind="unigram" if isinstance(model, Unigram) else "bpe",
            pieces=vocab,
            scores=_scores(model, vocab),
            types=types,
            normalizer=rules,
            byte_fallback=model.byte_fallback,
            unk_piece=vocab[unknown].decode(),
        )
    except TokkitError as error:
        raise _refusal(str(error)) from None


def _unknown(definition: Definition) -> int:
    model = definition.model
    if isinstance(model, Unigram):
        found = model.unk_id
    elif isinstance(model, CharBPE):
        odd = {"dropout": model.dropout, "continuing_subword_prefix": model.continuing_subword_prefix}
        odd |= {"end_of_word_suffix": model.end_of_word_suffix, "ignore_merges": model.ignore_merges}
        if given := next((name for name, value in odd.items() if value), None):
            raise _refusal(f"it has {given}={odd[given]!r}")
        if not (model.fuse_unk or model.byte_fallback):
            raise _refusal("unknown characters side by side are not one token (fuse_unk)")
        found = None if model.unk_token is None else definition.vocab.get(model.unk_token)
    if found is None:
        raise _refusal("no token is for what is unknown")
    return found


def _scores(model: Unigram | CharBPE, vocab: Vocab) -> Any:
    n = vocab.n_ids
    scores = np.zeros(n, dtype=np.float32)
    if isinstance(model, Unigram):
        scores[: len(model.scores)] = model.scores
        return scores
    # The earlier a token is merged, the greater its score; those whose merges stand among one another's have one.
    results, first = np.unique(model.merges[:, 2], return_index=True)
    last = len(model.merges) - 1 - np.unique(model.merges[::-1, 2], return_index=True)[1]
    score, end, before = 0, -1, ""
    for k in np.argsort(first).tolist():
        piece = vocab[int(results[k])].decode()
        run = piece[0] if piece == piece[0] * len(piece) else ""
        # Runs of one character have one score together, as a rule, and then the shortest stands last.
        score -= first[k] > end and not (run and run == before and first[k] == end + 1)
        end, before = max(end, last[k]), run
        scores[results[k]] = score
    alone = np.setdiff1d(np.arange(n), results)
    scores[alone] = score - 1 - np.arange(len(alone), dtype=np.float32)
    return scores


def _rules(definition: Definition) -> SentencePieceNormalizer:
    given = definition.normalizer
    steps: list[Any] = list(given.normalizers) if isinstance(given, Sequence) else [given] if given is not None else []
    charsmap = b""
    if steps and isinstance(first := steps[0], Precompiled):
        charsmap = base64.b64decode(first.precompiled_charsmap)
        del steps[0]
    if definition.pretokenizer is not None:
        _check_by_words(definition, steps, charsmap)
        return SentencePieceNormalizer(name="", charsmap=charsmap)
    escape = Replace({"String": " "}, MARK)
    for prefix in (True, False):
        for removes in (True, False):
            if steps in _spellings(prefix, removes, escape):
                return SentencePieceNormalizer(
                    name="", charsmap=charsmap, add_dummy_prefix=prefix, remove_extra_whitespaces=removes
                )
    raise _refusal(f"spaces are treated as by no model: {steps}")


def _spellings(prefix: bool, removes: bool, escape: Replace) -> list[list[Any]]:
    """Return the ways in which components say how spaces are treated."""
    if not removes:
        return [[Prepend(MARK), escape]] if prefix else [[escape]]
    runs, last = Replace({"Regex": " {2,}"}, " "), Replace({"Regex": r" (?![\s\S])"}, "")
    if prefix:
        return [[Prepend(" "), runs, last, escape]]
    return [[runs, last, Replace({"Regex": r"\A "}, ""), escape]]


def _check_by_words(definition: Definition, steps: list[Any], charsmap: bytes) -> None:
    """Raise FormatError unless words between white space get a space each, as of T5, and no piece is of two words."""
    wanted = PretokenizerSequence([WhitespaceSplit(), Metaspace(MARK, "always")])
    if steps or definition.pretokenizer != wanted:
        raise _refusal(f"the pretokenizer is {definition.pretokenizer}, behind {steps}, not {wanted} alone")
    core = Normalizer(charsmap, add_prefix=False, remove_extra=False, escape=False)
    for point in _WHITE_SPACE:
        if core.normalize(f"a{chr(point)}b") not in (b"a b", b"ab"):
            raise _refusal(f"words end at U+{point:04X}, which the charsmap makes no space")
    for piece in definition.vocab:
        if MARK in piece.decode()[1:] and piece.decode().strip(MARK):
            raise _refusal(f"the piece {piece.decode()!r} is of two words, which components never find")
