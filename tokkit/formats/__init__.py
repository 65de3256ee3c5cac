"""Reads and writes tokenizer files: `read` finds the format by content and name, `write` by the suffix.

Formats: tokenizer.json, rank files (.tiktoken), SentencePiece's .model, GPT-2's pair vocab.json + merges.txt, with
added_tokens.json for special tokens, BERT's vocab.txt, tekken.json, RWKV's vocabulary, and that in a GGUF file.
"""

from __future__ import annotations

import codecs
import logging
import os
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tokkit.definition import Definition, checked_special_tokens
from tokkit.errors import FormatError, OptionError, TokkitError, VocabError
from tokkit.files import files
from tokkit.files.files import show, write_atomically

if TYPE_CHECKING:
    from pathlib import Path

    from tokkit.formats.differences import Difference

__all__ = [
    "FORMATS",
    "contents_of",
    "files_of",
    "names_of",
    "put",
    "read",
    "refuse_existing",
    "write",
]

logger = logging.getLogger("tokkit")

FORMATS = ("tokenizer.json", "tiktoken", "sentencepiece", "gpt2", "vocab.txt", "tekken.json", "rwkv", "gguf")
"""Values of `write(format=)`."""

SUPPORTED = (
    "tokenizer.json, a rank file (.tiktoken: lines of base64 and rank), vocab.json + merges.txt, a SentencePiece "
    ".model, vocab.txt of BERT, tekken.json, rwkv_vocab_….txt, a GGUF file, or a directory that holds one of these"
)
BERT, SENTENCEPIECE = "vocab.txt", ".model"
_SUFFIXES = {".json": "tokenizer.json", ".tiktoken": "tiktoken", SENTENCEPIECE: "sentencepiece", ".gguf": "gguf"}
VOCABS = ("vocab.json", "encoder.json")
MERGES = ("merges.txt", "vocab.bpe")
_TOGETHER = frozenset((
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "tekken.json"),
    *(*VOCABS, *MERGES, BERT, "config.json", "model.safetensors", "model.safetensors.index.json", "modules.json"),
))  # fmt: skip
_ALONE = (".tiktoken", ".tiktoken.json", SENTENCEPIECE, ".gguf", ".safetensors")
"""Names and suffixes of the files of a tokenizer or a model in a folder."""
_RANK_LINE = re.compile(rb"\s*[A-Za-z0-9+/]+={0,2}[ \t]+[0-9]+[ \t\r]*(?:\n|\Z)")
_RWKV_NAME, _RWKV_LINE = re.compile(r"rwkv_vocab\w*\.txt"), re.compile(rb"[0-9]+ b?(['\"]).+\1 [0-9]+\r?(?:\n|\Z)")
_BERT_LINE = re.compile(rb"(?:\xef\xbb\xbf)?\[(?:PAD|UNK)\][\r\n]")
# A message in field 1 that begins with the piece, in its own field 1; and the possible starts of a model's fields.
_PIECE, _FIELDS = re.compile(rb"\n[\x02-\x7f]\n[\x01-\x7f]"), (b"\n", b"\x12", b"\x1a")
_BPE_LINE = re.compile(rb"#version|[^ \r\n]+ [^ \r\n]+\r?\n[^ \r\n]+ [^ \r\n]+\r?(?:\n|\Z)")


def read(
    path: str | os.PathLike[str],
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    lowercase: bool | None = None,
) -> Definition:
    """Return the definition in a file, or in a directory of files.

    `pattern` (a name of `patterns.NAMES`, "none", or a regular expression) and `special_tokens` (text → id) are for
    formats without them, rank files and vocab.json + merges.txt; they override those of published files, of
    NAME.tiktoken.json and of an added_tokens.json in the same folder. A tokenizer.json and a tekken.json have their own
    pattern; a GGUF file names one, which `pattern` overrides; for these three, `special_tokens` are added to the file's
    own. `lowercase` is for vocab.txt and overrides a tokenizer_config.json or tokenizer.json in its folder. FormatError
    names the file and the line or key; OSErrors (FileNotFoundError, PermissionError) are not caught.
    """
    # Paths are str here, because importing pathlib takes as long as loading a small vocabulary.
    path = os.fspath(path)
    if not isinstance(path, str):
        raise TypeError(f"a path is {type(path).__name__}; it must be a str or an os.PathLike of str")
    if pattern is not None and not isinstance(pattern, str):
        raise OptionError(f"pattern is {type(pattern).__name__}; it must be a str")
    if lowercase is not None and not isinstance(lowercase, bool):
        raise OptionError(f"lowercase is {lowercase!r}; it must be True, False or None")
    try:
        path = _in_directory(path) if os.path.isdir(path) else path
        return _read(path, pattern, special_tokens, lowercase)
    except (FormatError, VocabError, OptionError) as error:
        raise _at(path, error) from None


