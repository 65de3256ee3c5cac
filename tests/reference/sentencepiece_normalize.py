"""Normalization by a SentencePiece model, in the simplest way."""

from __future__ import annotations

from functools import cache

from tokkit.models.sentencepiece import USER_DEFINED, SentencePieceModel
from tokkit.normalizers.charsmap_builder import decompile

SPACE = "▁"


@cache
def rules_of(charsmap: bytes) -> dict[str, str]:
    return dict(decompile(charsmap))


class Normalizing:
    def __init__(self, model: SentencePieceModel) -> None:
        self.model, self.rules = model, rules_of(model.normalizer.charsmap)
        self.symbols = {model.pieces[i].decode() for i in model.ids_of(USER_DEFINED)}

    def next(self, text: str, at: int) -> tuple[str, int]:
        """What stands at a place becomes this, and is so long."""
        if found := [s for s in self.symbols if text.startswith(s, at)]:
            return max(found, key=len), len(max(found, key=len))
        for n in range(min(6, len(text) - at), 0, -1):
            if (source := text[at : at + n]) in self.rules:
                return self.rules[source], n
        return text[at], 1

    def normalize(self, text: str) -> str:
        rules, at, out = self.model.normalizer, 0, ""
        while rules.remove_extra_whitespaces and at < len(text) and self.next(text, at)[0] == " ":
            at += self.next(text, at)[1]
        if at == len(text):
            return ""
        space, after_space = SPACE if rules.escape_whitespaces else " ", rules.remove_extra_whitespaces
        while at < len(text):
            made, n = self.next(text, at)
            at += n
            made = made.lstrip(" ") if after_space else made
            if made:
                after_space = rules.remove_extra_whitespaces and made.endswith(" ")
            out += made.replace(" ", space)
        suffix = self.model.treat_whitespace_as_suffix
        out = space + out if rules.add_dummy_prefix and not suffix else out
        out = out.rstrip(space) if rules.remove_extra_whitespaces else out
        return out + space if rules.add_dummy_prefix and suffix else out
