"""Shows the bytes of a token as text on one line, with control characters escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokkit.escaping import escaped

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

SPACE = "␣"
_ESCAPES = {"\\": "\\\\", SPACE: escaped(SPACE), " ": SPACE}


def readable(piece: bytes) -> str:
    r"""Return a token as one printable word: a space as ␣, bytes of incomplete characters as \xHH.

    >>> readable(b" caf\xc3"), readable("né\n".encode())
    ('␣caf\\xc3', 'né\\n')
    """
    text = piece.decode("utf-8", "surrogateescape")
    return "".join(_ESCAPES.get(c) or (c if c.isprintable() else escaped(c)) for c in text)


def shortened(text: str, limit: int = 40) -> str:
    """Return a text shortened for one line: a long one loses its middle.

    >>> shortened("-" * 64, 11)
    '-----…-----'
    """
    return text if len(text) <= limit else f"{text[: limit // 2]}…{text[-(limit // 2) :]}"


def merges(tok: Tokenizer, n: int) -> list[str]:
    """Return the first `n` merges as "left+right", in order of priority."""
    from tokkit.formats.byte_vocabulary import merge_list

    pairs, _ = merge_list(tok.definition)
    return [f"{readable(tok.vocab[int(left)])}+{readable(tok.vocab[int(right)])}" for left, right, _ in pairs[:n]]
