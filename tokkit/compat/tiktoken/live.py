"""`from_tiktoken`: makes a tokkit tokenizer from an encoding of tiktoken, or of this interface."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

from tokkit.compat.tiktoken.core import definition_of, first_texts
from tokkit.tokenizer import Tokenizer

_PARTS = ("_pat_str", "_mergeable_ranks", "_special_tokens")


def from_tiktoken(encoding: Any) -> Tokenizer:
    r"""Make a tokkit tokenizer with the pattern, ranks, special tokens and name of a `tiktoken.Encoding`.

    In a tokenizer, an id has one text. If an id has several, a UserWarning names the later ones, which become ordinary
    text. TypeError for another object; VocabError if a byte has no token.

    >>> from tokkit.compat import tiktoken
    >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"lo": 256}
    >>> enc = tiktoken.Encoding("own", pat_str=r"\w+|\W", mergeable_ranks=ranks, special_tokens={"<|end|>": 257})
    >>> from_tiktoken(enc).encode("lo<|end|>", special="all")
    [256, 257]
    """
    if not all(hasattr(encoding, name) for name in _PARTS):
        raise TypeError(f"encoding is {type(encoding).__name__}; it must be an Encoding of the package tiktoken")
    pattern, ranks, special = (getattr(encoding, name) for name in _PARTS)
    first = first_texts(special)
    if later := sorted(special.keys() - first.keys()):
        warnings.warn(f"{', '.join(later)}: encoded as ordinary text, because their ids have other texts", stacklevel=2)
    return Tokenizer(replace(definition_of(pattern, ranks, first), name=encoding.name))
