"""Writes one line per encoding, with pairs, special tokens, truncation and padding."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from tokkit.cli import output
from tokkit.cli.id_files import BINARY, Source
from tokkit.cli.inputs import Reading, expand
from tokkit.cli.token_text import readable
from tokkit.encoding.length_rules import Padding, Truncation
from tokkit.errors import CorpusError, OptionError, VocabError
from tokkit.escaping import show

if TYPE_CHECKING:
    from tokkit.encoding import Encoding
    from tokkit.tokenizer import Tokenizer

PAD_TOKENS = ("[PAD]", "<pad>", "<|pad|>", "<PAD>")
"""Common padding tokens; the first that the tokenizer has is used."""
COLUMNS = ("ids", "type_ids", "attention_mask", "special_tokens_mask", "offsets", "word_ids")
FLAGS = ("add_special", "pair", "pad", "pad_token", "max_length", "truncation", "stride")


@dataclass(frozen=True, slots=True)
class Shape:
    """How a text becomes a line; no encoding may be longer than `fixed`."""

    add_special: bool
    pair: str | None
    truncation: Truncation | None
    padding: Padding | None
    parts: bool
    """Whether the tokens that truncation cuts off are written too."""

    @property
    def fixed(self) -> int | None:
        """The length to pad all texts to, if it is given."""
        return None if self.padding is None else self.padding.length


def wanted(chosen: Mapping[str, Any], kind: str) -> bool:
    """Return whether any option needs whole encodings, not only ids; UsageError for options that conflict."""
    given = [f"--{name.replace('_', '-')}" for name in FLAGS if chosen[name] not in (None, False)]
    if given and kind in BINARY:
        raise click.UsageError(f"{given[0]} needs --output ids, tokens, json or full, not {kind}")
    if chosen["max_length"] is None:
        for name in ("truncation", "stride"):
            if chosen[name] is not None:
                raise click.UsageError(f"--{name} applies to texts longer than --max-length: give --max-length too")
        if chosen["pad"] == "max-length":
            raise click.UsageError("--pad max-length pads to --max-length: give --max-length too")
    if chosen["pad_token"] is not None and chosen["pad"] is None:
        raise click.UsageError("--pad-token is the token for --pad: give --pad too")
    return bool(given) or kind == "full"


def shape(tok: Tokenizer, chosen: Mapping[str, Any]) -> Shape:
    """Return the `Shape` that the options request."""
    truncation = None
    if chosen["max_length"] is not None:
        strategy: Any = (chosen["truncation"] or "longest-first").replace("-", "_")
        truncation = Truncation(max_length=chosen["max_length"], strategy=strategy, stride=chosen["stride"] or 0)
        if tok.definition.truncation is not None:
            truncation = replace(truncation, direction=tok.definition.truncation.direction)
    padding = None
    if chosen["pad"] is not None:
        length = chosen["max_length"] if chosen["pad"] == "max-length" else chosen["pad"]
        padding = replace(_pad_with(tok, chosen["pad_token"]), length=None if length == "longest" else int(length))
    return Shape(chosen["add_special"], chosen["pair"], truncation, padding, chosen["stride"] is not None)


def _pad_with(tok: Tokenizer, token: str | None) -> Padding:
    """Return the padding without its length: by the given token, by the tokenizer's file, or by a known token."""
    own = tok.definition.padding
    if token is None and own is not None:
        return replace(own, pad_to_multiple_of=None)
    name = token if token is not None else next((name for name in PAD_TOKENS if name in tok.special_tokens), None)
    if name is None:
        raise OptionError("this tokenizer has none of the usual padding tokens: give --pad-token")
    id_ = tok.special_tokens.get(name, tok.vocab.get(name))
    if id_ is None:
        raise VocabError(f"--pad-token: the tokenizer has no token {name!r}")
    return replace(own or Padding(), pad_to_multiple_of=None, pad_id=id_, pad_token=name)


def write_lines(source: Source, shape: Shape, path: str, kind: str, *, force: bool) -> None:
    """Write a line for each text, and with --stride a line for each part that was cut off."""
    with output.writing(path, force=force) as file:
        rows: Iterable[tuple[int, list[Encoding], str]] = _rows(source, shape)
        if shape.padding is not None and shape.fixed is None:
            rows = list(rows)
            longest = max((len(encoding) for _, encodings, _ in rows for encoding in encodings), default=0)
            shape = replace(shape, padding=replace(shape.padding, length=longest))
        for number, encodings, end in rows:
            lines = [_line(source.tok, _padded(encoding, shape, number), kind, number) for encoding in encodings]
            file.write(("\n".join(lines) + end).encode())


def _rows(source: Source, shape: Shape) -> Iterator[tuple[int, list[Encoding], str]]:
    """Yield for each text its number, its encoding with the parts that were cut off, and the end of its last line."""
    seconds = _seconds(source, shape.pair)
    number, unended = 0, False
    for path in expand(source.files):
        for texts, lines in source.reading.batches(path):
            if unended and texts:  # the last file had no line feed at its end
                unended = False
                yield number, [], "\n"
            firsts = [text.removesuffix("\n") for text in texts] if lines else texts
            pairs = None if seconds is None else [next(seconds, None) for _ in firsts]
            if pairs is not None and None in pairs:
                found = number + pairs.index(None)
                raise CorpusError(f"--pair has {output.counted(found, 'text')}, fewer than the input")
            made = source.tok.encodings(
                firsts,
                pairs,  # type: ignore[arg-type]  # none of them is None
                special=source.special,
                add_special=shape.add_special,
                truncation=shape.truncation,
                padding=None,
            )
            for text, encoding in zip(texts, made, strict=True):
                unended = lines and not text.endswith("\n")
                parts = encoding.overflowing if shape.parts else []
                yield number, [encoding, *parts], "" if unended else "\n"
                number += 1
    if seconds is not None and next(seconds, None) is not None:
        raise CorpusError(f"--pair has more texts than the input, which has {number}")


def _seconds(source: Source, pair: str | None) -> Iterator[str] | None:
    if pair is None:
        return None
    reading: Reading = source.reading
    return (text.removesuffix("\n") if lines else text for texts, lines in reading.batches(pair) for text in texts)


def _padded(encoding: Encoding, shape: Shape, number: int) -> Encoding:
    padding = shape.padding
    if padding is None or padding.length is None:
        return encoding
    if len(encoding) > padding.length:
        raise OptionError(
            f"text {number + 1} has {len(encoding)} tokens, more than --pad {padding.length}: "
            "truncate with --max-length, or use --pad longest"
        )
    return encoding.pad(
        padding.length,
        id=padding.pad_id,
        type_id=padding.pad_type_id,
        token=padding.pad_token,
        direction=padding.direction,
    )


def _line(tok: Tokenizer, encoding: Encoding, kind: str, number: int) -> str:
    if kind == "ids":
        return " ".join(map(str, encoding.ids))
    if kind == "json":
        return json.dumps(encoding.ids, separators=(",", ":"))
    tokens = [readable(token) for token in encoding.token_bytes]
    if kind == "tokens":
        return " ".join(tokens)
    columns = {name: getattr(encoding, name) for name in COLUMNS}
    return json.dumps({"text": number, "tokens": tokens, **columns}, ensure_ascii=False, separators=(",", ":"))


def check_pair(pair: str | None, files: Iterable[str]) -> None:
    """Refuse standard input for both texts of a pair, because it can be read only once."""
    if pair == "-" and (not (names := list(files)) or "-" in names):
        raise click.UsageError(f"--pair {show(pair)}: standard input is already the input; give one of them as a file")
