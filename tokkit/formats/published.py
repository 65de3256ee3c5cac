"""Recognizes published vocabulary files by their SHA-256: name, pattern and special tokens.

The facts are those of tiktoken's registry; a test compares the table with the installed tiktoken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tokkit.pretokenizers import patterns


class Published(NamedTuple):
    """Published facts about a vocabulary besides its file."""

    name: str
    pattern: str
    special_tokens: Mapping[str, int]


_BY_SHA256 = {
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": Published(
        "r50k_base", patterns.R50K, {"<|endoftext|>": 50256}
    ),
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": Published(
        "p50k_base", patterns.R50K, {"<|endoftext|>": 50256}
    ),
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": Published(
        "cl100k_base",
        patterns.CL100K,
        {
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
    ),
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": Published(
        "o200k_base", patterns.O200K, {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}
    ),
    # GPT-2's encoder.json; the vocab.json of its copies is the same file.
    "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783": Published(
        "gpt2", patterns.BYTE_LEVEL, {"<|endoftext|>": 50256}
    ),
}


def find(data: bytes) -> Published | None:
    """Return the facts about the published file with exactly these bytes, or None."""
    import hashlib  # imported here: OpenSSL takes 4 MB, and a tokenizer.json does not need it

    return _BY_SHA256.get(hashlib.sha256(data).hexdigest())
