"""Makes definitions of GGUF vocabularies from components: SentencePiece BPE, Unigram and WordPiece.

"llama" and "t5" run as in SentencePiece, with these differences. Text between two added tokens is encoded separately,
with a space before it if the file says so, as in programs that run GGUF files; SentencePiece adds a space only before
the whole text. User-defined tokens are always found in the original text; in Unigram, SentencePiece scores them like
other pieces. Unigram sums in double precision, so that exact ties, and near ties some thousand characters into a text,
may be resolved differently; its charsmap works on grapheme clusters (CR with LF is one), as in tokenizers; byte tokens
are also found by their names. If extra spaces are removed, a "▁" at the end of the text itself is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from tokkit.decoders import byte_fallback, fuse, sequence, strip
from tokkit.decoders import replace as replace_decoder
from tokkit.decoders import wordpiece as wordpiece_decoder
from tokkit.definition import AddedToken, Definition, definition_of
from tokkit.errors import FormatError, OptionError
from tokkit.files.strict_json import brief
from tokkit.formats import gguf_merges, gguf_overrides, gguf_splits
from tokkit.formats.gguf_vocabulary import (
    BPE_MODELS,
    BYTE,
    BYTE_NAMES,
    CONTROL,
    GGML,
    NORMAL,
    TYPES,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Vocabulary,
)
from tokkit.formats.model_json import pack
from tokkit.formats.tables import Table
from tokkit.models.char_bpe import CharBPE
from tokkit.models.sentencepiece import SentencePieceModel, SentencePieceNormalizer
from tokkit.models.unigram import Unigram
from tokkit.models.wordpiece import WordPiece
from tokkit.normalizers import bert as bert_normalizer
from tokkit.normalizers.precompiled import Precompiled
from tokkit.normalizers.prepend import Prepend
from tokkit.normalizers.replace import Replace
from tokkit.normalizers.sequence import Sequence
from tokkit.postprocessors.template import Piece, SpecialToken, Template
from tokkit.pretokenizers import bert as bert_pretokenizer
from tokkit.vocab import Vocab

SPACE = "▁"


def sentencepiece_bpe(vocabulary: Vocabulary) -> Definition:
    """Return the definition of a "llama" vocabulary: merges in order of their results' scores."""
    tokens = _spaced_tokens(vocabulary)
    falls_back = _has_bytes(vocabulary)
    unknown = _unknown(vocabulary, needed=not falls_back)
    packed = pack(Table.of({text: id_ for id_, text in tokens.items()}), (), f"{GGML}tokens")
    prefix = vocabulary.flags.get("add_space_prefix", True)
    removes = vocabulary.flags.get("remove_extra_whitespaces", False)
    try:
        merges = gguf_merges.of_scores(vocabulary)
    except FormatError:
        if vocabulary.of_type(USER_DEFINED) or vocabulary.charsmap or removes:
            raise
        return _by_scores(vocabulary, prefix, falls_back=falls_back)
    model = CharBPE(
        merges=merges,
        unk_token=None if unknown is None else tokens[unknown],
        fuse_unk=True,
        byte_fallback=falls_back,
    )
    # Merges only make normal tokens. A token of a single character would be found without a merge; it is not, if it is
    # only searched for in the original text and no charsmap makes it from another character.
    apart = (CONTROL, USER_DEFINED) if vocabulary.charsmap else (CONTROL,)
    added_ids = {id_ for id_ in tokens if vocabulary.types[id_] in apart and len(tokens[id_]) == 1}
    return Definition(
        packed,
        model,
        None,
        normalizer=_normalizer(vocabulary, prefix, removes),
        postprocessor=framing(vocabulary, second_type=1),
        decoder=decoder_of(prefix, falls_back),
        added_tokens=added_tokens(vocabulary, tokens),
        added_ids=frozenset(added_ids),
    )


