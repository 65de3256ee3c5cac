"""The lines of files, the records of .jsonl files, or whole files, as passages with their places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tokkit.cli import inputs
from tokkit.errors import CorpusError
from tokkit.escaping import show

if TYPE_CHECKING:
    from tokkit.search.index import Hit


def passages(files: Sequence[str], chosen: Mapping[str, Any], *, by_line: bool = True) -> Iterator[Hit]:
    """Yield the non-blank texts of files, with a score of 0; `chosen` holds --field and --input-errors.

    CorpusError for a file that is not text.
    """
    from tokkit.search import sources
    from tokkit.search.index import Hit

    for file in inputs.expand(files):
        source = sources.read(file, chosen["field"], chosen["input_errors"])
        if isinstance(source, sources.Skipped):
            raise CorpusError(f"{shown([file])}: {source.reason}")
        for text, record, at in source.documents:
            lines = text.split("\n") if by_line and not record else [text]
            for number, line in enumerate(lines, 1):
                end = at + len(line.encode("utf-8", "surrogatepass"))
                if line.strip():
                    yield Hit(0.0, source.path, record, number, (at, end), line)
                at = end + 1


def shown(files: Sequence[str]) -> str:
    """Return the names of files, for a message."""
    return ", ".join("stdin" if file == inputs.STDIN else show(file) for file in files or [inputs.STDIN])
