"""The offsets at which a text may be cut for threads and blocks, by the rule of the core."""

from __future__ import annotations

from collections.abc import Collection

from reference.stand_ins import REPRESENTATIVES, category, is_han

LETTER = ("Lu", "Ll", "Lt", "Lm", "Lo")
NUMBER = ("Nd", "Nl", "No")
MARK = ("Mn", "Mc", "Me")
BLANK = ("Zs", "Zl", "Zp", "white control")


def may_split(p: str, q: str) -> bool:
    """May text be cut between these characters?"""
    before, after = (REPRESENTATIVES[category(c)][0] for c in (p, q))
    if after in BLANK:
        return before not in (*BLANK, "line end")
    return before in LETTER + NUMBER and after not in LETTER + NUMBER + MARK and q != "'" and not is_han(q)


def is_spanned(text: str, at: int, special_tokens: Collection[str]) -> bool:
    """Does a special token stand across the offset?"""
    return any(
        text.startswith(token, start) for token in special_tokens for start in range(max(0, at - len(token) + 1), at)
    )


def split_points(text: str, special_tokens: Collection[str] = ()) -> list[int]:
    """All offsets, in characters."""
    points = [at for at in range(1, len(text)) if may_split(text[at - 1], text[at])]
    return [at for at in points if not is_spanned(text, at, special_tokens)]
