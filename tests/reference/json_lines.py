"""The texts of JSON lines by Python's json, line by line: the expected result of the core's reader."""

from __future__ import annotations

import json


def texts_of(data: bytes, field: str, errors: str = "strict") -> list[str]:
    """Return the text of each line that is not empty; ValueError, with the line's number, at the first without one."""
    found = []
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line.decode("utf-8", errors))
            text = record[field] if isinstance(record, dict) else None
            if not isinstance(text, str):
                raise ValueError
            if errors == "strict":
                text.encode()
        except (ValueError, KeyError, RecursionError):
            raise ValueError(number, found) from None
        for code in (
            range(0xD800, 0xE000) if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text) else ()
        ):
            text = text.replace(chr(code), "\ufffd" if errors == "replace" else "")
        found.append(text)
    return found
