"""The bytes of vocab.json and merges.txt in, a definition out, and back: GPT-2's pair of files.

They state neither pattern nor special tokens: the pattern is GPT-2's unless another is given, and the special
token of GPT-2's own encoder.json is known by its sha256.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from tokkit.definition import Definition, Split, checked_special_tokens
from tokkit.errors import FormatError
from tokkit.formats import conversion, files, published, strict_json, symbol_tables
from tokkit.pretokenizers import patterns

VERSION_LINE = "#version: 0.2"


def read(
    vocab: bytes,
    merges: bytes,
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
) -> Definition:
    """Return merge-list BPE of the two files; FormatError names the key of the one or the line of the other."""
    table = strict_json.loads(vocab)
    if not isinstance(table, dict):
        raise FormatError(f"vocabulary: an object of token to id is needed, not {strict_json.kind(table)}")
    symbol_tables.check_ids(table, "vocabulary")
    known = published.find(vocab)
    if special_tokens is not None:
        special = checked_special_tokens(special_tokens)
    else:
        special = dict(known.special_tokens) if known is not None else {}
    for text, id_ in special.items():
        if table.get(text, id_) != id_:
            raise FormatError(f"vocabulary: the special token {text!r} has the id {table[text]}, not {id_}")
    split = Split(patterns.BYTE_LEVEL if pattern is None else patterns.resolve(pattern))
    return symbol_tables.read(
        table, _merges(files.decode(merges)), special, whole_piece=False, split=split, path="vocabulary"
    )


def _merges(text: str) -> Iterator[tuple[str, str, str]]:
    # Not splitlines(): that ends lines at characters which are byte symbols or part of none.
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


def write(definition: Definition) -> tuple[bytes, bytes]:
    """Return (vocab.json, merges.txt); FormatError where GPT-2's tokenizer would not make the definition's ids.

    Special tokens stand in vocab.json, where nothing marks them: give them again on reading.
    """
    pattern = definition.pretokenizer.pattern
    if patterns.SCANNERS.get(pattern) != patterns.SCANNERS[patterns.BYTE_LEVEL]:
        raise FormatError("vocab.json and merges.txt are read with GPT-2's pattern, not this one; write tokenizer.json")
    vocab, merges, whole_piece = symbol_tables.write(definition)
    if whole_piece and not conversion.merges_make_all(definition):
        raise FormatError(
            "vocab.json and merges.txt cannot say that a piece which is a token gets its id without merging, and "
            "merging does not make every token; write tokenizer.json"
        )
    table = json.dumps(vocab, ensure_ascii=False, separators=(",", ":"))
    return table.encode("utf-8"), "\n".join([VERSION_LINE, *merges, ""]).encode("utf-8")
