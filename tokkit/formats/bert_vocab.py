"""Reads and writes BERT's vocab.txt: one token per line, whose line number (from 0) is its id.

Everything else is as in transformers' BertTokenizer: lowercasing, words of up to 100 characters, [PAD] [UNK] [CLS]
[SEP] [MASK] as special tokens if they are in the file, and [CLS] … [SEP] around a text. A tokenizer_config.json, or
else a tokenizer.json, in the same folder specifies the normalization.
"""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokkit._core.lines import lines
from tokkit.decoders.wordpiece import WordPiece as WordPieceDecoder
from tokkit.definition import AddedToken, Definition
from tokkit.errors import FormatError
from tokkit.files import files, strict_json
from tokkit.formats import components, tables
from tokkit.models.wordpiece import WordPiece
from tokkit.normalizers.bert import Bert as BertNormalizer
from tokkit.postprocessors.bert import Bert as BertPostprocessor
from tokkit.postprocessors.template import Template
from tokkit.pretokenizers.bert import Bert as BertPretokenizer
from tokkit.vocab import MAX_ID, Vocab

NAME = "vocab.txt"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CONFIG, TOKENIZER = "tokenizer_config.json", "tokenizer.json"
_SETTINGS = (
    ("do_lower_case", "lowercase", (bool,)),
    ("strip_accents", "strip_accents", (bool, type(None))),
    ("tokenize_chinese_chars", "handle_chinese_chars", (bool,)),
)
"""Key of tokenizer_config.json → field of the normalizer."""


def read(data: bytes, folder: str | os.PathLike[str] | None = None, *, lowercase: bool | None = None) -> Definition:
    """Return the definition of a vocab.txt; `folder` may have other files with settings.

    Lines end in LF or CR LF. As in transformers, an empty line leaves its id without a token, and of two equal lines
    the last one counts. White space at the end of a line is part of the token, as in the published tokenizer.json files
    (that of bert-base-chinese has U+2028); transformers 5 strips it, so that no text gets such a token. FormatError for
    a byte-order mark (which transformers reads as part of the first token), a single carriage return and invalid UTF-8,
    with the line, and for a file without [UNK].
    """
    if data.startswith(codecs.BOM_UTF8):
        raise FormatError(
            "line 1: the file begins with a byte-order mark, which BERT's tokenizers read as part of the first "
            "token; save it as UTF-8 without one"
        )
    files.decode(data)  # FormatError for invalid UTF-8
    lines = data.replace(b"\r\n", b"\n").removesuffix(b"\n").split(b"\n")
    if b"\r" in data and (alone := next((n for n, line in enumerate(lines, 1) if b"\r" in line), 0)):
        raise FormatError(
            f"line {alone}: a carriage return without a line feed, which some of BERT's tokenizers read as a line end "
            "and others as part of a token; write line ends as LF or CR LF"
        )
    if len(lines) > MAX_ID + 1:
        raise FormatError(f"line {MAX_ID + 2}: the maximum id is {MAX_ID}, on the line before")
    last = dict(zip(lines, range(len(lines)), strict=True))
    if len(last) < len(lines):
        lines = [token if last[token] == number else b"" for number, token in enumerate(lines)]
    ids = {token: last[token.encode()] for token in SPECIAL if token.encode() in last}
    if "[UNK]" not in ids:
        raise FormatError("no line is [UNK], the unknown token, which is required")
    vocab = Vocab.from_list(lines)
    return Definition(
        vocab,
        WordPiece(),
        BertPretokenizer(),
        normalizer=_normalizer(folder, lowercase),
        postprocessor=_template(ids),
        decoder=WordPieceDecoder(),
        added_tokens=tuple(AddedToken(token, id_, special=True) for token, id_ in ids.items()),
    )


def _template(ids: dict[str, int]) -> Template | None:
    """Return the postprocessor that adds [CLS] and [SEP], if the vocabulary has both."""
    if "[CLS]" not in ids or "[SEP]" not in ids:
        return None
    named = {token: ids[token] for token in ("[CLS]", "[SEP]")}
    return Template.parse("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", named)


def _normalizer(folder: str | os.PathLike[str] | None, lowercase: bool | None) -> BertNormalizer:
    """Return the normalizer that the files in a folder specify; `lowercase` overrides theirs."""
    found = _stated(Path(folder)) if folder is not None else None
    made = found or BertNormalizer()
    return made if lowercase is None else replace(made, lowercase=lowercase)