def _at(path: str | os.PathLike[str], error: TokkitError) -> TokkitError:
    """Return the error with the file's name at the beginning of its message."""
    return type(error)(f"{show(path)}: {error}")


def _read(path: str, pattern: str | None, special: Mapping[str, int] | None, lowercase: bool | None) -> Definition:
    name = os.path.basename(path)
    suffix = os.path.splitext(name)[1]
    # Modules of formats are imported on demand, because importing takes longer than reading a small file.
    with files.open_regular(path) as file:
        if name == BERT or _BERT_LINE.match(file.peek(16)):
            return _read_bert(files.read_all(file), path, pattern, special, lowercase)
        if lowercase is not None:
            raise OptionError(f"lowercase= is only for a {BERT}; this file has its own normalizer")
        if suffix.lower() == ".gguf" or file.peek(4).startswith(b"GGUF"):
            from tokkit.formats import gguf

            return gguf.read(file, pattern=pattern, special_tokens=special)
        data = files.read_all(file)
    head = data[:4096].removeprefix(codecs.BOM_UTF8).lstrip()
    if name in MERGES:
        return _read_pair(_beside(path, VOCABS), path, pattern, special)
    if _RWKV_NAME.fullmatch(name) or _RWKV_LINE.match(data[:4096]):
        if pattern is not None:
            raise OptionError("pattern= was given, but RWKV's vocabulary needs none: its text is not split")
        from tokkit.formats import rwkv

        return rwkv.read(data, special_tokens=special)
    if suffix == ".tiktoken" or (suffix != ".json" and _RANK_LINE.match(data[:65536])):
        from tokkit.formats import tiktoken

        beside = path + tiktoken.SIDECAR
        stated = files.read_bytes(beside) if os.path.exists(beside) else None
        return tiktoken.read(data, stated, pattern=pattern, special_tokens=special)
    if suffix == ".json" or head.startswith(b"{"):
        from tokkit.files import strict_json
        from tokkit.formats import tekken, tokenizer_json

        if pattern is None and name not in VOCABS and (definition := tokenizer_json.read_packed(data)) is not None:
            return definition.with_special_tokens(checked_special_tokens(special)) if special else definition
        value = strict_json.loads(data)
        is_table = isinstance(value, dict) and "model" not in value
        if name in VOCABS or (is_table and value and all(type(id_) is int for id_ in value.values())):
            return _read_pair(path, _beside(path, MERGES), pattern, special)
        of_tekken = tekken.is_tekken(value)
        if pattern is not None:
            raise OptionError(f"pattern= was given, but a {'tekken' if of_tekken else 'tokenizer'}.json has its own")
        definition = tekken.from_json(value) if of_tekken else tokenizer_json.from_json(value)
        return definition.with_special_tokens(checked_special_tokens(special)) if special else definition
    if _BPE_LINE.match(data[:65536]):
        return _read_pair(_beside(path, VOCABS), path, pattern, special)
    if _PIECE.match(data) or (suffix == SENTENCEPIECE and data[:1] in _FIELDS):
        return _read_sentencepiece(data, pattern, special)
    from tokkit.formats import unsupported_formats

    if (what := unsupported_formats.name_of(data)) is not None:
        raise FormatError(f"{what}: not supported yet; {SUPPORTED} can be read")
    raise FormatError(f"unknown format: the file starts with {data[:24]!r}; it must be {SUPPORTED}")


def _read_bert(
    data: bytes, path: str, pattern: str | None, special: Mapping[str, int] | None, lowercase: bool | None
) -> Definition:
    from tokkit.formats import bert_vocab

    if pattern is not None:
        raise OptionError(f"pattern= was given, but a {BERT} uses BERT's pretokenizer")
    definition = bert_vocab.read(data, os.path.dirname(path), lowercase=lowercase)
    return definition.with_special_tokens(checked_special_tokens(special)) if special else definition


def _read_sentencepiece(data: bytes, pattern: str | None, special: Mapping[str, int] | None) -> Definition:
    from tokkit.formats import sentencepiece

    if pattern is not None:
        raise OptionError(f"pattern= was given, but a {SENTENCEPIECE} needs none: its text is not split")
    definition = sentencepiece.read(data)
    return definition.with_special_tokens(checked_special_tokens(special)) if special else definition


