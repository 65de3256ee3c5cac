"""The hybrid model: a word that is a token is one token, any other becomes characters or bytes."""

from __future__ import annotations

from collections.abc import Collection

KEPT = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
OTHERS = [byte for byte in range(256) if byte not in KEPT]
SYMBOLS = [chr(byte) if byte in KEPT else chr(256 + OTHERS.index(byte)) for byte in range(256)]
"""The character that GPT-2's byte-level alphabet writes each byte as."""


def hybrid(word: str, tokens: Collection[str], fallback: str, unk_token: str, prefix: str) -> list[str]:
    """Return the tokens of one word; with bytes, words and parts are spelt in SYMBOLS."""
    parts = [SYMBOLS[byte] for byte in word.encode()] if fallback == "byte" else list(word)
    if "".join(parts) in tokens:
        return ["".join(parts)]
    spelt = [part if i == 0 else prefix + part for i, part in enumerate(parts)]
    return [part if part in tokens else unk_token for part in spelt]