def _by_scores(vocabulary: Vocabulary, prefix: bool, *, falls_back: bool) -> Definition:
    """Return the definition of a "llama" vocabulary that a list of merges cannot express, such as Baichuan's.

    If pieces share scores, SentencePiece's own model is needed: the leftmost of equal ones merges first.
    """
    overridden = np.flatnonzero(vocabulary.types != vocabulary.found).tolist()
    known = set(vocabulary.tokens) if overridden else set()
    for id_ in overridden:
        text = vocabulary.tokens[id_]
        if any(text[:at] in known and text[at:] in known for at in range(1, len(text))):
            raise FormatError(
                f"{GGML}token_type[{id_}]: {brief(text)} is {TYPES[vocabulary.types[id_]]}, so that merges make it, "
                "but programs read it as control; that is not supported for scores that several tokens share"
            )
    rules = SentencePieceNormalizer(add_dummy_prefix=prefix, remove_extra_whitespaces=False)
    model = SentencePieceModel(
        kind="bpe",
        pieces=Vocab.from_list(text.encode() for text in vocabulary.tokens),
        scores=vocabulary.scores,
        types=vocabulary.found,
        normalizer=rules,
        byte_fallback=falls_back,
    )
    if any(gguf_overrides.stripped(vocabulary)):
        raise FormatError(
            f"general.name: the tokens of {brief(vocabulary.name)} include white space next to them; that is not "
            "supported for scores that several tokens share"
        )
    return replace(definition_of(model), postprocessor=framing(vocabulary, second_type=1))


def unigram(vocabulary: Vocabulary) -> Definition:
    """Return the definition of a "t5" vocabulary."""
    tokens = _spaced_tokens(vocabulary)
    packed = pack(Table.of({text: id_ for id_, text in tokens.items()}), (), f"{GGML}tokens")
    falls_back = _has_bytes(vocabulary)
    for id_ in np.flatnonzero((vocabulary.types == USER_DEFINED) & (vocabulary.found == CONTROL)).tolist():
        raise FormatError(
            f"{GGML}token_type[{id_}]: {brief(vocabulary.tokens[id_])} is user-defined, but programs read it as "
            "control; that is not supported for Unigram, in which it has a score too"
        )
    normal = vocabulary.types == NORMAL
    if not normal.any():
        raise FormatError(f"{GGML}token_type: no token is normal")
    # Tokens that are not the model's, or that stand for bytes, must not lower the score of unknown characters.
    scores = np.where(normal, vocabulary.scores, vocabulary.scores[normal].min())[: packed.n_ids]
    prefix, removes = _stated(vocabulary, "add_space_prefix"), _stated(vocabulary, "remove_extra_whitespaces")
    return Definition(
        packed,
        Unigram(scores=scores, unk_id=_unknown(vocabulary, needed=True), byte_fallback=falls_back),
        None,
        normalizer=_normalizer(vocabulary, prefix, removes),
        postprocessor=framing(vocabulary),
        decoder=decoder_of(prefix, falls_back),
        added_tokens=added_tokens(vocabulary, tokens),
        added_ids=frozenset(id_ for id_ in tokens if vocabulary.types[id_] not in (NORMAL, BYTE)),
    )


def wordpiece(vocabulary: Vocabulary) -> Definition:
    """Return the definition of a "bert" vocabulary, in which "▁" marks tokens at the start of words.

    Text is lowercased without accents unless the file specifies otherwise, as in programs that run GGUF files; [CLS]
    and [SEP] are always added.
    """
    ids = vocabulary.ids
    unknown = _first(vocabulary, "unknown", (ids.get("unknown"), *vocabulary.of_type(UNKNOWN).values()), "[UNK]")
    first = _first(vocabulary, "cls", (ids.get("cls"), ids.get("bos")), "[CLS]")
    last = _first(vocabulary, "seperator", (ids.get("seperator"), ids.get("separator"), ids.get("eos")), "[SEP]")
    special = {unknown, first, last, *(ids[name] for name in ("padding", "mask") if name in ids)}
    tokens: dict[int, str] = {}
    for id_, (text, kind) in enumerate(zip(vocabulary.tokens, vocabulary.types.tolist(), strict=True)):
        if kind == UNUSED:
            continue
        if kind == BYTE:
            raise FormatError(
                f"{GGML}token_type[{id_}]: {brief(text)} is of the type byte, which WordPiece does not have"
            )
        begins = text.startswith(SPACE) and len(text) > 1
        if kind == NORMAL and (begins or id_ not in special):
            text = text[1:] if begins else "##" + text
        tokens[id_] = text
    packed = pack(Table.of(_by_text(tokens)), (), f"{GGML}tokens")
    lowercase = vocabulary.flags.get("normalizer.lowercase", True)
    return Definition(
        packed,
        WordPiece(unk_token=tokens[unknown]),
        bert_pretokenizer.Bert(),
        normalizer=bert_normalizer.Bert(
            lowercase=lowercase, strip_accents=vocabulary.flags.get("normalizer.strip_accents")
        ),
        postprocessor=_template([_named(tokens, first)], [_named(tokens, last)], again=False, second_type=1),
        decoder=wordpiece_decoder.WordPiece(),
        added_tokens=added_tokens(vocabulary, tokens, special),
    )


