"""Whether sentencepiece's rules allow a piece, for the few characters that tests use."""

from __future__ import annotations

SPACE = "\u2581"


def script(character: str) -> str:
    """The script of a character of ASCII, Greek, Cyrillic, Japanese, or of the combining marks."""
    code = ord(character)
    if character.isascii() and character.isalpha():
        return "Latin"
    if 0x370 <= code < 0x400:
        return "Greek"
    if 0x400 <= code < 0x530:
        return "Cyrillic"
    if 0x300 <= code < 0x370:
        return "Inherited"
    if 0x3041 <= code <= 0x3096 or 0x30A1 <= code <= 0x30FA or code == 0x30FC or 0x4E00 <= code < 0x9FA0:
        return "Han"
    return "Common"


def is_valid(
    piece: str,
    longest: int = 16,
    *,
    split_scripts: bool = True,
    split_numbers: bool = True,
    split_digits: bool = False,
    split_spaces: bool = True,
    space_last: bool = False,
    pieces_of_spaces: bool = False,
) -> bool:
    """Whether a text may be a piece."""
    if not 0 < len(piece) <= longest:
        return False
    if piece.strip(SPACE) or not pieces_of_spaces:
        inside = piece[:-1] if space_last else piece[1:]
        at_wrong_end = piece[:1] if space_last else piece[-1:]
        if split_spaces and SPACE in inside:
            return False
        if not split_spaces and len(piece) > 1 and at_wrong_end == SPACE:
            return False
    digits = [c for c in piece if c in "0123456789"]
    if split_digits and digits and len(piece) > 1:
        return False
    previous = None
    for character in piece.replace(SPACE, ""):
        found: str | None = script(character)
        if found == "Inherited":
            continue
        if not split_numbers and character in digits:
            found = None
        if split_scripts and found and previous and found != previous:
            return False
        previous = found
    return True
