"""Changes of bytes, of text and of lines, drawn from a generator; and the words of a dictionary that they put in.

A change is a function of (rng, data, other, words): `other` is another input that parts may be taken from.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Sequence
from pathlib import Path

Change = Callable[[random.Random, bytes, bytes, Sequence[bytes]], bytes]

TEXTS = (
    *("", " ", "a", "ab", "\n", "\r\n", "\t", "\0", "\x1b[31m", "é", "e\u0301", "東京", "\u2581", "\u2581a", "ĠĠ", "Ċ"),
    *(
        "<unk>",
        "<s>",
        "</s>",
        "<0x41>",
        "<0xFF>",
        "<|endoftext|>",
        "[UNK]",
        "##a",
        "</w>",
        "\ud800",
        "\U0001f469\u200d",
    ),
    *(
        "\ufeff",
        "\u202e",
        "\uffff",
        "\U0010ffff",
        "\u0130",
        "ß",
        "ﬁ",
        "\u200b",
        "が",
        "か\u3099",
        "aaaaaaaaaaaaaaaaaaaaa",
    ),
)
_BOUNDS = (8, 16, 20, 31, 32, 53, 63, 64)
NUMBERS = (*range(-1, 4), 7, 15, 1000, *(n for bits in _BOUNDS for n in ((1 << bits) - 1, 1 << bits, -(1 << bits))))
"""Integers at which something may change."""


def words_of(dictionary: Path) -> list[bytes]:
    """Return the words of a dictionary as libFuzzer reads it: one in quotes on each line."""
    if not dictionary.is_file():
        return []
    lines = [line.strip() for line in dictionary.read_text(encoding="utf-8").splitlines()]
    return [ast.literal_eval("b" + line[line.index('"') :]) for line in lines if line and not line.startswith("#")]


def number(rng: random.Random, value: int) -> int:
    """Return an integer near another, or one at which things change."""
    return rng.choice((value + 1, value - 1, value * 2, -value, value ^ 1 << rng.randrange(32), rng.choice(NUMBERS)))


def of_bytes(rng: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    """Change some bytes, leave some out, repeat some, or put in a word or a part of another input."""
    start = rng.randrange(len(data) + 1)
    end = min(len(data), start + rng.choice((0, 1, 1, 2, 4, 8, 30)))
    kind = rng.randrange(7)
    if kind == 0 and start < len(data):
        return data[:start] + bytes([data[start] ^ 1 << rng.randrange(8)]) + data[start + 1 :]
    if kind == 1:
        return data[:start] + data[end:]
    if kind == 2:
        return data[:end] + data[start:end] * rng.choice((1, 1, 2, 10)) + data[end:]
    if kind == 3 and words:
        return data[:start] + rng.choice(words) + data[end:]
    if kind == 4:
        at = rng.randrange(len(other) + 1)
        return data[:start] + other[at : at + rng.choice((1, 4, 16, 64))] + data[end:]
    if kind == 5:
        return data[:start] + other[rng.randrange(len(other) + 1) :]
    return data[:start] + rng.randbytes(rng.choice((1, 1, 2, 4, 8))) + data[end:]


def of_text(rng: random.Random, text: str, words: Sequence[bytes]) -> str:
    """Change a text by characters."""
    start = rng.randrange(len(text) + 1)
    end = min(len(text), start + rng.choice((0, 1, 1, 2, 5)))
    some = rng.choice((*TEXTS, *(word.decode("utf-8", "surrogateescape") for word in words)))
    middle = rng.choice(("", some, some, text[start:end] * 2, text[start:end].swapcase(), text[start:end][::-1]))
    return text[:start] + middle + text[end:]


def of_lines(rng: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    """Change one line, leave it out, repeat it, move it, or take one of another input."""
    lines, others = data.split(b"\n"), other.split(b"\n")
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(7)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(to, lines[at])
    elif kind == 2:
        lines[at], lines[to] = lines[to], lines[at]
    elif kind == 3:
        lines.insert(to, rng.choice(others))
    elif kind == 4:
        lines[at] = lines[at] + rng.choice((b"\r", b" ", b"\t", b"")) + lines[to]
    elif kind == 5:
        lines[at] = of_bytes(rng, lines[at], lines[to], words)
    else:
        text = lines[at].decode("utf-8", "surrogateescape")
        lines[at] = of_text(rng, text, words).encode("utf-8", "surrogatepass" if "\ud800" in text else "replace")
    return b"\n".join(lines)


def one_of(*changes: Change) -> Change:
    """Return a change that makes one of others, or several in turn."""

    def change(rng: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
        for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
            data = rng.choice(changes)(rng, data, other, words)
        return data

    return change
