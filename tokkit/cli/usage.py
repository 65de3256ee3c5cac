"""Measures how a tokenizer uses its vocabulary on texts: tokens, words, unknown and unused ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from tokkit.cli.token_text import readable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tokkit.encoding import Encoding
    from tokkit.tokenizer import Tokenizer

WORD = re.compile(r"\S+")
WHITE_SPACE = re.compile(r"\s+")
N_LONGEST = 5


class Counts:
    """Counts of a file, or of all files; counts can be added."""

    def __init__(self) -> None:
        self.texts = self.bytes = self.words = self.tokens = self.unknown_words = self.longest_text = 0
        self.restored = self.spaces_lost = 0

    def add(self, text: str, n_words: int, n_tokens: int, unknown_words: int, decoded: str) -> None:
        """Count one text, and whether it and its white space come back when its tokens are decoded."""
        self.texts += 1
        self.bytes += len(text.encode())
        self.words += n_words
        self.tokens += n_tokens
        self.unknown_words += unknown_words
        self.longest_text = max(self.longest_text, n_tokens)
        self.restored += text == decoded
        self.spaces_lost += text != decoded and WHITE_SPACE.findall(text) != WHITE_SPACE.findall(decoded)

    def rates(self) -> dict[str, Any]:
        """Return the counts and the rates computed from them; a rate is None if its divisor is 0."""
        return {
            "tokens": self.tokens,
            "bytes_per_token": _rate(self.bytes, self.tokens, 3),
            "tokens_per_word": _rate(self.tokens, self.words, 3),
            "tokens_per_text": _rate(self.tokens, self.texts, 1),
            "longest_text": self.longest_text,
            "oov_rate": _rate(self.unknown_words, self.words, 5),
            "restored_rate": _rate(self.restored, self.texts, 5),
            "spaces_lost_rate": _rate(self.spaces_lost, self.texts, 5),
        }


def _rate(n: int, of: int, digits: int) -> float | None:
    return round(n / of, digits) if of else None


class Usage:
    """Measures one tokenizer text by text.

    A text is restored if its tokens decode to it. Words are separated by white space; a word is out of vocabulary if
    any of its tokens is the unknown token. A token is used if it occurs in some text; special tokens and other added
    tokens are not counted.
    """

    def __init__(self, tok: Tokenizer, special: str = "text") -> None:
        self.tok = tok
        self._special = special
        self._unknown = unknown_of(tok)
        self._used = np.zeros(tok.n_ids, dtype=bool)
        self.total = Counts()
        self.files: dict[str, Counts] = {}

    def add(self, file: str, text: str) -> Encoding:
        """Count a text of a file, and return its encoding."""
        encoding = self.tok(text, special=self._special, add_special=False, truncation=None, padding=None)
        ids = encoding.column("ids")
        self._used[ids] = True
        unknown = 0
        if self._unknown is not None and (of_unknown := ids == self._unknown).any():
            unknown = _words_touched(text, encoding.column("offsets")[of_unknown])
        n_words, decoded = len(text.split()), self.tok.decode(ids)
        for counts in (self.total, self.files.setdefault(file, Counts())):
            counts.add(text, n_words, len(ids), unknown, decoded)
        return encoding

    def facts(self) -> dict[str, Any]:
        """Return the measures over all texts: sizes, tokens that are never used, the longest tokens."""
        added = {token.id for token in self.tok.definition.added_tokens}
        own = [(token, id_) for token, id_ in self.tok.vocab.items() if id_ not in added]
        unused = sum(not self._used[id_] for _, id_ in own)
        longest = sorted((token for token, _ in own), key=len, reverse=True)[:N_LONGEST]
        return {
            "vocab_size": len(self.tok.vocab),
            "unused": unused,
            "unused_rate": _rate(unused, len(own), 5),
            "longest_tokens": [readable(token) for token in longest],
        }


def lossy_winners(rows: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows that lost white space and have fewer tokens than all that lost none, with the best of these.

    `rows` are rates by name. If all lost white space, only the row with the fewest tokens is returned.
    """
    ranked = sorted((name for name in rows if rows[name]["tokens"]), key=lambda name: int(rows[name]["tokens"]))
    best = next((name for name in ranked if not rows[name]["spaces_lost_rate"]), None)
    if best is None:
        ahead = ranked[:1] if len(ranked) > 1 else []
    else:
        ahead = [name for name in ranked[: ranked.index(best)] if rows[name]["tokens"] < rows[best]["tokens"]]
    made = []
    for name in ahead:
        fewer = None if best is None else round(1 - rows[name]["tokens"] / rows[best]["tokens"], 4)
        lost = rows[name]["spaces_lost_rate"]
        made.append({"name": name, "spaces_lost_rate": lost, "best_without_loss": best, "fewer": fewer})
    return made


def said_of_losses(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each name in the results of `lossy_winners`."""
    said = []
    for name in dict.fromkeys(loss["name"] for loss in found):
        losses = [loss for loss in found if loss["name"] == name]
        lost = max(loss["spaces_lost_rate"] for loss in losses)
        line = f"* {name} does not give back the white space of {lost:.1%} of texts"
        if fewer := sorted(loss["fewer"] for loss in losses if loss["fewer"] is not None):
            span = " to ".join(dict.fromkeys(f"{share:.1%}" for share in (fewer[0], fewer[-1])))
            better = " or ".join(
                dict.fromkeys(loss["best_without_loss"] for loss in losses if loss["fewer"] is not None)
            )
            line += f": it needs {span} fewer tokens than {better}, which does"
        said.append(line)
    return said


def unknown_of(tok: Tokenizer) -> int | None:
    """Return the id of the unknown token; None if there is none."""
    model: Any = tok.definition.model
    token = getattr(model, "unk_token", None)
    id_: int | None = getattr(model, "unk_id", None) if token is None else tok.vocab.get(token)
    return id_


def _words_touched(text: str, spans: NDArray[np.int64]) -> int:
    """Return the number of words with a character in any of the spans, which are in ascending order."""
    words = np.array([match.span() for match in WORD.finditer(text)], dtype=np.int64).reshape(-1, 2)
    first = np.searchsorted(words[:, 1], spans[:, 0], side="right")
    last = np.searchsorted(words[:, 0], spans[:, 1], side="left")
    marks = np.zeros(len(words) + 1, dtype=np.int64)
    some = last > first
    np.add.at(marks, first[some], 1)
    np.add.at(marks, last[some], -1)
    return int((np.cumsum(marks)[:-1] > 0).sum())
