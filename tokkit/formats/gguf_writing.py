"""Writes a tokenizer as a GGUF file without tensors: the keys tokenizer.ggml.* that gguf.py reads.

The keys are read back as a definition before they are written. It must have the same fingerprint, so that every text
has the same ids; otherwise FormatError says which part a GGUF file cannot hold.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from collections.abc import Sequence as Listed
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit.definition import Definition, Split
from tokkit.errors import FormatError, TokkitError
from tokkit.formats import (
    byte_vocabulary,
    gguf,
    gguf_rwkv,
    gguf_splits,
    sentencepiece,
    sentencepiece_conversion,
    sentencepiece_rules,
    symbol_tables,
)
from tokkit.formats.gguf_models import SPACE
from tokkit.formats.gguf_vocabulary import (
    BYTE,
    BYTE_LEVEL,
    CONTROL,
    GGML,
    MODELS,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Vocabulary,
)
from tokkit.models.char_bpe import CharBPE
from tokkit.models.longest_match import LongestMatch
from tokkit.models.sentencepiece import SentencePieceModel
from tokkit.models.unigram import Unigram
from tokkit.models.wordpiece import WordPiece
from tokkit.normalizers.bert import Bert
from tokkit.normalizers.sequence import Sequence
from tokkit.normalizers.unicode import NFC

VERSION = 3
_U32, _I32, _F32, _BOOL, _STRING, _ARRAY, _U8 = 4, 5, 6, 7, 8, 9, 0
_ROLES = {
    "bos": ("<s>", "<|begin_of_text|>", "<bos>"),
    "eos": ("</s>", "<|end_of_text|>", "<|endoftext|>", "<eos>"),
    "unknown": ("<unk>", "[UNK]"),
    "padding": ("<pad>", "[PAD]", "<|pad|>"),
    "mask": ("[MASK]", "<mask>"),
    "cls": ("[CLS]",),
    "seperator": ("[SEP]",),
}
"""Key → names of special tokens with this role; "seperator" is the spelling of the key."""


def write(definition: Definition) -> bytes:
    """Return the GGUF file of a definition; FormatError if it could not give every text the definition's ids."""
    from tokkit.engine.compile import engine_of
    from tokkit.formats.fingerprint import fingerprint

    try:
        vocabulary = _vocabulary(definition)
        there = gguf.definition(vocabulary)
        ways = [definition, *_as_components(definition)]
    except TokkitError as error:
        raise FormatError(f"a GGUF file cannot hold this tokenizer: {error}") from None
    read = fingerprint(there, engine_of(there))
    if all(fingerprint(way, engine_of(way)) != read for way in ways):
        raise FormatError(f"a GGUF file cannot hold this tokenizer: {_difference(ways[-1], there)}")
    return _file(vocabulary)


def _as_components(definition: Definition) -> Iterator[Definition]:
    """Yield the usual components for SentencePiece vocabularies, if they give the same ids.

    In a tokenizer.json, steps of the normalizer keep special tokens out of the text; here their types do.
    """
    model = definition.model
    if not isinstance(model, SentencePieceModel) or model.kind not in ("bpe", "unigram"):
        return
    try:
        made, rules = sentencepiece_conversion.components_of(definition)
    except FormatError:  # not possible for a model with equal scores
        return
    if rules:
        raise FormatError(rules[0].what)
    if model.kind == "unigram":
        steps, _ = sentencepiece_rules.normalizer_steps(model.normalizer)
        unigram: Any = made.model
        special = ~np.isin(model.types, (NORMAL, BYTE))
        least = model.scores[model.types == NORMAL].min()
        made = replace(
            made,
            model=replace(unigram, scores=np.where(model.types == NORMAL, unigram.scores, least)),
            normalizer=Sequence(steps),
            pretokenizer=None,
            added_ids=made.added_ids | frozenset(np.flatnonzero(special).tolist()),
        )
    yield made


