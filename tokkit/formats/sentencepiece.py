"""Reads and writes SentencePiece .model files: Unigram, BPE, word and char.

Reading and writing a model gives the same bytes if its fields were in the order of their numbers, as SentencePiece
writes them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tokkit._core import files
from tokkit._core.charsmap import Normalizer
from tokkit._core.lines import piece_fields
from tokkit.definition import Definition, definition_of
from tokkit.errors import FormatError, OptionError, VocabError
from tokkit.files import protobuf
from tokkit.files.protobuf import Kind
from tokkit.formats.differences import Rule
from tokkit.models.sentencepiece import (
    BYTE,
    CONTROL,
    KINDS,
    NORMAL,
    SUFFIX,
    SentencePieceModel,
    SentencePieceNormalizer,
)
from tokkit.vocab import MAX_ID, Vocab

PIECES, TRAINER, NORMALIZER, DENORMALIZER = 1, 2, 3, 5
"""Numbers of the fields of a model file."""
TRAINER_FIELDS = {
    "input": Kind(1, str, [], repeated=True),
    "model_prefix": Kind(2, str, ""),
    "model_type": Kind(3, int, 1),
    "vocab_size": Kind(4, int, 8000),
    "accept_language": Kind(5, str, [], repeated=True),
    "self_test_sample_size": Kind(6, int, 0),
    "input_format": Kind(7, str, ""),
    "character_coverage": Kind(10, float, 0.9995),
    "input_sentence_size": Kind(11, int, 0),
    "seed_sentencepiece_size": Kind(14, int, 1000000),
    "shrinking_factor": Kind(15, float, 0.75),
    "num_threads": Kind(16, int, 16),
    "num_sub_iterations": Kind(17, int, 2),
    "max_sentence_length": Kind(18, int, 4192),
    "shuffle_input_sentence": Kind(19, bool, True),
    "max_sentencepiece_length": Kind(20, int, 16),
    "split_by_unicode_script": Kind(21, bool, True),
    "split_by_whitespace": Kind(22, bool, True),
    "split_by_number": Kind(23, bool, True),
    "treat_whitespace_as_suffix": Kind(24, bool, False),
    "split_digits": Kind(25, bool, False),
    "allow_whitespace_only_pieces": Kind(26, bool, False),
    "control_symbols": Kind(30, str, [], repeated=True),
    "user_defined_symbols": Kind(31, str, [], repeated=True),
    "vocabulary_output_piece_score": Kind(32, bool, True),
    "hard_vocab_limit": Kind(33, bool, True),
    "use_all_vocab": Kind(34, bool, False),
    "byte_fallback": Kind(35, bool, False),
    "required_chars": Kind(36, str, ""),
    "unk_id": Kind(40, int, 0),
    "bos_id": Kind(41, int, 1),
    "eos_id": Kind(42, int, 2),
    "pad_id": Kind(43, int, -1),
    "unk_surface": Kind(44, str, " \u2047 "),
    "unk_piece": Kind(45, str, "<unk>"),
    "bos_piece": Kind(46, str, "<s>"),
    "eos_piece": Kind(47, str, "</s>"),
    "pad_piece": Kind(48, str, "<pad>"),
    "train_extremely_large_corpus": Kind(49, bool, False),
    "enable_differential_privacy": Kind(50, bool, False),
    "differential_privacy_noise_level": Kind(51, float, 0.0),
    "differential_privacy_clipping_threshold": Kind(52, int, 0),
    "pretokenization_delimiter": Kind(53, str, ""),
    "seed_sentencepieces_file": Kind(54, str, ""),
    "auto_character_coverage": Kind(55, bool, False),
}
"""Fields of trainer_spec in a model file."""
_RUN = (
    "treat_whitespace_as_suffix",
    "byte_fallback",
    "unk_surface",
    "unk_piece",
    "bos_piece",
    "eos_piece",
    "pad_piece",
)
"""Those fields that the model needs, with their names in `SentencePieceModel`."""
_NORMALIZER_FIELDS = {
    "name": Kind(1, str, ""),
    "precompiled_charsmap": Kind(2, bytes, b""),
    "add_dummy_prefix": Kind(3, bool, True),
    "remove_extra_whitespaces": Kind(4, bool, True),
    "escape_whitespaces": Kind(5, bool, True),
    "normalization_rule_tsv": Kind(6, str, ""),
}


# ---- reading


def read(data: bytes) -> Definition:
    """Return the definition in a model file; FormatError names the invalid byte, field or piece."""
    return definition_of(read_model(data))


def read_model(data: bytes) -> SentencePieceModel:
    """Return the model in a file."""
    try:
        (texts, ends, scores, types), kept, others = files.read_model(data)
    except ValueError as error:
        raise FormatError(str(error)) from None
    if not len(scores):
        raise FormatError("there are no pieces")
    if len(scores) > MAX_ID + 1:
        raise FormatError(f"there are {len(scores)} pieces; ids run up to {MAX_ID}")
    _check_pieces(texts, ends, types)
    messages: dict[int, list[bytes]] = {}
    for number, start, end in others:
        messages.setdefault(number, []).append(data[start:end])
    trainer = _message(messages.pop(TRAINER, []), "trainer_spec") or b""
    normalizer = _message(messages.pop(NORMALIZER, []), "normalizer_spec") or b""
    denormalizer = _message(messages.pop(DENORMALIZER, []), "denormalizer_spec")
    says = protobuf.values(trainer, TRAINER_FIELDS, "trainer_spec")
    if not 1 <= says["model_type"] <= len(KINDS):
        raise FormatError(
            f"trainer_spec.model_type is {says['model_type']}; it must be 1 to {len(KINDS)}: {', '.join(KINDS)}"
        )
    try:
        return SentencePieceModel(
            kind=KINDS[says["model_type"] - 1],
            pieces=Vocab(texts, ends),
            scores=scores,
            types=types.astype(np.uint8),
            normalizer=read_normalizer(normalizer, "normalizer_spec"),
            denormalizer=None if denormalizer is None else read_normalizer(denormalizer, "denormalizer_spec"),
            **{name: says[name] for name in _RUN},
            trainer_spec=trainer,
            kept_pieces=tuple(kept),
            others=b"".join(part for _, parts in sorted(messages.items()) for part in parts),
        )
    except (VocabError, OptionError) as error:
        raise FormatError(str(error)) from None


def _check_pieces(texts: bytes, ends: Any, types: Any) -> None:
    wrong = np.flatnonzero((types < NORMAL) | (types > BYTE))
    if len(wrong):
        raise FormatError(f"pieces[{wrong[0]}].type is {types[wrong[0]]}; it must be from {NORMAL} to {BYTE}")
    try:
        texts.decode()
        # Each piece must be valid UTF-8: none may begin inside a character.
        starts = ends[:-1][np.diff(ends) > 0]
        inside = np.flatnonzero((np.frombuffer(texts, np.uint8)[starts] & 0xC0) == 0x80)
        if not len(inside):
            return
        at = int(starts[inside[0]])
    except UnicodeDecodeError as error:
        at = error.start
    raise FormatError(f"pieces[{int(np.searchsorted(ends, at, side='right')) - 1}].piece is not UTF-8")


def _message(parts: list[bytes], where: str) -> bytes | None:
    """Return a message, whose parts are merged if there are several; None if there is none."""
    found = None
    for part in parts:
        for field in protobuf.fields(part, where):
            if not isinstance(field.value, bytes) or field.form != protobuf.BYTES:
                raise FormatError(f"{where} has wire type {field.form}; it must be a message (wire type 2)")
            found = (found or b"") + field.value
    return found


def read_normalizer(data: bytes, where: str = "normalizer_spec") -> SentencePieceNormalizer:
    """Return the normalizer from a message of a model file."""
    says = protobuf.values(data, _NORMALIZER_FIELDS, where)
    made = SentencePieceNormalizer(
        name=says["name"],
        charsmap=says["precompiled_charsmap"],
        add_dummy_prefix=says["add_dummy_prefix"],
        remove_extra_whitespaces=says["remove_extra_whitespaces"],
        escape_whitespaces=says["escape_whitespaces"],
        spec=protobuf.updated(data, _NORMALIZER_FIELDS, {"precompiled_charsmap": b""}, where),
    )
    try:
        Normalizer(made.charsmap, add_prefix=True, remove_extra=True, escape=True)
    except ValueError as error:
        raise FormatError(f"{where}.precompiled_charsmap: {error}") from None
    return made


# ---- writing


def write(definition: Definition) -> bytes:
    """Return the model file of a definition; FormatError if none can hold it with equal ids."""
    return write_model(whole_model(definition))


def in_model(definition: Definition) -> tuple[SentencePieceModel, list[Rule]]:
    """Return a model for a definition, and the rules by which it gives other ids."""
    if isinstance(definition.model, SentencePieceModel):
        return whole_model(definition), []
    from tokkit.formats import sentencepiece_conversion

    return sentencepiece_conversion.model_of(definition)


def whole_model(definition: Definition) -> SentencePieceModel:
    """Return the model with a control piece for each additional special token; FormatError if that is impossible."""
    model = definition.model
    if not isinstance(model, SentencePieceModel):
        model, rules = in_model(definition)
        if rules:
            raise FormatError(f"a {SUFFIX} would give other ids: {rules[0].what}")
        return model
    for token in definition.added_tokens:
        own = token.id < model.pieces.n_ids
        if not token.special or (own and token.id not in {*model.ids_of(CONTROL), model.unk_id}):
            raise FormatError(
                f"the added token {token.content!r} cannot be in a {SUFFIX}, which only has control pieces for "
                "special tokens; conversion.add_pieces adds a piece instead"
            )
        if not token.plain:
            raise FormatError(f"a {SUFFIX} cannot hold the options of the special token {token.content!r}")
    n, vocab = model.pieces.n_ids, definition.vocab
    if len(vocab) != vocab.n_ids:
        free = int(np.argmin(np.diff(vocab.offsets)))
        raise FormatError(f"no token has the id {free}, but the ids of a {SUFFIX} have no gaps")
    if vocab.n_ids == n:
        return model
    more = vocab.n_ids - n
    return replace(
        model,
        pieces=vocab,
        scores=np.concatenate([model.scores, np.zeros(more, np.float32)]),
        types=np.concatenate([model.types, np.full(more, CONTROL, np.uint8)]),
    )


def write_model(model: SentencePieceModel) -> bytes:
    """Return the bytes of a model file."""
    says: dict[str, Any] = {"model_type": KINDS.index(model.kind) + 1, **{name: getattr(model, name) for name in _RUN}}
    trainer = protobuf.updated(model.trainer_spec, TRAINER_FIELDS, says, "trainer_spec")
    messages = [(TRAINER, trainer), (NORMALIZER, normalizer_spec(model.normalizer))]
    if model.denormalizer is not None:
        messages.append((DENORMALIZER, normalizer_spec(model.denormalizer)))
    parts = [(number, protobuf.written(number, message)) for number, message in messages]
    parts += [(f.number, model.others[f.start : f.end]) for f in protobuf.fields(model.others, "model")]
    return _pieces(model) + b"".join(part for _, part in sorted(parts, key=lambda part: part[0]))


def _pieces(model: SentencePieceModel) -> bytes:
    """Return the fields of all pieces, those that were written differently as in the file unless they have changed."""
    pieces, n = model.pieces, model.pieces.n_ids
    scores = np.ascontiguousarray(model.scores, dtype=np.float32)
    parts, done = [], 0
    for id_, message in sorted(dict(model.kept_pieces).items()):
        field = protobuf.written(PIECES, message)
        (text, _, score, type_), _, _ = files.read_model(field)
        if id_ < n and (text, score[0], type_[0]) == (pieces[id_], scores[id_], model.types[id_]):
            parts += [piece_fields(pieces.blob, pieces.offsets, scores, model.types, done, id_), field]
            done = id_ + 1
    parts.append(piece_fields(pieces.blob, pieces.offsets, scores, model.types, done, n))
    return b"".join(parts)


def normalizer_spec(normalizer: SentencePieceNormalizer) -> bytes:
    """Return a normalizer as a message of a model file."""
    says = {
        "name": normalizer.name,
        "precompiled_charsmap": normalizer.charsmap,
        "add_dummy_prefix": normalizer.add_dummy_prefix,
        "remove_extra_whitespaces": normalizer.remove_extra_whitespaces,
        "escape_whitespaces": normalizer.escape_whitespaces,
    }
    return protobuf.updated(normalizer.spec, _NORMALIZER_FIELDS, says, "normalizer_spec")


def trainer_spec(**fields: Any) -> bytes:
    """Return the trainer_spec message for fields with their names in TRAINER_FIELDS."""
    if unknown := fields.keys() - TRAINER_FIELDS.keys():
        raise OptionError(f"{min(unknown)!r} is not a field of a trainer_spec")
    return protobuf.updated(b"", TRAINER_FIELDS, fields, "trainer_spec")
