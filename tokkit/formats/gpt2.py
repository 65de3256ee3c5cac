"""Reads and writes GPT-2's files: vocab.json, merges.txt and added_tokens.json.

The first two files have neither a pattern nor special tokens. The pattern is GPT-2's unless another is given; special
tokens are in the third file, text → id as in transformers. The special token of GPT-2's own encoder.json is known by
the file's SHA-256. Files whose tokens end words with "</w>", such as openai-gpt's, are BPE over characters; they can
only be read.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Mapping

from tokkit.checks import is_text
from tokkit.decoders.bpe import BPE as BPEDecoder
from tokkit.definition import Definition, Split, checked_special_tokens
from tokkit.errors import FormatError, OptionError, VocabError
from tokkit.files import files, strict_json
from tokkit.formats import byte_vocabulary, model_json, published, symbol_tables, table_text
from tokkit.formats.table_text import ONE_LINE, written
from tokkit.formats.tables import Table
from tokkit.models.char_bpe import CharBPE, merge_ids
from tokkit.normalizers.bert import Bert as BertNormalizer
from tokkit.pretokenizers import patterns
from tokkit.pretokenizers.bert import Bert as BertWords

ADDED = "added_tokens.json"
END_OF_WORD, UNKNOWN = "</w>", "<unk>"
VERSION_LINE = "#version: 0.2"


def read(
    vocab: bytes,
    merges: bytes,
    added: bytes | None = None,
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
) -> Definition:
    """Return merge-list BPE from the files; `special_tokens`, if given, replace `added`.

    FormatError names the key of vocab.json ("vocabulary") or added_tokens.json, or the line of merges.txt.
    """
    table = strict_json.loads(vocab)
    if not isinstance(table, dict):
        raise FormatError(f"vocabulary: an object of token to id is needed, not {strict_json.kind(table)}")
    symbol_tables.check_ids(table, "vocabulary")
    if any(token.endswith(END_OF_WORD) for token in table) and "\u0120" not in table:
        if pattern is not None:
            raise OptionError(f"pattern= was given, but merges with {END_OF_WORD} use BERT's pretokenizer")
        return _over_characters(table, merges_in(files.decode(merges)), special_tokens)
    if special_tokens is not None:
        special = checked_special_tokens(special_tokens)
        for text, id_ in special.items():
            if table.get(text, id_) != id_:
                raise FormatError(f"vocabulary: the special token {text!r} has the id {table[text]}, not {id_}")
    else:
        known = published.find(vocab.removeprefix(codecs.BOM_UTF8))
        special = dict(known.special_tokens) if known is not None else {}
        if added is not None:
            special |= _added_tokens(added, {**table, **special})
    split = Split(patterns.BYTE_LEVEL if pattern is None else patterns.resolve(pattern))
    return symbol_tables.read(
        Table.of(table), merges_in(files.decode(merges)), special, whole_piece=False, split=split, path="vocabulary"
    )


def _over_characters(
    table: dict[str, int], merges: Iterator[tuple[str, str, str]], special_tokens: Mapping[str, int] | None
) -> Definition:
    """Return BPE over characters with an end-of-word mark, as in openai-gpt's files: lowercased, with BERT's words."""
    packed = model_json.pack(Table.of(table), (), "vocabulary")
    listed = list(merges)
    try:
        ids = merge_ids(packed, [(left, right) for _, left, right in listed])
    except VocabError as error:
        raise FormatError(f"merges: {error}") from None
    definition = Definition(
        packed,
        CharBPE(merges=ids, unk_token=UNKNOWN if UNKNOWN in table else None, end_of_word_suffix=END_OF_WORD),
        BertWords(),
        normalizer=BertNormalizer(),
        decoder=BPEDecoder(END_OF_WORD),
    )
    return definition.with_special_tokens(checked_special_tokens(special_tokens)) if special_tokens else definition


def _added_tokens(data: bytes, known: Mapping[str, int]) -> dict[str, int]:
    """Return the tokens of an added_tokens.json, text → id; FormatError if they conflict with `known`."""
    try:
        added = strict_json.loads(data)
    except FormatError as error:
        raise FormatError(f"{ADDED}: {error}") from None
    if not isinstance(added, dict):
        raise FormatError(f"{ADDED}: an object of token to id is needed, not {strict_json.kind(added)}")
    symbol_tables.check_ids(added, ADDED)
    owners = {id_: text for text, id_ in known.items()}
    for text, id_ in added.items():
        where = f"{ADDED}[{strict_json.brief(text)}]"
        if not text or not is_text(text):
            raise FormatError(f"{where}: a token cannot have this text")
        if known.get(text, id_) != id_:
            raise FormatError(f"{where}: its id is {id_} here, and {known[text]} in the vocabulary")
        if owners.get(id_, text) != text:
            raise FormatError(f"{where}: its id, {id_}, is that of {strict_json.brief(owners[id_])} in the vocabulary")
    return added


def merges_in(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield (place for messages, left, right) of each line of a merges.txt."""
    # Not splitlines(): it also ends lines at characters that are byte symbols.
    lines = text.removesuffix("\n").split("\n")
    for number, line in enumerate(lines, 1):
        merge = line.removesuffix("\r")
        if (number == 1 and merge.startswith("#version")) or (not merge and number == len(lines)):
            continue
        parts = merge.split(" ")
        if len(parts) != 2 or not all(parts):
            raise FormatError(
                f"merges, line {number}: two tokens and one space are needed, not {strict_json.brief(merge)}"
            )
        yield f"merges, line {number}", parts[0], parts[1]


def write(definition: Definition) -> tuple[bytes, bytes, bytes]:
    """Return (vocab.json, merges.txt, added_tokens.json).

    Special tokens are in the third file and, unmarked, also in the first. FormatError if GPT-2's tokenizer would not
    give the definition's ids.
    """
    pattern = byte_vocabulary.only_bytes(definition, "vocab.json and merges.txt hold").pattern
    if patterns.SCANNERS.get(pattern) != patterns.SCANNERS[patterns.BYTE_LEVEL]:
        raise FormatError("vocab.json and merges.txt are read with GPT-2's pattern, not this one; write tokenizer.json")
    if dropped := byte_vocabulary.dropped_bytes(definition):
        raise FormatError(
            f"vocab.json and merges.txt cannot hold this vocabulary: the byte {dropped[0]:#04x} has no token, so "
            "some text would have no ids; write tokenizer.json"
        )
    spelt = symbol_tables.write(definition)
    if spelt.whole_piece and not byte_vocabulary.merges_make_all(definition):
        raise FormatError(
            "vocab.json and merges.txt cannot specify that a pretoken which is a token skips merging, and "
            "merging does not make every token; write tokenizer.json"
        )
    special = dict(sorted(definition.special_tokens.items(), key=lambda item: item[1]))
    added = json.dumps(special, ensure_ascii=False, separators=(",", ":")).encode()
    return written(table_text.ids(spelt.table, ONE_LINE)), b"%b\n%b" % (VERSION_LINE.encode(), spelt.lines()), added
