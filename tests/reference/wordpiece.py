"""WordPiece over the characters of one word by its definition: all ends are tried, longest first."""

from __future__ import annotations

from collections.abc import Mapping


def wordpiece(
    word: str, ids: Mapping[str, int], unk_token: str, *, prefix: str = "##", most: int = 100
) -> list[tuple[int, int, int]]:
    """Return (id, start, end) in characters; KeyError where the unknown token is needed and absent."""
    unknown = [(unk_token, 0, len(word))]
    made: list[tuple[str, int, int]] = []
    if len(word) > most:
        made = unknown
    start = 0
    while start < len(word) and made is not unknown:
        for end in range(len(word), start, -1):
            token = (prefix if start else "") + word[start:end]
            if token in ids:
                made.append((token, start, end))
                start = end
                break
        else:
            made = unknown
    return [(ids[token], start, end) for token, start, end in made]