def _in_directory(path: str) -> str:
    """Return the file in a directory: tokenizer.json, vocab.json, tekken.json, the only rank file, or the only GGUF."""
    names = sorted(os.listdir(path))
    if "tokenizer.json" in names:
        return os.path.join(path, "tokenizer.json")
    vocab = next((name for name in VOCABS if name in names), None)
    if vocab and any(name in names for name in MERGES):
        return os.path.join(path, vocab)
    for name in ("tekken.json", BERT):
        if name in names:
            return os.path.join(path, name)
    for end in (r".*\.tiktoken", r".*\.model", _RWKV_NAME.pattern, r".*\.gguf"):
        found = [name for name in names if re.fullmatch(end, name, re.DOTALL)]
        if len(found) == 1:
            return os.path.join(path, found[0])
    seen = ", ".join(show(name) for name in names[:8]) + (", …" if len(names) > 8 else "")
    raise FormatError(f"no tokenizer in this directory, which has {seen or 'no files'}; it must have {SUPPORTED}")


def _beside(path: str, names: tuple[str, ...]) -> str:
    for name in names:
        if os.path.exists(found := os.path.join(os.path.dirname(path), name)):
            return found
    raise FormatError(f"vocab.json and merges.txt are both needed: {' or '.join(names)} is missing in the folder")


def files_of(path: str | os.PathLike[str]) -> list[str]:
    """Return the files from which a tokenizer or a model may be read: itself, and those in its folder."""
    path = os.fspath(path)
    is_folder = os.path.isdir(path)
    if not is_folder and os.path.basename(path) not in _TOGETHER:
        return [path, *(beside for beside in [path + ".json"] if path.endswith(".tiktoken") and os.path.exists(beside))]
    folder = path if is_folder else os.path.dirname(path)
    try:
        names = sorted(os.listdir(folder or os.curdir))
    except OSError:
        return [path]
    ours = [name for name in names if name in _TOGETHER or (is_folder and name.endswith(_ALONE))]
    return [path, *(os.path.join(folder, name) for name in ours)]


def _read_pair(vocab: str, merges: str, pattern: str | None, special: Mapping[str, int] | None) -> Definition:
    from tokkit.formats import gpt2

    added = os.path.join(os.path.dirname(vocab), gpt2.ADDED)
    data = None
    if special is None and os.path.exists(added):
        with files.naming(gpt2.ADDED):
            data = files.read_bytes(added)
    return gpt2.read(files.read_bytes(vocab), files.read_bytes(merges), data, pattern=pattern, special_tokens=special)


def write(
    definition: Definition,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    overwrite: bool = True,
    differences: list[Difference] | None = None,
) -> list[Path]:
    """Write a definition and return the files written; each is replaced as a whole or not at all.

    `format` is one of FORMATS; by default it follows from the path: ".json" is tokenizer.json, ".tiktoken" a rank file,
    with its pattern and special tokens in NAME.tiktoken.json beside it; ".model" SentencePiece's; a directory gets
    vocab.json + merges.txt, and added_tokens.json if there are special tokens; the name vocab.txt is BERT's, with a
    tokenizer_config.json if the normalization needs one; a name that ends in tekken.json is Mistral's; ".gguf" is a
    GGUF file with only a vocabulary. FormatError, and nothing is written, if the format cannot hold the definition with
    equal ids; the error names the rules that differ and a text that shows it. With a list for `differences`, such
    differences are appended to it and the files are written. `overwrite=False` raises FileExistsError if a file exists;
    pipes and devices are written to.
    """
    contents = contents_of(definition, path, format=format, differences=differences)
    return put(contents, overwrite=overwrite)


def put(contents: Mapping[Path, bytes], *, overwrite: bool = True) -> list[Path]:
    """Write files, each as a whole or not at all, and return them; FileExistsError before any if one exists."""
    if not overwrite:
        refuse_existing(contents)
    for target, data in contents.items():
        if target.name in VOCABS + MERGES:
            target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, data, overwrite=overwrite)
    return list(contents)


def names_of(path: str | os.PathLike[str], format: str | None = None) -> list[str]:
    """Return the names of the files that `write` would write, including optional ones."""
    from pathlib import Path

    path = Path(path)
    chosen = _format_of(path) if format is None else format
    if chosen == "gpt2":
        folder = path.parent if path.name in VOCABS + MERGES else path
        return [str(folder / name) for name in (VOCABS[0], MERGES[0], "added_tokens.json")]
    if path.is_dir():
        return [str(path / chosen)]
    return [str(path), f"{path}.json"] if chosen == "tiktoken" else [str(path)]


def refuse_existing(paths: Iterable[Path]) -> None:
    """Raise FileExistsError if one of the files to write exists; pipes and devices are written to."""
    for target in paths:
        if target.exists() and not files.is_stream(target):
            raise FileExistsError(f"{show(target)} exists")


