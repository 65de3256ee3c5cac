"""The published encodings by name, as in `tiktoken.registry`."""

from __future__ import annotations

from tokkit import registry
from tokkit.compat.tiktoken.core import Encoding

ENCODINGS: dict[str, Encoding] = {}
"""Encodings that were requested before; programs may add their own."""


def get_encoding(encoding_name: str) -> Encoding:
    """Return a published encoding, the same object each time; ValueError for an unknown name."""
    if not isinstance(encoding_name, str):
        raise ValueError(f"an encoding's name is {type(encoding_name).__name__}; it must be a str")
    if encoding_name in ENCODINGS:
        return ENCODINGS[encoding_name]
    tok = registry.get_encoding(encoding_name)
    special = {**tok.special_tokens, **registry.ALIASES.get(encoding_name, {})}
    return ENCODINGS.setdefault(encoding_name, Encoding._of(encoding_name, tok, special))


def list_encoding_names() -> list[str]:
    """Return the names of the published encodings."""
    return registry.list_encoding_names()
