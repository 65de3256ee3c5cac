"""Reads and writes rank files (.tiktoken): one line a token, in base64, and its rank.

A rank file states neither pattern nor special tokens: those of the published ones are known by their sha256.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Mapping
from itertools import pairwise

from tokkit._core.files import parse_ranks
from tokkit.definition import BPE, Definition, Split, checked_special_tokens
from tokkit.errors import FormatError, OptionError
from tokkit.formats import conversion, published
from tokkit.pretokenizers import patterns
from tokkit.vocab import Vocab


def read(data: bytes, *, pattern: str | None = None, special_tokens: Mapping[str, int] | None = None) -> Definition:
    """Return rank BPE over the ranks; `pattern` (a name or a regex) and `special_tokens` override what is known.

    OptionError if the file is not a published one and no pattern is given; FormatError with the line for what
    is not a rank file, and where a byte has no token.
    """
    try:
        blob, offsets = parse_ranks(data)
    except ValueError as error:
        raise FormatError(str(error)) from None
    byte = conversion.missing_byte(blob, offsets)
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
    split = known.pattern if known is not None and pattern is None else patterns.resolve(pattern)
    vocab = Vocab(blob, offsets).with_tokens({id_: text.encode("utf-8") for text, id_ in chosen.items()})
    unchanged = known is not None and pattern is None and special_tokens is None
    return Definition(vocab, BPE(), Split(split), chosen, known.name if known is not None and unchanged else "")


def write(definition: Definition) -> bytes:
    """Return the rank file of a definition, which says nothing of its pattern and special tokens.

    FormatError if tiktoken, given those, would not make the definition's ids.
    """
    split = conversion.only_bytes(definition, "a rank file holds")
    reason = conversion.why_not_ranks(definition)
    if reason is not None:
        raise FormatError(f"a rank file cannot hold this merge list: {reason}")
    if split.keep_unmatched and split.pattern not in patterns.SCANNERS:
        raise FormatError("a rank file cannot hold a split that keeps unmatched text: tiktoken drops it")
    blob, offsets = conversion.ordinary_tokens(definition)
    bounds = offsets.tolist()
    lines: dict[bytes, bytes] = {}
    for rank, (start, end) in enumerate(pairwise(bounds)):
        if start < end:
            token = b2a_base64(blob[start:end], newline=False)
            if token in lines:
                raise FormatError(f"the ids {int(lines[token])} and {rank} have the same bytes, {blob[start:end]!r}")
            lines[token] = b"%d" % rank
    return b"".join([b"%b %b\n" % line for line in lines.items()])
