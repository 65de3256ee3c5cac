"""Byte pair encoding step by step, for learning, as in `tiktoken._educational`."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import regex

from tokkit.compat.tiktoken.core import Encoding
from tokkit.compat.tiktoken.registry import get_encoding
from tokkit.errors import OptionError

COLORS = (167, 179, 185, 77, 80, 68, 134)
"""Background colours of tokens, from the 256 colours of a terminal."""
IN_COLOR = ("colour", "color")
WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


class SimpleBytePairEncoding:
    r"""An encoding without special tokens that prints each of its steps, unless `visualise` is None.

    >>> enc = SimpleBytePairEncoding(pat_str=r"\w+|\W", mergeable_ranks={b"l": 0, b"o": 1, b"w": 2, b"lo": 3})
    >>> enc.encode("low", visualise="simple")
    [b'l', b'o', b'w']
    [b'lo', b'w']
    <BLANKLINE>
    [3, 2]
    """

    def __init__(self, *, pat_str: str, mergeable_ranks: dict[bytes, int]) -> None:
        self.pat_str = pat_str
        self.mergeable_ranks = mergeable_ranks
        self._decoder = {rank: token for token, rank in mergeable_ranks.items()}
        self._pat = regex.compile(pat_str)

    def encode(self, text: str, visualise: str | None = "colour") -> list[int]:
        """Return the ids of a text; `visualise` is "colour", "simple" or None."""
        ids: list[int] = []
        for word in self._pat.findall(text):
            ids += bpe_encode(self.mergeable_ranks, word.encode(), visualise=visualise)
        return ids

    def decode_bytes(self, tokens: list[int]) -> bytes:
        """Return the bytes of ids; KeyError for an unknown one."""
        return b"".join(self.decode_tokens_bytes(tokens))

    def decode(self, tokens: list[int]) -> str:
        """Return the text of ids; invalid UTF-8 becomes U+FFFD."""
        return self.decode_bytes(tokens).decode(errors="replace")

    def decode_tokens_bytes(self, tokens: list[int]) -> list[bytes]:
        """Return the bytes of each id."""
        return [self._decoder[token] for token in tokens]

    @staticmethod
    def train(training_data: str, vocab_size: int, pat_str: str) -> SimpleBytePairEncoding:
        """Return an encoding of `vocab_size` tokens that is trained on a text."""
        return SimpleBytePairEncoding(pat_str=pat_str, mergeable_ranks=bpe_train(training_data, vocab_size, pat_str))

    @staticmethod
    def from_tiktoken(encoding: str | Encoding) -> SimpleBytePairEncoding:
        """Make one with the ranks and pattern of a published encoding (by name) or of an `Encoding`."""
        enc = get_encoding(encoding) if isinstance(encoding, str) else encoding
        return SimpleBytePairEncoding(pat_str=enc._pat_str, mergeable_ranks=enc._mergeable_ranks)


def bpe_encode(mergeable_ranks: dict[bytes, int], input: bytes, visualise: str | None = "colour") -> list[int]:
    """Return the ids of one pretoken; KeyError if a byte has no token."""
    parts = [input[at : at + 1] for at in range(len(input))]
    while True:
        _show(parts, visualise)
        joined = (mergeable_ranks.get(left + right) for left, right in pairwise(parts))
        best = min(((rank, at) for at, rank in enumerate(joined) if rank is not None), default=None)
        if best is None:
            break
        at = best[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    if visualise:
        print()
    return [mergeable_ranks[part] for part in parts]


def bpe_train(data: str, vocab_size: int, pat_str: str, visualise: str | None = "colour") -> dict[bytes, int]:
    """Return token → rank: all bytes, then the most frequent pairs of a text; ties go to the earliest pair.

    ValueError for fewer than 256 tokens, or more than the text yields.
    """
    if vocab_size < 256:
        raise OptionError(f"vocab_size is {vocab_size}; it must be at least 256, one token for each byte")
    ranks = {bytes([byte]): byte for byte in range(256)}
    words = [[bytes([byte]) for byte in word.encode()] for word in regex.findall(pat_str, data)]
    while len(ranks) < vocab_size:
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts:
            raise OptionError(
                f"vocab_size is {vocab_size}, but no pair is left after {len(ranks)} tokens: give more text"
            )
        left, right = max(counts, key=counts.__getitem__)
        ranks[left + right] = len(ranks)
        words = [_merged(word, left, right) for word in words]
        if visualise:
            print(f"token {len(ranks) - 1}: {left!r} + {right!r}, {counts[left, right]} times; the text begins with")
            if visualise in IN_COLOR:
                visualise_tokens([token for word in words[:50] for token in word])
            else:
                for word in words[:20]:
                    _show(word, visualise)
            print()
    return ranks


def _merged(word: list[bytes], left: bytes, right: bytes) -> list[bytes]:
    made, at = [], 0
    while at < len(word):
        size = 2 if word[at : at + 2] == [left, right] else 1
        made.append(b"".join(word[at : at + size]))
        at += size
    return made


def _show(parts: list[bytes], visualise: str | None) -> None:
    if visualise in IN_COLOR:
        visualise_tokens(parts)
    elif visualise == "simple":
        print(parts)


def visualise_tokens(token_values: list[bytes]) -> None:
    """Print tokens side by side on changing backgrounds, with U+FFFD for each part of a character."""
    line, n_characters, last = "", 0, None
    for token in token_values:
        text = token.decode(errors="replace")
        color = COLORS[n_characters % len(COLORS)]
        if color == last:
            color = COLORS[(n_characters + 1) % len(COLORS)]
        line += f"\x1b[48;5;{color}m{text}"
        last = color
        n_characters += len(text)
    print(f"{line}\x1b[0m")


def train_simple_encoding() -> SimpleBytePairEncoding:
    """Train an encoding on this file, encode hello world with it, and return it; each step is printed."""
    enc = SimpleBytePairEncoding.train(Path(__file__).read_text(encoding="utf-8"), vocab_size=600, pat_str=WORDS)
    enc.encode("hello world")
    return enc