DEFINITIONS = {"llama": sentencepiece_bpe, "t5": unigram, "bert": wordpiece}
"""tokenizer.ggml.model → the function that makes its definition."""


# ---- tokens


def _spaced_tokens(vocabulary: Vocabulary) -> dict[int, str]:
    """Return id → text of the tokens in use; user-defined ones are spelt as in text, with spaces."""
    for name, needed in (("escape_whitespaces", True), ("treat_whitespace_as_suffix", False)):
        if vocabulary.flags.get(name, needed) != needed:
            raise FormatError(f"{GGML}{name}: {str(not needed).lower()} is not supported")
    tokens: dict[int, str] = {}
    for id_, (text, kind) in enumerate(zip(vocabulary.tokens, vocabulary.types.tolist(), strict=True)):
        if kind != UNUSED:
            tokens[id_] = text.replace(SPACE, " ") if vocabulary.found[id_] == USER_DEFINED else text
    _by_text(tokens)
    return tokens


def _by_text(tokens: dict[int, str]) -> dict[str, int]:
    found = {text: id_ for id_, text in tokens.items()}
    if len(found) < len(tokens):
        id_, text = next((id_, text) for id_, text in tokens.items() if found[text] != id_)
        raise FormatError(f"{GGML}tokens: the ids {id_} and {found[text]} are both read as {brief(text)}")
    return found


def added_tokens(vocabulary: Vocabulary, tokens: dict[int, str], special: Iterable[int] = ()) -> tuple[AddedToken, ...]:
    """Return the added tokens: control and unknown ones, and those with the ids `special`, are special."""
    given = set(special)
    left, right = gguf_overrides.stripped(vocabulary)
    made = []
    for id_, text in tokens.items():
        is_special = vocabulary.found[id_] in (CONTROL, UNKNOWN) or id_ in given
        if (is_special or vocabulary.found[id_] == USER_DEFINED) and text:
            strips = {"lstrip": id_ in left, "rstrip": id_ in right}
            made.append(AddedToken(text, id_, special=is_special, normalized=False, **strips))
    return tuple(made)


def _has_bytes(vocabulary: Vocabulary) -> bool:
    """Return whether there is a token for each byte; FormatError if only some bytes have one."""
    found = vocabulary.of_type(BYTE)
    for text, id_ in found.items():
        if text not in BYTE_NAMES:
            raise FormatError(f"{GGML}tokens[{id_}]: a token of the type byte is <0x00> to <0xFF>, not {brief(text)}")
    if found and len(found) < len(BYTE_NAMES):
        absent = min(BYTE_NAMES - set(found))
        raise FormatError(f"{GGML}token_type: {len(found)} tokens are of the type byte; {absent} is missing")
    return bool(found)


def _unknown(vocabulary: Vocabulary, *, needed: bool) -> int | None:
    found = [*vocabulary.of_type(UNKNOWN).values()]
    id_ = vocabulary.ids.get("unknown", found[0] if found else None)
    if id_ is not None and vocabulary.types[id_] == UNUSED:
        raise FormatError(f"{GGML}unknown_token_id: {id_} is of the type unused")
    if id_ is None and needed:
        raise FormatError(f"{GGML}unknown_token_id: missing, and no token is of the type unknown")
    return id_


def _stated(vocabulary: Vocabulary, flag: str) -> bool:
    """Return a flag, which must be in the file: programs that run GGUF files, and sentencepiece, differ in defaults."""
    if flag not in vocabulary.flags:
        raise FormatError(f"{GGML}{flag}: missing; it is needed to decide how spaces are read")
    return vocabulary.flags[flag]


# ---- components


