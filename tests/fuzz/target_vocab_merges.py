"""vocab.json, merges.txt and added_tokens.json of one folder: refused, or a tokenizer that is one in all its ways."""

from __future__ import annotations

from pathlib import Path

import tokkit
from mutate_json import folder, of_folder
from tokenizer_checks import check_files

NAMES = ("vocab.json", "merges.txt", "added_tokens.json")

CHANGE = of_folder


def load(path: Path) -> tokkit.Tokenizer:
    return tokkit.load(path, pattern="gpt2")


def check(data: bytes) -> None:
    try:
        files = {name: text for name, text in folder(data).items() if name in NAMES}
    except ValueError:
        return
    if "vocab.json" in files:
        check_files(files, "vocab.json", load)
