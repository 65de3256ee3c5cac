"""Reads and writes rank files (.tiktoken): one line per token, in base64, with its rank.

A rank file has neither a pattern nor special tokens. Those of published files are known by their sha256; others have a
sidecar, NAME.tiktoken.json, with both under the names of tiktoken's arguments: `tiktoken.Encoding(name,
mergeable_ranks=…, **json.load(sidecar))`. The line "= 50256" of Whisper's files is a token without bytes: no text is
encoded to it, and it decodes to nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from tokkit import byte_symbols
from tokkit._core.lines import rank_lines
from tokkit._core.rank_file import parse_ranks
from tokkit._core.token_tables import TokenIndex
from tokkit.definition import Definition, Split, checked_special_tokens
from tokkit.errors import FormatError, OptionError, VocabError
from tokkit.files import strict_json
from tokkit.formats import byte_vocabulary, published, split_patterns
from tokkit.formats.split_patterns import FANCY_REGEX
from tokkit.models.bpe import BPE
from tokkit.pretokenizers import patterns
from tokkit.unicode_regex.syntax import parse
from tokkit.unicode_regex.tree import NotRegular, nullable
from tokkit.vocab import Vocab

SIDECAR = ".json"
"""Suffix that is appended to a rank file's name for its sidecar."""
EVERYTHING = r"(?s:.+)"
"""The pattern in a sidecar that does not split text; tiktoken has no name for this."""


def read(
    data: bytes,
    beside: bytes | None = None,
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
) -> Definition:
    """Return rank BPE over the ranks, with the pattern and the special tokens of the sidecar `beside`.

    `pattern` (a name, or a pattern in the syntax of tiktoken) and `special_tokens` override what is known. OptionError
    if the file is not a published one and there is no pattern; FormatError names the line of an invalid rank file or
    the key of an invalid sidecar, or a byte without a token.
    """
    if beside is not None:
        stated_pattern, stated_special = _read_sidecar(beside)
        pattern = stated_pattern if pattern is None else pattern
        special_tokens = stated_special if special_tokens is None else special_tokens
    try:
        blob, offsets, empty = parse_ranks(data)
    except ValueError as error:
        raise FormatError(str(error)) from None
    byte = byte_symbols.missing_byte(blob, offsets)
    if byte is not None:
        raise FormatError(f"no line has the byte {byte:#04x} as its token, so some text would have no ids")
    known = published.find(data)
    if known is None and pattern is None:
        raise OptionError(
            "a rank file does not say how text is split, and this is not a published one: give pattern=, one of "
            f'{", ".join(patterns.NAMES)}, "none", or a regular expression'
        )
    chosen = checked_special_tokens({} if special_tokens is None else special_tokens)
    if known is not None and special_tokens is None:
        chosen = dict(known.special_tokens)
    split = known.pattern if known is not None and pattern is None else _adopted(pattern)
    ranks = Vocab(blob, offsets, empty)
    check_empty_token(ranks, split)
    vocab = ranks.with_tokens({id_: text.encode("utf-8") for text, id_ in chosen.items()})
    unchanged = known is not None and pattern is None and special_tokens is None
    return Definition(vocab, BPE(), Split(split), chosen, known.name if known is not None and unchanged else "")


def _adopted(pattern: str | None) -> str | None:
    """Return the pattern that a name stands for, or that is in tiktoken's syntax."""
    found = patterns.resolve(pattern)
    return found if found is None or pattern in patterns.NAMES else split_patterns.read(found, FANCY_REGEX)


def check_empty_token(vocab: Vocab, pattern: str | None) -> None:
    """Raise OptionError if ranks have an empty token, and a match of the pattern may be empty.

    tiktoken returns the empty token for each empty match; tokkit has no pretokens for them.
    """
    if vocab.empty is None or pattern is None:
        return
    try:
        may_be_empty = nullable(parse(pattern))
    except NotRegular:
        may_be_empty = True  # or unknown
    if may_be_empty:
        raise OptionError(
            f"the token with id {vocab.empty} is empty, and the pattern {pattern!r} may match the empty text, which "
            "tiktoken encodes to that token: give a pattern whose matches have at least one character, or leave the "
            "empty token out"
        )


def _read_sidecar(data: bytes) -> tuple[str, Mapping[str, int]]:
    try:
        file = strict_json.Section(strict_json.loads(data), "")
        pattern, special = file.take("pat_str", str), file.take("special_tokens", dict)
        file.finish()
        return "none" if pattern == EVERYTHING else pattern, checked_special_tokens(special)
    except (FormatError, OptionError, VocabError) as error:
        raise FormatError(f"the {SIDECAR} beside it: {error}") from None


def is_known(definition: Definition, data: bytes) -> bool:
    """Return whether the rank file `data` is a published one that needs no sidecar for this definition."""
    known = published.find(data)
    said = (getattr(definition.pretokenizer, "pattern", None), dict(definition.special_tokens))
    return known is not None and (known.pattern, dict(known.special_tokens)) == said


def write_sidecar(definition: Definition) -> bytes:
    """Return the sidecar: the pattern and the special tokens."""
    pattern: str | None = getattr(definition.pretokenizer, "pattern", None)
    says = {
        "pat_str": EVERYTHING if pattern is None else split_patterns.write(pattern, FANCY_REGEX),
        "special_tokens": dict(definition.special_tokens),
    }
    return (json.dumps(says, ensure_ascii=False, indent=2) + "\n").encode()


def write(definition: Definition) -> bytes:
    """Return the rank file of a definition, without its pattern and special tokens.

    FormatError if tiktoken, with the same pattern and special tokens, would not give the definition's ids.
    """
    split = byte_vocabulary.only_bytes(definition, "a rank file holds")
    reason = byte_vocabulary.why_not_ranks(definition)
    if reason is not None:
        raise FormatError(f"a rank file cannot hold this merge list: {reason}")
    if split.keep_unmatched and split.pattern not in patterns.SCANNERS:
        raise FormatError("a rank file cannot hold a split that keeps unmatched text: tiktoken drops it")
    blob, offsets = byte_vocabulary.ordinary_tokens(definition)
    if (byte := byte_symbols.missing_byte(blob, offsets)) is not None:
        raise FormatError(f"the byte {byte:#04x} has no token, so some text would have no ids")
    if TokenIndex(blob, offsets).twice >= 0:
        _refuse_repeats(blob, offsets.tolist())
    empty = definition.vocab.empty
    if empty is None:
        return rank_lines(blob, offsets)
    first = offsets[: empty + 1]
    later = np.concatenate([np.full(len(first), offsets[min(empty, len(offsets) - 1)]), offsets[len(first) :]])
    return b"%b= %d\n%b" % (rank_lines(blob, first), empty, rank_lines(blob, later))


def _refuse_repeats(blob: bytes, bounds: list[int]) -> None:
    """Raise FormatError for the first token whose bytes a lower id has."""
    ranks: dict[bytes, int] = {}
    for rank, (start, end) in enumerate(pairwise(bounds)):
        if start < end and ranks.setdefault(blob[start:end], rank) != rank:
            raise FormatError(f"the ids {ranks[blob[start:end]]} and {rank} have the same bytes, {blob[start:end]!r}")
