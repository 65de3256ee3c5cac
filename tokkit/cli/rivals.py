"""Builds encoders with the same vocabulary in other libraries, for `tokkit bench`.

A library that is missing, or cannot load the vocabulary, raises `Unavailable` with the reason.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokkit.errors import TokkitError

if TYPE_CHECKING:
    from tokkit.cli.measure import Encode
    from tokkit.tokenizer import Tokenizer

WHOLE_TEXT = r"(?s:.+)"
GIGATOKEN_PATTERNS = ("r50k", "cl100k", "o200k", "qwen2")


class Unavailable(Exception):
    """Raised with the reason if a rival cannot be measured."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One line of the comparison: `build` makes a new encoder; `special` is how it treats special tokens."""

    name: str
    version: str
    call: str
    build: Callable[[], Encode]
    special: str = "text"


def tokkit(tok: Tokenizer, threads: int) -> Contender:
    """Return tokkit's own contender."""
    from tokkit.tokenizer import Tokenizer
    from tokkit.version import __version__

    def build() -> Encode:
        new = Tokenizer(tok.definition)
        if threads > 1:
            return lambda texts: new.encode_batch(texts, threads=threads)
        return lambda texts: [new.encode_to_numpy(text) for text in texts]

    return Contender("tokkit", __version__, "encode_batch" if threads > 1 else "encode_to_numpy", build)


def pattern_of(tok: Tokenizer) -> str | None:
    """Return the split pattern of a byte-level tokenizer."""
    from tokkit.definition import Split

    split = tok.definition.pretokenizer
    if not isinstance(split, Split):
        raise Unavailable("it runs only byte-level BPE")
    return split.pattern


def tiktoken(tok: Tokenizer, threads: int) -> Contender:
    """An Encoding of tiktoken, from our ranks and pattern."""
    from tokkit.formats.byte_vocabulary import why_not_ranks

    library, version = _imported("tiktoken", "tiktoken")
    reason = why_not_ranks(tok.definition)
    if reason:
        raise Unavailable(f"it only runs ranks: {reason}")
    special = dict(tok.special_tokens)
    ranks = {token: id_ for token, id_ in tok.vocab.items() if id_ not in special.values()}

    def build() -> Encode:
        encoding = library.Encoding(
            "bench",
            pat_str=pattern_of(tok) or WHOLE_TEXT,
            mergeable_ranks=ranks,
            special_tokens=special,
        )
        if threads > 1:
            return lambda texts: encoding.encode_ordinary_batch(texts, num_threads=threads)
        return lambda texts: [encoding.encode_ordinary(text) for text in texts]

    return Contender("tiktoken", version, "encode_ordinary_batch" if threads > 1 else "encode_ordinary", build)


def tokenizers(tok: Tokenizer, threads: int) -> Contender:
    """The Tokenizer of tokenizers, from our tokenizer.json."""
    library, version = _imported("tokenizers", "tokenizers")
    source = _written(tok, "tokenizer.json")

    # From 1.0 on, ids are also arrays, which are faster, and there is one call for batches.
    ids, batch = ("ids_array", "encode_batch") if version.startswith("1.") else ("ids", "encode_batch_fast")

    def build() -> Encode:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tokenizer.json"
            path.write_bytes(source)
            new = library.Tokenizer.from_file(str(path))
        if threads > 1:
            return lambda texts: [getattr(e, ids) for e in getattr(new, batch)(texts, add_special_tokens=False)]
        return lambda texts: [getattr(new.encode(text, add_special_tokens=False), ids) for text in texts]

    return Contender("tokenizers", version, batch if threads > 1 else "encode", build, special="all")


def gigatoken(tok: Tokenizer, threads: int) -> Contender:
    """A Tokenizer of gigatoken, from our ranks if it knows our pattern by name, else from our tokenizer.json."""
    from tokkit.formats.byte_vocabulary import why_not_ranks
    from tokkit.pretokenizers import patterns

    library, version = _imported("gigatoken", "gigatoken")
    family = patterns.SCANNERS.get(pattern_of(tok)) if tok.definition.over_bytes else None
    pretokenizer = next(
        (name for name in GIGATOKEN_PATTERNS if patterns.SCANNERS[patterns.NAMES[name]] == family), None
    )
    by_ranks = pretokenizer is not None and why_not_ranks(tok.definition) is None
    source = _written(tok, "ranks.tiktoken" if by_ranks else "tokenizer.json")

    def build() -> Encode:
        if by_ranks:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "ranks.tiktoken"
                path.write_bytes(source)
                new = library.Tokenizer.from_tiktoken(path, pretokenizer, dict(tok.special_tokens))
        else:
            new = library.Tokenizer.from_json(source)
        if threads > 1:
            return lambda texts: new.encode_batch(texts, parallel=True)
        return lambda texts: [new.encode(text) for text in texts]

    return Contender("gigatoken", version, "encode_batch" if threads > 1 else "encode", build, special="all")


