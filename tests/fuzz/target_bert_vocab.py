"""vocab.txt of BERT, and a tokenizer_config.json beside it: refused, or a tokenizer that is one in all its ways."""

from __future__ import annotations

from mutate_json import folder, of_folder
from tokenizer_checks import check_files

NAMES = ("vocab.txt", "tokenizer_config.json", "tokenizer.json", "special_tokens_map.json")

CHANGE = of_folder


def check(data: bytes) -> None:
    try:
        files = {name: text for name, text in folder(data).items() if name in NAMES}
    except ValueError:
        return
    if "vocab.txt" in files:
        check_files(files, "vocab.txt")
