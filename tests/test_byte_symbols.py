"""Bytes are converted to GPT-2's printable characters and back."""

from __future__ import annotations

import pytest

from tokkit.byte_symbols import SYMBOLS, byte_symbols, is_symbols, to_bytes, to_symbols


def test_every_byte_has_a_printable_character_of_its_own() -> None:
    assert len(set(SYMBOLS)) == 256
    assert all(symbol.isprintable() and not symbol.isspace() for symbol in SYMBOLS)


def test_bytes_come_back() -> None:
    every = bytes(range(256))
    assert to_bytes(to_symbols(every)) == every
    assert to_symbols(b" a\n") == "ĠaĊ"
    assert "".join(byte_symbols()[byte] for byte in every) == to_symbols(every)


@pytest.mark.parametrize("text", [" ", "a b", "\n", "漢", "\xad", "\udc80", "a\u0144"])
def test_other_characters_are_named(text: str) -> None:
    assert not is_symbols(text)
    with pytest.raises(ValueError, match=r"U\+[0-9A-F]{4}. is not one of the 256"):
        to_bytes(text)


def test_the_symbols_are_those_of_tokenizers() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    assert set(SYMBOLS) == set(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    # A code point's last byte and the symbol of that byte, through tokenizers itself.
    split = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    text = "".join(map(chr, [*range(0x800), 0x20AC, 0x1F600, 0x10FFFF]))
    assert split.pre_tokenize_str(text)[0][0] == to_symbols(text.encode())