def _normalizer(vocabulary: Vocabulary, prefix: bool, removes: bool) -> Sequence:
    steps: list[Any] = []
    if vocabulary.charsmap:
        try:
            steps.append(Precompiled(vocabulary.charsmap))  # type: ignore[arg-type]
        except OptionError as error:
            raise FormatError(f"{GGML}precompiled_charsmap: {error}") from None
    if removes:
        # With a space added before the text, the spaces at its start become a run inside.
        steps += [Prepend(" ")] if prefix else []
        steps += [Replace({"Regex": " {2,}"}, " "), Replace({"Regex": r" (?![\s\S])"}, "")]
        steps += [] if prefix else [Replace({"Regex": r"\A "}, "")]
    elif prefix:
        steps.append(Prepend(SPACE))
    return Sequence([*steps, Replace({"String": " "}, SPACE)])


def decoder_of(prefix: bool, falls_back: bool) -> sequence.Sequence:
    """Return the decoder: "▁" is a space, and the one at the start of a text is dropped."""
    parts: list[Any] = [replace_decoder.Replace({"String": SPACE}, " ")]
    parts += [byte_fallback.ByteFallback()] if falls_back else []
    return sequence.Sequence([*parts, fuse.Fuse(), *([strip.Strip(" ", start=1)] if prefix else [])])


_FRAMES = {"llama": (True, False), "t5": (False, True)}
"""tokenizer.ggml.model → whether "bos" and "eos" are added by default; of byte-level BPE, the split decides."""
_DEFAULT_IDS = {"llama": {"bos": 1, "eos": 2}, "t5": {"eos": 1}}
"""Ids of these tokens in files that do not say it; of byte-level BPE, none has a usual id."""


def framing(vocabulary: Vocabulary, *, second_type: int = 0) -> Template | None:
    """Return the postprocessor that adds "bos" before each text and "eos" after it, if the file specifies that."""
    found: list[list[SpecialToken]] = []
    split = gguf_splits.name_in(vocabulary) if vocabulary.model in BPE_MODELS else None
    flags = dict(vocabulary.flags)
    if split in gguf_splits.WHOLE_NEWLINES:
        flags["add_bos_token"] = True
    frames = _FRAMES.get(vocabulary.model, (split in gguf_splits.BOS_BY_DEFAULT, False))
    for name, wanted in zip(("bos", "eos"), frames, strict=True):
        flag, usual = f"add_{name}_token", _DEFAULT_IDS.get(vocabulary.model, {}).get(name)
        id_ = vocabulary.ids.get(name, usual if (usual or 0) < len(vocabulary.tokens) else None)
        usable = id_ is not None and vocabulary.types[id_] != UNUSED and vocabulary.tokens[id_]
        if flags.get(flag, False) and not usable:
            raise FormatError(f"{GGML}{flag}: true, but {name}_token_id names no token")
        one = [SpecialToken(vocabulary.tokens[id_], (id_,), (vocabulary.tokens[id_],))] if id_ is not None else []
        found.append(one if usable and flags.get(flag, wanted) else [])
    return _template(*found, again=True, second_type=second_type) if any(found) else None


def _first(vocabulary: Vocabulary, name: str, ids: Iterable[int | None], text: str) -> int:
    """Return the first id that is set, or the id of the token with this text."""
    named = [id_ for id_, token in enumerate(vocabulary.tokens) if token in (text, SPACE + text)]
    for id_ in (*ids, *named):
        if id_ is not None and vocabulary.types[id_] != UNUSED and vocabulary.tokens[id_]:
            return id_
    raise FormatError(f"{GGML}{name}_token_id: missing, and no token is {text}")


def _named(tokens: dict[int, str], id_: int) -> SpecialToken:
    return SpecialToken(tokens[id_], (id_,), (tokens[id_],))


def _template(before: list[SpecialToken], behind: list[SpecialToken], *, again: bool, second_type: int) -> Template:
    """Return a template; `again` says whether the tokens before the first text also come before the second."""

    def frame(text: int, type_id: int, before: list[SpecialToken]) -> list[Piece]:
        whats: list[str | int] = [*(t.id for t in before), text, *(t.id for t in behind)]
        return [Piece(what, type_id) for what in whats]

    single = frame(0, 0, before)
    second = frame(1, second_type, before if again else [])
    return Template(tuple(single), (*single, *second), tuple({t.id: t for t in (*before, *behind)}.values()))
