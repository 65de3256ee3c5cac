"""Finds benchmark corpora and vocabularies, and yields documents as new str objects.

The shared corpora stand in `../shared/data` beside the repository, or where TOKKIT_SHARED_DATA says. Where they
are absent, `code` (the standard library of the running interpreter) and `bundled` (data/corpus) remain.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("TOKKIT_SHARED_DATA") or ROOT.parent / "shared" / "data")
CODE, BUNDLED = "code", "bundled"
NOT_THE_LIBRARY = {"site-packages", "dist-packages"}


@dataclass(frozen=True)
class Corpus:
    r"""The UTF-8 of a corpus. `documents` makes the str objects, so that nobody's UTF-8 cache helps the next one.

    >>> corpus = Corpus("two lines", "one\nzwölf\n".encode())
    >>> corpus.documents(4)
    ['one\nzwölf\n']
    >>> corpus.documents(3)[1] is corpus.documents(3)[1]
    False
    """

    name: str
    data: bytes

    @property
    def megabytes(self) -> float:
        """Size in units of 10**6 bytes."""
        return len(self.data) / 1e6

    def documents(self, size: int) -> list[str]:
        """Return new str objects: whole lines, of at least `size` bytes together (the last may have fewer)."""
        return [self.data[start:end].decode() for start, end in self._cuts(size)]

    def _cuts(self, size: int) -> Iterator[tuple[int, int]]:
        start = 0
        while start < len(self.data):
            end = self.data.find(b"\n", start + size) + 1 or len(self.data)
            yield start, end
            start = end


def names() -> list[str]:
    """Return the names that `read` knows here."""
    return [*sorted(path.stem for path in (SHARED / "corpora").glob("*.txt")), CODE, BUNDLED]


def defaults(*wanted: str) -> list[str]:
    """Return those of `wanted` that are here, and `bundled` where none is."""
    here = names()
    return [name for name in wanted if name in here] or [BUNDLED]


def read(name: str, megabytes: float) -> Corpus:
    """Return the first `megabytes` of a corpus, or of a file if `name` is a path; else FileNotFoundError."""
    if name == CODE:
        data = _joined(_library(), megabytes)
    elif name == BUNDLED:
        data = _joined(sorted((ROOT / "data" / "corpus").glob("*.txt")), megabytes)
    else:
        shared = SHARED / "corpora" / f"{name}.txt"
        path = shared if shared.is_file() else Path(name)
        if not path.is_file():
            raise FileNotFoundError(f"no corpus {name!r}: neither a file nor one of {', '.join(names())}")
        data = _joined([path], megabytes)
    # The limit may fall within a character; the corpora themselves are valid UTF-8.
    data = data[: int(megabytes * 1e6)].decode("utf-8", "ignore").encode()
    if not data:
        raise FileNotFoundError(f"the corpus {name!r} is empty here")
    return Corpus(Path(name).stem, data)


def _library() -> list[Path]:
    root = Path(sysconfig.get_path("stdlib"))
    return sorted(path for path in root.rglob("*.py") if not NOT_THE_LIBRARY & {*path.relative_to(root).parts})


def _joined(paths: list[Path], megabytes: float) -> bytes:
    parts, size = [], 0
    for path in paths:
        if size >= megabytes * 1e6:
            break
        with path.open("rb") as file:
            data = file.read(int(megabytes * 1e6))
        try:
            data[:-4].decode()
        except UnicodeDecodeError as error:
            # A cut at the limit breaks the last character only; the library's few Latin-1 files break earlier.
            if error.start < len(data) - 8:
                continue
        parts.append(data)
        size += len(data) + 2
    return b"\n\n".join(parts)


def vocabulary(name: str) -> Path:
    """Return the rank file of a published encoding, or the file that `name` is the path of."""
    shared = SHARED / "vocabs" / f"{name}.tiktoken"
    path = shared if shared.is_file() else Path(name)
    if path.is_file():
        return path
    raise FileNotFoundError(
        f"no rank file for {name!r}: {shared} is absent; set TOKKIT_SHARED_DATA, or give the path of a .tiktoken file"
    )


def tokenizer_file(name: str) -> Path:
    """Return the tokenizer.json of a published tokenizer, or the file that `name` is the path of."""
    shared = SHARED / "vocabs" / name / "tokenizer.json"
    path = Path(name) if Path(name).is_file() else shared
    if path.is_file():
        return path
    raise FileNotFoundError(
        f"no tokenizer.json for {name!r}: {shared} is absent; set TOKKIT_SHARED_DATA, or give the path of a file"
    )
