"""A tekken.json: refused by an error of tokkit, or a tokenizer that is one in all its ways.

An input has the word "bytes" in its vocabulary where a file has the 256 tokens of one byte.
"""

from __future__ import annotations

import base64
import json

from mutate_json import CHANGE, loaded
from tokenizer_checks import check_files

__all__ = ["CHANGE", "check"]

DICTIONARIES = ("pattern",)


def check(data: bytes) -> None:
    value = loaded(data)
    if isinstance(value, dict) and isinstance(vocab := value.get("vocab"), list) and vocab[:1] == ["bytes"]:
        one = [base64.b64encode(bytes([byte])).decode() for byte in range(256)]
        single = [{"rank": rank, "token_bytes": text, "token_str": None} for rank, text in enumerate(one)]
        data = json.dumps(value | {"vocab": [*single, *vocab[1:]]}).encode()
    check_files({"tekken.json": data}, "tekken.json")
