"""Assigns ids to the pieces of a trained SentencePiece model: control, user-defined, byte and normal ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tokkit.errors import OptionError
from tokkit.formats.sentencepiece import trainer_spec
from tokkit.models.sentencepiece import (
    BYTE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    USER_DEFINED,
    Kind,
    SentencePieceModel,
    SentencePieceNormalizer,
)
from tokkit.trainers.sentencepiece_text import SPACE_MARK
from tokkit.vocab import Vocab

if TYPE_CHECKING:
    from tokkit.trainers.sentencepiece import SentencePieceTraining


def meta_pieces(options: SentencePieceTraining) -> dict[int, tuple[str, int]]:
    """Return id → (piece, type) of all fixed pieces; OptionError if two are the same.

    Pieces whose id is an option come first; control symbols, user-defined symbols and bytes get the free ids from 0 on,
    in this order. A symbol that is also a piece with an id option gives that piece its type.
    """
    found: dict[int, tuple[str, int]] = {}
    named: dict[str, int] = {}
    for name, kind in (("unk", UNKNOWN), ("bos", CONTROL), ("eos", CONTROL), ("pad", CONTROL)):
        id_, piece = getattr(options, f"{name}_id"), getattr(options, f"{name}_piece")
        if id_ < 0:
            continue
        if id_ in found:
            raise OptionError(f"{name}_id is {id_}, which is already the id of {found[id_][0]!r}")
        if piece in named:
            raise OptionError(f"{name}_piece is {piece!r}, which already has the id {named[piece]}")
        found[id_], named[piece] = (piece, kind), id_
    symbols = [(symbol, CONTROL) for symbol in (*options.special_tokens, *options.control_symbols)]
    symbols += [(symbol, USER_DEFINED) for symbol in _user_defined(options)]
    symbols += [(f"<0x{byte:02X}>", BYTE) for byte in range(256)] if options.byte_fallback else []
    seen: set[str] = set()
    id_ = 0
    for symbol, kind in symbols:
        if symbol in seen or symbol == options.unk_piece:
            raise OptionError(f"the symbol {symbol!r} is given twice; give each symbol once")
        seen.add(symbol)
        if symbol in named:
            found[named[symbol]] = (symbol, kind)
            continue
        while id_ in found:
            id_ += 1
        found[id_] = (symbol, kind)
    return found


def _user_defined(options: SentencePieceTraining) -> list[str]:
    """Return the user-defined symbols; in a model of words, also each with a space before it, as in sentencepiece."""
    given = options.user_defined_symbols
    if options.kind != "word":
        return list(given)
    both = [form for symbol in given for form in (symbol, SPACE_MARK + symbol.removeprefix(SPACE_MARK))]
    return list(dict.fromkeys(both))


def model_of(options: SentencePieceTraining, pieces: Sequence[str], scores: Sequence[float]) -> SentencePieceModel:
    """Return the model with the trained pieces on the free ids."""
    meta = options.meta
    trained = iter(zip(pieces, scores, strict=True))
    n = len(meta) + len(pieces)
    if over := [f"{piece!r} {id_}" for id_, (piece, _) in meta.items() if id_ >= n]:
        raise OptionError(f"the id of {over[0]} is beyond the vocabulary, which has {n} pieces")
    rows: list[tuple[str, float, int]] = []
    for id_ in range(n):
        if id_ in meta:
            rows.append((meta[id_][0], 0.0, meta[id_][1]))
        else:
            rows.append((*next(trained), NORMAL))
    return SentencePieceModel(
        kind=options.kind,
        pieces=Vocab.from_list([piece.encode() for piece, _, _ in rows]),
        scores=np.array([score for _, score, _ in rows], dtype=np.float32),
        types=np.array([kind for _, _, kind in rows], dtype=np.uint8),
        normalizer=SentencePieceNormalizer(
            name=options.rule_name,
            charsmap=options.charsmap,
            add_dummy_prefix=options.add_dummy_prefix,
            remove_extra_whitespaces=options.remove_extra_whitespaces,
        ),
        treat_whitespace_as_suffix=options.treat_whitespace_as_suffix,
        byte_fallback=options.byte_fallback,
        unk_surface=options.unk_surface,
        unk_piece=options.unk_piece,
        bos_piece=options.bos_piece,
        eos_piece=options.eos_piece,
        pad_piece=options.pad_piece,
        trainer_spec=_spec(options, options.kind, n),
    )


_SAID = (
    *("character_coverage", "seed_sentencepiece_size", "shrinking_factor", "num_sub_iterations"),
    *("max_sentencepiece_length", "split_by_unicode_script", "split_by_number", "split_by_whitespace", "split_digits"),
    *("treat_whitespace_as_suffix", "allow_whitespace_only_pieces", "required_chars", "byte_fallback"),
    *("hard_vocab_limit", "use_all_vocab", "unk_id", "bos_id", "eos_id", "pad_id", "unk_surface"),
    *("unk_piece", "bos_piece", "eos_piece", "pad_piece", "input_sentence_size", "shuffle_input_sentence"),
    *("pretokenization_delimiter", "seed_sentencepieces_file"),
)
"""Options that are stored in the file under the same names."""


def _spec(options: SentencePieceTraining, kind: Kind, size: int) -> bytes:
    fields = {name: value for name in _SAID if (value := getattr(options, name, None)) is not None}
    fields["model_type"] = 1 + ("unigram", "bpe", "word", "char").index(kind)
    fields["vocab_size"] = size
    if options.input_format != "text":
        fields["input_format"] = options.input_format
    if options.max_sentence_length is not None:
        fields["max_sentence_length"] = options.max_sentence_length
    fields["control_symbols"] = [*options.special_tokens, *options.control_symbols]
    fields["user_defined_symbols"] = list(options.user_defined_symbols)
    return trainer_spec(**fields)
