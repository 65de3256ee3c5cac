r"""Escapes control characters in text that is printed in a message or at a terminal.

File names, tokens, patterns and settings may contain anything: an ESC sequence that paints or clears the screen, a line
end that splits a message, a bidi control that shows "txt.exe" for "exe.txt", invalid UTF-8. Everything that is shown
goes through here; escaping twice changes nothing. Data (ids, decoded text, JSON) is not escaped.
"""

from __future__ import annotations

import os
import re

CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff]")
"""C0, DEL and C1; marks, embeddings, overrides and isolates of bidi; line separators; and lone surrogates.

Joiners are not among them, because words and emoji need them.
"""
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escaped(character: str) -> str:
    r"""Return the escape of a character: a backslash and its name or number; for a surrogate escape, its byte.

    >>> escaped("\n"), escaped("\x1b"), escaped("\udcff"), escaped("\u202e"), escaped("\U000e0001")
    ('\\n', '\\x1b', '\\xff', '\\u202e', '\\U000e0001')
    """
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    if code < 0x100 or 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code & 0xFF:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str, *, keep: str = "") -> str:
    r"""Return a text with its control characters escaped, except those in `keep`.

    >>> visible("a\x1b[31m\nb"), visible("caf\udce9.txt")
    ('a\\x1b[31m\\nb', 'caf\\xe9.txt')
    """
    return CONTROLS.sub(lambda found: found[0] if found[0] in keep else escaped(found[0]), text)


def show(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> str:
    """Return a path for a message, with control characters escaped."""
    return visible(os.fsdecode(path))
