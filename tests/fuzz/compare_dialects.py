"""Compares patterns of a dialect with the library that runs it, on random patterns and texts, for as long as asked.

    python tests/fuzz/compare_dialects.py oniguruma --pairs 1000000 --seed 0
    python tests/fuzz/compare_dialects.py fancy_regex --pairs 1000000

Prints each pattern and text that is split differently, what was refused by reason, and the number of pairs. Needs
tokenizers or tiktoken. Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import logging
import random
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))

from dialect_patterns import Patterns, Split, of_tiktoken, of_tokenizers, text
from standard_error import quiet
from tokkit.errors import TokkitError

TEXTS = 200


def splitters(dialect: str, pattern: str, texts: list[str]) -> tuple[Split | None, Split | str]:
    """Return the library's splitter, None if it refuses the pattern, and ours or the reason for which we refuse it."""
    name = {"oniguruma": "tokenizers", "fancy_regex": "tiktoken"}[dialect]
    theirs: Split | None
    try:
        if dialect == "oniguruma":
            theirs = of_tokenizers(importlib.import_module(name), pattern)
        else:
            theirs = of_tiktoken(importlib.import_module(name), pattern, texts)
    except (Exception, BaseException) as error:
        if isinstance(error, (KeyboardInterrupt, MemoryError)):
            raise
        theirs = None
    try:
        own = importlib.import_module(f"tokkit.compat.{name}")
        return theirs, of_tokenizers(own, pattern) if dialect == "oniguruma" else of_tiktoken(own, pattern, texts)
    except TokkitError as error:
        return theirs, re.sub(r"'.*?'(?!\w)|\"[^\"]*\"|\d+", "…", str(error))[-90:]


def run(dialect: str, pairs: int, seed: int) -> int:
    """Return the number of pairs that differ."""
    rng = random.Random(seed)
    refused: collections.Counter[str] = collections.Counter()
    alone = done = differing = patterns = both = 0
    texts: list[str] = []
    while done < pairs:
        if patterns % 50 == 0:
            texts = [text(rng) for _ in range(TEXTS)]
        pattern = Patterns(rng, dialect).pattern()
        patterns += 1
        theirs, ours = splitters(dialect, pattern, texts)
        if isinstance(ours, str):
            refused[ours] += theirs is not None
            continue
        if theirs is None:
            alone += 1
            continue
        both += 1
        for one in texts:
            try:
                expected = theirs(one)
            except (Exception, BaseException) as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                continue  # tiktoken gives up at an empty match
            done += 1
            try:
                found = ours(one)
            except TokkitError as error:
                found = ([str(error)], [])
            if found != expected:
                differing += 1
                print(f"{pattern!r} {one!r}\n    theirs {expected}\n    ours   {found}", flush=True)
                break
    print(f"{dialect}: {done:,} pairs of {both:,} patterns; {differing} patterns differ; {alone} are taken here alone")
    for reason, count in refused.most_common(25):
        print(f"{count:7,} refused: {reason}")
    return differing


if __name__ == "__main__":
    logging.disable()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dialect", choices=("oniguruma", "fancy_regex"))
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with quiet():
        sys.exit(run(given.dialect, given.pairs, given.seed) > 0)
