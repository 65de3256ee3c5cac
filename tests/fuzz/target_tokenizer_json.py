"""A tokenizer.json: refused by an error of tokkit, or a tokenizer that is one in all its ways.

Its tables are read in C where they are as nearly all are; reading all of it in Python gives the same.
"""

from __future__ import annotations

import mutate
import mutate_json
import tokkit
from mutate_stages import of_stages
from tokenizer_checks import check_files
from tokkit.errors import TokkitError
from tokkit.files import strict_json
from tokkit.formats import tokenizer_json

__all__ = ["CHANGE", "check"]

CHANGE = mutate.one_of(mutate_json.CHANGE, of_stages)
DICTIONARIES = ("pattern",)


def check(data: bytes) -> None:
    packed = tokenizer_json.read_packed(data)
    if packed is not None:
        try:
            plain = tokenizer_json.from_json(strict_json.loads(data))
        except TokkitError as error:
            raise AssertionError("read in C alone") from error
        assert tokkit.Tokenizer(plain).fingerprint() == tokkit.Tokenizer(packed).fingerprint()
    check_files({"tokenizer.json": data}, "tokenizer.json")
