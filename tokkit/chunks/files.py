"""Cuts files into chunks, in constant memory."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import TYPE_CHECKING, get_args

from tokkit.chunks.chunking import At, Chunk, check, chunks_of
from tokkit.chunks.planning import Planner
from tokkit.corpus import paths, readers
from tokkit.corpus.utf8 import not_utf8
from tokkit.errors import CorpusError, OptionError

if TYPE_CHECKING:
    from tokkit.corpus.paths import Path
    from tokkit.corpus.readers import InputErrors
    from tokkit.tokenizer import Tokenizer


def chunk_file(
    path: Path,
    tok: Tokenizer,
    *,
    tokens: int = 512,
    overlap: int = 0,
    at: At = "paragraph",
    input_errors: InputErrors = "strict",
) -> Iterator[Chunk]:
    """Yield the chunks of a UTF-8 text file, the same as `chunk` for its text, in constant memory.

    .gz, .bz2 and .xz are decompressed, "-" is standard input; a byte-order mark is left out. Offsets are in characters
    of the decoded text. Invalid UTF-8 raises CorpusError, or becomes U+FFFD (`input_errors="replace"`), or is left out
    ("ignore").
    """
    check(tokens, overlap, at)
    if input_errors not in readers.INPUT_ERRORS:
        raise OptionError(f"input_errors is {input_errors!r}; it must be one of {', '.join(readers.INPUT_ERRORS)}")
    found = paths.one(path)
    if paths.holds_records(found):
        raise CorpusError(f"{paths.input_name(found)} holds records, not text: chunk the text of each")
    return chunks_of(_blocks(found, input_errors), Planner(tok, tokens, overlap, get_args(At).index(at)))


def _blocks(path: str, errors: InputErrors) -> Iterator[str]:
    """Yield the text of a file in blocks, without a byte-order mark."""
    name, data = paths.input_name(path), b"-"
    decoder = codecs.getincrementaldecoder("utf-8")(errors)
    with paths.opened(path, name) as (stream, _, offset):
        while data:
            data = readers.read_block(stream, name)
            held, _ = decoder.getstate()
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                at, byte = offset - len(held) + error.start, error.object[error.start]
                raise not_utf8(name, at, byte) from None
            yield text
            offset += len(data)