def _difference(definition: Definition, there: Definition) -> str:
    """Return a description of the difference that a GGUF file would make."""
    for name in ("normalizer", "pretokenizer"):
        one, other = getattr(definition, name), getattr(there, name)
        if one != other:
            return f"its {name} is {_shown(one)}, but would be read as {_shown(other)}"
    own = {token.content: token for token in definition.added_tokens}
    read = {token.content: token for token in there.added_tokens}
    if odd := [text for text in {**own, **read} if own.get(text) != read.get(text)]:
        return f"the added token {odd[0]!r} is not an added token there, or is found by other rules"
    if byte_vocabulary.adds_tokens(definition) != byte_vocabulary.adds_tokens(there):
        return "it adds special tokens to each text that the keys cannot name"
    return "its model or its vocabulary would be read differently"


def _shown(part: object) -> str:
    return "none" if part is None else repr(part)[:200]


# ---- what is in the file


def _vocabulary(definition: Definition) -> Vocabulary:
    if isinstance(definition.pretokenizer, Split):
        return _of_bytes(definition, definition.pretokenizer)
    if isinstance(definition.model, WordPiece):
        return _of_words(definition)
    if isinstance(definition.model, LongestMatch):
        return _of_longest_match(definition)
    if isinstance(definition.model, (CharBPE, Unigram, SentencePieceModel)):
        return _of_pieces(definition)
    name = type(definition.model).__name__
    raise FormatError(f"its model is {name}; a GGUF file can have {', '.join(MODELS.values())}")


def _of_bytes(definition: Definition, split: Split) -> Vocabulary:
    spelt = symbol_tables.write(definition)
    merges = spelt.lines().decode().split("\n")[:-1]
    name = gguf_splits.name_of(split, None if byte_vocabulary.merges_make_all(definition) else spelt.whole_piece)
    tokens, types = _blank(definition.vocab.n_ids)
    for text, id_ in spelt.table.as_dict().items():
        tokens[id_], types[id_] = text, NORMAL
    _mark_added(definition, types)
    flags = {"normalizer.nfc": True} if definition.normalizer == NFC() else {}
    return _made(definition, BYTE_LEVEL, tokens, types, split=name, merges=merges, flags=flags)


def _of_words(definition: Definition) -> Vocabulary:
    model: Any = definition.model
    prefix = model.continuing_subword_prefix
    tokens, types = _blank(definition.vocab.n_ids)
    special = definition.added_vocab.values()
    for token, id_ in definition.vocab.items():
        text = token.decode()
        begins = not text.startswith(prefix)
        tokens[id_] = text if id_ in special else SPACE + text if begins else text.removeprefix(prefix)
        types[id_] = NORMAL
    _mark_added(definition, types)
    flags: dict[str, bool] = {}
    if isinstance(definition.normalizer, Bert):
        flags["normalizer.lowercase"] = definition.normalizer.lowercase
        if definition.normalizer.strip_accents is not None:
            flags["normalizer.strip_accents"] = definition.normalizer.strip_accents
    return _made(definition, "bert", tokens, types, flags=flags, frames=False)


def _of_longest_match(definition: Definition) -> Vocabulary:
    tokens, types = _blank(definition.vocab.n_ids)
    added = definition.added_vocab.values()
    for token, id_ in definition.vocab.items():
        tokens[id_], types[id_] = token.decode() if id_ in added else gguf_rwkv.escaped(token), NORMAL
    _mark_added(definition, types)
    made = _made(definition, gguf_rwkv.MODEL, tokens, types, flags={})
    unknown: Any = getattr(definition.model, "unk_token", None)
    return made if unknown is None else replace(made, ids={**made.ids, "unknown": definition.vocab[unknown]})


def _of_pieces(definition: Definition) -> Vocabulary:
    # A GGUF file can hold more than a .model; the fingerprint after reading back decides.
    model, _ = sentencepiece.in_model(definition)
    if model.kind not in ("bpe", "unigram"):
        raise FormatError(
            f"it is a SentencePiece model of the type {model.kind!r}; only BPE and Unigram can be written"
        )
    rules_of = model.normalizer
    flags = {
        "add_space_prefix": rules_of.add_dummy_prefix,
        "remove_extra_whitespaces": rules_of.remove_extra_whitespaces,
        "escape_whitespaces": rules_of.escape_whitespaces,
        "treat_whitespace_as_suffix": model.treat_whitespace_as_suffix,
    }
    return _made(
        definition,
        "llama" if model.kind == "bpe" else "t5",
        [piece.decode() for piece in model.pieces],
        model.types,
        scores=model.scores,
        charsmap=rules_of.charsmap,
        flags=flags,
    )


