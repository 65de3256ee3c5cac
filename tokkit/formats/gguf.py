"""Reads the tokenizer in a GGUF file, from its keys tokenizer.ggml.*.

Byte-level BPE ("gpt2") is read here, BPE over characters ("gemma4", "whitespace") in gguf_raw_bpe.py, SentencePiece BPE
("llama"), WordPiece ("bert") and Unigram ("t5") in gguf_models.py, the longest match ("rwkv") in gguf_rwkv.py; rules
without a key are in gguf_overrides.py. The only normalizer of byte-level BPE in a GGUF file is the key normalizer.nfc,
which is often missing; text for a model that expects NFC (Qwen's) must then be in NFC.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np

from tokkit import byte_symbols
from tokkit.decoders.byte_level import ByteLevel as ToText
from tokkit.definition import AddedToken, Definition, Split, checked_special_tokens
from tokkit.errors import FormatError, OptionError, VocabError
from tokkit.files import gguf_file
from tokkit.files.strict_json import brief
from tokkit.formats import (
    gguf_models,
    gguf_overrides,
    gguf_raw_bpe,
    gguf_rwkv,
    gguf_splits,
    gguf_vocabulary,
    symbol_tables,
)
from tokkit.formats.gguf_vocabulary import BPE_MODELS, BYTE, BYTE_LEVEL, GGML, NORMAL, UNUSED, Vocabulary
from tokkit.formats.model_json import pack
from tokkit.formats.tables import Merges, Table
from tokkit.models.char_bpe import CharBPE, merge_ids
from tokkit.normalizers.unicode import NFC
from tokkit.pretokenizers.byte_level import ByteLevel
from tokkit.pretokenizers.sequence import Sequence as InTurn
from tokkit.pretokenizers.split import Split as SplitByPattern


def read(file: BinaryIO, *, pattern: str | None = None, special_tokens: Mapping[str, int] | None = None) -> Definition:
    """Return the definition in an open GGUF file.

    `pattern` overrides tokenizer.ggml.pre of byte-level BPE; `special_tokens` are added to the file's own. FormatError
    names the key, and the byte or the number of the token, of what is malformed or not supported.
    """
    keys = gguf_file.read(file, gguf_vocabulary.is_read)
    made = definition(gguf_vocabulary.read(keys), pattern)
    return made.with_special_tokens(checked_special_tokens(special_tokens)) if special_tokens else made


def definition(vocabulary: Vocabulary, pattern: str | None = None) -> Definition:
    """Return the definition of a vocabulary of any kind."""
    vocabulary = gguf_overrides.apply(vocabulary)
    raw = gguf_splits.name_in(vocabulary) in gguf_splits.RAW and vocabulary.model in BPE_MODELS
    if vocabulary.model == BYTE_LEVEL and not raw:
        return _byte_level(vocabulary, pattern)
    if pattern is not None:
        raise OptionError(f"pattern= was given, but the model {vocabulary.model!r} does not split text by a pattern")
    try:
        if vocabulary.model == gguf_rwkv.MODEL:
            return gguf_rwkv.read(vocabulary)
        return gguf_raw_bpe.read(vocabulary) if raw else gguf_models.DEFINITIONS[vocabulary.model](vocabulary)
    except (OptionError, VocabError) as error:
        raise FormatError(f"{GGML}tokens: {error}") from None


def _byte_level(vocabulary: Vocabulary, pattern: str | None) -> Definition:
    for text, id_ in vocabulary.of_type(BYTE).items():
        raise FormatError(
            f"{GGML}token_type[{id_}]: {brief(text)} is of the type byte, which byte-level BPE does not have"
        )
    cut = gguf_splits.find(gguf_splits.name_in(vocabulary), pattern)
    unused = set(np.flatnonzero(vocabulary.types == UNUSED).tolist())
    tokens = {id_: text for id_, text in enumerate(vocabulary.tokens) if id_ not in unused}
    ids = {text: id_ for id_, text in tokens.items()}
    if "" in ids:
        raise FormatError(f"{GGML}tokens[{ids['']}]: a token is empty")
    added = gguf_models.added_tokens(vocabulary, tokens)
    table = Table.of(ids)
    around: dict[str, Any] = {
        "special_tokens": {},
        "added_tokens": added,
        "normalizer": NFC() if vocabulary.flags.get("normalizer.nfc", False) else None,
        "postprocessor": gguf_models.framing(vocabulary, second_type=1),
    }
    found = table.find_merges(Merges.of(vocabulary.merges))
    texts = checked_special_tokens({token.content: token.id for token in added})
    # The engine over bytes has no tokens that are not symbols, nor any that text is searched for and merges make too.
    normal = {text for text, id_ in texts.items() if vocabulary.types[id_] == NORMAL}
    merged = found is not None and bool(normal) and symbol_tables.uses(found, table, normal)
    own = None if merged else symbol_tables.own_bytes(table, texts)
    if isinstance(cut.split, Split) and own is not None:
        made = symbol_tables.read(
            table,
            _merges(vocabulary.merges),
            texts,
            whole_piece=cut.whole_piece,
            split=cut.split,
            path=f"{GGML}tokens",
            drops_unknown=True,
            own=own,
            found=found,
        )
        return replace(made, **around)
    splits = cut.split
    if isinstance(splits, Split):
        splits = () if splits.pattern is None else (splits.pattern,)
    # Other tokens are made by merges or not at all; without an entry in the table, a file could not give their ids.
    apart = frozenset(id_ for text, id_ in texts.items() if text not in normal and (cut.whole_piece or len(text) == 1))
    return replace(_of_symbols(table, vocabulary.merges, added, splits, cut.whole_piece, apart), **around)


def _of_symbols(
    table: Table,
    merges: list[str],
    added: tuple[AddedToken, ...],
    splits: tuple[str, ...],
    whole_piece: bool,
    apart: frozenset[int],
) -> Definition:
    """Return the definition of a vocabulary in symbols as components, with splits in order.

    Tokens that are not symbols, such as emoji, keep their ids, but no text has them. `apart` are the ids of added
    tokens that the model does not have.
    """
    packed = pack(table.without(token.content for token in added), added, f"{GGML}tokens")
    found = table.find_merges(Merges.of(merges))
    if found is None:
        try:
            found = merge_ids(packed, merges, added_ids=apart)
        except VocabError as error:
            raise FormatError(f"{GGML}merges: {error}") from None
    parts: list[Any] = [SplitByPattern({"Regex": text}, "Isolated") for text in splits]
    parts.append(ByteLevel(add_prefix_space=False, use_regex=False))
    if lost := "".join(symbol for symbol in byte_symbols.SYMBOLS if table.find(symbol) < 0):
        # Bytes without a token are dropped, and nothing merges across them.
        parts.append(SplitByPattern({"Regex": f"[{re.escape(lost)}]"}, "Isolated"))
    return Definition(
        packed,
        CharBPE(merges=found, ignore_merges=whole_piece),
        InTurn(parts),
        decoder=ToText(),
        added_tokens=added,
        added_ids=apart,
    )


def _merges(merges: list[str]) -> Iterator[tuple[str, str, str]]:
    for number, merge in enumerate(merges):
        parts = merge.split(" ")
        if len(parts) != 2 or not all(parts):
            raise FormatError(f"{GGML}merges[{number}]: two tokens and one space are needed, not {brief(merge)}")
        yield f"{GGML}merges[{number}]", parts[0], parts[1]
