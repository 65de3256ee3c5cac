"""Compiles a split pattern for the core: text → tree → automaton → tables."""

from __future__ import annotations

import functools

from tokkit._core.split import SplitPattern
from tokkit.unicode_regex import automaton, tables


@functools.lru_cache(maxsize=64)
def compile_pattern(pattern: str, *, keep_unmatched: bool) -> SplitPattern:
    r"""Compile a regular pattern; NotRegular, with the reason, if only the `regex` package can run it.

    Text between matches is dropped, or kept as pretokens.

    >>> [int(end) for end in compile_pattern(r"\w+|\s", keep_unmatched=True).scan("Hi, you")[0]]
    [2, 3, 4, 7]
    """
    return tables.tables(automaton.of_pattern(pattern), keep_unmatched=keep_unmatched)