def _blank(n: int) -> tuple[list[str], NDArray[np.uint8]]:
    """Return names and types for ids without a token."""
    return [f"[UNUSED{id_}]" for id_ in range(n)], np.full(n, UNUSED, dtype=np.uint8)


def _mark_added(definition: Definition, types: NDArray[np.uint8]) -> None:
    for token in definition.added_tokens:
        types[token.id] = CONTROL if token.special else USER_DEFINED


def _made(
    definition: Definition,
    model: str,
    tokens: Listed[str],
    types: NDArray[np.uint8],
    *,
    split: str | None = None,
    merges: Listed[str] = (),
    scores: NDArray[np.float32] | None = None,
    charsmap: bytes = b"",
    flags: Mapping[str, bool],
    frames: bool = True,
) -> Vocabulary:
    special = dict(definition.special_tokens)
    ids = {role: next((special[text] for text in texts if text in special), -1) for role, texts in _ROLES.items()}
    unknown = np.flatnonzero(types == UNKNOWN)
    if len(unknown):
        ids["unknown"] = int(unknown[0])
    before, after = _frame(definition)
    if frames:
        ids |= {role: own[0] for role, own in (("bos", before), ("eos", after)) if own}
        flags = {**flags, "add_bos_token": bool(before), "add_eos_token": bool(after)}
    return Vocabulary(
        model=model,
        split=split,
        tokens=list(tokens),
        types=types,
        scores=np.zeros(0, np.float32) if scores is None else scores,
        merges=list(merges),
        ids={role: id_ for role, id_ in ids.items() if id_ >= 0},
        flags=flags,
        charsmap=charsmap,
    )


def _frame(definition: Definition) -> tuple[list[int], list[int]]:
    """Return the ids that the postprocessor adds before and after a text."""
    if definition.postprocessor is None:
        return [], []
    before: list[int] = []
    after: list[int] = []
    found = before
    for part in definition.postprocessor.layout(pair=False).parts:
        own = getattr(part, "ids", None)
        if own is None:
            found = after
        else:
            found += own
    if len(before) > 1 or len(after) > 1:
        raise FormatError("it adds more than one special token before or after a text")
    return before, after


# ---- bytes


def _file(vocabulary: Vocabulary) -> bytes:
    architecture = {BYTE_LEVEL: "gpt2"}.get(vocabulary.model, vocabulary.model)
    keys = [
        _string("general.architecture", architecture),
        _string(f"{GGML}model", vocabulary.model),
        *([] if vocabulary.split is None else [_string(f"{GGML}pre", vocabulary.split)]),
        _strings("tokens", vocabulary.tokens),
        _numbers("token_type", vocabulary.types.astype("<i4"), _I32),
        *([_numbers("scores", vocabulary.scores.astype("<f4"), _F32)] if len(vocabulary.scores) else []),
        *([_strings("merges", vocabulary.merges)] if vocabulary.merges else []),
        *(_key(f"{GGML}{role}_token_id", _U32, struct.pack("<I", id_)) for role, id_ in vocabulary.ids.items()),
        *(_key(f"{GGML}{name}", _BOOL, bytes([value])) for name, value in vocabulary.flags.items()),
    ]
    if vocabulary.charsmap:
        keys.append(_numbers("precompiled_charsmap", np.frombuffer(vocabulary.charsmap, dtype=np.uint8), _U8))
    return b"GGUF" + struct.pack("<IQQ", VERSION, 0, len(keys)) + b"".join(keys)


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _key(name: str, kind: int, value: bytes) -> bytes:
    return _text(name) + struct.pack("<I", kind) + value


def _string(name: str, value: str) -> bytes:
    return _key(name, _STRING, _text(value))


def _strings(name: str, values: Listed[str]) -> bytes:
    head = struct.pack("<IQ", _STRING, len(values))
    return _key(GGML + name, _ARRAY, head + b"".join(map(_text, values)))


def _numbers(name: str, values: NDArray[Any], kind: int) -> bytes:
    return _key(GGML + name, _ARRAY, struct.pack("<IQ", kind, len(values)) + values.tobytes())
