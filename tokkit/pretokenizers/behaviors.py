"""The split behaviors of tokenizer.json and their numbers: what happens to a match and the text between matches."""

from __future__ import annotations

from tokkit.errors import OptionError

BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
"""The names in tokenizer.json, in the order of the numbers in csrc/split/pretokenize.h."""
REMOVED, ISOLATED, MERGED_WITH_PREVIOUS, MERGED_WITH_NEXT, CONTIGUOUS = range(5)


def behavior_named(name: str) -> str:
    """Return a behavior as tokenizer.json writes it; OptionError if there is none of that name.

    >>> behavior_named("merged_with_next")
    'MergedWithNext'
    """
    for behavior in BEHAVIORS:
        if isinstance(name, str) and name.replace("_", "").lower() == behavior.lower():
            return behavior
    raise OptionError(f"behavior is {name!r}; it must be one of {', '.join(BEHAVIORS)}")
