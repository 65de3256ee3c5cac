"""Writes packed tables as JSON: vocabularies with ids or scores, merges, added tokens.

A `Part` writes itself to a `JsonWriter`, so that tables of megabytes are in one piece of memory and never copied.

A style says how entries are laid out: LINES is that of the files that tokkit writes, ONE_LINE and INDENTED are those of
tokenizers, the last one for tables of the model of a tokenizer.json.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokkit._core import lines, writing
from tokkit._core.writing import JsonWriter
from tokkit.files import decimals
from tokkit.formats.tables import Merges, Packed, Table

Part = Callable[[JsonWriter], None]
"""A value of JSON."""
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
"""The flags of an added token, in the order of files."""


class Style(NamedTuple):
    """What begins each entry and the closing bracket, what follows a key, and what is around two values in an array."""

    line: bytes
    end: bytes
    colon: bytes
    pair: tuple[bytes, bytes, bytes]

    def table(self, brackets: bytes, n: int, entries: Part) -> Part:
        """Return n entries in brackets."""

        def put(out: JsonWriter) -> None:
            if not n:
                out.put(brackets)
                return
            out.put(brackets[:1] + self.line)
            entries(out)
            out.put(self.end + brackets[1:])

        return put

    def pairs(self) -> writing.Layout:
        """Return the layout of entries that are arrays."""
        return (b"," + self.line, *self.pair)

    def texts(self) -> writing.Layout:
        """Return the layout of merges that are one text each."""
        return b"," + self.line, b"", b"", b""


LINES = Style(b"\n      ", b"\n    ", b": ", (b"[", b", ", b"]"))
INDENTED = Style(b"\n      ", b"\n    ", b": ", (b"[\n        ", b",\n        ", b"\n      ]"))
ONE_LINE = Style(b"", b"", b":", (b"[", b",", b"]"))


def written(part: Part, *, end: bytes = b"") -> bytes:
    """Return the JSON of a part, with `end` after it."""
    out = JsonWriter()
    part(out)
    out.put(end)
    return out.take()


def fields(given: Iterable[tuple[bytes, bytes | Part]], line: bytes, colon: bytes) -> Part:
    """Return an object of keys and values, of which bytes are JSON already; `line` is what its brackets begin with."""

    def put(out: JsonWriter) -> None:
        inner = line + b"  " if line else b""
        before = b"{" + inner
        for key, value in given:
            out.put(before + key + colon)
            if isinstance(value, bytes):
                out.put(value)
            else:
                value(out)
            before = b"," + inner
        out.put(line + b"}")

    return put


def ids(table: Table, style: Style) -> Part:
    """Return {"token": id, …} in the order of the table."""
    layout = (b"," + style.line, b"", style.colon, b"")
    return style.table(b"{}", len(table), lambda out: out.ids(table.blob, table.offsets, table.ids, layout))


def scores(table: Table, style: Style, *, read_back: bool = True) -> Part:
    """Return [["token", score], …], in digits that tokenizers reads exactly, or without `read_back` those of repr."""
    layout, values = style.pairs(), np.zeros(0) if table.scores is None else table.scores

    def put(out: JsonWriter) -> None:
        done = out.scores(table.blob, table.offsets, values, layout, 0, read_back)
        while done < len(values):
            value = float(values[done])
            out.put((decimals.write(value) if read_back else repr(value)).encode() + layout[3])
            done = out.scores(table.blob, table.offsets, values, layout, done + 1, read_back)

    return style.table(b"[]", len(table), put)


def merges(packed: Merges, style: Style) -> Part:
    """Return [["left", "right"], …]."""
    return style.table(b"[]", packed.n, lambda out: out.merges(packed.text, packed.between, style.pairs()))


def merges_of(tokens: Packed, numbers: NDArray[np.uint32], style: Style, *, as_text: bool) -> Part:
    """Return the same of merges, (n, 3), by the numbers of their tokens; with `as_text`, ["left right", …]."""
    layout = style.texts() if as_text else style.pairs()
    numbers = np.ascontiguousarray(numbers, dtype=np.uint32)
    return style.table(b"[]", len(numbers), lambda out: out.merges_of(*tokens, numbers, layout))


def merge_lines(packed: Merges) -> bytes:
    """Return lines of "left right"."""
    if not packed.between:
        return lines.pair_lines(packed.text)
    return packed.text.replace(b"\0", b"\n") + (b"\n" if packed.n else b"")


def token_lines(table: Table) -> bytes:
    """Return the tokens of a table, each with a line end."""
    return lines.lines(table.blob, table.offsets)


def added_tokens(ids: Sequence[int], contents: list[str], flags: Iterable[Iterable[bool]], style: Style) -> Part:
    """Return the list of added tokens, with FLAGS each."""
    line, inner, end = (b"\n    ", b"\n      ", b"\n  ") if style.line else (b"", b"", b"")
    before = [b'"%b"%b' % (name.encode(), style.colon) for name in ("id", "content", *FLAGS)]
    starts = (b"{" + inner + before[0], *(b"," + inner + name for name in before[1:]))

    def put(out: JsonWriter) -> None:
        blob, offsets, _ = lines.pack_strings(contents)
        marks = np.fromiter((a | b << 1 | c << 2 | d << 3 | e << 4 for a, b, c, d, e in flags), np.uint8, len(contents))
        out.added(blob, offsets, np.array(ids, dtype=np.int64), marks, starts, line + b"}", b"," + line)

    return Style(line, end, style.colon, style.pair).table(b"[]", len(contents), put)
