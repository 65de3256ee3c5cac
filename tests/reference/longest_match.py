"""The longest match by its definition: at each place, all lengths are tried, the longest first."""

from __future__ import annotations

from collections.abc import Mapping


def longest_match(text: bytes, ids: Mapping[bytes, int], unknown: int | None = None) -> list[tuple[int, int, int]]:
    """Return (id, start, end) in bytes; KeyError for a byte that begins no token, if no id stands for such."""
    longest, made, at = max(map(len, ids), default=0), [], 0
    while at < len(text):
        for n in range(longest, 0, -1):
            token = text[at : at + n]
            if len(token) == n and token in ids:
                made.append((ids[token], at, at + n))
                break
        else:
            if unknown is None:
                raise KeyError(text[at])
            made.append((unknown, at, at + 1))
        at = made[-1][2]
    return made
