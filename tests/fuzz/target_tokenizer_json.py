"""A tokenizer.json: refused by an error of tokkit, or a tokenizer for which all ways to its ids are one."""

from __future__ import annotations

from mutate_json import CHANGE
from tokenizer_checks import check_files

__all__ = ["CHANGE", "check"]


def check(data: bytes) -> None:
    check_files({"tokenizer.json": data}, "tokenizer.json")