def _stated(folder: Path) -> BertNormalizer | None:
    """Return the normalizer of the first file in a folder that specifies lowercasing."""
    config = _beside(folder, CONFIG)
    if "do_lower_case" in config:
        try:
            return BertNormalizer(
                **{
                    ours: strict_json.typed(config[theirs], theirs, *types)
                    for theirs, ours, types in _SETTINGS
                    if theirs in config
                }
            )
        except FormatError as error:
            raise FormatError(f"{CONFIG}: {error}") from None
    given = _beside(folder, TOKENIZER).get("normalizer")
    if isinstance(given, dict) and given.get("type") == "BertNormalizer":
        try:
            made = components.read(given, "normalizer", components.STAGES["normalizer"])
        except FormatError as error:
            raise FormatError(f"{TOKENIZER}: {error}") from None
        return made if isinstance(made, BertNormalizer) else None
    return None


def _beside(folder: Path, name: str) -> dict[str, Any]:
    """Return the object in a file of a folder; an empty one if there is no such file."""
    path = folder / name
    if not path.is_file():
        return {}
    try:
        value = _parsed(files.read_bytes(path))
    except FormatError as error:
        raise FormatError(f"{name}: {error}") from None
    if not isinstance(value, dict):
        raise FormatError(f"{name}: an object is needed, not {strict_json.kind(value)}")
    return value


def _parsed(data: bytes) -> Any:
    """Parse JSON, and skip the large tables of a tokenizer.json."""
    try:
        value = tables.loads(data)
    except FormatError:
        value = None
    return strict_json.loads(data) if value is None else value


# ---- writing


def write(definition: Definition, folder: Path) -> tuple[bytes, bytes | None]:
    """Return vocab.txt, and the tokenizer_config.json that it needs in its folder, or None.

    FormatError if a vocab.txt cannot hold the definition with equal ids.
    """
    normalizer = definition.normalizer
    expected: Iterable[tuple[str, object, object]] = (
        ("model", definition.model, WordPiece()),
        ("pretokenizer", definition.pretokenizer, BertPretokenizer()),
        ("decoder", definition.decoder, WordPieceDecoder()),
    )
    for stage, has, wants in expected:
        if has != wants:
            raise FormatError(f"a {NAME} needs the {stage} {wants}; this tokenizer has {has}")
    if not isinstance(normalizer, BertNormalizer) or not normalizer.clean_text:
        raise FormatError(f"a {NAME} needs BERT's normalizer, which cleans text; this tokenizer has {normalizer}")
    vocab = definition.vocab
    if not vocab.is_text or b"\n" in vocab.blob or b"\r" in vocab.blob or vocab.blob.startswith(codecs.BOM_UTF8):
        _refuse_lines(definition)
    ids: dict[str, int] = {}
    if vocab.first_repeated is not None:  # of two equal lines the last one counts
        ids = {token.decode(): id_ for token, id_ in vocab.items()}
    _check_special(definition, ids or {token: id_ for token in SPECIAL if (id_ := vocab.get(token)) is not None})
    stated = _stated(folder) if folder.is_dir() else None
    config = None
    if (stated or BertNormalizer()) != normalizer:
        values = {theirs: getattr(normalizer, ours) for theirs, ours, _ in _SETTINGS}
        config = json.dumps({**_beside(folder, CONFIG), **values}, ensure_ascii=False, indent=2).encode() + b"\n"
    return lines(vocab.blob, vocab.offsets), config


def _refuse_lines(definition: Definition) -> None:
    """Raise FormatError for a token that cannot be a line."""
    for token, id_ in definition.vocab.items():
        try:
            line = token.decode()
        except UnicodeDecodeError:
            raise FormatError(f"the token {token!r} is not UTF-8, which the lines of a {NAME} must be") from None
        if "\n" in line or "\r" in line:
            raise FormatError(f"the token {line!r} has a line end, but each token is one line of a {NAME}")
        if id_ == 0 and line.startswith("\ufeff"):
            raise FormatError(f"the first token, {line!r}, would be read as a byte-order mark")


def _check_special(definition: Definition, ids: dict[str, int]) -> None:
    if "[UNK]" not in ids:
        raise FormatError(f"a {NAME} needs the token [UNK], which this tokenizer does not have")
    wanted = {AddedToken(token, ids[token], special=True) for token in SPECIAL if token in ids}
    if other := set(definition.added_tokens) ^ wanted:
        text = min(token.content for token in other)
        raise FormatError(
            f"the added tokens of a {NAME} must be {' '.join(SPECIAL)}, as special tokens; {text!r} differs"
        )
    if definition.added_ids:
        raise FormatError(f"all tokens of a {NAME} belong to the model, but here some ids belong only to added tokens")
    template, has = _template(ids), definition.postprocessor
    same = has == template
    if template is not None and isinstance(has, Template):
        same = has.single == template.single and has.pair == template.pair
        same &= set(has.special_tokens) == set(template.special_tokens)
    if template is not None and isinstance(has, BertPostprocessor):
        same = has == BertPostprocessor(sep=("[SEP]", ids["[SEP]"]), cls=("[CLS]", ids["[CLS]"]))
    if not same:
        raise FormatError(f"a {NAME} with [CLS] and [SEP] puts them around texts; this tokenizer has {has}")
