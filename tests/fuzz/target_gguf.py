"""The vocabulary in a GGUF file: refused by an error of tokkit, or a tokenizer that is one in all its ways."""

from __future__ import annotations

from mutate_binary import GGUF as CHANGE
from tokenizer_checks import check_files

__all__ = ["CHANGE", "check"]


def check(data: bytes) -> None:
    check_files({"vocabulary.gguf": data}, "vocabulary.gguf")
