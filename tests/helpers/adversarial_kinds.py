"""Makes adversarial texts of a given kind and length, most of them one pretoken that is hard to cut."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable


def _random(alphabet: str) -> Callable[[int], str]:
    return lambda n: "".join(random.Random(n).choices(alphabet, k=n))


HAN = "".join(map(chr, range(0x4E00, 0x5E00)))
HANGUL = "".join(map(chr, range(0xAC00, 0xBC00)))
THAI = "".join(map(chr, [*range(0xE01, 0xE3B), *range(0xE40, 0xE4F)]))
EMOJI = "".join(map(chr, range(0x1F600, 0x1F650)))
# kind → (n → a text of n characters, most of it one piece)
KINDS: dict[str, Callable[[int], str]] = {
    "one letter": lambda n: "a" * n,
    "one capital": lambda n: "A" * n,
    "carets": lambda n: "^" * n,
    "spaces": lambda n: " " * n,
    "spaces before a word": lambda n: " " * (n - 1) + "x",
    "newlines": lambda n: "\n" * n,
    "line ends of two": lambda n: "\r\n" * (n // 2),
    "tabs and spaces": lambda n: "\t " * (n // 2),
    "zeros": lambda n: "0" * n,
    "two letters": lambda n: "ab" * (n // 2),
    "three letters": lambda n: "the" * (n // 3),
    "one Han": lambda n: "中" * n,
    "two Han": lambda n: "的一" * (n // 2),
    "random Han": _random(HAN),
    "random Hangul": _random(HANGUL),
    "random Thai": _random(THAI),
    "Cyrillic": lambda n: "привет" * (n // 6),
    "combining marks": lambda n: "e" + "\u0301" * (n - 1),
    "joiners": lambda n: "\u200d" * n,
    "emoji": _random(EMOJI),
    "base64": lambda n: base64.b64encode(random.Random(n).randbytes(n * 3 // 4)).decode(),
    "hexadecimal": _random("0123456789abcdef"),
    "two random letters": _random("ab"),
    "glued words": lambda n: "".join(random.Random(n).choices(["the", "and", "token", "izer", "ing"], k=n // 4))[:n],
    "printable": _random("".join(map(chr, range(33, 127)))),
    "controls": lambda n: "\0" * n,
    "apostrophes": lambda n: "'s" * (n // 2),
    "dashes and equals": lambda n: "=-" * (n // 2),
}
