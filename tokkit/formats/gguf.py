"""Reads the tokenizer in a GGUF file, from its keys tokenizer.ggml.*.

Byte-level BPE ("gpt2") is read here, SentencePiece BPE ("llama"), WordPiece ("bert") and Unigram ("t5") in
gguf_models.py. The only normalizer of byte-level BPE in a GGUF file is the key normalizer.nfc, which is often missing;
text for a model that expects NFC (Qwen's) must then be in NFC.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np

from tokkit.decoders.byte_level import ByteLevel as ToText
from tokkit.definition import AddedToken, Definition, Split, checked_special_tokens
from tokkit.errors import FormatError, OptionError, VocabError
from tokkit.formats import gguf_file, gguf_models, gguf_splits, gguf_vocabulary, symbol_tables
from tokkit.formats.gguf_vocabulary import BYTE, BYTE_LEVEL, GGML, PREFIX, UNUSED, Vocabulary
from tokkit.formats.model_json import pack
from tokkit.formats.strict_json import brief
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
    keys = gguf_file.read(file, lambda name: name.startswith(PREFIX))
    made = definition(gguf_vocabulary.read(keys), pattern)
    return made.with_special_tokens(checked_special_tokens(special_tokens)) if special_tokens else made


def definition(vocabulary: Vocabulary, pattern: str | None = None) -> Definition:
    """Return the definition of a vocabulary of any kind."""
    if vocabulary.model == BYTE_LEVEL:
        return _byte_level(vocabulary, pattern)
    if pattern is not None:
        raise OptionError(f"pattern= was given, but the model {vocabulary.model!r} does not split text by a pattern")
    try:
        return gguf_models.DEFINITIONS[vocabulary.model](vocabulary)
    except (OptionError, VocabError) as error:
        raise FormatError(f"{GGML}tokens: {error}") from None


def _byte_level(vocabulary: Vocabulary, pattern: str | None) -> Definition:
    for text, id_ in vocabulary.of_type(BYTE).items():
        raise FormatError(
            f"{GGML}token_type[{id_}]: {brief(text)} is of the type byte, which byte-level BPE does not have"
        )
    cut = gguf_splits.find(vocabulary.split, pattern)
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
    if not isinstance(cut.split, Split):
        return replace(_in_turn(table, vocabulary.merges, added, cut.split, cut.whole_piece), **around)
    made = symbol_tables.read(
        table,
        _merges(vocabulary.merges),
        checked_special_tokens({token.content: token.id for token in added}),
        whole_piece=cut.whole_piece,
        split=cut.split,
        path=f"{GGML}tokens",
        drops_unknown=True,
        found=table.find_merges(Merges.of(vocabulary.merges)),
    )
    return replace(made, **around)


def _in_turn(
    table: Table, merges: list[str], added: tuple[AddedToken, ...], splits: tuple[str, ...], whole_piece: bool
) -> Definition:
    """Return the definition of a vocabulary in symbols after several splits."""
    texts = {token.content: token.id for token in added}
    own = table.without(texts)
    packed = pack(own, added, f"{GGML}tokens")
    # Other tokens are made by merges or not at all; without an entry in the table, a file could not give their ids.
    added_ids = frozenset(id_ for text, id_ in texts.items() if whole_piece or len(text) == 1)
    found = table.find_merges(Merges.of(merges))
    model = CharBPE(
        merges=merge_ids(packed, merges, added_ids=added_ids) if found is None else found, ignore_merges=whole_piece
    )
    parts = [SplitByPattern({"Regex": text}, "Isolated") for text in splits]
    byte_level = ByteLevel(add_prefix_space=False, use_regex=False)
    return Definition(
        packed, model, InTurn([*parts, byte_level]), decoder=ToText(), added_tokens=added, added_ids=added_ids
    )


def _merges(merges: list[str]) -> Iterator[tuple[str, str, str]]:
    for number, merge in enumerate(merges):
        parts = merge.split(" ")
        if len(parts) != 2 or not all(parts):
            raise FormatError(f"{GGML}merges[{number}]: two tokens and one space are needed, not {brief(merge)}")
        yield f"{GGML}merges[{number}]", parts[0], parts[1]
