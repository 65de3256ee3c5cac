"""Shows a text after each stage before the model, and the changes of each stage."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokkit.engine.special_tokens import Special
    from tokkit.tokenizer import Tokenizer


def stages_of(tok: Tokenizer, text: str, special: Special) -> list[tuple[str, list[str]]]:
    """Return the parts of a text after each stage that changes it."""
    from tokkit.models.bpe import BPE

    found: list[tuple[str, list[str]]] = []
    for name, aligned in tok.stages(text, special=special):
        if not found or found[-1][1] != aligned.pieces:
            found.append((name, aligned.pieces))
    if isinstance(tok.definition.model, BPE):  # its engine splits and encodes in one pass
        encoding = tok(text, special=special, add_special=False, truncation=None, padding=None)
        words: dict[int | None, bytes] = {}
        for word, token in zip(encoding.word_ids, encoding.column("surfaces"), strict=True):
            words[word] = words.get(word, b"") + token
        found.append(("split", [piece.decode("utf-8", "replace") for piece in words.values()]))
    return found


def changes(before: str, after: str) -> list[tuple[str, str]]:
    """Return a diff: parts with "=" if unchanged, "+" if new, and "-" if removed.

    >>> changes("Caf\u00e9", "cafe")
    [('-', 'C'), ('+', 'c'), ('=', 'af'), ('-', '\u00e9'), ('+', 'e')]
    """
    made = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            made.append(("=", after[c:d]))
            continue
        made += [(sign, part) for sign, part in (("-", before[a:b]), ("+", after[c:d])) if part]
    return made


def changed_by_stages(tok: Tokenizer, text: str) -> list[dict[str, Any]]:
    """Return each stage with its name, its pretokens, and its changes (see `changes`)."""
    made, before = [], text
    for name, pieces in stages_of(tok, text, "text"):
        after = "".join(pieces)
        made.append({"name": name, "pieces": pieces, "changes": changes(before, after)})
        before = after
    return made
