"""Truncates a text to a number of tokens, at its end or at its beginning."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Literal

from tokkit._core.text import to_utf8
from tokkit.errors import OptionError, VocabError

if TYPE_CHECKING:
    from tokkit._core.text import Text
    from tokkit.engine.engine import Engine
    from tokkit.engine.special_tokens import Special
    from tokkit.tokenizer import Tokenizer


def truncated(
    tok: Tokenizer, engine: Engine, text: Text, n: int, special: Special, side: Literal["right", "left"]
) -> tuple[str, int]:
    """Truncate a text; see `Tokenizer.truncate`."""
    if isinstance(n, bool) or not hasattr(n, "__index__") or operator.index(n) < 0:
        raise OptionError(f"n is {n!r}; it must be an int of at least 0")
    if side not in ("right", "left"):
        raise OptionError(f'side is {side!r}; it must be "right" or "left"')
    ids = tok.encode_to_numpy(text, special=special)
    if len(ids) <= n:
        return (text if isinstance(text, str) else bytes(text).decode()), len(ids)
    utf8, left, first = to_utf8(text), side == "left", len(ids) - n
    kept = ids[first:] if left else ids[:n]
    # A cut inside a character leaves up to three bytes of it; the whole text was valid UTF-8.
    data = None if tok.in_stages else tok.decode_bytes(kept)
    if data is None or not (utf8.endswith(data) if left else utf8.startswith(data)):  # a pattern may drop text
        utf8, _, spans, _ = engine.aligned(text, special)
        start, end = (0, 0) if n == 0 else (spans[first, 0], len(utf8)) if left else (0, spans[n - 1, 1])
        data = utf8[start:end]
    part, step = data.decode("utf-8", "ignore"), 1
    while (count := _count(tok, part, special)) is None or count > n:
        part = part[step:] if left else part[:-step]
        # If a part has no ids, the next ones mostly have none either: twice the step keeps the number of parts small.
        step = step * 2 if count is None else 1
    return part, count


def _count(tok: Tokenizer, part: str, special: Special) -> int | None:
    """Return the number of ids of a part of a text that has ids; None if the part alone has none."""
    try:
        return tok.count(part, special=special)
    except VocabError:
        return None
