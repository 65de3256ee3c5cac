"""A rank file (.tiktoken) by some pattern: refused, or a tokenizer that is one in all its ways."""

from __future__ import annotations

from pathlib import Path

import mutate
import tokkit
from tokenizer_checks import check_files

PATTERNS = ("none", "gpt2", r"\w+|\W", r"\p{L}+(?=\d)|[^a]")

CHANGE = mutate.one_of(mutate.of_lines, mutate.of_lines, mutate.of_bytes)


def load(path: Path) -> tokkit.Tokenizer:
    pattern = PATTERNS[path.stat().st_size % len(PATTERNS)]
    return tokkit.load(path, pattern=pattern, special_tokens={"<|end|>": 70_000} if pattern == "gpt2" else None)


def check(data: bytes) -> None:
    check_files({"ranks.tiktoken": data}, "ranks.tiktoken", load)
