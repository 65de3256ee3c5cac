"""The rank of the pause at a position in a text, by the rules of csrc/text/pauses.h."""

from __future__ import annotations

import re

REACH, DEEPEST = 128, 15
CLOSERS = set("\"')]}»’”」』》】）")
ENDS, WIDE_ENDS = set(".!?;:…؛؟۔।。！？；"), set("。！？；")
HEADING = re.compile(r"(#{1,6})(\s|\x1c|\x1d|\x1e|\x1f|\Z)")
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")


def fences(text: str) -> list[tuple[int, int]]:
    """Return (open, close) of each block of code in Markdown, in characters: from its first mark to its last."""
    found, opened, mark, at = [], -1, "", 0
    for line in text.split("\n"):
        match = FENCE.match(line)
        if match and opened < 0 and not ("`" in match[1] and "`" in match[2]):
            opened, mark = at + match.start(1), match[1]
        elif match and opened >= 0 and match[1].startswith(mark) and not match[2].strip():
            found.append((opened, at + match.end(1)))
            opened = -1
        at += len(line) + 1
    return found + ([(opened, len(text))] if opened >= 0 else [])


def rank(text: str, place: int, at: str) -> int:
    """Return the rank of a place between two characters."""
    left = right = place
    reached = len(text[:place].encode())
    while left > 0 and text[left - 1].isspace() and len(text[:left].encode()) > reached - REACH:
        left -= 1
    while right < len(text) and text[right].isspace() and len(text[:right].encode()) < reached + REACH:
        right += 1
    white, before = text[left:right], text[:left]
    lines = white.count("\n")
    if at == "code" and lines:
        columns = sum(4 if c == "\t" else len(c.encode()) for c in white[white.rfind("\n") + 1 :])
        columns = DEEPEST if text[right : right + 1] in ("}", ")", "]") else min(columns, DEEPEST)
        return 3 + 2 * (DEEPEST - columns) + (lines > 1)
    if at in ("code", "word"):
        return 2 if white else 1
    if lines:
        heading = HEADING.match(text[right:]) if len(white[white.rfind("\n") + 1 :].encode()) <= 3 else None
        if at == "markdown" and heading:
            return 12 - len(heading[1])
        return 3 if at == "sentence" else 5 if lines > 1 else 4
    closers = len(before) - len(before.rstrip("".join(CLOSERS)))
    last, following = before[: len(before) - closers][-1:], text[right : right + 1]
    wide = not white and last in WIDE_ENDS and following not in CLOSERS | ENDS
    if closers <= 4 and ((white and last in ENDS) or wide):
        return 3
    return 2 if white else 1