def contents_of(
    definition: Definition,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    differences: list[Difference] | None = None,
) -> dict[Path, bytes]:
    """Return what `write` would write: the bytes of each file."""
    from pathlib import Path

    path = Path(path)
    chosen = _format_of(path) if format is None else format
    try:
        return _contents(definition, path, chosen, differences)
    except (FormatError, VocabError, OptionError) as error:
        raise _at(path, error) from None


def _contents(
    definition: Definition, path: Path, chosen: str, differences: list[Difference] | None
) -> dict[Path, bytes]:
    if chosen == "tokenizer.json":
        from tokkit.formats import tokenizer_json

        target = path / "tokenizer.json" if path.is_dir() else path
        return {target: tokenizer_json.write(_allowed(definition, "tokenizer.json", differences))}
    if chosen == "tiktoken":
        return _contents_of_ranks(definition, path)
    if chosen == "sentencepiece":
        from tokkit.formats import sentencepiece

        return {path: sentencepiece.write(_allowed(definition, "sentencepiece", differences))}
    if chosen == "gpt2":
        return _contents_of_pair(definition, path)
    if chosen == BERT:
        from tokkit.formats import bert_vocab

        target = path / BERT if path.is_dir() else path
        vocab, config = bert_vocab.write(definition, target.parent)
        return {target: vocab} if config is None else {target: vocab, target.parent / bert_vocab.CONFIG: config}
    if chosen == "tekken.json":
        from tokkit.formats import tekken

        return {path / "tekken.json" if path.is_dir() else path: tekken.write(definition)}
    if chosen == "rwkv":
        from tokkit.formats import rwkv

        return {path: rwkv.write(definition)}
    if chosen == "gguf":
        from tokkit.formats import gguf_writing

        return {path: gguf_writing.write(definition)}
    raise OptionError(f"format is {chosen!r}; it must be one of {', '.join(FORMATS)}")


def _contents_of_ranks(definition: Definition, path: Path) -> dict[Path, bytes]:
    from tokkit.formats import tiktoken

    files.check_name(path)
    contents = {path: tiktoken.write(definition)}
    beside = type(path)(f"{path}{tiktoken.SIDECAR}")
    if files.is_stream(path):
        logger.warning("%s gets only ranks, without the pattern and the special tokens", show(path))
    # A sidecar of another tokenizer would give this one its special tokens.
    elif beside.exists() or not tiktoken.is_known(definition, contents[path]):
        contents[beside] = tiktoken.write_sidecar(definition)
    return contents


def _contents_of_pair(definition: Definition, path: Path) -> dict[Path, bytes]:
    from tokkit.formats import gpt2

    directory = path.parent if path.name in VOCABS + MERGES else path
    if not directory.is_dir() and (directory.exists() or directory.suffix in (*_SUFFIXES, ".txt")):
        raise OptionError("this format has files with fixed names, vocab.json and others; give a directory")
    vocab, merges, added = gpt2.write(definition)
    contents = {directory / VOCABS[0]: vocab, directory / MERGES[0]: merges}
    # A file of another tokenizer would add its special tokens to this one.
    if definition.special_tokens or os.path.lexists(directory / gpt2.ADDED):
        contents[directory / gpt2.ADDED] = added
    return contents


def _allowed(definition: Definition, format: str, differences: list[Difference] | None) -> Definition:
    """Return the definition as the format will hold it; FormatError for differences, unless they are allowed."""
    if format == "tokenizer.json":
        from tokkit.formats import tokenizer_json

        there, rules = tokenizer_json.in_components(definition)
    else:
        from tokkit.definition import definition_of
        from tokkit.formats import sentencepiece

        model, rules = sentencepiece.in_model(definition)
        there = definition_of(model)
    if rules:
        from tokkit.formats.differences import found_or_refused

        found = found_or_refused(definition, there, rules, format, lossy=differences is not None)
        if differences is not None:
            differences += found
    return there


def _format_of(path: Path) -> str:
    if path.is_dir() or path.name in VOCABS + MERGES:
        return "gpt2"
    if path.name == BERT:
        return BERT
    if path.name.endswith("tekken.json"):
        return "tekken.json"
    if _RWKV_NAME.fullmatch(path.name):
        return "rwkv"
    if path.suffix in _SUFFIXES:
        return _SUFFIXES[path.suffix]
    raise OptionError(
        f"{show(path)}: unknown suffix; use {', '.join(_SUFFIXES)}, the name vocab.txt or rwkv_vocab_….txt, a "
        f"directory, or give format=, one of {', '.join(FORMATS)}"
    )