def quicktok(tok: Tokenizer, threads: int) -> Contender:
    """The Tokenizer with the same name in a library that has only built-in vocabularies."""
    library, version = _imported("quicktok", "quicktok-v1")
    if not tok.name:
        raise Unavailable("it has only built-in vocabularies, and not this one")
    try:
        library.Tokenizer(tok.name, "")
    except RuntimeError:
        raise Unavailable(f"it has only built-in vocabularies, and not {tok.name}") from None

    def build() -> Encode:
        new = library.Tokenizer(tok.name, "")
        if threads > 1:
            return lambda texts: new.encode_batch(texts, threads=threads)
        return lambda texts: [new.encode_ordinary(text) for text in texts]

    return Contender("quicktok", version, "encode_batch" if threads > 1 else "encode_ordinary", build)


def pyrwkv(tok: Tokenizer, threads: int) -> Contender:
    """The WorldTokenizer of RWKV's package in Rust, from our file of its format."""
    library, version = _imported("pyrwkv_tokenizer", "pyrwkv-tokenizer")
    source = _written(tok, "rwkv_vocab_bench.txt")

    def build() -> Encode:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rwkv_vocab_bench.txt"
            path.write_bytes(source)
            new = library.WorldTokenizer(str(path))
        if threads > 1:
            return lambda texts: new.encode_batch(list(texts))
        return lambda texts: [new.encode(text) for text in texts]

    return Contender("pyrwkv", version, "encode_batch" if threads > 1 else "encode", build)


def toktok(tok: Tokenizer, threads: int) -> Contender:
    """The Tokenizer of an encoding that is built into the library; its public calls only count."""
    _, version = _imported("toktok", "toktok-rs")
    library = importlib.import_module("toktok._toktok")
    if tok.name not in library.BUILTIN_ENCODINGS:
        raise Unavailable(f"it has only built-in vocabularies: {', '.join(library.BUILTIN_ENCODINGS)}")

    def build() -> Encode:
        new = library.Tokenizer(tok.name, "")
        if threads > 1:
            return lambda texts: new.encode_batch_to_numpy(texts, threads)
        return lambda texts: [new.encode_ordinary(text) for text in texts]

    return Contender("toktok", version, "encode_batch_to_numpy" if threads > 1 else "encode_ordinary", build)


def nanotoken(tok: Tokenizer, threads: int) -> Contender:
    """A Tokenizer of nanotoken, from our tokenizer.json; it runs only WordPiece."""
    library, version = _imported("nanotoken", "nanotoken")
    source = _written(tok, "tokenizer.json")

    def build() -> Encode:
        new = library.Tokenizer.from_json(source)
        if threads > 1:

            def batch(texts: list[str]) -> Any:
                found = new.encode_batch(texts, add_special_tokens=False, parallel=True)
                return found.ids, found.offsets

            return batch
        return lambda texts: [new.encode(text, add_special_tokens=False) for text in texts]

    return Contender("nanotoken", version, "encode_batch" if threads > 1 else "encode", build, special="all")


RIVALS = {
    "tiktoken": tiktoken,
    "tokenizers": tokenizers,
    "gigatoken": gigatoken,
    "quicktok": quicktok,
    "toktok": toktok,
    "nanotoken": nanotoken,
    "pyrwkv": pyrwkv,
}


def _imported(module: str, package: str) -> tuple[Any, str]:
    """Return (module, version) of an optional package."""
    from importlib import metadata

    try:
        return importlib.import_module(module), metadata.version(package)
    except ImportError:
        raise Unavailable(f"not installed: pip install {package}") from None


def _written(tok: Tokenizer, name: str) -> bytes:
    """Return the file that a rival reads, in the format of its suffix."""
    from tokkit import formats

    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            formats.write(tok.definition, path, differences=[])  # ids are compared before anything is timed
            return path.read_bytes()
    except TokkitError as error:
        raise Unavailable(f"it reads files, and no format has this vocabulary: {error}") from None


def reason(error: BaseException) -> str:
    """Return the reason why a rival is left out; errors that are not the rival's are raised again.

    A panic in Rust code is not an Exception, but is the rival's error.
    """
    if isinstance(error, Unavailable):
        return str(error)
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error
    return f"it failed: {type(error).__name__}: {' '.join(str(error).split())[:160]}"
