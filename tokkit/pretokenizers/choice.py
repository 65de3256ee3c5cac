"""Chooses the fastest engine that can split by a pattern; tests check that all three give equal results."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tokkit.checks import is_text
from tokkit.errors import OptionError, PatternError
from tokkit.pretokenizers import patterns

if TYPE_CHECKING:
    from tokkit._core.split import SplitPattern

ENGINES = ("scanner", "compiled", "regex")


class Choice(NamedTuple):
    """The choice: `engine` is "scanner" (C code for the pattern), "compiled" (an automaton) or "regex" (the package).

    `split` is the core's splitter, None for "regex"; `reason` says why the `regex` package is needed.
    """

    engine: str
    split: int | SplitPattern | None
    reason: str = ""


def choose(pattern: str | None, *, keep_unmatched: bool) -> Choice:
    r"""Return the engine for a pattern; PatternError for an invalid pattern.

    For tests and benchmarks, TOKKIT_SPLIT in the environment names the first of `ENGINES` to try.

    >>> choose(r"\bx", keep_unmatched=False).engine, choose(r"(?<=ab)c", keep_unmatched=False).engine
    ('compiled', 'regex')
    """
    forced = os.environ.get("TOKKIT_SPLIT") or ENGINES[0]
    if forced not in ENGINES:
        raise OptionError(f"TOKKIT_SPLIT is {forced!r}; it must be one of {', '.join(ENGINES)}")
    if pattern is None or (forced == "scanner" and pattern in patterns.SCANNERS):
        return Choice("scanner", patterns.SCANNERS[pattern])
    if not is_text(pattern):
        raise PatternError(f"the pattern {pattern!a} has a lone surrogate, which is not valid text")
    # Most tokenizers have a scanner, and load without importing the compiler.
    from tokkit.unicode_regex import matching
    from tokkit.unicode_regex.compile import compile_pattern
    from tokkit.unicode_regex.tree import NotRegular

    reason = "TOKKIT_SPLIT requests it"
    if forced != "regex":
        try:
            return Choice("compiled", compile_pattern(pattern, keep_unmatched=keep_unmatched))
        except NotRegular as error:
            reason = str(error)
    matching.compiled(pattern)
    return Choice("regex", None, reason)
